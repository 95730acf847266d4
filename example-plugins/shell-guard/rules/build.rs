//! Reads the catalogues, so that the component needs no TOML parser, and packs them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

#[path = "build/patterns.rs"]
mod patterns;

/// The files of `catalogues/`: what is known of programs, and then each catalogue, in the order in which rules of equal priority
/// are asked.
const FILES: [&str; 23] = [
    "programs",
    "floor",
    "self-defence",
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
    "services",
    "fleet",
    "windows",
    "powershell",
    "packages",
    "secrets",
    "machine",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=catalogues");
    let is_guest = std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32"));
    if let Err(error) = catalogues(is_guest) {
        println!("cargo::error={error}");
    }
}

/// Writes all files as one packed text. Each has a line with its name and, after a tab, its JSON without the rules, a
/// line with the JSON of each rule, and an empty line. The examples are for tests and docs, and left out of the component.
fn catalogues(is_guest: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = String::new();
    for name in FILES {
        let path = Path::new("catalogues").join(name).with_extension("toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut catalogue: serde_json::Value =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let rules = catalogue.get_mut("rule").and_then(serde_json::Value::as_array_mut).map(std::mem::take);
        lines += &format!("{name}\t{}\n", ascii(&serde_json::to_string(&catalogue)?));
        for mut rule in rules.unwrap_or_default() {
            if let Some(rule) = rule.as_object_mut().filter(|_| is_guest) {
                rule.remove("catches");
                rule.remove("leaves");
            }
            patterns::told(&mut rule).map_err(|error| format!("{}: rule {}: {error}", path.display(), rule["id"]))?;
            lines += &format!("{}\n", ascii(&serde_json::to_string(&rule)?));
        }
        lines += "\n";
    }
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("catalogues.packed"), packed(lines.as_bytes()))?;
    Ok(())
}

/// JSON in which all characters outside of ASCII, which only occur in its texts, are escaped.
fn ascii(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .map(|c| match c {
            c if c.is_ascii() => c.to_string(),
            c => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        })
        .collect()
}

/// What `src/rules/embedded.rs` unpacks: the longest part of a line that was there before is named by its length and its distance.
fn packed(text: &[u8]) -> Vec<u8> {
    const MIN_REPEATED: usize = 4;
    const MAX_COMMON: usize = MIN_REPEATED + 0x7F;
    /// Maximum distance, in bytes, to the start of a repeated part.
    const MAX_DISTANCE: usize = 16 * 1024;
    /// Maximum number of places, the latest first, at which a longer part is searched for.
    const MAX_PLACES: usize = 200;
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let found =
            rest.get(..MIN_REPEATED).and_then(|key| places.get(key)).into_iter().flatten().rev().take(MAX_PLACES);
        let length = |place: &usize| {
            text[*place..].iter().zip(rest).take(MAX_COMMON).take_while(|(a, b)| a == b && **b != b'\n').count()
        };
        let near = found.filter(|place| at - **place <= MAX_DISTANCE);
        let step = match near.map(|place| (length(place), at - place)).max_by_key(|(length, _)| *length) {
            Some((length, distance)) if length >= MIN_REPEATED => {
                out.push(0x80 | u8::try_from(length - MIN_REPEATED).unwrap_or(0));
                out.extend(u16::try_from(distance).unwrap_or(0).to_le_bytes());
                length
            }
            _ => {
                out.push(text[at]);
                1
            }
        };
        for place in at..at + step {
            if let Some(key) = text.get(place..place + MIN_REPEATED) {
                places.entry(key).or_default().push(place);
            }
        }
        at += step;
    }
    out
}
