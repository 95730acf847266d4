//! Tests of the rules of the configuration: bad input, defaults, layers, trust, edits, rules and settings.

mod bad_input;
mod documents;
mod edits;
mod generated;
mod layers;
mod narrowing;
mod rules;
mod rules_section;
mod settings;
mod trust;
mod values;

use std::{fs, path::PathBuf};

use super::project_file::ProjectFile;
use super::trust::TrustStore;
use super::{Config, ConfigError, Layer, Source, UserDirectories};

/// A digest in the valid form.
const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Returns an entry with this name for the file `NAME.wasm`. The entry has four lines.
fn entry(name: &str) -> String {
    format!("[[plugin]]\nname = \"{name}\"\npath = \"{name}.wasm\"\nsha256 = \"{SHA256}\"\n")
}

/// Parses a text as the content of `/etc/hookhost.toml`.
fn parse(text: &str) -> Result<Config, ConfigError> {
    let source = Source { home: Some("/home/ada".into()), ..Source::new("/etc/hookhost.toml", Layer::Chosen) };
    Config::parse(text, &source, &["agent"])
}

/// A user and a project in a temporary directory.
struct World {
    root: tempfile::TempDir,
    places: UserDirectories,
    /// The project's directory, with symbolic links resolved, as messages show it.
    project: PathBuf,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let at = |directory: &str| {
            fs::create_dir_all(real.join(directory)).unwrap();
            real.join(directory)
        };
        let places = UserDirectories { config: at("config"), state: real.join("state"), home: Some(at("home")) };
        Self { project: at("work/project"), places, root }
    }

    fn write_user(&self, text: &str) -> PathBuf {
        fs::write(self.places.user_file(), text).unwrap();
        self.places.user_file()
    }

    /// Writes the configuration of a directory in the project. `directory` is "" for the project's root.
    fn write_project(&self, directory: &str, text: &str) -> PathBuf {
        let file = self.project.join(directory).join("hookhost.toml");
        fs::create_dir_all(self.project.join(directory)).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn approve(&self, file: &std::path::Path) {
        let file = ProjectFile::read(file).and_then(ProjectFile::with_rule_files).unwrap();
        TrustStore::of(&self.places).approve(&file).unwrap();
    }

    fn discover(&self) -> Result<super::Discovered, ConfigError> {
        Config::discover(&self.project, &self.places, &["agent"])
    }

    fn names(&self) -> Vec<String> {
        self.discover().unwrap().config.entries().iter().map(|entry| entry.name.clone()).collect()
    }
}
