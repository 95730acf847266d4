//! The plugins that the program contains. They are packed into one compressed stream, and `build.rs` makes the index.

use crate::exit::CliError;
use crate::nearest::nearest;
use crate::output::quoted;
use crate::ready;
use anyhow::{Context as _, anyhow};
use hookhost::command::TrustStore;
use hookhost::config::{Code, Digest, Entry, UserDirectories};
use hookhost::files::{self, Guard, Links, NewFile};
use lzma_rust2::LzipReader;
use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// All components, one after the other, packed.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundled.lz"));

/// The plugins, sorted by name. Empty in a build without components.
const INDEX: &[BundledPlugin] = &include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Number of digits of the digest in the name of a component's file.
const SHOWN_DIGITS: usize = 16;

/// The command that builds a program with plugins.
const INSTALL: &str = "cargo xtask install, in a clone of hookhost";

/// A plugin that the program contains.
#[derive(Debug)]
pub(crate) struct BundledPlugin {
    /// The name, such as `shell-guard`.
    pub(crate) name: &'static str,
    /// SHA-256 in hexadecimal digits.
    digest: &'static str,
    /// The place of the component in the unpacked stream.
    place: Range<usize>,
}

/// Returns the plugins that the program contains, sorted by name.
///
/// # Errors
/// Fails if the program was built without plugins.
pub(crate) fn all() -> Result<&'static [BundledPlugin], CliError> {
    if INDEX.is_empty() {
        let why = "this hookhost was built without its plugins";
        return Err(CliError::not_loaded(anyhow!(why)).advise(INSTALL));
    }
    Ok(INDEX)
}

/// Returns the plugin with this name.
///
/// # Errors
/// Fails if there is no such plugin, or if the program was built without plugins.
pub(crate) fn find(name: &str) -> Result<&'static BundledPlugin, CliError> {
    let all = all()?;
    if let Some(found) = all.iter().find(|plugin| plugin.name == name) {
        return Ok(found);
    }
    let error = CliError::usage(format!("hookhost brings no plugin {}", quoted(name)));
    if ready::named(name).is_some() {
        return Err(error.advise(format!("hookhost rule add {name}")));
    }
    Err(match nearest(name, all.iter().map(|plugin| plugin.name)) {
        Some(near) => error.advise(format!("hookhost add {near}")),
        None => error.advise("hookhost add"),
    })
}

/// Writes the component that judges the `[[rule]]` tables, unless it is there already.
///
/// # Errors
/// Fails if the program was built without plugins, or if the file cannot be written.
pub(crate) fn install_rules_plugin(places: &UserDirectories) -> Result<(), CliError> {
    let plugin = find(Entry::RULES)?;
    // The engine compares the digest, so the content need not be compared here.
    if !plugin.path(places).metadata().is_ok_and(|metadata| usize::try_from(metadata.len()) == Ok(plugin.size())) {
        plugin.install(places)?;
    }
    Ok(())
}

/// Removes the components of other versions from the user's directory for bundled plugins, unless a configuration names them: a file of
/// the user, or an approved file of a project. If such a file cannot be read, they all stay.
pub(crate) fn remove_unused(places: &UserDirectories) {
    let entries = fs::read_dir(places.plugins()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let others: Vec<String> = names.filter(|name| is_of_another_version(name)).collect();
    if others.is_empty() {
        return;
    }
    let texts = match configurations(places) {
        Ok(texts) => texts,
        Err(error) => return tracing::warn!(%error, "plugins of other versions stay"),
    };
    for name in others.iter().filter(|name| !texts.iter().any(|text| text.contains(*name))) {
        if let Err(error) = fs::remove_file(places.plugins().join(name)) {
            tracing::warn!(%error, name, "a plugin of another version cannot be removed");
        }
    }
}

/// Returns true if [`BundledPlugin::path`] of another version ends with this name.
fn is_of_another_version(name: &str) -> bool {
    let digits = name.strip_suffix(".wasm").and_then(|stem| stem.rsplit_once('-')).map_or("", |(_, digits)| digits);
    let is_digest = digits.len() == SHOWN_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_digest && !INDEX.iter().any(|plugin| plugin.file_name() == name)
}

/// Returns the texts of the files that may name a bundled plugin.
fn configurations(places: &UserDirectories) -> anyhow::Result<Vec<String>> {
    let store = TrustStore::of(places);
    let mut files = vec![store.file()];
    files.extend(store.approved()?.into_iter().map(|approved| approved.path));
    // A copy of an edited profile is among these files, too.
    let entries = fs::read_dir(&places.config).into_iter().flatten().flatten().map(|entry| entry.path());
    files.extend(entries.filter(|path| path.to_string_lossy().contains(".toml")));
    let texts = files.iter().filter_map(|file| match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.with_context(|| file.display().to_string())),
    });
    texts.map(|text| Ok(String::from_utf8_lossy(&text?).into_owned())).collect()
}

