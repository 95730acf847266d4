//! The files of a directory of compiled code.

use super::{CODE, Cache, OUTCOMES, STAMPS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "compile")]
use std::time::Duration;

#[cfg(feature = "compile")]
/// Removes files that were not used for `age`. While the remaining files have more than `bytes` bytes, removes the least
/// recently used one. Never removes the file `written`.
pub(super) fn evict(directory: &Path, written: &Path, age: Duration, bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for path in kept_in(directory)? {
        // Another process may remove one at the same time.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let used = metadata.modified()?;
        files.push((used, metadata.len(), path));
    }
    files.sort();
    let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
    for (used, length, path) in files {
        let is_old = used.elapsed().is_ok_and(|ago| ago > age);
        if (is_old || total > bytes) && path != written {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total -= length,
            }
        }
    }
    Ok(())
}

/// The content of a directory of compiled code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheFiles {
    /// Files of compiled code: of each plugin one, of each configuration that it leaves an image of
    /// another, and the one that images are taken in; for each engine version and setting.
    pub files: u64,
    /// Bytes of these, of the small files that say which code belongs to which configuration, and of the stamps of components.
    pub bytes: u64,
    /// Those among all of them that are made again when they are needed, and why: what is foreign,
    /// loosely protected, cut off or not by this user's key.
    pub unusable: Vec<(PathBuf, String)>,
}

/// Inspects the directory that [`crate::HostBuilder::cache`] was given; one that is not there is empty.
///
/// # Errors
/// If the directory cannot be read, or others can reach it.
pub fn cache_files(directory: &Path) -> io::Result<CacheFiles> {
    let mut found = CacheFiles::default();
    if !directory.exists() {
        return Ok(found);
    }
    let cache = Cache::open(directory)?;
    for path in kept_in(directory)? {
        found.files += u64::from(is_code(&path));
        found.bytes += fs::symlink_metadata(&path)?.len();
        if let Err(error) = cache.vouched_for(&path) {
            found.unusable.push((path, error.to_string()));
        }
    }
    Ok(found)
}

/// Removes all compiled code from a directory, and returns what that was. The plugins are compiled
/// again when they load next.
///
/// # Errors
/// If the directory cannot be read, or a file cannot be removed.
pub fn clear_cache(directory: &Path) -> io::Result<CacheFiles> {
    let mut removed = CacheFiles::default();
    if !directory.exists() {
        return Ok(removed);
    }
    for path in kept_in(directory)? {
        let bytes = fs::symlink_metadata(&path)?.len();
        fs::remove_file(&path)?;
        removed.files += u64::from(is_code(&path));
        removed.bytes += bytes;
    }
    Ok(removed)
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == CODE)
}

/// The files in a directory, without the key, by name.
pub(super) fn kept_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| [CODE, OUTCOMES, STAMPS].iter().any(|kept| extension == *kept)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
