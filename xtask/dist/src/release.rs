//! What all packages of a release have in common.

use crate::Outcome;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) const DESCRIPTION: &str = "Runs your rules for LLM agents as sandboxed WebAssembly components";
pub(crate) const HOMEPAGE: &str = "https://github.com/hookhost/hookhost";
pub(crate) const LICENCE: &str = "MIT OR Apache-2.0";

/// A release: its version, and where its packages go.
pub(crate) struct Release {
    /// The repository.
    pub(crate) root: PathBuf,
    /// The directory of the packages.
    pub(crate) out: PathBuf,
    pub(crate) version: String,
    /// The time of each file in a package, in seconds since 1970. With the time of the build, two builds would differ.
    pub(crate) epoch: u64,
    /// The program `nfpm`.
    pub(crate) nfpm: PathBuf,
    /// Compresses little, for a check of the packers.
    pub(crate) quick: bool,
}

impl Release {
    /// Writes a package, and prints its size.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Outcome {
        let path = self.out.join(name);
        fs::create_dir_all(&self.out).and_then(|()| fs::write(&path, bytes)).map_err(|error| failed(&path, &error))?;
        println!("    {name:75} {:>6.2} MB", bytes.len() as f64 / 1e6);
        Ok(())
    }

    /// Returns the names of the packages that were written, sorted.
    pub(crate) fn names(&self) -> Outcome<Vec<String>> {
        let entries = fs::read_dir(&self.out).map_err(|error| failed(&self.out, &error))?;
        let files = entries.filter_map(Result::ok).filter(|entry| entry.path().is_file());
        let mut names: Vec<String> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the content of a package.
    pub(crate) fn read(&self, name: &str) -> Outcome<Vec<u8>> {
        read(&self.out.join(name))
    }
}

#[cfg(test)]
impl Release {
    /// Returns a release without packages, in a new directory of this name.
    pub(crate) fn empty(name: &str) -> Self {
        let out = std::env::temp_dir().join(format!("hookhost-dist-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Self { root, out, version: "0.2.0".to_owned(), epoch: 0, nfpm: PathBuf::new(), quick: true }
    }
}

#[cfg(test)]
impl Drop for Release {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.out);
    }
}

pub(crate) fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| failed(path, &error))
}

pub(crate) fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Runs a command and returns its standard output. The error contains what the command printed.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot start {shown}: {error}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    Err(format!("{shown} failed ({}): {stdout}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
