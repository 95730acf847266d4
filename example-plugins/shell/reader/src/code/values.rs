//! Evaluates the arguments of calls in code.

use super::Language;
use super::names::{decodes, last, passes_on};
use super::tokens::Token;
use crate::ascii::Ascii as _;
use crate::word::{UNKNOWN, Word};

/// Maximum nesting of brackets that are read.
const MAX_DEPTH: usize = 12;
/// Maximum number of words in one value.
const MAX_WORDS: usize = 64;
/// Maximum number of tokens that are read for one call or value.
pub(super) const MAX_TOKENS: usize = 256;
/// Maximum length of a computed text, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// Maximum number of tokens between a method and its receiver.
pub(super) const MAX_RECEIVER: usize = 32;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Unknown,
    /// A value that was encoded.
    Decoded,
    One(Word),
    Many(Vec<Word>),
}

/// An argument of a call, with its name if it has one.
pub(super) struct Argument<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) value: Value,
}

pub(super) struct Scan<'a> {
    /// The tokens that values are read from.
    pub(super) tokens: &'a [Token<'a>],
    pub(super) all: &'a [Token<'a>],
    /// The groups of libraries that were searched for so far. The flag is true if the code names a library of the
    /// group.
    pub(super) libraries: Vec<(&'static [&'static str], bool)>,
    pub(super) language: Language,
    /// The variables set so far, in order.
    pub(super) variables: Vec<(&'a str, Value)>,
    /// The original names of calls, by alias.
    pub(super) aliases: Vec<(&'a str, &'a str)>,
    /// Number of tokens that were read.
    pub(super) work: usize,
    pub(super) depth: usize,
}

impl<'a> Scan<'a> {
    /// Returns the receiver of a method: `Path('x').unlink()`.
    pub(super) fn receiver(&mut self, at: usize) -> Option<Word> {
        let from = at.saturating_sub(MAX_RECEIVER);
        let passes = |token: &Token<'_>| matches!(token, Token::Name(name) if passes_on(last(name)) || *name == "Dir" || matches!(last(name), "home" | "homedir"));
        let mut begin = from + self.tokens[from..at].iter().rposition(passes)?;
        // Hides the method's own tokens, because the method is not part of its receiver.
        let all = self.tokens;
        self.tokens = &all[..at];
        let receiver = words(self.value(&mut begin)).pop();
        self.tokens = all;
        receiver
    }

