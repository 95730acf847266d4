//! The files of a directory of compiled code.

use super::{CODE, Cache, FUNCTIONS, OUTCOMES, STAMPS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "compile")]
use std::time::Duration;

#[cfg(feature = "compile")]
/// Removes files that were not used for longer than `age`. Then removes the least recently used files until the rest is
/// not larger than `bytes` in total. Never removes `written`, the file that was just written.
pub(super) fn evict(directory: &Path, written: &Path, age: Duration, bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for path in kept_in(directory)? {
        let Some(metadata) = unless_removed(fs::symlink_metadata(&path))? else { continue };
        let used = metadata.modified()?;
        files.push((used, metadata.len(), path));
    }
    files.sort();
    let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
    for (used, length, path) in files {
        let is_old = used.elapsed().is_ok_and(|ago| ago > age);
        if (is_old || total > bytes) && path != written {
            unless_removed(fs::remove_file(&path))?;
            total -= length;
        }
    }
    Ok(())
}

/// The content of a directory of compiled code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheFiles {
    /// Number of files of compiled code. For each version and each setting of the engine, a plugin has one file for its
    /// component, one file for the instrumented form of the component, and one file for each configuration that has an
    /// image.
    pub files: u64,
    /// Total size in bytes of the files of code, of the small files that map a configuration to its code, and of the
    /// stamps of components.
    pub bytes: u64,
    /// The files that cannot be used, each with the reason. A file cannot be used if it belongs to another user, if
    /// other users can access it, if it is truncated, or if its authentication code is wrong. Such files are created
    /// again when they are needed.
    pub unusable: Vec<(PathBuf, String)>,
}

/// Inspects the directory that [`crate::HostBuilder::cache`] was given. A directory that does not exist counts as
/// empty.
///
/// # Errors
/// Fails if the directory cannot be read, or if other users can access it.
pub fn cache_files(directory: &Path) -> io::Result<CacheFiles> {
    let mut found = CacheFiles::default();
    if !directory.exists() {
        return Ok(found);
    }
    let cache = Cache::open(directory)?;
    for path in kept_in(directory)? {
        let Some(bytes) = unless_removed(fs::symlink_metadata(&path))?.map(|metadata| metadata.len()) else { continue };
        let is_code = is_code(&path);
        match unless_removed(cache.read(&path, |_| {})) {
            Ok(Some(_)) => {}
            Ok(None) => continue,
            Err(error) => found.unusable.push((path, error.to_string())),
        }
        found.files += u64::from(is_code);
        found.bytes += bytes;
    }
    Ok(found)
}

/// Removes all compiled code from a directory, and returns a description of the removed files. Plugins are then
/// compiled again at their next load.
///
/// # Errors
/// Fails if the directory cannot be read, or if a file cannot be removed.
pub fn clear_cache(directory: &Path) -> io::Result<CacheFiles> {
    let mut removed = CacheFiles::default();
    if !directory.exists() {
        return Ok(removed);
    }
    for path in kept_in(directory)? {
        let Some(bytes) = unless_removed(fs::symlink_metadata(&path))?.map(|metadata| metadata.len()) else { continue };
        if unless_removed(fs::remove_file(&path))?.is_none() {
            continue;
        }
        removed.files += u64::from(is_code(&path));
        removed.bytes += bytes;
    }
    Ok(removed)
}

/// Returns `None` if the file no longer exists: another process may remove a file after it was listed.
fn unless_removed<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_code(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == CODE)
}

/// Returns the files in a directory, sorted by name. The file of the key is not included.
pub(super) fn kept_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|extension| [CODE, FUNCTIONS, OUTCOMES, STAMPS].iter().any(|kept| extension == *kept))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
