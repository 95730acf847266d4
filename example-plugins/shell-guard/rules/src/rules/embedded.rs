//! The catalogues that are part of the plugin, as the build script writes them.

use super::programs::Programs;
use super::schema::{Catalogue, ProgramFile, Rule, Totals};
use serde::Deserialize;

const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogues.postcard"));

/// An iterator over all catalogues, without their rules, in the order of `build.rs`. Each rule is read on demand, because memory used
/// during configuration stays in the image that each event starts from.
pub(crate) struct Embedded {
    rest: &'static [u8],
    /// Number of rules of the current catalogue that are not read yet.
    unread: usize,
    pub(crate) totals: Totals,
}

impl Embedded {
    /// Returns the known programs and the catalogues.
    pub(crate) fn read() -> Result<(Programs, Self), String> {
        let mut embedded = Self { rest: BYTES, unread: 0, totals: Totals::default() };
        embedded.totals = embedded.read_next()?;
        let programs: ProgramFile = embedded.read_next()?;
        Ok((Programs::new(programs), embedded))
    }

    /// Returns the next rule of the catalogue that was read last.
    pub(crate) fn rule(&mut self) -> Option<Result<Rule, String>> {
        self.unread = self.unread.checked_sub(1)?;
        Some(self.read_next())
    }

    fn read_next<T: Deserialize<'static>>(&mut self) -> Result<T, String> {
        let (value, rest) = postcard::take_from_bytes(self.rest)
            .map_err(|error| format!("the embedded catalogues are not as the build script writes them: {error}"))?;
        self.rest = rest;
        Ok(value)
    }
}

impl Iterator for Embedded {
    type Item = Result<Catalogue, String>;

    /// Reads the next catalogue without its rules. Skips unread rules of the previous one.
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
    use crate::rules::analysis::patterns;
    use crate::rules::schema::{Catalogue, Expression};
    use serde::Deserialize as _;
    use std::collections::BTreeSet;

    /// Prints a rule without the analysis of its patterns, which the tests of `pattern.rs` check.
    fn shown(rule: &impl std::fmt::Debug) -> String {
        let shown = format!("{rule:?}");
        let mut parts = shown.split("Expression { source: ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| {
            let (source, rest) = part.split_once(", texts: ").unwrap();
            let (_, rest) = rest.split_once(", needed: ").unwrap();
            all + source + &rest[rest.find(") }").unwrap()..]
        })
    }

    #[test]
    fn each_file_of_the_directory_is_there_and_unharmed() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues")).unwrap();
        let texts = files.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
        let tables = texts.map(|text| toml::from_str::<serde_json::Value>(&text).unwrap());
        let written =
            tables.filter(|table| table.get("program").is_none()).map(|table| Catalogue::deserialize(table).unwrap());
        let mut written: Vec<Catalogue> = written.collect();
        let (_, mut embedded) = Embedded::read().unwrap();
        let mut count = 0;
        while let Some(catalogue) = embedded.next().transpose().unwrap() {
            let at = written.iter().position(|other| other.id == catalogue.id).unwrap();
            let mut as_written = written.remove(at);
            for rule in std::mem::take(&mut as_written.rules) {
                assert_eq!(shown(&embedded.rule().unwrap().unwrap()), shown(&rule));
                count += 1;
            }
            assert!(embedded.rule().is_none(), "{} has more rules", catalogue.id);
            assert_eq!(format!("{catalogue:?}"), format!("{as_written:?}"));
        }
        assert_eq!((written.len(), count), (0, embedded.totals.rules));
    }

    #[test]
    fn the_build_script_analyses_patterns() {
        let (_, mut embedded) = Embedded::read().unwrap();
        let mut expressions: Vec<Expression> = Vec::new();
        while embedded.next().is_some() {
            while let Some(rule) = embedded.rule() {
                expressions.extend(rule.unwrap().matches.iter().flat_map(|one| patterns(one)));
            }
        }
        let known = expressions.iter().filter(|one| one.texts.is_some() || !one.needed.is_empty()).count();
        let sources: BTreeSet<&str> = expressions.iter().map(|one| one.source.as_str()).collect();
        assert!(
            known * 10 > expressions.len() * 9,
            "{known} of {} expressions, {} sources",
            expressions.len(),
            sources.len()
        );
    }
}
