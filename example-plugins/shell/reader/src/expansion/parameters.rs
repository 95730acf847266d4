//! Expands parameters: `$x`, `${x:-y}`, `${x%.txt}`, `"$@"`.

use super::{ExpandedWords, ansi};
use crate::ascii::Ascii as _;
use crate::read::{Reader, Unreadable};
use crate::word::{HOME, Word};
use brush_parser::word::{Parameter, ParameterExpr, ParameterTransformOp, SpecialParameter};

impl Reader<'_> {
    pub(super) fn parameter(
        &mut self,
        expression: &ParameterExpr,
        quoted: bool,
        making: &mut ExpandedWords,
    ) -> Result<(), Unreadable> {
        match expression {
            ParameterExpr::Parameter { parameter, indirect: false } => match parameter {
                Parameter::Named(name) => self.fill(making, name, quoted)?,
                Parameter::Positional(number) => {
                    let value = self.positional(*number);
                    self.fill_value(making, value, quoted)?;
                }
                Parameter::Special(SpecialParameter::ShellName) => {
                    let value = self.scope.zeroth.clone();
                    self.fill_value(making, value, quoted)?;
                }
                Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate }) => {
                    let words = self.all_positional();
                    self.all(words.as_deref().map(Vec::as_slice), *concatenate, quoted, making)?;
                }
                Parameter::NamedWithAllIndices { name, concatenate } => {
                    let words = self.elements(name);
                    self.all(words.as_deref(), *concatenate, quoted, making)?;
                    if words.is_none() {
                        making.word().secret |= self.has_secret(parameter);
                    }
                }
                Parameter::NamedWithIndex { name, index } => {
                    self.within_word(index)?;
                    self.evaluates(index)?;
                    let value = self.element(name, index);
                    self.fill_value(making, value, quoted)?;
                    if self.has_secret(parameter) {
                        making.word().secret = true;
                    }
                }
                Parameter::Special(_) => making.unknown(false),
            },
            ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value, .. }
            | ParameterExpr::AssignDefaultValues { parameter, indirect: false, default_value, .. }
                if matches!(parameter, Parameter::Named(_) | Parameter::Positional(_)) =>
            {
                let value = match parameter {
                    Parameter::Named(name) => self.variable(name),
                    Parameter::Positional(number) => self.positional(*number),
                    _ => None,
                };
                match (value.filter(|value| !value.text.is_empty()), default_value) {
                    (None, Some(default)) => {
                        let value = self.value(default)?;
                        if let (ParameterExpr::AssignDefaultValues { .. }, Parameter::Named(name)) =
                            (expression, parameter)
                        {
                            self.remember(name, &value.text);
                        }
                        self.fill_value(making, Some(value), quoted)?;
                    }
                    (value, _) => self.fill_value(making, value, quoted)?,
                }
            }
            ParameterExpr::IndicateErrorIfNullOrUnset {
                parameter: Parameter::Named(name),
                indirect: false,
                error_message,
                ..
            } => {
                self.within_word(error_message.as_deref().unwrap_or_default())?;
                self.fill(making, name, quoted)?;
            }
            _ => {
                let value = self.computed(expression)?;
                self.fill_value(making, value, quoted)?;
                let Some(ExpansionParts { parameter, is_indirect, texts }) = parts(expression) else { return Ok(()) };
                for (at, text) in texts.into_iter().enumerate() {
                    let Some(text) = text else { continue };
                    self.within_word(text)?;
                    if at == 0 || matches!(expression, ParameterExpr::Substring { .. }) {
                        self.evaluates(text)?;
                    }
                }
                let name = name_of(parameter);
                if is_indirect {
                    self.evaluates(name.unwrap_or("$@"))?;
                }
                if matches!(expression, ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. }) {
                    self.prompts(name);
                }
                let has_value = !matches!(
                    expression,
                    ParameterExpr::UseAlternativeValue { .. } | ParameterExpr::ParameterLength { .. }
                );
                if has_value && self.has_secret(parameter) {
                    making.word().secret = true;
                }
            }
        }
        Ok(())
    }

    /// Applies the operator of an expansion to a known value, if all operands are literal: `${x%.txt}`.
    fn computed(&mut self, expression: &ParameterExpr) -> Result<Option<Word>, Unreadable> {
        use ParameterExpr as Expr;
        let Some(ExpansionParts { parameter, is_indirect, texts }) = parts(expression) else { return Ok(None) };
        let is_read_later = |text: &&str| text.contains("$(") || text.has(b'`');
        let value = match parameter {
            Parameter::Named(name) => self.variable(name),
            Parameter::Positional(number) => self.positional(*number),
            Parameter::NamedWithIndex { name, index } => self.element(name, index),
            _ => None,
        };
        let value = if is_indirect { value.and_then(|name| self.variable(&name.text)) } else { value };
        let Some(value) = value.filter(|value| value.is_known() && value.doubt.is_none() && !value.text.is_empty())
        else {
            return Ok(None);
        };
        if texts.iter().flatten().any(is_read_later) {
            return Ok(None);
        }
        if let Expr::UseAlternativeValue { alternative_value: Some(other), .. } = expression {
            return self.value(other).map(Some);
        }
        let mut literal = |text: Option<&str>| {
            let word = self.value(text.unwrap_or_default())?;
            Ok(Some(word).filter(|word| word.is_known() && !word.home && !word.text.has_one_of(b"*?[\\")))
        };
        let (Some(first), Some(second)) = (literal(texts[1])?, literal(texts[2])?) else { return Ok(None) };
        Ok(operated(expression, &value.with_mark(), &first.text, &second.text).map(|text| value.with_text(text)))
    }

    /// Returns an element of an array by its number.
    fn element(&self, name: &str, index: &str) -> Option<Word> {
        self.elements(name)?.into_iter().nth(index.parse().ok()?)
    }

    /// Returns true if a variable contains the content of a secret file.
    fn has_secret(&self, parameter: &Parameter) -> bool {
        name_of(parameter).and_then(|name| self.variable(name)).is_some_and(|value| value.secret)
    }

    /// Fills in all arguments, or all elements of an array.
    pub(super) fn all(
        &mut self,
        words: Option<&[Word]>,
        concatenate: bool,
        quoted: bool,
        making: &mut ExpandedWords,
    ) -> Result<(), Unreadable> {
        match words {
            // `"$*"` is one word, with separators between its parts.
            Some(words) if concatenate && quoted => {
                let all = Word::of_all(words);
                self.fill_value(making, Some(all).filter(|_| !self.is_set("IFS")), true)?;
            }
            // Each part of `"$@"` is a separate word.
            Some(words) => {
                for (at, word) in words.iter().enumerate() {
                    if at > 0 {
                        making.end();
                    }
                    self.fill_value(making, Some(word.clone()), quoted)?;
                }
            }
            // The number of words is unknown, even in quotes.
            None => making.unknown(false),
        }
        Ok(())
    }
}

