//! A file that an agent writes itself: it is read, and its guarded keys are written back.

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::walk::{FoundEntry, open_to_owner};
use crate::policy::{RestoredFile, restored};

/// Maximum size of a file of which keys are restored, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// How long a file may be missing, empty or unreadable, because its agent may be writing it.
const SETTLING_TIME: Duration = Duration::from_secs(1);

/// Why a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// It may have changed.
    Event,
    /// Nothing has reported a change.
    Interval,
    /// The program has ended, so nothing is waited for.
    End,
}

/// A restored file with its state.
#[derive(Debug)]
pub(super) struct RestoredState {
    pub(super) file: RestoredFile,
    /// The text and the mode of the start; `None` if the file did not exist.
    pub(super) start: Option<(String, Mode)>,
    /// The version in which the keys were last found as they should be.
    good: Option<Version>,
    unsettled_since: Option<Instant>,
}

/// What tells versions of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version([i128; 7]);

impl Version {
    fn of(stat: &Stat) -> Self {
        Self([
            stat.st_dev.into(),
            stat.st_ino.into(),
            stat.st_size.into(),
            stat.st_mtime.into(),
            stat.st_mtime_nsec.into(),
            stat.st_ctime.into(),
            stat.st_ctime_nsec.into(),
        ])
    }
}

/// What a file contains.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    /// It is not UTF-8.
    Unreadable,
    /// It is too large, or no regular file: a link, a directory, a pipe.
    Unsuitable,
}

/// What has to be done with a file.
#[derive(Debug)]
pub(super) enum Remedy {
    Nothing,
    /// It is looked at again later, because its agent may be writing it.
    Wait,
    /// The text is written, in which these keys have the values of the start.
    Write {
        text: String,
        keys: Vec<String>,
    },
    /// The text of the start is put back, and what is there is kept in the quarantine.
    PutBack,
}

impl RestoredState {
    /// Takes the file as it is before the program starts. The error is the end of a sentence after "because".
    pub(super) fn new(file: RestoredFile, entry: Option<&FoundEntry>) -> Result<Self, String> {
        let start = match entry.map(|entry| (entry, read(entry))) {
            None => None,
            Some((entry, Ok(Content::Text(text)))) => Some((text, Mode::from_raw_mode(entry.stat.st_mode))),
            Some((_, Ok(Content::Unreadable))) => return Err("it is not UTF-8".to_owned()),
            Some((_, Ok(Content::Unsuitable))) => {
                return Err(format!("it is no regular file of at most {} MiB", MAX_BYTES >> 20));
            }
            Some((_, Err(error))) => return Err(format!("it cannot be read ({error})")),
        };
        let good = entry.map(|entry| Version::of(&entry.stat));
        Ok(Self { file, start, good, unsettled_since: None })
    }

    /// Returns true if a look at the file is due although nothing has reported a change.
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled_since.is_some()
    }

    /// Decides what to do.
    pub(super) fn remedy(&mut self, entry: Option<&FoundEntry>, occasion: Occasion) -> Remedy {
        let is_end = occasion == Occasion::End;
        let version = entry.map(|entry| Version::of(&entry.stat));
        // Two quick changes may have the same time, so this is for want of a better hint only.
        if occasion == Occasion::Interval && version.is_some() && version == self.good {
            self.unsettled_since = None;
            return Remedy::Nothing;
        }
        let content = entry.map_or_else(|| Ok(Content::Text(String::new())), read);
        let remedy = match content {
            Ok(Content::Text(now)) => self.remedy_for_text(&now, is_end),
            Ok(Content::Unsuitable) => Remedy::PutBack,
            // With an error, it has disappeared meanwhile, or its permissions are away.
            Ok(Content::Unreadable) | Err(_) => self.wait_or(is_end, Remedy::PutBack),
        };
        if !matches!(remedy, Remedy::Wait) {
            self.unsettled_since = None;
        }
        if matches!(remedy, Remedy::Nothing) {
            self.good = version;
        }
        remedy
    }

    fn remedy_for_text(&mut self, now: &str, is_end: bool) -> Remedy {
        let RestoredFile { format, keys, .. } = &self.file;
        let before = self.start.as_ref().map(|(text, _)| text.as_str());
        if before.unwrap_or_default() == now {
            return Remedy::Nothing;
        }
        match restored(*format, before, now, keys) {
            Ok(None) => Remedy::Nothing,
            Ok(Some(text)) => {
                let differs =
                    |key: &&String| !matches!(restored(*format, before, now, std::slice::from_ref(*key)), Ok(None));
                let keys = keys.iter().filter(differs).cloned().collect();
                let write = Remedy::Write { text, keys };
                // A program that writes in place begins with an empty file.
                if now.trim().is_empty() { self.wait_or(is_end, write) } else { write }
            }
            Err(_) => self.wait_or(is_end, Remedy::PutBack),
        }
    }

    fn wait_or(&mut self, is_end: bool, remedy: Remedy) -> Remedy {
        let since = *self.unsettled_since.get_or_insert_with(Instant::now);
        if is_end || since.elapsed() >= SETTLING_TIME { remedy } else { Remedy::Wait }
    }
}

/// Reads a file. It does not wait for a pipe, follows no link, and reads at most [`MAX_BYTES`].
fn read(entry: &FoundEntry) -> io::Result<Content> {
    if entry.file_type() != FileType::RegularFile {
        return Ok(Content::Unsuitable);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&entry.directory.descriptor, &entry.name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(Content::Unsuitable);
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Ok(Content::Unsuitable);
    }
    Ok(String::from_utf8(bytes).map_or(Content::Unreadable, Content::Text))
}

/// How a text gets into a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteMethod {
    /// A new file takes its place, so that nobody reads a part of it.
    Rename,
    /// The file stays the same one, because Landlock lets the program reach no other.
    InPlace,
}

/// Maximum number of names that are tried for a new file.
const MAX_NAMES: u32 = 16;

/// Creates a file with a name that nobody can know before. In a directory without permissions, it gets those of the owner first.
fn create(directory: &OwnedFd) -> io::Result<(OsString, OwnedFd)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_NAMES {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = OsString::from(format!(".hookhost-{:016x}", u64::from_ne_bytes(random)));
        match openat(directory, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((name, file)),
            Err(error) => {
                last = error.into();
                if error == Errno::ACCESS && !open_to_owner(directory) {
                    break;
                }
            }
        }
    }
    Err(last)
}

/// Writes a file, unless it is another version than the expected one. Returns true if it was written.
pub(super) fn write(
    directory: &OwnedFd,
    name: &OsStr,
    text: &str,
    mode: Mode,
    expected: Option<&Stat>,
    method: WriteMethod,
) -> io::Result<bool> {
    let is_expected = || {
        let now = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        now.as_ref().map(Version::of) == expected.map(Version::of)
    };
    if let (WriteMethod::InPlace, Some(_)) = (method, expected) {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mut file = File::from(openat(directory, name, flags, Mode::empty())?);
        if !is_expected() {
            return Ok(false);
        }
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        return Ok(true);
    }
    let (new, file) = create(directory)?;
    let written = (|| {
        fchmod(&file, mode & Mode::from_raw_mode(0o777))?;
        if let Some(stat) = expected {
            // Only root can give a file away.
            _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
        }
        File::from(file).write_all(text.as_bytes())?;
        if !is_expected() {
            return Ok(false);
        }
        renameat(directory, &new, directory, name)?;
        io::Result::Ok(true)
    })();
    if !matches!(written, Ok(true)) {
        _ = unlinkat(directory, &new, AtFlags::empty());
    }
    written
}