impl BundledPlugin {
    /// Returns the code of an entry of the plugin.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn code(&self, places: &UserDirectories) -> Result<Code, CliError> {
        Ok(Code::File { path: self.path(places), digest: self.digest()? })
    }

    /// Returns the digest of the component.
    ///
    /// # Errors
    /// Fails if the index is damaged.
    pub(crate) fn digest(&self) -> Result<Digest, CliError> {
        self.digest.parse().map_err(|_| damaged(self.name))
    }

    /// Returns the size of the component, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.place.len()
    }

    /// Returns the component. The first call unpacks all components, which takes about 0.1 s.
    ///
    /// # Errors
    /// Fails if the program's file is damaged, so that the component does not have its digest.
    pub(crate) fn component(&self) -> Result<&'static [u8], CliError> {
        static UNPACKED: OnceLock<Vec<u8>> = OnceLock::new();
        let unpacked = UNPACKED.get_or_init(|| {
            let mut bytes = Vec::with_capacity(INDEX.last().map_or(0, |last| last.place.end));
            // What a damaged stream lacks is noticed by the digest.
            let _ = LzipReader::new(PACKED).read_to_end(&mut bytes);
            bytes
        });
        let component = unpacked.get(self.place.clone()).ok_or_else(|| damaged(self.name))?;
        if Digest::of_bytes(component) == self.digest()? { Ok(component) } else { Err(damaged(self.name)) }
    }

    /// Returns the path at which [`Self::install`] puts the component. The name contains the digest, so a newer version leaves an older one
    /// in place, which another entry may name. [`remove_unused`] removes the versions that no entry names.
    pub(crate) fn path(&self, places: &UserDirectories) -> PathBuf {
        places.plugins().join(self.file_name())
    }

    fn file_name(&self) -> String {
        format!("{}-{}.wasm", self.name, &self.digest[..SHOWN_DIGITS])
    }

    /// Writes the component into the user's directory for bundled plugins, unless it is there already. Returns its path.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn install(&self, places: &UserDirectories) -> Result<PathBuf, CliError> {
        let path = self.path(places);
        files::make_own_directory(&places.state).map_err(|error| unwritable(&places.state, &error))?;
        self.write(&path)?;
        Ok(path)
    }

    /// Writes the component to a file, unless it is there already.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CliError> {
        let component = self.component()?;
        let size = u64::try_from(component.len()).unwrap_or(u64::MAX);
        if files::read(path, Guard::OnlyMineToWrite, Links::Refused, size).is_ok_and(|present| present == component) {
            return Ok(());
        }
        let directory = path.parent().unwrap_or(path);
        fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
        files::replace(path, component, NewFile::Usual).map_err(|error| unwritable(path, &error))
    }
}

fn damaged(name: &str) -> CliError {
    CliError::not_loaded(anyhow!("the plugin {name} in this program is damaged: install hookhost again"))
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::not_loaded(anyhow!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_plugin_unpacks_to_its_digest() {
        let Ok(plugins) = all() else { return };
        for plugin in plugins {
            assert_eq!(plugin.component().unwrap().len(), plugin.size());
        }
    }

    #[test]
    fn a_missing_plugin_is_named_with_the_nearest_one() {
        let Ok(_) = all() else { return };
        let message = find("shell-gaurd").unwrap_err().message();
        assert_eq!(message, "hookhost brings no plugin shell-gaurd\n  try: hookhost add shell-guard");
    }
}
