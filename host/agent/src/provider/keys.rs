//! Keys of providers that the user has put away: a file that nobody else can read.
//!
//! A key is kept with the server that it is for, and goes to no other, whatever a configuration makes of the provider.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The keys of a file, by provider.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys {
    kept: BTreeMap<String, Kept>,
}

/// A key, and the server that it is for.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    host: String,
    key: String,
}

/// Why the keys cannot be had. No message holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// Somebody else can read or write the file, or owns it.
    #[error("the file of keys {} {problem}: make it yours alone with chmod 600, and think about whether the keys in it are still secret", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It is not what `hookhost auth` writes.
    #[error("the file of keys {} is not what `hookhost auth` writes: remove it, and set the keys anew", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// The system says no.
    #[error("the file of keys {} cannot be {doing}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// "read" or "written".
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A key that no header can carry.
    #[error("that is no key: it is empty, or has blanks or other characters in it that no key has")]
    NoKey,
}

impl Keys {
    /// The keys of a file; none where there is no file.
    ///
    /// # Errors
    /// If the file can be read or written by anybody else, or is none of ours.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let failed = |source| KeysError::File { path: path.to_owned(), doing: "read", source };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        let about = file.metadata().map_err(failed)?;
        let open = |problem: String| Err(KeysError::Open { path: path.to_owned(), problem });
        if about.mode() & 0o077 != 0 {
            return open(format!("can be used by others (mode {:o})", about.mode() & 0o777));
        }
        if about.uid() != rustix::process::geteuid().as_raw() {
            return open("belongs to somebody else".into());
        }
        let text = io::read_to_string(file).map_err(failed)?;
        let kept = toml::from_str(&text).map_err(|_| KeysError::Unreadable { path: path.to_owned() })?;
        Ok(Self { kept })
    }

    /// Writes the file, mode 0600, whole or not at all.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn write(&self, path: &Path) -> Result<(), KeysError> {
        let failed = |source| KeysError::File { path: path.to_owned(), doing: "written", source };
        let text = toml::to_string(&self.kept).map_err(|_| KeysError::Unreadable { path: path.to_owned() })?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let fresh = path.with_extension(format!("{}.new", std::process::id()));
        let written = (|| {
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, path)
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(&fresh);
        }
        written.map_err(failed)
    }

    /// Keeps a key for a provider, in place of one that was there.
    ///
    /// # Errors
    /// If it is none.
    pub fn set(&mut self, provider: &str, host: &str, key: &str) -> Result<(), KeysError> {
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|character| character.is_ascii_graphic()) {
            return Err(KeysError::NoKey);
        }
        self.kept.insert(provider.to_owned(), Kept { host: host.to_owned(), key: key.to_owned() });
        Ok(())
    }

    /// Forgets the key of a provider; whether there was one.
    pub fn remove(&mut self, provider: &str) -> bool {
        self.kept.remove(provider).is_some()
    }

    /// The providers that have one, and the server that each is for.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kept.iter().map(|(provider, kept)| (provider.as_str(), kept.host.as_str()))
    }

    /// The key of a provider, if it is for this server.
    pub(crate) fn get(&self, provider: &str, host: &str) -> Option<&str> {
        self.kept.get(provider).filter(|kept| kept.host == host).map(|kept| kept.key.as_str())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.kept.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_kept_for_its_server_alone_and_shown_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/keys.toml");
        let mut keys = Keys::read(&path).unwrap();
        keys.set("p", "api.example.com", " sk-1 \n").unwrap();
        keys.write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let read = Keys::read(&path).unwrap();
        assert_eq!(read.get("p", "api.example.com"), Some("sk-1"));
        assert_eq!((read.get("p", "evil.example.com"), read.get("q", "api.example.com")), (None, None));
        assert!(!format!("{read:?}").contains("sk-1"));
        keys.write(&path).unwrap();
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        Keys::default().write(&path).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Keys::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("(mode {mode:o})")) && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn what_is_no_key_and_no_file_of_keys_is_refused_without_being_repeated() {
        let mut keys = Keys::default();
        for text in ["", " ", "a b", "sk-\u{7}", "schlüssel"] {
            assert!(matches!(keys.set("p", "h", text), Err(KeysError::NoKey)), "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        Keys::default().write(&path).unwrap();
        std::fs::write(&path, "secret-without-a-name").unwrap();
        let error = Keys::read(&path).unwrap_err().to_string();
        assert!(error.contains("set the keys anew") && !error.contains("secret-without"), "{error}");
    }
}
