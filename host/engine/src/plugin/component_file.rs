//! Reads the file of a component, up to a maximum size, and compares its digest with the entry.

use super::link::unfit;
use super::stamp::Stamp;
use super::{ContractError, LoadError};
use crate::config::{Code, Digest, Entry};
use crate::files::{self, FileError, Guard, Links};
use std::borrow::Cow;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

/// Maximum size of a file, in bytes. A component with a JavaScript engine has 12 MiB. A component with a Python
/// interpreter and its library has 40 MiB.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// A component that an entry allows.
pub(super) struct Allowed<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) digest: Digest,
    /// The stamp of the file. By this stamp, a later load recognises that the file is unchanged.
    pub(super) stamp: Option<Stamp>,
}

/// Returns the component of an entry.
///
/// # Errors
/// Fails if the component cannot be read, or does not have the digest that the entry allows.
pub(super) fn of(entry: &Entry) -> Result<Allowed<'_>, LoadError> {
    let (path, allowed) = match &entry.code {
        Code::File { path, digest } => (path, digest),
        Code::Bytes(held) => {
            let allowed = Allowed { bytes: held.bytes().into(), digest: held.digest(), stamp: None };
            return check_size(&allowed.bytes).map(|()| allowed).map_err(|problem| unfit(entry, problem));
        }
        Code::Compiled(_) | Code::Native(_) => return Err(unfit(entry, ContractError::NotWasm)),
    };
    let name = &entry.name;
    let read = read_stamped(path, SystemTime::now());
    let (bytes, stamp) =
        read.map_err(|source| LoadError::Unreadable { name: name.clone(), path: path.clone(), source })?;
    let found = Digest::of_bytes(&bytes);
    if found == *allowed {
        return Ok(Allowed { bytes: bytes.into(), digest: found, stamp });
    }
    Err(LoadError::OtherDigest { name: name.clone(), path: path.clone(), allowed: *allowed, found })
}

/// # Errors
/// Fails if a component in the memory of the program is larger than a plugin may be.
fn check_size(component: &[u8]) -> Result<(), ContractError> {
    match component.len() as u64 {
        0..=MAX_BYTES => Ok(()),
        length => Err(ContractError::TooLarge(format!("has {length} bytes, and {MAX_BYTES} is the most"))),
    }
}

/// Reads a regular file that is no larger than a plugin may be. A pipe or a device is not read.
///
/// # Errors
/// Fails if the file cannot be read or is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_stamped(path, SystemTime::now()).map(|(bytes, _)| bytes)
}

/// Like [`read`], and also returns the stamp that the file had before it was read. `now` is the current time.
fn read_stamped(path: &Path, now: SystemTime) -> io::Result<(Vec<u8>, Option<Stamp>)> {
    // The owner of the file does not matter, because its digest is checked. Opening the file does not block, even if a
    // pipe replaces the file at this moment.
    let file = match files::open(path, Guard::Anybodys, Links::Followed) {
        Err(FileError::Refused(_)) => return Err(io::Error::other("it is not a file")),
        opened => opened?,
    };
    let check = |length| match length {
        0..=MAX_BYTES => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {length} bytes, and {MAX_BYTES} is the most that a plugin may have"),
        )),
    };
    let metadata = file.metadata()?;
    let length = metadata.len();
    check(length)?;
    // The buffer has one byte more than the file. So the end of the file is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    // The read is limited, because the file may grow while it is read.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    check(bytes.len() as u64)?;
    Ok((bytes, Stamp::of(&metadata, now)))
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, read};
    use std::path::Path;

    #[test]
    fn a_file_is_read_no_further_than_a_plugin_may_be_long() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.wasm");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_BYTES).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, MAX_BYTES);
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert_eq!(error, "it has 67108865 bytes, and 67108864 is the most that a plugin may have");
    }
    #[test]
    fn what_is_not_a_file_is_not_read() {
        assert_eq!(read(Path::new("/dev/zero")).unwrap_err().to_string(), "it is not a file");
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).is_err());
    }
}
