//! The catalogues that are part of the plugin. The build script writes `catalogues/*.toml` in a compact form and packs them, because rules
//! repeat each other and the component should be small.

use super::compact::{Compact, Input};
use super::programs::Programs;
use super::{Catalogue, Rule};

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogues.packed"));
/// The number of rules, the number of matches, and the length of the longest line in bytes.
const COUNTS: (usize, usize, usize) = include!(concat!(env!("OUT_DIR"), "/counts.rs"));

/// An iterator over all catalogues, without their rules, in the order of `build.rs`. Each rule is read on demand, because memory used
/// during configuration stays in the image that each event starts from.
pub(crate) struct Embedded {
    unpacked: Unpacked<'static>,
    /// The file whose rules are not all read.
    open: Option<String>,
}

impl Embedded {
    /// The number of rules; `MATCHES` is that of matches. A list with the right capacity from the start leaves no unused room in a guest's
    /// memory.
    pub(crate) const RULES: usize = COUNTS.0;
    pub(crate) const MATCHES: usize = COUNTS.1;

    /// Returns the known programs and the catalogues.
    pub(crate) fn read() -> Result<(Programs, Self), String> {
        let mut embedded = Self { unpacked: Unpacked::of(PACKED), open: None };
        let programs = embedded.file().unwrap_or_else(|| Err("catalogues/programs.toml is not there".into()))?;
        Ok((Programs::new(programs), embedded))
    }

    /// Returns the next rule of the catalogue that was read last.
    pub(crate) fn rule(&mut self) -> Option<Result<Rule, String>> {
        let name = self.open.take()?;
        let line = self.unpacked.line().filter(|line| !line.is_empty())?;
        let rule = read(&name, &line);
        self.open = Some(name);
        Some(rule)
    }

    /// Reads the next file without its rules. Skips unread rules of the previous file.
    fn file<T: Compact>(&mut self) -> Option<Result<T, String>> {
        while self.open.is_some() {
            self.rule();
        }
        let line = self.unpacked.line()?;
        let mut halves = line.splitn(2, |byte| *byte == b'\t');
        let name = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
        let file = read(&name, halves.next().unwrap_or_default());
        self.open = Some(name);
        Some(file)
    }
}

fn read<T: Compact>(name: &str, bytes: &[u8]) -> Result<T, String> {
    T::read(&mut Input::new(bytes)).ok_or_else(|| format!("catalogues/{name}.toml is not as the build writes it"))
}

impl Iterator for Embedded {
    type Item = Result<Catalogue, String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.file()
    }
}

/// Unpacks the output of `build.rs`. An ASCII byte is literal. Other bytes give the length and the distance of a repeated part: after
/// `10LLLDDD`, one byte has the rest of the distance; after `11LLLLLL`, two bytes have all of it.
struct Unpacked<'a> {
    packed: std::slice::Iter<'a, u8>,
    /// The unpacked text, as far back as a part may refer.
    text: Vec<u8>,
}

impl<'a> Unpacked<'a> {
    /// Minimum lengths of near and far parts, and maximum distance to the start of a part, in bytes, as in `build.rs`.
    const MIN_NEAR: usize = 3;
    const MIN_FAR: usize = 4;
    const MAX_DISTANCE: usize = 0xFFFF;

    fn of(packed: &'a [u8]) -> Self {
        Self { packed: packed.iter(), text: Vec::with_capacity(Self::MAX_DISTANCE + COUNTS.2) }
    }

