//! Which content of which project file the user has approved.
//!
//! A small JSON file in the user's state folder. Folder and file are the user's alone (0700, 0600); a file that others
//! can write is refused, as is one that is not as the host writes it. Each change replaces the file whole, under a lock.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    Digest, Error, Inert, Places, ProjectFile,
    atomic::{self, NewFile},
};

/// The record of approved project files.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

/// A project file that the user has approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The file, symbolic links resolved.
    pub path: PathBuf,
    /// The content that counts.
    pub digest: Digest,
}

/// The file's content.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    approved: BTreeMap<String, Digest>,
}

impl TrustStore {
    /// The user's store; it need not exist yet.
    #[must_use]
    pub fn of(places: &Places) -> Self {
        Self { folder: places.state.clone() }
    }

    /// Where it is kept; the file need not exist.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("trust.json")
    }

    /// Why the file does not count; `None` where the user has approved exactly this content of it.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::TrustStore`] where the store cannot be read.
    pub fn objection(&self, file: &ProjectFile) -> Result<Option<Inert>, Error> {
        let approved = self.read()?.approved.get(&key(&file.path)?).copied();
        Ok(match approved {
            None => Some(Inert::NeverApproved),
            Some(digest) if digest == file.digest => None,
            Some(approved) => Some(Inert::Changed { approved }),
        })
    }

    /// All that is approved.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::TrustStore`] where the store cannot be read.
    pub fn approved(&self) -> Result<Vec<Approved>, Error> {
        let record = self.read()?;
        Ok(record.approved.into_iter().map(|(path, digest)| Approved { path: path.into(), digest }).collect())
    }

    /// Approves the content that was read, and no other, in place of any that was approved before.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::TrustStore`] where the store cannot be read or written.
    pub fn approve(&self, file: &ProjectFile) -> Result<(), Error> {
        let key = key(&file.path)?;
        self.change(|approved| {
            approved.insert(key, file.digest);
        })
    }

    /// Approves new content of a file whose content before was approved; `false` where that was not so, and nothing has
    /// changed. For programs that edit an approved file at the user's command.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::TrustStore`] where the store cannot be read or written.
    pub fn renew(&self, path: &Path, before: Digest, after: Digest) -> Result<bool, Error> {
        let key = key(&path.canonicalize().map_err(Error::io("read", path))?)?;
        self.change(|approved| match approved.get_mut(&key) {
            Some(digest) if *digest == before => {
                *digest = after;
                true
            }
            _ => false,
        })
    }

    /// Takes an approval back; `false` where there was none. The file need not exist any more.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::TrustStore`] where the store cannot be read or written.
    pub fn revoke(&self, path: &Path) -> Result<bool, Error> {
        let key = key(&super::paths::canonical(path))?;
        self.change(|approved| approved.remove(&key).is_some())
    }

    fn read(&self) -> Result<Record, Error> {
        let path = self.file();
        let damaged = |why: String| Error::TrustStore { path: path.clone(), why };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Record::default()),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        if writable_by_others(&fs::metadata(&path).map_err(Error::io("read", &path))?) {
            return Err(damaged("other users can write it".to_owned()));
        }
        serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Digest>) -> T) -> Result<T, Error> {
        private_folder(&self.folder).map_err(Error::io("make", &self.folder))?;
        let lock = self.folder.join("trust.lock");
        let held = fs::File::options().create(true).truncate(false).write(true).open(&lock);
        let held = held.and_then(|file| file.lock().map(|()| file)).map_err(Error::io("lock", &lock))?;
        let mut record = self.read()?;
        let result = change(&mut record.approved);
        let text = serde_json::to_vec_pretty(&record).map_err(|error| Error::io("write", self.file())(error.into()))?;
        atomic::replace(&self.file(), &text, NewFile::Private)?;
        drop(held);
        Ok(result)
    }
}

fn key(path: &Path) -> Result<String, Error> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::Unreadable { path: path.to_owned(), why: "its path is not UTF-8".to_owned() })
}

/// Makes the folder, for the user alone; one that exists is made so.
#[cfg(unix)]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// On Windows, a user's folders are the user's alone as they are.
#[cfg(not(unix))]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn writable_by_others(file: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o022 != 0
}

#[cfg(not(unix))]
fn writable_by_others(_: &fs::Metadata) -> bool {
    false
}
