//! The approvals of project files.
//!
//! The approvals are a JSON file in the user's state directory. For each approved file, it contains the approved text.
//! Even if the project's file changes, this text stays in use until a different text is approved or the approval is
//! revoked. Only the user can read and write the directory (mode 0700) and the file (mode 0600). If other users can
//! write the file, or if its content is not a valid store, the file is refused. Each change replaces the whole file
//! while a lock is held.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::project_file::{ProjectFile, place};
use super::{ConfigError, Digest, UserDirectories};
use crate::files::{self, Guard, Links, Lock, NewFile};

/// Maximum size of the store's file, in bytes: 16 MiB.
const MAX_RECORD: u64 = 16 << 20;

/// The store of approved project files.
#[derive(Clone, Debug)]
pub struct TrustStore {
    directory: PathBuf,
}

/// A project file that the user has approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approved {
    /// The path of the file, with symbolic links of its directory resolved.
    pub path: PathBuf,
    /// Digest of the content that applies.
    pub digest: Digest,
    /// The content that applies. `None` if an earlier version of hookhost stored only the digest. In this case the
    /// project's file is read, and its content applies as long as it has that digest.
    pub content: Option<String>,
    /// The approved texts of the files of rules, by their paths as the file writes them.
    pub rule_files: BTreeMap<String, String>,
}

impl Approved {
    /// Returns true if this content of the file, with its files of rules, is approved.
    #[must_use]
    pub fn is_of(&self, file: &ProjectFile) -> bool {
        self.digest == file.digest && self.rule_files == file.rule_files
    }
}

/// The content of the store's file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    approved: BTreeMap<String, Approval>,
}

/// One approval, as stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Approval {
    /// Only the digest, as earlier versions of hookhost stored it.
    Digest(Digest),
    Whole(Whole),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    sha256: Digest,
    content: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    rule_files: BTreeMap<String, Self>,
}

impl Whole {
    fn of(content: &str) -> Self {
        let sha256 = Digest::of_bytes(content.as_bytes());
        Self { sha256, content: content.to_owned(), rule_files: BTreeMap::new() }
    }

    fn is_damaged(&self) -> bool {
        Digest::of_bytes(self.content.as_bytes()) != self.sha256 || self.rule_files.values().any(Self::is_damaged)
    }
}

impl Approval {
    fn of(file: &ProjectFile) -> Self {
        let rule_files = file.rule_files.iter().map(|(path, text)| (path.clone(), Whole::of(text))).collect();
        Self::Whole(Whole { sha256: file.digest, content: file.text.clone(), rule_files })
    }

    fn digest(&self) -> Digest {
        match self {
            Self::Digest(digest) => *digest,
            Self::Whole(whole) => whole.sha256,
        }
    }

    /// Returns the approved texts of the files of rules.
    fn rule_files(&self) -> BTreeMap<String, String> {
        let Self::Whole(whole) = self else { return BTreeMap::new() };
        whole.rule_files.iter().map(|(path, whole)| (path.clone(), whole.content.clone())).collect()
    }
}

impl TrustStore {
    /// Returns the user's store, which need not exist yet.
    #[must_use]
    pub fn of(places: &UserDirectories) -> Self {
        Self { directory: places.state.clone() }
    }

