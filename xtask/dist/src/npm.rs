//! The npm packages. All have one name: the launcher is a version such as 0.2.0, and the programs of a platform are a version such as
//! 0.2.0-linux-x64, which the launcher depends on under another name. So one name needs an owner and a trusted publisher. No package has a
//! script that runs at its installation.

use crate::{
    Outcome,
    archive::{Archive, gzip},
    release::{DESCRIPTION, HOMEPAGE, LICENCE, Release},
    tree::{Target, Tree},
};
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use std::{io::Read as _, path::Path};

/// The platforms of a release, in the words of Node.js.
pub(crate) const PLATFORMS: [(&str, &str); 4] =
    [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64")];

const LAUNCHER: &str = include_str!("launcher.js");

/// Writes the package with the programs for a platform.
pub(crate) fn platform(release: &Release, target: &Target, tree: &Tree) -> Outcome {
    let (os, cpu) = target.node();
    let mut manifest = manifest(&format!("{}-{os}-{cpu}", release.version));
    manifest.insert("os".into(), json!([os]));
    manifest.insert("cpu".into(), json!([cpu]));
    let mut archive = Archive::new(release.epoch);
    archive.file("package/package.json", 0o644, &text(&manifest))?;
    for file in tree.programs().chain(tree.documents()) {
        let name = file.path.strip_prefix("share/doc/hookhost/").unwrap_or(&file.path);
        archive.file(&format!("package/{name}"), file.mode(), &file.bytes)?;
    }
    release.write(&platform_name(release, os, cpu), &gzip(release, &archive.finish()?)?)
}

/// Writes the package that people install.
pub(crate) fn launcher(release: &Release) -> Outcome {
    let mut manifest = manifest(&release.version);
    manifest.insert("bin".into(), json!({ "hookhost": "launcher.js" }));
    let programs = PLATFORMS.map(|(os, cpu)| {
        (format!("hookhost-{os}-{cpu}"), json!(format!("npm:hookhost@{}-{os}-{cpu}", release.version)))
    });
    manifest.insert("optionalDependencies".into(), Value::Object(programs.into_iter().collect()));
    let mut archive = Archive::new(release.epoch);
    archive.file("package/package.json", 0o644, &text(&manifest))?;
    archive.file("package/launcher.js", 0o755, LAUNCHER.as_bytes())?;
    archive.file("package/README.md", 0o644, &crate::release::read(&release.root.join("README.md"))?)?;
    release.write(&format!("hookhost-npm-{}.tgz", release.version), &gzip(release, &archive.finish()?)?)
}

/// Returns the name of the package with the programs for a platform.
pub(crate) fn platform_name(release: &Release, os: &str, cpu: &str) -> String {
    format!("hookhost-npm-{}-{os}-{cpu}.tgz", release.version)
}

/// Returns a file of a package.
pub(crate) fn file(package: &[u8], path: &str) -> Option<Vec<u8>> {
    let mut archive = tar::Archive::new(GzDecoder::new(package));
    let mut entries = archive.entries().ok()?.filter_map(Result::ok);
    let path = Path::new("package").join(path);
    let mut entry = entries.find(|entry| entry.path().is_ok_and(|found| found == path))?;
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn manifest(version: &str) -> Map<String, Value> {
    let manifest = [
        ("name", json!("hookhost")),
        ("version", json!(version)),
        ("description", json!(DESCRIPTION)),
        ("license", json!(LICENCE)),
        ("homepage", json!(HOMEPAGE)),
        ("repository", json!({ "type": "git", "url": format!("git+{HOMEPAGE}.git") })),
        // Yarn must not keep a program inside a zip file.
        ("preferUnplugged", json!(true)),
        ("engines", json!({ "node": ">=18" })),
    ];
    manifest.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn text(manifest: &Map<String, Value>) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
    text.push(b'\n');
    text
}
