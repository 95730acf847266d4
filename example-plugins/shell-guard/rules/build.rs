//! Reads the catalogues, so that the component needs no TOML parser.

use std::fs;
use std::path::Path;

#[path = "build/wrappers.rs"]
mod wrappers;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=catalogues");
    println!("cargo::rerun-if-changed=wrappers.toml");
    let is_guest = std::env::var("TARGET").is_ok_and(|target| target.starts_with("wasm32"));
    if let Err(error) = catalogues(is_guest).and_then(|()| wrappers::write()) {
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
        let rules = catalogue.get_mut("rule").and_then(serde_json::Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(serde_json::Value::as_object_mut).filter(|_| is_guest) {
            rule.remove("catches");
            rule.remove("leaves");
        }
        fs::write(Path::new(&out).join(format!("{name}.json")), serde_json::to_string(&catalogue)?)?;
    }
    Ok(())
}
