//! The plugins that the program contains. They are packed into one compressed stream, and `build.rs` makes the index.

use crate::exit::CliError;
use crate::nearest::nearest;
use crate::output::quoted;
use anyhow::anyhow;
use hookhost::config::{Digest, UserDirectories};
use hookhost::files::{self, Guard, Links, NewFile};
use lzma_rust2::LzipReader;
use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// All components, one after the other, packed.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundled.lz"));

/// The plugins, sorted by name. Empty in a build without components.
const INDEX: &[BundledPlugin] = &include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

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
    Err(match nearest(name, all.iter().map(|plugin| plugin.name)) {
        Some(near) => error.advise(format!("hookhost add {near}")),
        None => error.advise("hookhost add"),
    })
}

impl BundledPlugin {
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
    /// in place, which another entry may name.
    pub(crate) fn path(&self, places: &UserDirectories) -> PathBuf {
        places.plugins().join(format!("{}-{}.wasm", self.name, &self.digest[..16]))
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