    /// Returns the arguments of a call, in brackets or, if the language allows it, without brackets.
    pub(super) fn arguments(&mut self, at: &mut usize) -> Option<Vec<Argument<'a>>> {
        match self.tokens.get(*at)? {
            Token::Mark('(') => {
                *at += 1;
                Some(self.list(at, ')'))
            }
            Token::Text(_) | Token::Run(_)
                if matches!(self.language, Language::Perl | Language::Ruby | Language::Lua | Language::Other) =>
            {
                Some(self.list(at, ';'))
            }
            Token::Name(name)
                if self.language == Language::Perl
                    && !matches!(*name, "and" | "or" | "for" | "foreach" | "if" | "unless" | "while") =>
            {
                Some(self.list(at, ';'))
            }
            Token::Name(name) if self.language == Language::Ruby && name.starts_with("Dir") => Some(self.list(at, ';')),
            _ => None,
        }
    }

    /// Returns values separated by commas, up to `close`.
    pub(super) fn list(&mut self, at: &mut usize, close: char) -> Vec<Argument<'a>> {
        let mut arguments = Vec::new();
        if self.depth >= MAX_DEPTH {
            return arguments;
        }
        self.depth += 1;
        while let Some(token) = self.tokens.get(*at) {
            self.work += 1;
            match token {
                Token::Mark(c) if *c == close => {
                    *at += 1;
                    break;
                }
                Token::Mark(',') => *at += 1,
                Token::Mark(')' | ']' | '}' | ';') if close == ';' => break,
                _ => {
                    let name = match (token, self.tokens.get(*at + 1)) {
                        (Token::Name(name), Some(Token::Mark('=' | ':'))) => Some(*name),
                        _ => None,
                    };
                    *at += if name.is_some() { 2 } else { 0 };
                    let before = *at;
                    let value = self.value(at);
                    self.skip(at);
                    *at += usize::from(*at == before);
                    if arguments.len() < MAX_WORDS {
                        arguments.push(Argument { name, value });
                    }
                }
            }
        }
        // This must not move past the end.
        *at = self.tokens.len().min(*at);
        self.depth -= 1;
        arguments
    }

    /// Skips to the comma or the bracket that ends a value.
    pub(super) fn skip(&mut self, at: &mut usize) {
        let mut open = 0_usize;
        while let Some(token) = self.tokens.get(*at) {
            self.work += 1;
            match token {
                Token::Mark('(' | '[' | '{') => open += 1,
                Token::Mark(')' | ']' | '}' | ',' | ';') if open == 0 => return,
                Token::Mark(')' | ']' | '}') => open -= 1,
                _ => {}
            }
            *at += 1;
        }
    }

    /// Returns a value, including values that are concatenated to it.
    pub(super) fn value(&mut self, at: &mut usize) -> Value {
        let mut value = self.operand(at);
        loop {
            value = bounded(value);
            match self.tokens.get(*at) {
                Some(Token::Mark('+')) => *at += 1,
                // `Path.home() / 'x'`
                Some(Token::Mark('/')) if self.language == Language::Python => {
                    *at += 1;
                    if let Value::One(word) = &mut value {
                        word.text.push('/');
                    }
                }
                Some(Token::Mark('%')) => {
                    *at += 1;
                    let filled = match self.operand(at) {
                        Value::One(word) => word.with_mark().into_owned(),
                        _ => UNKNOWN.to_string(),
                    };
                    if let Value::One(word) = &mut value {
                        *word = word.with_text(word.text.replace("%s", &filled));
                    }
                    continue;
                }
                Some(Token::Name(name)) if *name == "." || *name == ".." => *at += 1,
                Some(Token::Text(_)) if matches!(value, Value::One(_)) => {}
                _ => return value,
            }
            let other = self.operand(at);
            value = match (value, other) {
                (Value::Decoded, _) | (_, Value::Decoded) => Value::Decoded,
                (Value::One(mut word), Value::One(other)) => {
                    word.append(&other);
                    Value::One(word)
                }
                (Value::Many(mut words), Value::Many(others)) => {
                    words.extend(others);
                    Value::Many(words)
                }
                (Value::One(mut word), _) => {
                    word.text.push(UNKNOWN);
                    Value::One(word)
                }
                (Value::Unknown, Value::One(word)) => {
                    Value::One(Word { text: format!("{UNKNOWN}{}", word.text), ..word })
                }
                (value, _) => value,
            };
        }
    }

    pub(super) fn operand(&mut self, at: &mut usize) -> Value {
        let Some(token) = self.tokens.get(*at) else { return Value::Unknown };
        self.work += 1;
        let mut value = match token {
            Token::Text(text) => {
                *at += 1;
                Value::One(text.clone())
            }
            Token::Mark(open @ ('[' | '(' | '{')) => {
                *at += 1;
                let close = match open {
                    '[' => ']',
                    '(' => ')',
                    _ => '}',
                };
                let mut arguments = self.list(at, close);
                match (open, arguments.len()) {
                    ('(', 1) => arguments.remove(0).value,
                    _ => many(arguments),
                }
            }
            Token::Name(name) => {
                *at += 1;
                self.named(name, at)
            }
            _ => return Value::Unknown,
        };
        let is_turned = ['[', ':', ':', '-']
            .iter()
            .enumerate()
            .all(|(ahead, c)| self.tokens.get(*at + ahead) == Some(&Token::Mark(*c)));
        if is_turned {
            *at = self.tokens.len().min(*at + 6);
            value = turned(value);
        }
        // Methods: `.split()`, `.decode()`.
        while let Some(Token::Name(method)) = self.tokens.get(*at)
            && method.len() > 1
            && *method != ".."
            && method.starts_with('.')
            && !matches!(last(method), "unlink" | "rmdir" | "write_text" | "write_bytes" | "touch")
        {
            *at += 1;
            let arguments = if self.tokens.get(*at) == Some(&Token::Mark('(')) {
                *at += 1;
                self.list(at, ')')
            } else {
                Vec::new()
            };
            value = method_of(value, last(method), &arguments);
        }
        value
    }

    pub(super) fn variable(&mut self, name: &str) -> Value {
        self.work += self.variables.len();
        // The variable of a directory entry contains the entry's path, so `.path` is left out.
        let name = name.strip_suffix(".path").unwrap_or(name);
        let known = self.variables.iter().rev().find(|(other, _)| *other == name);
        known.map_or(Value::Unknown, |(_, value)| value.clone())
    }

    /// Returns the value of a variable or of a call.
    pub(super) fn named(&mut self, name: &'a str, at: &mut usize) -> Value {
        let call = last(name);
        if name == "new" || name == "await" {
            return self.operand(at);
        }
        let home = || Value::One(Word { home: true, ..Word::literal("~") });
        let (is_call, arguments) = match self.tokens.get(*at) {
            Some(Token::Mark(open @ ('(' | '[' | '{'))) if *open != '{' || name.ends_with("ENV") => {
                *at += 1;
                let close = match open {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                };
                (*open == '(', self.list(at, close))
            }
            Some(Token::Text(_)) if self.language == Language::Perl && call == "glob" => (true, self.list(at, ';')),
            _ => (false, Vec::new()),
        };
        let names_home = arguments.len() == 1
            && matches!(&arguments[0].value, Value::One(word) if matches!(word.text.as_str(), "HOME" | "USERPROFILE"));
        let is_home = matches!(call, "homedir" | "home") && is_call || name == "Dir.home" || call == "HOME";
        if is_home || names_home || (name.ends_with("ENV") && self.tokens.get(*at - 2) == Some(&Token::Name("HOME"))) {
            return home();
        }
        if matches!(call, "reverse" | "strrev") && name == call {
            let turned_one = match (is_call, self.tokens.get(*at)) {
                (true, _) => arguments.into_iter().next().map(|argument| argument.value),
                (false, Some(Token::Text(_))) => Some(self.operand(at)),
                _ => None,
            };
            return turned_one.map_or(Value::Unknown, turned);
        }
        if decodes(call) || (call == "from" && arguments.len() > 1) || (call == "decode" && name.starts_with("codecs"))
        {
            return Value::Decoded;
        }
        if arguments.iter().any(|argument| matches!(argument.value, Value::Decoded)) {
            return Value::Decoded;
        }
        if call == "join" && is_call {
            return joined(arguments);
        }
        if is_call && name == "c" {
            return many(arguments);
        }
        if is_call && (passes_on(call) || name == "list.files") {
            let expands = matches!(call, "expanduser" | "glob" | "iglob" | "expand_path");
            let finds = matches!(call, "walk" | "scandir" | "files");
            return match arguments.into_iter().next().map(|argument| argument.value) {
                Some(Value::One(mut word)) => {
                    word.home |= expands && word.text.starts_with('~');
                    word.glob |= word.text.has(b'*') || finds;
                    Value::One(word)
                }
                Some(value) => value,
                None => Value::Unknown,
            };
        }
        // `Dir['/srv/*']`
        if name == "Dir" && !is_call {
            return arguments.into_iter().next().map_or(Value::Unknown, |argument| argument.value);
        }
        if is_call { Value::Unknown } else { self.variable(name) }
    }
}