    /// Returns the next line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let far = self.text.len().saturating_sub(Self::MAX_DISTANCE);
        self.text.drain(..far);
        let begin = self.text.len();
        loop {
            let byte = *self.packed.next()?;
            if byte.is_ascii() {
                self.text.push(byte);
                // A repeated part never contains a line end.
                if byte == b'\n' {
                    break;
                }
                continue;
            }
            let (kind, low) = (usize::from(byte), usize::from(*self.packed.next()?));
            let (length, distance) = if kind < 0xC0 {
                ((kind >> 3 & 0x07) + Self::MIN_NEAR, (kind & 0x07) << 8 | low)
            } else {
                ((kind & 0x3F) + Self::MIN_FAR, usize::from(*self.packed.next()?) << 8 | low)
            };
            let from = self.text.len().saturating_sub(distance);
            let to = from + length;
            // Copy in one step if the whole part exists. This covers most of the text.
            if to <= self.text.len() {
                self.text.extend_from_within(from..to);
                continue;
            }
            for at in from..to {
                self.text.extend(self.text.get(at).copied());
            }
        }
        Some(self.text[begin..].strip_suffix(b"\n").unwrap_or_default().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::{Embedded, Unpacked, read};
    use crate::rules::compact::{encode, members};
    use crate::rules::pattern::build;
    use crate::rules::{Catalogue, Rule};
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    /// A catalogue's file, as the config would give it.
    fn file_of(name: &str) -> Value {
        let path = format!("{}/catalogues/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn each_file_of_the_directory_is_there_and_unharmed() {
        let mut embedded = Embedded::read().unwrap().1;
        let mut seen = BTreeSet::from(["programs".to_owned()]);
        while let Some(catalogue) = embedded.next() {
            let name = embedded.open.clone().unwrap();
            let mut file = file_of(&name);
            let rules = std::mem::replace(&mut file["rule"], json!([]));
            let as_written = Catalogue::given(file).unwrap();
            assert_eq!(format!("{:?}", catalogue.unwrap()), format!("{as_written:?}"), "{name}");
            for rule in rules.as_array().unwrap() {
                let as_written = Rule::given(rule.clone()).unwrap();
                let found = embedded.rule().unwrap().unwrap();
                // The patterns are told, and compared by the test below.
                assert_eq!(without_patterns(&format!("{found:?}")), without_patterns(&format!("{as_written:?}")));
            }
            assert!(embedded.rule().is_none(), "{name} has more rules");
            seen.insert(name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues")).unwrap();
        let files = files.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
        assert_eq!(files.collect::<BTreeSet<_>>(), seen);
    }

    /// What `Debug` prints of a rule, up to its first pattern and after the last one.
    fn without_patterns(debug: &str) -> String {
        let mut out = String::new();
        let mut rest = debug;
        while let Some(at) = rest.find("Some(Analysed ") {
            out.push_str(&rest[..at]);
            out.push_str("Some(…)");
            rest = &rest[at + closed(&rest[at..])..];
        }
        out + rest
    }

    /// The length of what begins with a text up to a bracket and ends with the bracket's partner; quoted brackets do not count.
    fn closed(text: &str) -> usize {
        let (mut depth, mut quoted, mut escaped) = (0, false, false);
        for (at, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                '(' if !quoted => depth += 1,
                ')' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        text.len()
    }

    #[test]
    fn a_rule_is_read_as_it_is_written() {
        let mut rule = json!({
            "id": "a.b", "severity": "info", "priority": -5, "action": "ask", "labels": ["x"], "references": [],
            "explanation": "Ende mit Ü,\n\ttab \u{7f} and \u{1f600}.",
            "match": [{ "program": ["x"], "min-operands": 12, "no-document": true, "unnamed": false, "word": "^(a|b)$" }],
            "rewrite": { "append": ["--y"], "only-shown": true },
        });
        let as_written = Rule::given(rule.clone()).unwrap();
        build::told(&mut rule).unwrap();
        let bytes = encode::table(&members::RULE, rule.as_object().unwrap()).unwrap();
        assert!(bytes.iter().all(u8::is_ascii) && !bytes.contains(&b'\n'));
        let found: Rule = read("x", &bytes).unwrap();
        assert_eq!(without_patterns(&format!("{found:?}")), without_patterns(&format!("{as_written:?}")));
        assert!(format!("{found:?}").contains("at: Whole"), "{found:?}");
        for end in 0..bytes.len() {
            assert!(read::<Rule>("x", &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn what_has_no_place_in_a_table_fails_the_build() {
        let table = |value: Value| encode::table(&members::RULE, value.as_object().unwrap()).unwrap_err();
        assert!(table(json!({ "idd": "x" })).starts_with("unknown field `idd`, expected one of `id`, `severity`"));
        assert_eq!(table(json!({ "id": null })), "`id` = null cannot be written");
    }

    #[test]
    fn what_is_cut_off_is_not_a_line() {
        assert_eq!(Unpacked::of(b"ab").line(), None);
        assert_eq!(Unpacked::of(b"abcd\xC0\x04").line(), None);
        assert_eq!(Unpacked::of(b"abcd\x80").line(), None);
        assert_eq!(Unpacked::of(b"abcd\xC0\x04\0\n").line().unwrap(), b"abcdabcd");
        assert_eq!(Unpacked::of(b"abcd\x88\x04\n").line().unwrap(), b"abcdabcd");
        assert_eq!(Unpacked::of(b"abc\x80\x03d\x80\x07\n").line().unwrap(), b"abcabcdabc");
    }
}
