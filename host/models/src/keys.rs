//! Stored keys of providers, in a file that only the user can read.
//!
//! Each key is stored with its server (scheme, host and port). A key is never sent to any other server, whatever the configuration
//! says.

use crate::origin::Origin;
use hookhost::files::{self, FileError, Guard, Links, Lock, NewFile, Refused};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of the file, in bytes: 1 MiB.
const MAX_FILE: u64 = 1 << 20;

/// The stored keys, by the names of their providers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys {
    kept: BTreeMap<String, StoredKey>,
}

/// A key and its server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    /// Server, such as `https://api.example.com` or `http://127.0.0.1:8080`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// Host name, in files of earlier versions. It means https on port 443.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    key: String,
}

impl StoredKey {
    /// Returns the server of the key.
    fn origin(&self) -> String {
        match (&self.origin, &self.host) {
            (Some(origin), _) => origin.clone(),
            (None, Some(host)) => format!("https://{host}"),
            (None, None) => String::new(),
        }
    }
}

/// Reasons why the keys cannot be read or changed. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// Another user can read, write or replace the file, or it is not a regular file.
    #[error(transparent)]
    Open(Refused),
    /// The file does not have the format that `hookhost auth` writes.
    #[error("the file of keys {} is not what `hookhost auth` writes: remove it, and set the keys again", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system refused the access.
    #[error("the file of keys {} cannot be {doing}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// "read" or "written".
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The key cannot be a header value.
    #[error("that is no key: it is empty, or contains spaces or other characters that no key has")]
    NoKey,
}

impl KeysError {
    fn of(path: &Path, doing: &'static str) -> impl Fn(FileError) -> Self {
        let path = path.to_owned();
        move |error| match error {
            FileError::Refused(refused) => Self::Open(refused),
            error @ FileError::Io(_) => Self::File { path: path.clone(), doing, source: error.into() },
        }
    }
}