/// Joins path components: `os.path.join('a', 'b')`.
fn joined(arguments: Vec<Argument<'_>>) -> Value {
    let mut words = arguments.into_iter().flat_map(|argument| words(argument.value));
    let Some(mut all) = words.next() else { return Value::Unknown };
    for word in words {
        all.text.push('/');
        all.append(&word);
    }
    Value::One(all)
}

fn method_of(value: Value, method: &str, arguments: &[Argument<'_>]) -> Value {
    match (value, method) {
        (Value::One(word), "split") if arguments.is_empty() => {
            Value::Many(word.text.split_whitespace().take(MAX_WORDS).map(Word::marked).collect())
        }
        (_, "homedir") => Value::One(Word { home: true, ..Word::literal("~") }),
        (value, _) if decodes(method) => match value {
            Value::One(_) | Value::Many(_) | Value::Unknown | Value::Decoded => Value::Decoded,
        },
        (value, "decode" | "encode" | "strip" | "trim" | "toString" | "split" | "resolve" | "absolute" | "to_s") => {
            value
        }
        (Value::Decoded, _) => Value::Decoded,
        (Value::One(word), "join") => {
            let decodes = arguments.iter().any(|argument| matches!(argument.value, Value::Decoded));
            let parts: Vec<Word> = arguments.first().map(|argument| words(argument.value.clone())).unwrap_or_default();
            let text = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(&word.text);
            if decodes { Value::Decoded } else { Value::One(Word::literal(text)) }
        }
        (Value::One(word), "format") => Value::One(Word::literal(filled(&word.text, arguments))),
        (Value::Many(_), "each" | "forEach") => Value::Unknown,
        (value, "reverse") => turned(value),
        (Value::One(word), "replace" | "gsub" | "sub") => match arguments {
            [Argument { value: Value::One(old), .. }, Argument { value: Value::One(new), .. }]
                if !old.text.is_empty() && word.text.len() * (new.text.len() + 1) < MAX_TEXT =>
            {
                Value::One(Word::literal(word.text.replace(&old.text, &new.text)))
            }
            _ => Value::Unknown,
        },
        (Value::One(word), "rglob" | "glob" | "iterdir" | "walk" | "children" | "entries") => {
            let name = match arguments {
                [Argument { value: Value::One(name), .. }] if !name.text.starts_with("**") => &name.text,
                _ => "*",
            };
            Value::One(Word { text: format!("{}/{name}", word.text.trim_end_matches('/')), glob: true, ..word })
        }
        _ => Value::Unknown,
    }
}

/// Limits the length of a value, because `x = x + x` doubles the length each time.
fn bounded(value: Value) -> Value {
    match value {
        Value::One(word) if word.text.len() > MAX_TEXT => Value::Unknown,
        Value::Many(mut words) => {
            words.truncate(MAX_WORDS);
            Value::Many(words)
        }
        value => value,
    }
}

/// Reverses a text or a list.
fn turned(value: Value) -> Value {
    match value {
        Value::One(word) => Value::One(Word::literal(word.text.chars().rev().collect::<String>())),
        Value::Many(mut words) => {
            words.reverse();
            Value::Many(words)
        }
        value => value,
    }
}

/// Fills in a `format` text, up to the first unknown argument.
fn filled(format: &str, arguments: &[Argument<'_>]) -> String {
    let mut parts = format.split('{');
    let mut made = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        let (number, rest) = part.halves(b'}').unwrap_or((part, ""));
        match arguments.get(number.parse().unwrap_or(at)).map(|argument| &argument.value) {
            Some(Value::One(word)) if made.len() + word.text.len() < MAX_TEXT => made.push_str(&word.text),
            _ => {
                made.push(UNKNOWN);
                return made;
            }
        }
        made.push_str(rest);
    }
    made
}

fn many(arguments: Vec<Argument<'_>>) -> Value {
    if arguments.iter().any(|argument| matches!(argument.value, Value::Decoded)) {
        return Value::Decoded;
    }
    // `{args: ['-rf', '/']}`
    if let Some(named) = arguments.iter().find(|argument| argument.name == Some("args")) {
        return named.value.clone();
    }
    if arguments.iter().any(|argument| argument.name.is_some()) {
        return Value::Unknown;
    }
    Value::Many(arguments.into_iter().flat_map(|argument| words(argument.value)).take(MAX_WORDS).collect())
}

pub(super) fn words(value: Value) -> Vec<Word> {
    match value {
        Value::One(word) => vec![word],
        Value::Many(words) => words,
        Value::Unknown | Value::Decoded => vec![Word::unknown()],
    }
}
