//! The catalogues that are part of the plugin. The build makes JSON of `catalogues/*.toml` and packs it: rules repeat each other,
//! and the component is to stay small.

use super::Catalogue;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Each catalogue, in the order in which rules of equal priority are asked.
const CATALOGUES: [&str; 17] = [
    "floor",
    "universal",
    "rust",
    "python",
    "typescript",
    "swift",
    "sql",
    "harn",
    "shell",
    "git",
    "docker",
    "kubernetes",
    "cloud",
    "databases",
    "packages",
    "secrets",
    "machine",
];

/// All files, unpacked: a line each, its name and behind a tab its JSON.
pub(crate) struct Embedded(String);

impl Embedded {
    pub(crate) fn unpacked() -> Self {
        Self(unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/catalogues.packed"))))
    }

    /// What a file holds. By way of a value, as the config comes: so the code that reads a rule is there once, and not twice.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        let json = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t')).unwrap_or_default();
        let value = serde_json::from_str::<Value>(json).and_then(T::deserialize);
        value.map_err(|error| format!("catalogues/{name}.toml: {error}"))
    }

    /// All catalogues, in order.
    pub(crate) fn catalogues(&self) -> Result<Vec<Catalogue>, String> {
        CATALOGUES.iter().map(|name| self.read(name)).collect()
    }
}

/// What `build.rs` packed: a byte of ASCII stands for itself; one above says how many bytes are repeated, and the next two from
/// how far back.
fn unpacked(packed: &[u8]) -> String {
    /// The fewest bytes that are repeated.
    const FEWEST: usize = 4;
    let mut text: Vec<u8> = Vec::new();
    let mut bytes = packed.iter();
    while let Some(byte) = bytes.next() {
        if byte.is_ascii() {
            text.push(*byte);
            continue;
        }
        let (Some(low), Some(high)) = (bytes.next(), bytes.next()) else { break };
        let from = text.len().saturating_sub(usize::from(u16::from_le_bytes([*low, *high])));
        for at in from..from + usize::from(byte & 0x7F) + FEWEST {
            text.extend(text.get(at).copied());
        }
    }
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{CATALOGUES, Embedded};

    #[test]
    fn each_file_of_the_folder_is_there_and_unharmed() {
        let embedded = Embedded::unpacked();
        let mut count = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(name == "programs" || CATALOGUES.contains(&name), "{name} is not asked");
            let written: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let read: serde_json::Value = embedded.read(name).unwrap();
            assert_eq!(read, serde_json::to_value(written).unwrap(), "{name}");
            count += 1;
        }
        assert_eq!(count, CATALOGUES.len() + 1);
    }
}
