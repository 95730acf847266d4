//! Reads the catalogues, so that the component needs no TOML parser.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=catalogues");
    let is_guest = std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32"));
    if let Err(error) = catalogues(is_guest) {
        println!("cargo::error={error}");
    }
}

/// Writes each catalogue as JSON. The examples are for tests and docs, and left out of the component.
fn catalogues(is_guest: bool) -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::var("OUT_DIR")?;
    for entry in fs::read_dir("catalogues")? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        let text = fs::read_to_string(&path)?;
        let mut catalogue: serde_json::Value =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        if name == "wrappers" {
            fs::write(Path::new(&out).join("wrappers.rs"), tables(&catalogue)?)?;
            continue;
        }
        let rules = catalogue.get_mut("rule").and_then(serde_json::Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(serde_json::Value::as_object_mut).filter(|_| is_guest) {
            rule.remove("catches");
            rule.remove("leaves");
        }
        fs::write(Path::new(&out).join(format!("{name}.json")), serde_json::to_string(&catalogue)?)?;
    }
    Ok(())
}

/// `catalogues/wrappers.toml` as tables: nothing of it needs to be read when the plugin starts.
fn tables(file: &serde_json::Value) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    for (name, words) in file.as_object().into_iter().flatten().filter(|(_, words)| words[0].is_string()) {
        text += &format!("pub(super) static {}: &[&str] = &{words};\n", name.to_ascii_uppercase());
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
                (_, serde_json::Value::Array(_)) => text += &format!("{key}: &{value}, "),
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

fn capital(name: &str) -> String {
    name.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }).collect()
}