    /// Returns the path of the store. There may be no file at this path yet.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.directory.join("trust.json")
    }

    /// Returns the approval of the project file at this path. The file need not exist.
    ///
    /// # Errors
    /// The errors of [`approved`](Self::approved).
    pub fn approval(&self, path: &Path) -> Result<Option<Approved>, ConfigError> {
        let key = key(&place(path))?;
        Ok(self.read()?.approved.remove(&key).map(|kept| approved(key, kept)))
    }

    /// Returns true if the user has approved exactly this content of the file, with its files of rules.
    ///
    /// # Errors
    /// The errors of [`approved`](Self::approved).
    pub fn is_approved(&self, file: &ProjectFile) -> Result<bool, ConfigError> {
        Ok(self.approval(&file.path)?.is_some_and(|approved| approved.is_of(file)))
    }

    /// Returns true if the store exists but contains no approval of this file. If there is no store, returns false,
    /// because then it is unknown what the user decided.
    #[must_use]
    pub fn is_revoked(&self, path: &Path) -> bool {
        // Look up the path as it was approved, because a link may have replaced a directory of the path since then.
        let is_kept = |record: Record| key(path).is_ok_and(|key| record.approved.contains_key(&key));
        self.file().exists() && self.read().is_ok_and(|record| !is_kept(record))
    }

    /// Returns all approvals, by path.
    ///
    /// # Errors
    /// [`ConfigError::Io`], [`ConfigError::Refused`] or [`ConfigError::TrustStore`] if the store cannot be read.
    pub fn approved(&self) -> Result<Vec<Approved>, ConfigError> {
        Ok(self.read()?.approved.into_iter().map(|(path, kept)| approved(path, kept)).collect())
    }

    /// Approves exactly the content in `file`. The new approval replaces an earlier approval of the file.
    ///
    /// # Errors
    /// The errors of [`approved`](Self::approved), an error if the store cannot be written, and
    /// [`ConfigError::TrustStoreFull`].
    pub fn approve(&self, file: &ProjectFile) -> Result<(), ConfigError> {
        let key = key(&file.path)?;
        self.change(|approved| {
            approved.insert(key, Approval::of(file));
        })
    }

    /// Approves new content of a file if its previous content was approved. The approved files of rules stay. Otherwise changes nothing and returns
    /// `false`. Programs call this after they have edited an approved file at the user's command.
    ///
    /// # Errors
    /// The errors of [`approve`](Self::approve).
    pub fn renew(&self, before: Digest, after: &ProjectFile) -> Result<bool, ConfigError> {
        let key = key(&after.path)?;
        self.change(|approved| match approved.get_mut(&key) {
            Some(kept) if kept.digest() == before => {
                let rule_files = kept.rule_files();
                *kept = Approval::of(&ProjectFile { rule_files, ..after.clone() });
                true
            }
            _ => false,
        })
    }

    /// Revokes the approval of a file. Returns `false` if the file was not approved. The file need not exist any more,
    /// and its directory may now be a link.
    ///
    /// # Errors
    /// The errors of [`approve`](Self::approve).
    pub fn revoke(&self, path: &Path) -> Result<bool, ConfigError> {
        let keys = [key(&place(path))?, key(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))?];
        self.change(|approved| keys.iter().any(|key| approved.remove(key).is_some()))
    }

    fn read(&self) -> Result<Record, ConfigError> {
        let path = self.file();
        let damaged = |why: String| ConfigError::TrustStore { path: path.clone(), why };
        let bytes = match files::read(&path, Guard::OnlyMineToWrite, Links::Refused, MAX_RECORD) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Record::default()),
            Err(error) => return Err(ConfigError::file("read", path)(error)),
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        for kept in record.approved.values() {
            if let Approval::Whole(whole) = kept
                && whole.is_damaged()
            {
                return Err(damaged("an approved content in it does not have the recorded digest".to_owned()));
            }
        }
        Ok(record)
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Approval>) -> T) -> Result<T, ConfigError> {
        let _lock = Lock::take(&self.directory).map_err(ConfigError::file("lock", &self.directory))?;
        let mut record = self.read()?;
        keep_contents(&mut record.approved);
        let result = change(&mut record.approved);
        let path = self.file();
        let text = serde_json::to_vec_pretty(&record).map_err(|error| ConfigError::io("write", &path)(error.into()))?;
        if text.len() as u64 > MAX_RECORD {
            return Err(ConfigError::TrustStoreFull { path });
        }
        files::replace(&path, &text, NewFile::Private).map_err(ConfigError::io("write", &path))?;
        Ok(result)
    }
}

/// Stores the content for each approval that has only a digest, if the file still has that digest.
fn keep_contents(approved: &mut BTreeMap<String, Approval>) {
    for (path, kept) in approved {
        if let Approval::Digest(digest) = kept
            && let Ok(file) = ProjectFile::read(Path::new(path))
            && file.digest == *digest
        {
            *kept = Approval::of(&file);
        }
    }
}

fn approved(path: String, kept: Approval) -> Approved {
    let (digest, rule_files) = (kept.digest(), kept.rule_files());
    let content = match kept {
        Approval::Digest(_) => None,
        Approval::Whole(whole) => Some(whole.content),
    };
    Approved { path: path.into(), digest, content, rule_files }
}

fn key(path: &Path) -> Result<String, ConfigError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| ConfigError::Unreadable { path: path.to_owned(), why: "its path is not UTF-8".to_owned() })
}
