//! Reads the catalogues that are part of the plugin, in the format that the build script writes.

use super::schema::{Catalogue, Rule, Totals};
use serde::Deserialize;

const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogues.postcard"));

/// An iterator over all catalogues without their rules, in the order of `build.rs`. The rules are read one by one on demand. Otherwise the
/// memory for all of them would remain part of the memory with which each event starts.
pub(crate) struct Embedded {
    rest: &'static [u8],
    /// Number of rules of the current catalogue that are not read yet.
    unread: usize,
    pub(crate) totals: Totals,
}

impl Embedded {
    /// Returns the catalogues.
    pub(crate) fn read() -> Result<Self, String> {
        let (totals, rest) = take(BYTES)?;
        Ok(Self { rest, unread: 0, totals })
    }

    /// Returns the next rule of the catalogue that was read last.
    pub(crate) fn rule(&mut self) -> Option<Result<Rule, String>> {
        self.unread = self.unread.checked_sub(1)?;
        Some(self.read_next())
    }

    fn read_next<T: Deserialize<'static>>(&mut self) -> Result<T, String> {
        let (value, rest) = take(self.rest)?;
        self.rest = rest;
        Ok(value)
    }
}

/// Reads the value at the beginning of `bytes`, which the build script has written. Returns the value and the bytes after it.
pub(super) fn take<T: Deserialize<'static>>(bytes: &'static [u8]) -> Result<(T, &'static [u8]), String> {
    postcard::take_from_bytes(bytes)
        .map_err(|error| format!("the embedded catalogues are not as the build script writes them: {error}"))
}

impl Iterator for Embedded {
    type Item = Result<Catalogue, String>;

    /// Reads the next catalogue without its rules. Skips unread rules of the previous catalogue.
    fn next(&mut self) -> Option<Self::Item> {
        while self.unread > 0 {
            if let Err(error) = self.rule()? {
                return Some(Err(error));
            }
        }
        if self.rest.is_empty() {
            return None;
        }
        Some(self.read_next().map(|(catalogue, rules)| {
            self.unread = rules;
            catalogue
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Embedded;
    use crate::rules::analysis::{self, patterns};
    use crate::rules::schema::{Alternative, Catalogue, Match, Rule};

    impl Catalogue {
        /// Returns the catalogues as they are in the files.
        pub(crate) fn written() -> Vec<Self> {
            let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues")).unwrap();
            let texts = files.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
            let tables = texts.map(|text| toml::from_str::<serde_json::Value>(&text).unwrap());
            let of_rules = tables.filter(|table| table.get("program").is_none());
            of_rules.map(|table| serde::Deserialize::deserialize(table).unwrap()).collect()
        }
    }

    /// Analyses the patterns of a rule, as the build script does.
    fn analysed(mut rule: Rule) -> Rule {
        let analyse = |one: &mut Box<Match>| {
            patterns(one).for_each(|pattern| *pattern = analysis::expression(analysis::source(pattern)));
        };
        rule.matches.iter_mut().for_each(analyse);
        rule.pattern = rule.pattern.map(|pattern| Box::new(analysis::expression(analysis::source(&pattern))));
        rule
    }

    #[test]
    fn each_file_of_the_directory_is_there_and_unharmed() {
        let mut written = Catalogue::written();
        let mut embedded = Embedded::read().unwrap();
        let mut count = 0;
        while let Some(catalogue) = embedded.next().transpose().unwrap() {
            let at = written.iter().position(|other| other.id == catalogue.id).unwrap();
            let mut as_written = written.remove(at);
            for rule in std::mem::take(&mut as_written.rules) {
                assert_eq!(format!("{:?}", embedded.rule().unwrap().unwrap()), format!("{:?}", analysed(rule)));
                count += 1;
            }
            assert!(embedded.rule().is_none(), "{} has more rules", catalogue.id);
            assert_eq!(format!("{catalogue:?}"), format!("{as_written:?}"));
        }
        assert_eq!((written.len(), count), (0, embedded.totals.rules));
    }

    #[test]
    fn the_build_script_analyses_patterns() {
        let mut embedded = Embedded::read().unwrap();
        let (mut known, mut all) = (0, 0);
        while embedded.next().is_some() {
            while let Some(rule) = embedded.rule() {
                let mut rule = rule.unwrap();
                for alternative in rule.matches.iter_mut().flat_map(|one| patterns(one)).flat_map(|pattern| &pattern.0)
                {
                    let is_unknown = matches!(alternative, Alternative::Search { needed, .. } if needed.is_empty());
                    (known, all) = (known + usize::from(!is_unknown), all + 1);
                }
            }
        }
        assert!(known * 10 > all * 9, "{known} of {all} alternatives");
    }
}
