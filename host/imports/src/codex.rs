//! The rules of Codex: `prefix_rule(…)` in `.rules` files (developers.openai.com/codex/rules, codex-rs/execpolicy). Of several rules, the
//! strictest decides, so an `allow` never is an exception of a row. Its examples `match` and `not_match` become those of the row.

use crate::command::{self, Ending, joined};
use crate::draft::{ALLOWS, Answer, Decision, Draft, Source};
use crate::import::{Import, SourceFile, Unreadable};
use crate::starlark::{Call, Literal, statements};
use hookhost_contract::rule::{MAX_EXAMPLES, RuleExample};

pub(crate) const SOURCE: Source = Source { name: "codex", title: "Codex" };

/// Maximum number of beginnings for which the alternatives of a pattern stand.
const MAX_PREFIXES: usize = 32;

/// A `prefix_rule`.
struct PrefixRule<'a> {
    pattern: &'a [Literal],
    decision: &'a str,
    justification: Option<&'a str>,
    matching: Vec<String>,
    not_matching: Vec<String>,
}

pub(crate) fn read(files: &[SourceFile]) -> Result<Import, Unreadable> {
    let mut import = Import::default();
    for file in files {
        let statements = statements(&file.text).map_err(|(at, message)| file.unreadable(at, message))?;
        for statement in statements {
            let written = file.written(statement.at, statement.text);
            let drafts = match statement.call.as_ref().map(PrefixRule::of) {
                Some(Ok(rule)) => rule.answer().and_then(|answer| Ok((rule.drafts()?, answer, rule.justification))),
                Some(Err(why)) => Err(why),
                None => Err("it is no call whose arguments have names and literal values".to_owned()),
            };
            match drafts {
                Ok((drafts, answer, reason)) => {
                    for draft in drafts {
                        let firsts =
                            [&draft.row.program, &draft.row.flags, &draft.row.args].map(|values| values.first());
                        let name = firsts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
                        draft.add_to(&mut import, SOURCE, &name, &Decision { answer, reason }, written.clone());
                    }
                }
                Err(why) => import.omit(written, why),
            }
        }
    }
    Ok(import)
}

impl<'a> PrefixRule<'a> {
    fn of(call: &'a Call<'a>) -> Result<Self, String> {
        if call.name != "prefix_rule" {
            return Err(format!("`{}` is no `prefix_rule`, and no rule says the same", call.name));
        }
        let mut rule = Self {
            pattern: &[],
            decision: "allow",
            justification: None,
            matching: Vec::new(),
            not_matching: Vec::new(),
        };
        for (key, value) in &call.arguments {
            let wrong = || format!("its `{key}` cannot be read");
            match *key {
                "pattern" => rule.pattern = value.list().ok_or_else(wrong)?,
                "decision" => rule.decision = value.text().ok_or_else(wrong)?,
                "justification" => rule.justification = Some(value.text().ok_or_else(wrong)?),
                "match" => rule.matching = examples(value).ok_or_else(wrong)?,
                "not_match" => rule.not_matching = examples(value).ok_or_else(wrong)?,
                other => return Err(format!("its argument `{other}` is unknown")),
            }
        }
        Ok(rule)
    }

    fn answer(&self) -> Result<Answer, String> {
        match self.decision {
            "forbidden" => Ok(Answer::Reject),
            "prompt" => Ok(Answer::Ask),
            "allow" => Err(ALLOWS.to_owned()),
            other => Err(format!("its decision `{other}` is unknown")),
        }
    }

    /// Returns the rows: one, unless no single row stands for all alternatives.
    fn drafts(&self) -> Result<Vec<Draft>, String> {
        let prefixes = self.prefixes()?;
        let drafts: Vec<Draft> =
            prefixes.iter().map(|prefix| command::draft(prefix, Ending::Words)).collect::<Result<_, _>>()?;
        let Some(mut draft) = joined(drafts.clone()) else { return Ok(drafts) };
        let texts = |examples: &[String]| -> Vec<RuleExample> {
            examples.iter().take(MAX_EXAMPLES).cloned().map(RuleExample::Text).collect()
        };
        if !self.matching.is_empty() {
            draft.row.stops = texts(&self.matching);
        }
        if !self.not_matching.is_empty() {
            draft.row.passes = texts(&self.not_matching);
            draft.own_passes = draft.row.passes.len();
        }
        Ok(vec![draft])
    }

