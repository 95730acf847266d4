//! The catalogues that are part of the plugin. The build makes JSON of `catalogues/*.toml` and packs it: rules repeat each other,
//! and the component is to stay small.

use super::programs::Programs;
use super::{Catalogue, Rule};
use serde::de::DeserializeOwned;
use serde_json::Value;

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogues.packed"));

/// All catalogues, without their rules, in the order in which `build.rs` lists them. A rule is read when it is asked for: what a
/// guest needs to be configured stays in the memory that each event starts with.
pub(crate) struct Embedded {
    unpacked: Unpacked<'static>,
    /// The file whose rules are not all read.
    open: Option<String>,
}

impl Embedded {
    /// What is known of programs, and the catalogues.
    pub(crate) fn read() -> Result<(Programs, Self), String> {
        let mut embedded = Self { unpacked: Unpacked::of(PACKED), open: None };
        let programs = embedded.file().unwrap_or_else(|| Err("catalogues/programs.toml is not there".into()))?;
        Ok((Programs::new(programs), embedded))
    }

    /// The next rule of the catalogue that was read last.
    pub(crate) fn rule(&mut self) -> Option<Result<Rule, String>> {
        let name = self.open.take()?;
        let line = self.unpacked.line().filter(|line| !line.is_empty())?;
        let rule = parse(&name, &line);
        self.open = Some(name);
        Some(rule)
    }

    /// What the next file holds, beside its rules.
    fn file<T: DeserializeOwned>(&mut self) -> Option<Result<T, String>> {
        while self.open.is_some() {
            self.rule();
        }
        let line = self.unpacked.line()?;
        let (name, json) = line.split_once('\t').unwrap_or_default();
        self.open = Some(name.to_owned());
        Some(parse(name, json))
    }
}

/// By way of a value, as the config comes: so the code that reads a rule is there once, and not twice.
fn parse<T: DeserializeOwned>(name: &str, json: &str) -> Result<T, String> {
    let value = serde_json::from_str::<Value>(json).and_then(T::deserialize);
    value.map_err(|error| format!("catalogues/{name}.toml: {error}"))
}

impl Iterator for Embedded {
    type Item = Result<Catalogue, String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.file()
    }
}

/// What `build.rs` packed: a byte of ASCII is literal; others say how many bytes are repeated, and from how far back. Of `10LLLDDD` the
/// next byte has the rest of the distance, of `11LLLLLL` the next two have all of it.
struct Unpacked<'a> {
    packed: std::slice::Iter<'a, u8>,
    /// What was unpacked last, as far as it may be repeated.
    text: Vec<u8>,
}

impl<'a> Unpacked<'a> {
    /// Minimum length of a part of either kind, and the maximum distance to its start, in bytes, as in `build.rs`.
    const MIN_NEAR: usize = 3;
    const MIN_FAR: usize = 4;
    const MAX_DISTANCE: usize = 16 * 1024;

    fn of(packed: &'a [u8]) -> Self {
        Self { packed: packed.iter(), text: Vec::new() }
    }

    /// The next line.
    fn line(&mut self) -> Option<String> {
        let far = self.text.len().saturating_sub(Self::MAX_DISTANCE);
        self.text.drain(..far);
        let begin = self.text.len();
        while self.text.last() != Some(&b'\n') || self.text.len() == begin {
            let byte = self.packed.next()?;
            if byte.is_ascii() {
                self.text.push(*byte);
                continue;
            }
            let (kind, low) = (usize::from(*byte), usize::from(*self.packed.next()?));
            let (length, distance) = if kind < 0xC0 {
                ((kind >> 3 & 0x07) + Self::MIN_NEAR, (kind & 0x07) << 8 | low)
            } else {
                ((kind & 0x3F) + Self::MIN_FAR, usize::from(*self.packed.next()?) << 8 | low)
            };
            let from = self.text.len().saturating_sub(distance);
            let to = from + length;
            // All at once where it is all there: most of the text is unpacked so.
            if to <= self.text.len() {
                self.text.extend_from_within(from..to);
                continue;
            }
            for at in from..to {
                self.text.extend(self.text.get(at).copied());
            }
        }
        let line = self.text[begin..].strip_suffix(b"\n").unwrap_or_default();
        String::from_utf8(line.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKED, Unpacked};
    use crate::rules::pattern::build;
    use std::collections::BTreeMap;

    #[test]
    fn each_file_of_the_directory_is_there_and_unharmed() {
        let mut unpacked = Unpacked::of(PACKED);
        let mut embedded = BTreeMap::new();
        while let Some(line) = unpacked.line() {
            let (name, json) = line.split_once('\t').unwrap();
            let mut file: serde_json::Value = serde_json::from_str(json).unwrap();
            let rules = std::iter::from_fn(|| unpacked.line().filter(|line| !line.is_empty()));
            let rules: Vec<serde_json::Value> = rules.map(|line| serde_json::from_str(&line).unwrap()).collect();
            if name != "programs" {
                file["rule"] = rules.into();
            }
            embedded.insert(name.to_owned(), file);
        }
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let written: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let mut written = serde_json::to_value(written).unwrap();
            let rules = written.get_mut("rule").and_then(serde_json::Value::as_array_mut);
            rules.into_iter().flatten().try_for_each(build::told).unwrap();
            assert_eq!(embedded.remove(name), Some(written), "{name}");
        }
        assert!(embedded.is_empty(), "{embedded:?}");
    }

    #[test]
    fn what_is_cut_off_is_not_a_line() {
        assert_eq!(Unpacked::of(b"ab").line(), None);
        assert_eq!(Unpacked::of(b"abcd\xC0\x04").line(), None);
        assert_eq!(Unpacked::of(b"abcd\x80").line(), None);
        assert_eq!(Unpacked::of(b"abcd\xC0\x04\0\n").line().unwrap(), "abcdabcd");
        assert_eq!(Unpacked::of(b"abcd\x88\x04\n").line().unwrap(), "abcdabcd");
        assert_eq!(Unpacked::of(b"abc\x80\x03d\x80\x07\n").line().unwrap(), "abcabcdabc");
    }
}