/// Applies the operator of an expansion to a value.
fn operated(expression: &ParameterExpr, value: &str, first: &str, second: &str) -> Option<String> {
    use ParameterExpr as Expr;
    use brush_parser::word::SubstringMatchKind as Match;
    // If the value begins with the path of a home directory, the beginning of the value is unknown.
    let from_begin = || (!value.starts_with(HOME)).then_some(value);
    Some(match expression {
        Expr::Parameter { .. } => value.to_owned(),
        Expr::RemoveSmallestSuffixPattern { .. } | Expr::RemoveLargestSuffixPattern { .. } => {
            value.strip_suffix(first).unwrap_or(value).to_owned()
        }
        Expr::RemoveSmallestPrefixPattern { .. } | Expr::RemoveLargestPrefixPattern { .. } => {
            from_begin()?.strip_prefix(first).unwrap_or(value).to_owned()
        }
        Expr::UppercasePattern { .. } | Expr::Transform { op: ParameterTransformOp::ToUpperCase, .. } => {
            value.to_ascii_uppercase()
        }
        Expr::LowercasePattern { .. } | Expr::Transform { op: ParameterTransformOp::ToLowerCase, .. } => {
            value.to_ascii_lowercase()
        }
        Expr::Transform { op: ParameterTransformOp::ExpandEscapeSequences, .. } => ansi(value),
        Expr::Substring { length: None, .. } if first == "0" => value.to_owned(),
        Expr::Substring { length, .. } => {
            let length = length.as_ref().map_or(Some(usize::MAX), |_| second.parse().ok())?;
            from_begin()?.chars().skip(first.parse().ok()?).take(length).collect()
        }
        Expr::ReplaceSubstring { match_kind, .. } => match match_kind {
            Match::Prefix => {
                from_begin()?.strip_prefix(first).map_or(value.to_owned(), |rest| format!("{second}{rest}"))
            }
            Match::Suffix => value.strip_suffix(first).map_or(value.to_owned(), |rest| format!("{rest}{second}")),
            Match::FirstOccurrence => value.replacen(first, second, 1),
            Match::Anywhere => value.replace(first, second),
        },
        _ => return None,
    })
}

