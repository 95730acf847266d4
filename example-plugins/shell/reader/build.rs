//! Generates tables from `wrappers.toml` and `guarded.toml`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=wrappers.toml");
    println!("cargo::rerun-if-changed=guarded.toml");
    if let Err(error) = write() {
        println!("cargo::error={error}");
    }
}

/// Writes both files as Rust tables, so that the plugin parses nothing when it starts.
fn write() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    let write =
        |name: &str, made: fn(&serde_json::Value) -> Result<String, Box<dyn Error>>| -> Result<(), Box<dyn Error>> {
            let text = fs::read_to_string(format!("{name}.toml"))?;
            let file = toml::from_str(&text).map_err(|error| format!("{name}.toml: {error}"))?;
            let tables = made(&file).map_err(|error| format!("{name}.toml: {error}"))?;
            Ok(fs::write(Path::new(&out).join(format!("{name}.rs")), tables)?)
        };
    write("wrappers", tables)?;
    write("guarded", guarded)
}

/// Returns the table of guarded files, sorted by first component, and the table of variables.
fn guarded(file: &serde_json::Value) -> Result<String, Box<dyn Error>> {
    let owners = file["owner"].as_array().ok_or("there is no `owner`")?;
    let mut files = Vec::new();
    let mut variables = Vec::new();
    for owner in owners {
        let name = owner["name"].as_str().ok_or("an owner has no `name`")?;
        let keys = [
            ("files", "Anywhere", "Always"),
            ("in-home", "InHome", "Always"),
            ("alone", "Never", "Always"),
            ("outside", "Never", "Outside"),
            ("variables-in", "Never", "Names"),
        ];
        for (key, above, when) in keys {
            let paths = owner.get(key).and_then(serde_json::Value::as_array).into_iter().flatten();
            for path in paths.filter_map(serde_json::Value::as_str) {
                let lower = path.to_ascii_lowercase();
                let base = lower.strip_suffix("/**").unwrap_or(&lower);
                let rooted = base.starts_with('/') || base.get(1..2) == Some(":");
                let parts: Vec<&str> = base.trim_start_matches('/').split('/').collect();
                if parts.iter().any(|part| part.is_empty() || part.contains("**") || part.len() > 62)
                    || parts[0].contains('*')
                {
                    return Err(format!(
                        "`{path}` of {name} is no row of names, of 62 bytes at most each, that begins with a known one"
                    )
                    .into());
                }
                files.push((parts[0].to_owned(), format!(
                    "    Guarded {{ owner: {name:?}, path: {path:?}, parts: &{parts:?}, rooted: {rooted}, tree: {}, above: Above::{above}, when: When::{when} }},\n",
                    base != lower
                )));
            }
        }
        for (variable, directory) in owner.get("variables").and_then(serde_json::Value::as_object).into_iter().flatten()
        {
            variables.push(format!("    ({variable:?}, {directory}),\n"));
        }
    }
    files.sort();
    let first = |name: &str| name.bytes().next().map_or(0, |byte| 1 << (byte.to_ascii_lowercase() % 32));
    let firsts = files.iter().map(|(name, _)| first(name)).fold(0_u32, |all, one| all | one);
    let text =
        format!("static GUARDED: &[Guarded] = &[\n{}];\n", files.into_iter().map(|(_, line)| line).collect::<String>());
    // Sets one bit for each byte with which the first component of a path in the table begins.
    let text = text + &format!("const FIRST_BYTES: u32 = {firsts:#x};\n");
    Ok(text + &format!("static VARIABLES: &[(&str, &str)] = &[\n{}];\n", variables.concat()))
}

fn tables(file: &serde_json::Value) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for (name, words) in file.as_object().into_iter().flatten().filter(|(_, words)| words[0].is_string()) {
        // Sorted by the first word, because lookups use it.
        let mut words = words.clone();
        if let Some(words) = words.as_array_mut() {
            words.sort_by_key(|item| item.as_str().map(|item| item.replace(' ', "\0")));
        }
        text += &format!("pub(super) static {}: List = {};\n", name.to_ascii_uppercase(), list(&words)?);
    }
    let wrappers = file["wrapper"].as_array().ok_or("wrappers.toml has no `wrapper`")?;
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    text += "static WRAPPERS: &[Wrapper] = &[\n";
    for (at, wrapper) in wrappers.iter().enumerate() {
        text += "    Wrapper { ";
        for (key, value) in wrapper.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("names", serde_json::Value::Array(all)) => {
                    for name in all.iter().filter_map(serde_json::Value::as_str) {
                        names.entry(name).or_default().push(at);
                    }
                }
                (_, serde_json::Value::Array(_)) => text += &format!("{key}: {}, ", list(value)?),
                ("runs", serde_json::Value::String(name)) => text += &format!("runs: Runs::{}, ", capital(name)),
                ("elsewhere", serde_json::Value::String(name)) => {
                    text += &format!("location: Location::{}, ", capital(name));
                }
                _ => text += &format!("{key}: {value}, "),
            }
        }
        text += "..NOTHING },\n";
    }
    text += "];\nstatic NAMES: &[(&str, &[u8])] = &[\n";
    for (name, wrappers) in names {
        text += &format!("    ({name:?}, &{wrappers:?}),\n");
    }
    Ok(text + "];\n")
}

/// Returns a list of words, one per line.
fn list(words: &serde_json::Value) -> Result<String, Box<dyn Error>> {
    let words: Vec<&str> = words.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    match words.iter().find(|word| word.is_empty() || word.contains('\n')) {
        Some(word) => Err(format!("{word:?} is no word of a list").into()),
        None => Ok(format!("List({:?})", words.join("\n"))),
    }
}

fn capital(name: &str) -> String {
    name.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }).collect()
}
