//! Looks for a file in the index of a Git repository, which lists the tracked files.
//!
//! The format: <https://git-scm.com/docs/index-format>. Versions 2, 3 and 4 are read, with SHA-1 and with SHA-256. An
//! index that refers to another file (a split index) is not read.

use super::{file, not_understood};
use std::path::Path;

/// Maximum size of an index, in bytes. The index of a repository with 100 000 files has about 10 MB.
const MAX_INDEX: u64 = 64 << 20;

/// Size of the header: a signature, the version and the number of entries.
const HEADER: usize = 12;
/// Size of an entry's fields before the object's name, and offset of the mode in them.
const STAT: usize = 40;
const MODE: usize = 24;
/// The sizes of an object's name, for SHA-1 and SHA-256.
const NAMES: [usize; 2] = [20, 32];
/// The bit of an entry's flags that says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;
/// The mode of a directory that a sparse index contains in place of its files.
const SPARSE: u32 = 0o040_000;

/// The reason why an index cannot be read.
struct Damaged;

/// Returns whether the index contains a file, or a file below a directory. `path` is relative to the worktree.
///
/// # Errors
/// Returns the reason if the index cannot be read.
pub(super) fn contains(index: &Path, path: &str) -> Result<bool, String> {
    let Some(bytes) = file::bytes(index, MAX_INDEX)? else { return Ok(false) };
    let damaged = || not_understood(index, "is an index in a format that hookhost does not read");
    // The size of objects' names is in the repository's configuration. But entries of the other size cannot be read.
    let found = NAMES.iter().find_map(|name| find(&bytes, *name, path.as_bytes()).ok());
    found.ok_or_else(damaged)
}

fn find(bytes: &[u8], name: usize, path: &[u8]) -> Result<bool, Damaged> {
    let version = number(bytes, 4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(Damaged);
    }
    let (mut rest, mut before, mut is_found) = (bytes.get(HEADER..).ok_or(Damaged)?, Vec::new(), false);
    for _ in 0..number(bytes, 8)? {
        let mode = number(rest, MODE)?;
        let flags = rest.get(STAT + name..STAT + name + 2).ok_or(Damaged)?;
        let is_extended = u16::from_be_bytes([flags[0], flags[1]]) & EXTENDED != 0;
        let fixed = STAT + name + if is_extended { 4 } else { 2 };
        let text = rest.get(fixed..).ok_or(Damaged)?;
        let used = if version == 4 {
            let (shared, digits) = offset(text)?;
            let end = end_of(&text[digits..])?;
            before.truncate(before.len().checked_sub(shared).ok_or(Damaged)?);
            before.extend_from_slice(&text[digits..digits + end]);
            fixed + digits + end + 1
        } else {
            let end = end_of(text)?;
            before.clear();
            before.extend_from_slice(&text[..end]);
            // One to eight bytes of zero fill the entry to a multiple of eight.
            (fixed + end + 8) & !7
        };
        let is_below = |path: &[u8], directory: &[u8]| {
            path.strip_prefix(directory).is_some_and(|rest| directory.ends_with(b"/") || rest.starts_with(b"/"))
        };
        is_found |= before == path || is_below(&before, path) || mode == SPARSE && is_below(path, &before);
        rest = rest.get(used..).ok_or(Damaged)?;
    }
    check_end(rest, name)?;
    Ok(is_found)
}

/// Checks that extensions and a checksum follow the entries. The extension `link` says that further entries are in
/// another file.
fn check_end(mut rest: &[u8], checksum: usize) -> Result<(), Damaged> {
    while rest.len() > checksum {
        let size = usize::try_from(number(rest, 4)?).map_err(|_| Damaged)?;
        if rest.starts_with(b"link") {
            return Err(Damaged);
        }
        rest = rest.get(8..).and_then(|rest| rest.get(size..)).ok_or(Damaged)?;
    }
    if rest.len() == checksum { Ok(()) } else { Err(Damaged) }
}

fn number(bytes: &[u8], at: usize) -> Result<u32, Damaged> {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_be_bytes(*bytes)).ok_or(Damaged)
}

fn end_of(text: &[u8]) -> Result<usize, Damaged> {
    text.iter().position(|byte| *byte == 0).ok_or(Damaged)
}

/// Reads the number of bytes that a name of version 4 does not share with the name before it. Returns the number and
/// its size.
fn offset(text: &[u8]) -> Result<(usize, usize), Damaged> {
    let mut value: usize = 0;
    for (at, byte) in text.iter().enumerate().take(5) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
        value += 1;
    }
    Err(Damaged)
}