/// Returns the name of a parameter's variable.
fn name_of(parameter: &Parameter) -> Option<&str> {
    match parameter {
        Parameter::Named(name)
        | Parameter::NamedWithIndex { name, .. }
        | Parameter::NamedWithAllIndices { name, .. } => Some(name),
        Parameter::Positional(_) | Parameter::Special(_) => None,
    }
}

/// The parts of an expansion.
struct ExpansionParts<'a> {
    parameter: &'a Parameter,
    /// True if the value names the parameter to expand: `${!x}`.
    is_indirect: bool,
    /// The texts in the expansion, which may contain commands. The first text may be an index.
    texts: [Option<&'a str>; 3],
}

/// Returns the parts of an expansion, if it has a parameter.
fn parts(expression: &ParameterExpr) -> Option<ExpansionParts<'_>> {
    use ParameterExpr as Expr;
    let (parameter, indirect, texts) = match expression {
        Expr::UseDefaultValues { parameter, indirect, default_value: text, .. }
        | Expr::AssignDefaultValues { parameter, indirect, default_value: text, .. }
        | Expr::IndicateErrorIfNullOrUnset { parameter, indirect, error_message: text, .. }
        | Expr::UseAlternativeValue { parameter, indirect, alternative_value: text, .. }
        | Expr::RemoveSmallestSuffixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveLargestSuffixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveSmallestPrefixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveLargestPrefixPattern { parameter, indirect, pattern: text, .. }
        | Expr::UppercaseFirstChar { parameter, indirect, pattern: text, .. }
        | Expr::UppercasePattern { parameter, indirect, pattern: text, .. }
        | Expr::LowercaseFirstChar { parameter, indirect, pattern: text, .. }
        | Expr::LowercasePattern { parameter, indirect, pattern: text, .. } => {
            (parameter, indirect, [text.as_deref(), None])
        }
        Expr::Substring { parameter, indirect, offset, length, .. } => {
            (parameter, indirect, [Some(offset.value.as_str()), length.as_ref().map(|length| length.value.as_str())])
        }
        Expr::ReplaceSubstring { parameter, indirect, pattern, replacement, .. } => {
            (parameter, indirect, [Some(pattern.as_str()), replacement.as_deref()])
        }
        Expr::Parameter { parameter, indirect, .. }
        | Expr::ParameterLength { parameter, indirect, .. }
        | Expr::Transform { parameter, indirect, .. } => (parameter, indirect, [None, None]),
        Expr::VariableNames { .. } | Expr::MemberKeys { .. } => return None,
    };
    let index = match parameter {
        Parameter::NamedWithIndex { index, .. } => Some(index.as_str()),
        _ => None,
    };
    Some(ExpansionParts { parameter, is_indirect: *indirect, texts: [index, texts[0], texts[1]] })
}