impl Keys {
    /// Reads the keys from a file. If the file does not exist, there are no keys.
    ///
    /// # Errors
    /// Returns an error if another user can read or write the file, or if its content is invalid.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let bytes = match files::read(path, Guard::OnlyMineToRead, Links::Refused, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Self::default()),
            Err(error) => return Err(KeysError::of(path, "read")(error)),
        };
        let unreadable = || KeysError::Unreadable { path: path.to_owned() };
        let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
        let kept: BTreeMap<String, StoredKey> = toml::from_str(&text).map_err(|_| unreadable())?;
        if kept.values().any(|kept| kept.origin.is_some() == kept.host.is_some()) {
            return Err(unreadable());
        }
        Ok(Self { kept })
    }

    /// Reads the file, changes the keys and writes it back. The user's state directory `state` is locked meanwhile, because
    /// otherwise a concurrent change could be lost. The new file has mode 0600 and is written completely or not at all.
    ///
    /// # Errors
    /// Returns the errors of [`Self::read`] and of `change`, and an error if the file cannot be written. On an error,
    /// the file is unchanged.
    pub fn change<T, E: From<KeysError>>(
        path: &Path,
        state: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = Lock::take(state).map_err(KeysError::of(&state.join("trust.lock"), "written"))?;
        let mut keys = Self::read(path)?;
        let result = change(&mut keys)?;
        keys.write(path)?;
        Ok(result)
    }

    fn write(&self, path: &Path) -> Result<(), KeysError> {
        let failed = |source| KeysError::File { path: path.to_owned(), doing: "written", source };
        let text = toml::to_string(&self.kept).map_err(|_| KeysError::Unreadable { path: path.to_owned() })?;
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        files::replace(path, text.as_bytes(), NewFile::Private).map_err(failed)
    }

    /// Stores a provider's key, and replaces an earlier key.
    ///
    /// # Errors
    /// Returns an error if the key is empty or has characters other than visible ASCII.
    pub fn set(&mut self, provider: &str, origin: &Origin, key: &str) -> Result<(), KeysError> {
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|character| character.is_ascii_graphic()) {
            return Err(KeysError::NoKey);
        }
        let kept = StoredKey { origin: Some(origin.to_string()), host: None, key: key.to_owned() };
        self.kept.insert(provider.to_owned(), kept);
        Ok(())
    }

    /// Removes the key of a provider. Returns true if a key was stored.
    pub fn remove(&mut self, provider: &str) -> bool {
        self.kept.remove(provider).is_some()
    }

    /// Iterates over the providers that have a key. Each provider is returned with the server of its key, such as
    /// `https://api.example.com`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.kept.iter().map(|(provider, kept)| (provider.as_str(), kept.origin()))
    }

    /// Returns the key of a provider, if it belongs to this server.
    pub(crate) fn get(&self, provider: &str, origin: &Origin) -> Option<&str> {
        self.kept.get(provider).filter(|kept| kept.origin() == origin.to_string()).map(|kept| kept.key.as_str())
    }

    /// Returns the server of a provider's key.
    pub(crate) fn kept_for(&self, provider: &str) -> Option<String> {
        self.kept.get(provider).map(StoredKey::origin)
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
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    fn origin(url: &str) -> Origin {
        Origin::of(url).unwrap()
    }

    fn write(path: &Path, keys: &Keys) {
        Keys::change(path, &path.with_file_name("state"), |kept| {
            kept.clone_from(keys);
            Ok::<_, KeysError>(())
        })
        .unwrap();
    }

    #[test]
    fn a_key_is_kept_for_its_origin_alone_and_shown_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/keys.toml");
        let mut keys = Keys::read(&path).unwrap();
        keys.set("p", &origin("https://api.example.com/v1"), " sk-1 \n").unwrap();
        write(&path, &keys);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let read = Keys::read(&path).unwrap();
        assert_eq!(read.get("p", &origin("https://API.example.com:443/other")), Some("sk-1"));
        for url in [
            "https://evil.example.com",
            "https://api.example.com:8443",
            "http://api.example.com",
            "http://api.example.com:443",
        ] {
            assert_eq!(read.get("p", &origin(url)), None, "{url}");
        }
        assert_eq!(read.get("q", &origin("https://api.example.com")), None);
        assert!(!format!("{read:?}").contains("sk-1"));
        write(&path, &keys);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "keys.toml and the lock's directory");
    }

    #[test]
    fn a_key_that_was_kept_with_a_name_alone_is_for_https_at_its_port() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys.toml");
        write(&path, &Keys::default());
        std::fs::write(&path, "[p]\nhost = \"localhost\"\nkey = \"sk-1\"\n").unwrap();
        let read = Keys::read(&path).unwrap();
        assert_eq!(read.get("p", &origin("https://localhost")), Some("sk-1"));
        for url in ["http://localhost:8820", "http://localhost", "https://localhost:8443"] {
            assert_eq!(read.get("p", &origin(url)), None, "{url}");
        }
        assert_eq!(read.iter().collect::<Vec<_>>(), [("p", "https://localhost".to_owned())]);
        for neither_or_both in ["[p]\nkey = \"k\"\n", "[p]\nhost = \"h\"\norigin = \"https://h\"\nkey = \"k\"\n"] {
            std::fs::write(&path, neither_or_both).unwrap();
            assert!(matches!(Keys::read(&path), Err(KeysError::Unreadable { .. })));
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys.toml");
        write(&path, &Keys::default());
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Keys::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("(mode {mode:o})")) && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn an_invalid_key_or_file_of_keys_is_refused_without_being_repeated() {
        let mut keys = Keys::default();
        for text in ["", " ", "a b", "sk-\u{7}", "schlüssel"] {
            assert!(matches!(keys.set("p", &origin("https://h"), text), Err(KeysError::NoKey)), "{text}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys.toml");
        write(&path, &Keys::default());
        std::fs::write(&path, "secret-without-a-name").unwrap();
        let error = Keys::read(&path).unwrap_err().to_string();
        assert!(error.contains("set the keys again") && !error.contains("secret-without"), "{error}");
    }

    #[test]
    fn changes_at_the_same_time_lose_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let (path, state) = (directory.path().join("keys.toml"), directory.path().join("state"));
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (path, state) = (&path, &state);
                scope.spawn(move || {
                    Keys::change(path, state, |keys| keys.set(&format!("p{n}"), &origin("https://h"), "k")).unwrap();
                });
            }
        });
        assert_eq!(Keys::read(&path).unwrap().iter().count(), 8);
    }
}
