//! Makes tables of `wrappers.toml`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=wrappers.toml");
    if let Err(error) = write() {
        println!("cargo::error={error}");
    }
}

/// Writes `wrappers.toml` as tables: nothing of it needs to be read when the plugin starts.
fn write() -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string("wrappers.toml")?;
    let file: serde_json::Value = toml::from_str(&text).map_err(|error| format!("wrappers.toml: {error}"))?;
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("wrappers.rs"), tables(&file)?)?;
    Ok(())
}

fn tables(file: &serde_json::Value) -> Result<String, Box<dyn Error>> {
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