    /// Returns the beginnings of commands for which the pattern stands.
    fn prefixes(&self) -> Result<Vec<String>, String> {
        let mut prefixes = vec![String::new()];
        for part in self.pattern {
            let words: Vec<&str> = match part {
                Literal::Text(word) => vec![word],
                Literal::List(words) => words.iter().filter_map(Literal::text).collect(),
            };
            let word = |prefix: &String, word: &&str| format!("{prefix} {}", quoted(word)).trim_start().to_owned();
            prefixes = prefixes.iter().flat_map(|prefix| words.iter().map(move |next| word(prefix, next))).collect();
            if prefixes.len() > MAX_PREFIXES {
                return Err(format!("its pattern stands for more than {MAX_PREFIXES} beginnings of commands"));
            }
        }
        if prefixes.iter().any(String::is_empty) || prefixes.is_empty() {
            return Err("its `pattern` is empty".to_owned());
        }
        Ok(prefixes)
    }
}

/// Returns examples as commands. Each is a command, or a list of words.
fn examples(value: &Literal) -> Option<Vec<String>> {
    let example = |example: &Literal| match example {
        Literal::Text(command) => Some(command.clone()),
        Literal::List(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.text().map(quoted)).collect();
            words.map(|words| words.join(" "))
        }
    };
    value.list()?.iter().map(example).collect()
}

/// Returns a word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::import::{Import, Owner, SourceFile};
    use hookhost_contract::rule::RuleExample;

    fn import(text: &str) -> Import {
        read(&[SourceFile::new("default.rules".into(), Owner::User, text)]).unwrap()
    }

    #[test]
    fn alternatives_become_one_row_and_examples_are_kept() {
        let import = import(
            r#"
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "prompt",
    justification = "the network",
    match = [["git", "push", "origin main"], "git fetch"],
    not_match = ["git status"],
)
prefix_rule(pattern = ["rm", ["-rf", "-fr"]], decision = "forbidden")
prefix_rule(pattern = ["npm", ["-g", "publish"]], decision = "forbidden")
"#,
        );
        let [first, second, ..] = import.rows.as_slice() else { panic!("{import:?}") };
        let row = &first.proposal.row;
        assert_eq!(
            (row.program.0.as_slice(), row.ask.as_deref()),
            (&["git push".to_owned(), "git fetch".to_owned()][..], Some("the network"))
        );
        let text = |text: &str| RuleExample::Text(text.into());
        assert_eq!(
            (&row.stops, &row.passes),
            (&vec![text("git push 'origin main'"), text("git fetch")], &vec![text("git status")])
        );
        assert_eq!(second.proposal.row.flags.0, ["-rf", "-fr"]);
        assert_eq!(import.rows.len(), 4, "an option and a subcommand are two rows");
    }

    #[test]
    fn every_other_statement_is_named() {
        let import = import(
            "prefix_rule(pattern = ['ls'])\nhost_executable(name = 'git', paths = ['/usr/bin/git'])\nX = 1\nfor x in X:\n  prefix_rule(pattern = [x])\n\
             prefix_rule(pattern = [], decision = 'prompt')\nprefix_rule(pattern = ['a'], decision = 'no')\nprefix_rule(pattern = ['a'], by = 'me')\n",
        );
        let lines: Vec<usize> = import.omissions.iter().map(|omission| omission.written.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 6, 7, 8]);
        assert!(import.rows.is_empty());
        let broken = read(&[SourceFile::new("r".into(), Owner::User, "\nprefix_rule(")]).unwrap_err();
        assert_eq!(broken.to_string(), "r:2:12: the bracket that begins here is not closed");
    }
}
