//! The texts of rules: the configuration of each plugin, kept beside the log by its digest.
//!
//! A record of the log names the digest of the configuration that decided. With the text, a reader can see later what a
//! rule said at that time. A text is written once, when a host with a store loads it. It is masked as the log is.

use crate::audit::Masking;
use crate::config::{AuditSettings, Digest};
use crate::files::{self, Guard, Links, NewFile};
use serde_json::value::RawValue;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of a text, in bytes. A configuration is far smaller.
const MAX_TEXT: u64 = 64 << 20;

/// The directory of texts that belongs to a log. Its name is that of the log with `-rules` at the end.
#[derive(Clone, Debug)]
pub struct RuleTexts {
    directory: PathBuf,
}

/// The configuration of a plugin, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleText {
    /// The JSON text.
    pub text: String,
    /// True if the text has the digest by which the log names it. A masked text has another digest, and so has a text
    /// that somebody changed.
    pub is_as_loaded: bool,
}

impl RuleTexts {
    /// Returns the texts that belong to the log at this path.
    #[must_use]
    pub fn of(log: &Path) -> Self {
        // All processes use the same directory, even if they have opened the log by different names.
        let log = log.canonicalize().unwrap_or_else(|_| log.to_owned());
        let mut name = log.into_os_string();
        name.push("-rules");
        Self { directory: name.into() }
    }

    /// Returns the configuration with this digest; `None` if no host has kept it.
    ///
    /// # Errors
    /// If the file cannot be read, or if others could have written it.
    pub fn read(&self, digest: Digest) -> Result<Option<RuleText>, files::FileError> {
        let bytes = match files::read(&self.file(digest), Guard::OnlyMineToWrite, Links::Refused, MAX_TEXT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_as_loaded = Digest::of_bytes(&bytes) == digest;
        Ok(Some(RuleText { text: String::from_utf8_lossy(&bytes).into_owned(), is_as_loaded }))
    }

    /// Keeps a configuration, unless it is there already.
    pub(crate) fn keep(&self, digest: Digest, config: String, settings: &AuditSettings) -> io::Result<()> {
        let file = self.file(digest);
        if file.symlink_metadata().is_ok() {
            return Ok(());
        }
        files::make_own_directory(&self.directory)?;
        let mut text = RawValue::from_string(config)?;
        if !settings.mask.is_empty() {
            Masking::new(settings).value(&mut text);
        }
        files::replace(&file, text.get().as_bytes(), NewFile::Private)
    }

    fn file(&self, digest: Digest) -> PathBuf {
        self.directory.join(format!("{digest}.json"))
    }
}
