//! Custom answers: a table that gives rules an answer by their severity, catalogue, label, cause or id.

use super::schema::{Construct, Rule, Severity};
use super::{Text, Texts};
use litemap::LiteMap;
use shell_reader::Ascii as _;

/// An answer that replaces a rule's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The rule has no effect and is not reported.
    Allow,
    /// The match is reported, and the command runs.
    Audit,
    /// The rule applies its rewrite. A rule without a rewrite keeps its action.
    Rewrite,
    Ask,
    Deny,
}

/// The answers with their names in the config.
const ANSWERS: [(&str, Answer); 5] = [
    ("allow", Answer::Allow),
    ("audit", Answer::Audit),
    ("rewrite", Answer::Rewrite),
    ("ask", Answer::Ask),
    ("deny", Answer::Deny),
];

/// The kinds of keys in the table, the most specific first.
const KINDS: [&str; 5] = ["rule", "cause", "label", "catalogue", "severity"];

/// The table `answers` of the config. Everything that can be checked without the rules is already checked.
#[derive(Debug, Default)]
pub(super) struct Answers {
    table: LiteMap<(String, String), Answer>,
    /// Labels that occur in rules.
    labels: Texts,
}

impl Answers {
    /// # Errors
    /// Returns one sentence that names the unknown key or value and a similar known key or value.
    pub(super) fn new(written: &LiteMap<String, String>) -> Result<Self, String> {
        let mut table = LiteMap::new();
        for (key, value) in written {
            let (kind, name) = key.halves(b':').unwrap_or((key, ""));
            if !KINDS.contains(&kind) || name.is_empty() {
                let advice = advice(kind, &KINDS);
                return Err(format!("`{key}` in `answers` is no `KIND:NAME` with a known kind: {advice}"));
            }
            let Some((_, answer)) = ANSWERS.iter().find(|(word, _)| word == value) else {
                let advice = advice(value, &ANSWERS.map(|(word, _)| word));
                return Err(format!("`{value}` of `{key}` in `answers` is no answer: {advice}"));
            };
            let known: Vec<&str> = match kind {
                "severity" => Severity::NAMES.map(|(word, _)| word).into(),
                "cause" => Construct::NAMES.map(|(word, _)| word).into(),
                _ => vec![name],
            };
            if !known.contains(&name) {
                return Err(format!("there is no {kind} `{name}`, which `answers` names: {}", advice(name, &known)));
            }
            table.insert((kind.to_owned(), name.to_owned()), *answer);
        }
        Ok(Self { table, labels: Texts::new() })
    }

    /// Returns the answer of the most specific key that names a rule. A custom rule with the action `allow` is changed only by a `rule:`
    /// key that names it.
    pub(super) fn of(&mut self, rule: &Rule, catalogue: &str) -> Option<Answer> {
        if self.table.is_empty() {
            return None;
        }
        for label in &rule.labels {
            self.labels.insert(label.clone(), ());
        }
        let get = |kind: &str, name: &str| self.table.get(&(kind.to_owned(), name.to_owned())).copied();
        let own = get("rule", &rule.id);
        if own.is_some() || rule.action.as_deref() == Some("allow") {
            return own;
        }
        let constructs = rule.matches.iter().filter_map(|wanted| wanted.construct);
        let mut causes = Construct::NAMES.iter().filter(|(_, one)| constructs.clone().any(|other| other == *one));
        let severity = Severity::NAMES.iter().find(|(_, one)| *one == rule.severity).map_or("", |(word, _)| word);
        causes
            .find_map(|(word, _)| get("cause", word))
            .or_else(|| rule.labels.iter().find_map(|label| get("label", label)))
            .or_else(|| get("catalogue", catalogue))
            .or_else(|| get("severity", severity))
    }

    /// Checks that each key names an existing rule, cause, label, catalogue or severity, and that no key loosens a rule of `floor`.
    ///
    /// # Errors
    /// Returns one sentence.
    pub(super) fn checked(&self, rules: &Texts, catalogues: &[String], floor: &Texts) -> Result<(), String> {
        for ((kind, name), answer) in &self.table {
            let known: Vec<&str> = match kind.as_str() {
                "rule" => rules.keys().map(String::as_str).collect(),
                "catalogue" => catalogues.iter().map(String::as_str).collect(),
                "label" => self.labels.keys().map(String::as_str).collect(),
                _ => continue,
            };
            if !known.contains(&name.as_str()) {
                return Err(format!("there is no {kind} `{name}`, which `answers` names: {}", advice(name, &known)));
            }
            if floor.contains_key(name) && *answer != Answer::Deny {
                return Err(format!(
                    "`{kind}:{name}` in `answers` would loosen the floor, which denies in every mode; `remove` leaves it out"
                ));
            }
        }
        Ok(())
    }
}

impl Answer {
    /// Replaces the rule's action with the answer. Returns false if the answer is `allow`, because the rule must then be left out.
    pub(super) fn is_made(self, rule: &mut Rule) -> bool {
        let word = match self {
            Self::Allow => return false,
            Self::Rewrite if rule.rewrite.is_none() => return true,
            Self::Rewrite => "rewrite",
            Self::Audit => "audit",
            Self::Ask => "ask",
            Self::Deny => "deny",
        };
        rule.action = Some(Text::new(word));
        true
    }
}

/// Returns the word that was probably meant, or all words if there are few.
pub(super) fn advice(given: &str, known: &[&str]) -> String {
    let near = known.iter().map(|word| (distance(given, word), word)).min();
    match near {
        Some((distance, word)) if distance <= 1 + given.len() / 4 => format!("did you mean `{word}`?"),
        _ if known.len() <= 20 => format!("the words here are `{}`", known.join("`, `")),
        _ => "`hookhost rule explain` lists them".to_owned(),
    }
}

/// Returns the edit distance: the number of letters to insert, delete or change.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, wanted) in other.iter().enumerate() {
            let changed = diagonal + usize::from(*wanted != c);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn words_are_near_by_the_letters_that_differ() {
        for (one, other, expected) in [
            ("", "", 0),
            ("ask", "ask", 0),
            ("aks", "ask", 2),
            ("alow", "allow", 1),
            ("", "abc", 3),
            ("deny", "dény", 1),
        ] {
            assert_eq!((distance(one, other), distance(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
