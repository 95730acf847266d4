//! Reads the catalogues and writes them in the postcard format. Therefore the component needs no TOML parser.

use std::error::Error;
use std::fs;
use std::path::Path;

use schema::{Alternative, Catalogue, ProgramFile, Rule, Totals};
use serde::{Deserialize, Serialize};

#[path = "build/analysis.rs"]
mod analysis;
#[expect(dead_code, reason = "the library uses the rest")]
#[path = "src/rules/schema.rs"]
mod schema;
#[path = "src/rules/text.rs"]
mod text;
#[expect(dead_code, reason = "the library uses the rest")]
#[path = "src/rules/words.rs"]
mod words;

use analysis::{expression, patterns};

/// The files in `catalogues/`. The first file lists the known programs. The other files are the catalogues, in the order in which rules of
/// equal priority are checked.
const FILES: [&str; 27] = [
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
    "reads",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=catalogues");
    for name in ["schema", "text", "words"] {
        println!("cargo::rerun-if-changed=src/rules/{name}.rs");
    }
    let is_guest = std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32"));
    if let Err(error) = catalogues(is_guest) {
        println!("cargo::error={error}");
    }
}

/// Writes the known programs into one file, and the totals and the catalogues into another file. A component that uses only the programs
/// then does not contain the catalogues. A catalogue is written as its fields, the number of its rules, and the rules. For a component, the
/// examples are left out, because only tests and docs need them.
fn catalogues(is_guest: bool) -> Result<(), Box<dyn Error>> {
    let mut totals = Totals::default();
    let mut bytes = Vec::new();
    for name in FILES {
        let path = Path::new("catalogues").join(name).with_extension("toml");
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let file: serde_json::Value = toml::from_str(&text).map_err(|error| wrong(&error))?;
        if name == FILES[0] {
            let programs = ProgramFile::deserialize(file).map_err(|error| wrong(&error))?;
            write("programs.postcard", postcard::to_stdvec(&programs)?)?;
            continue;
        }
        let mut catalogue = Catalogue::deserialize(file).map_err(|error| wrong(&error))?;
        let rules = std::mem::take(&mut catalogue.rules);
        put(&mut bytes, &(catalogue, rules.len()))?;
        for mut rule in rules {
            totals.rules += 1;
            totals.matches += rule.matches.len();
            check(&mut rule).map_err(|error| wrong(&format!("rule {}: {error}", rule.id)))?;
            if is_guest {
                (rule.catches, rule.leaves) = (Vec::new(), Vec::new());
            }
            put(&mut bytes, &rule)?;
        }
    }
    let mut file = postcard::to_stdvec(&totals)?;
    file.append(&mut bytes);
    write("catalogues.postcard", file)
}

fn write(name: &str, bytes: Vec<u8>) -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    Ok(fs::write(Path::new(&out).join(name), bytes)?)
}

fn put(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), postcard::Error> {
    bytes.append(&mut postcard::to_stdvec(value)?);
    Ok(())
}

/// Compiles the patterns of a rule in order to report an invalid pattern, because the plugin would not report it.
fn check(rule: &mut Rule) -> Result<(), String> {
    let of_matches = rule.matches.iter_mut().flat_map(|one| patterns(one));
    let expressions = rule.pattern.iter_mut().map(|pattern| &mut **pattern).chain(of_matches);
    for alternative in expressions.flat_map(|expression| &expression.0) {
        if let Alternative::Search { source, .. } = alternative
            && let Err(error) = regex_lite::Regex::new(source)
        {
            return Err(format!("`{source}` is no pattern: {error}"));
        }
    }
    Ok(())
}
