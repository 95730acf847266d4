//! The ready rules: rules in words that the program contains, for a person to put into force by their names.

use crate::exit::CliError;
use crate::nearest::nearest;
use crate::output::quoted;

/// The file of the rules. A rule ends with an empty line, and the comment above it is the sentence about its name.
const FILE: &str = include_str!("../rules/ready.toml");

/// Rules that one name stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadyRules {
    /// The name: the id of one of the rules, with which the other ids begin.
    pub(crate) name: &'static str,
    /// What the rules do, in one sentence.
    pub(crate) sentence: &'static str,
    /// The ids of the rules.
    pub(crate) ids: Vec<&'static str>,
    /// The `[[rule]]` tables, with the comment above them.
    pub(crate) text: String,
}

/// Returns the ready rules, in the order of the file.
pub(crate) fn all() -> Vec<ReadyRules> {
    let mut all: Vec<ReadyRules> = Vec::new();
    for row in FILE.split("\n\n").filter(|part| part.contains("[[rule]]")) {
        let row = row.trim();
        let id = row.lines().find_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"')).unwrap_or_default();
        let name = id.split('.').next().unwrap_or(id);
        if all.last().is_none_or(|last| last.name != name) {
            let sentence = row.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
            all.push(ReadyRules { name, sentence, ..ReadyRules::default() });
        }
        if let Some(rules) = all.last_mut() {
            rules.ids.push(id);
            if !rules.text.is_empty() {
                rules.text.push('\n');
            }
            rules.text.push_str(row);
            rules.text.push('\n');
        }
    }
    all
}

/// Returns the ready rules of a name, or `None` if there are none.
pub(crate) fn named(name: &str) -> Option<ReadyRules> {
    all().into_iter().find(|rules| rules.name == name)
}

/// Returns the ready rules of a name.
///
/// # Errors
/// If no ready rules have this name.
pub(crate) fn find(name: &str) -> Result<ReadyRules, CliError> {
    named(name).ok_or_else(|| {
        let error = CliError::usage(format!("there is no ready rule {}", quoted(name)));
        match nearest(name, all().iter().map(|rules| rules.name)) {
            Some(near) => error.advise(format!("hookhost rule add {near}")),
            None => error.advise("hookhost rule list --ready"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::all;
    use hookhost::config::{Config, Layer, Source};
    use std::collections::BTreeSet;

    #[test]
    fn each_name_has_one_sentence_and_its_rules_in_one_place() {
        let all = all();
        assert!(all.len() >= 20, "{} names", all.len());
        let names: BTreeSet<&str> = all.iter().map(|rules| rules.name).collect();
        assert_eq!(names.len(), all.len(), "a name has rules in two places");
        let source = Source::new("/ready.toml", Layer::User);
        for rules in &all {
            let name = rules.name;
            assert!(rules.sentence.ends_with('.') && !rules.sentence.contains(". "), "{name}: {}", rules.sentence);
            assert!(rules.ids.contains(&name), "no rule has the id {name}");
            let config = Config::parse(&rules.text, &source, &[]).unwrap();
            let ids: Vec<&str> = config.rules().iter().map(|rule| rule.row.id.as_str()).collect();
            assert_eq!(ids, rules.ids);
        }
        let rules: usize = all.iter().map(|rules| rules.ids.len()).sum();
        assert_eq!(rules, super::FILE.matches("\n[[rule]]\n").count());
    }
}
