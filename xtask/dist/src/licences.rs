//! The licences of the crates in the programs, which most licences want to accompany a program.

use crate::{
    Outcome,
    release::{Release, output},
    sbom::Packages,
    tree::Target,
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Returns the texts of all licences. Crates with the same text share it.
pub(crate) fn texts(release: &Release, target: &Target, packages: &Packages) -> Outcome<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&release.root).args(["metadata", "--locked", "--format-version", "1"]);
    let metadata = output(cargo.args(["--filter-platform", &target.triple]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        let is_ours = package["source"].is_null();
        if is_ours || !packages.crates.iter().any(|found| found.name == name && found.version == version) {
            continue;
        }
        let directory = Path::new(text("manifest_path")).parent().unwrap_or(Path::new("."));
        let files = files(directory);
        for file in &files {
            texts.entry(file.clone()).or_default().push(format!("{name} {version}"));
        }
        if files.is_empty() {
            let named = format!("The crate names its licence only: {}\n", text("license"));
            texts.entry(named).or_default().push(format!("{name} {version}"));
        }
    }
    let mut sections: Vec<String> = texts
        .into_iter()
        .map(|(text, mut crates)| {
            crates.sort();
            format!("{}\n\n{}\n", crates.join(", "), text.trim_end())
        })
        .collect();
    sections.sort();
    Ok(sections.join(&format!("\n{}\n\n", "-".repeat(80))))
}

/// Returns the contents of the licence files of a crate, in the order of their names.
fn files(directory: &Path) -> Vec<String> {
    let is_licence = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|start| name.starts_with(start))
    };
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<_> =
        entries.filter(|entry| is_licence(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| fs::read(path).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect()
}
