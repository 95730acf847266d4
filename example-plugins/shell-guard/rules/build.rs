//! Reads and packs the catalogues, so that the component needs no TOML parser.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

#[path = "build/compact.rs"]
mod compact;
#[path = "build/members.rs"]
mod members;
#[path = "build/patterns.rs"]
mod patterns;

/// The files in `catalogues/`: the known programs first, then the catalogues in the order in which rules of equal priority are checked.
const FILES: [&str; 26] = [
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
    "files",
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
    "statements",
    "general",
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

/// Writes all files as one packed text. Each file has a line with its name, a tab and the members beside its rules, then a line for each
/// rule and an empty line. The component contains no examples, which are only for tests and docs.
fn catalogues(is_guest: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = Vec::new();
    let mut counts = (0, 0);
    for name in FILES {
        let path = Path::new("catalogues").join(name).with_extension("toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut catalogue: serde_json::Value =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let rules = catalogue.get_mut("rule").and_then(serde_json::Value::as_array_mut).map(std::mem::take);
        lines.extend(format!("{name}\t").bytes());
        let members: &[&str] = if name == FILES[0] { &members::PROGRAMS } else { &members::CATALOGUE };
        lines.extend(written(&path, members, &catalogue)?);
        for mut rule in rules.unwrap_or_default() {
            counts.0 += 1;
            counts.1 += rule.get("match").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
            if let Some(rule) = rule.as_object_mut().filter(|_| is_guest) {
                rule.remove("catches");
                rule.remove("leaves");
            }
            patterns::told(&mut rule).map_err(|error| format!("{}: rule {}: {error}", path.display(), rule["id"]))?;
            lines.extend(written(&path, &members::RULE, &rule)?);
        }
        lines.push(b'\n');
    }
    let out = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("catalogues.packed"), packed(&lines))?;
    let longest = lines.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
    fs::write(Path::new(&out).join("counts.rs"), format!("({}, {}, {longest})", counts.0, counts.1))?;
    Ok(())
}

/// Returns a table as a line.
fn written(path: &Path, members: &[&str], table: &serde_json::Value) -> Result<Vec<u8>, String> {
    let table = table.as_object().ok_or("a catalogue is a table")?;
    let mut line = compact::table(members, table).map_err(|error| format!("{}: {error}", path.display()))?;
    line.push(b'\n');
    Ok(line)
}

/// Packs a text for `src/rules/embedded.rs`. A part that occurred before is replaced by its length and distance. Of all possible ways this
/// finds the shortest, by working from the end: for each position, the best first step.
fn packed(text: &[u8]) -> Vec<u8> {
    let parts = longest_parts(text);
    let mut sizes = vec![0; text.len() + 1];
    let mut steps = vec![Step::Byte; text.len()];
    for at in (0..text.len()).rev() {
        let [near, far] = parts[at];
        let near = (MIN_NEAR..=near.length).map(|length| Step::Near(Part { length, ..near }));
        let far = (MIN_FAR..=far.length).map(|length| Step::Far(Part { length, ..far }));
        let all = [Step::Byte].into_iter().chain(near).chain(far);
        let size = |step: &Step| sizes[at + step.length()] + step.size();
        if let Some(best) = all.min_by_key(size) {
            (sizes[at], steps[at]) = (size(&best), best);
        }
    }
    let mut out = Vec::with_capacity(sizes[0]);
    let mut at = 0;
    while at < text.len() {
        let byte = |number: usize| u8::try_from(number & 0xFF).unwrap_or(0);
        match &steps[at] {
            Step::Byte => out.push(text[at]),
            Step::Near(Part { length, distance }) => {
                out.extend([0x80 | byte((length - MIN_NEAR) << 3 | distance >> 8), byte(*distance)]);
            }
            Step::Far(Part { length, distance }) => {
                out.extend([0xC0 | byte(length - MIN_FAR), byte(*distance), byte(distance >> 8)]);
            }
        }
        at += steps[at].length();
    }
    out
}

/// Minimum and maximum length of a part that needs two bytes, and the maximum distance to its start. The same for three bytes.
const MIN_NEAR: usize = 3;
const MAX_NEAR: usize = MIN_NEAR + 0x07;
const NEAR: usize = 0x7FF;
const MIN_FAR: usize = 4;
const MAX_FAR: usize = MIN_FAR + 0x3F;
const FAR: usize = 0xFFFF;

/// A part that occurred before.
#[derive(Clone, Copy, Default)]
struct Part {
    length: usize,
    distance: usize,
}

/// A step of the output.
#[derive(Clone)]
enum Step {
    Byte,
    Near(Part),
    Far(Part),
}

impl Step {
    /// Returns the number of bytes after unpacking.
    fn length(&self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Near(part) | Self::Far(part) => part.length,
        }
    }

    /// Returns the number of packed bytes.
    fn size(&self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Near(_) => 2,
            Self::Far(_) => 3,
        }
    }
}

/// Returns, for each position, the longest part that occurred before: within the near distance, and at all.
fn longest_parts(text: &[u8]) -> Vec<[Part; 2]> {
    /// Maximum number of earlier positions that are searched, the latest first.
    const MAX_PLACES: usize = 400;
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut parts = Vec::with_capacity(text.len());
    for at in 0..text.len() {
        let mut longest = [Part::default(); 2];
        if let Some(key) = text.get(at..at + MIN_NEAR).filter(|key| !key.contains(&b'\n')) {
            let known = places.entry(key).or_default();
            for place in known.iter().rev().take(MAX_PLACES).take_while(|place| at - **place <= FAR) {
                let same = text[*place..].iter().zip(&text[at..]).take(MAX_FAR);
                let part =
                    Part { length: same.take_while(|(a, b)| a == b && **b != b'\n').count(), distance: at - place };
                if part.distance <= NEAR && part.length > longest[0].length {
                    longest[0] = Part { length: part.length.min(MAX_NEAR), ..part };
                }
                if part.length > longest[1].length {
                    longest[1] = part;
                }
            }
            known.push(at);
        }
        parts.push(longest);
    }
    parts
}
