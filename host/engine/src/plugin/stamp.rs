//! Stamps of files. A stamp is a part of a file's metadata. If the stamp of a file is still the same at a later load,
//! the file is unchanged, so the load need not read it.
//!
//! A stamp contains the time of the file's last change (`ctime`), which a program cannot set. The operating system
//! updates this time at each write, at each rename and at each change of the attributes. If a file changes twice within
//! the clock's resolution, `ctime` stays the same. So a stamp is taken only if the last change was longer ago than this
//! resolution.

use crate::files::{self, Guard, Links};
use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Size of a stamp, in bytes.
pub(super) const BYTES: usize = 7 * 8;

/// Minimum age of a file's times when its stamp is taken. The value is longer than the resolution of the coarsest clock
/// of a file system.
const SETTLED: Duration = Duration::from_secs(3);

/// A file's device, inode and size, and the times of its last write and its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp([u64; 7]);

impl Stamp {
    /// Returns the stamp of a file that is about to be read at the time `now`. Returns `None` if the file has just
    /// changed, or if the system does not provide the numbers of a stamp.
    pub(super) fn of(metadata: &Metadata, now: SystemTime) -> Option<Self> {
        let latest = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.checked_sub(SETTLED)?;
        let stamp = Self::numbers(metadata)?;
        let Self([.., written, written_ns, changed, changed_ns]) = stamp;
        let is_settled = |seconds: u64, ns: u64| Duration::from_secs(seconds) + Duration::from_nanos(ns) < latest;
        (is_settled(written, written_ns) && is_settled(changed, changed_ns)).then_some(stamp)
    }

    /// Returns true if the file at this path is still the stamped one.
    pub(super) fn is_of(self, path: &Path) -> bool {
        // The file is opened for two reasons: a network file system then fetches current metadata, and an unreadable
        // file is noticed.
        let opened = files::open(path, Guard::Anybodys, Links::Followed);
        let metadata = opened.ok().and_then(|file| file.metadata().ok());
        metadata.is_some_and(|metadata| metadata.is_file() && Self::numbers(&metadata) == Some(self))
    }

    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (place, number) in bytes.chunks_exact_mut(8).zip(self.0) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Parses a stamp. Returns `None` if all bytes are zero, because such bytes mean that there is no stamp.
    pub(super) fn parse(bytes: &[u8; BYTES]) -> Option<Self> {
        let mut numbers = [0; 7];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        (numbers != [0; 7]).then_some(Self(numbers))
    }

    /// Returns the numbers of a stamp; `None` if a time is before 1970.
    #[cfg(unix)]
    fn numbers(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let time = |time: i64| u64::try_from(time).ok();
        Some(Self([
            metadata.dev(),
            metadata.ino(),
            metadata.len(),
            time(metadata.mtime())?,
            time(metadata.mtime_nsec())?,
            time(metadata.ctime())?,
            time(metadata.ctime_nsec())?,
        ]))
    }

    #[cfg(not(unix))]
    fn numbers(_: &Metadata) -> Option<Self> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{SETTLED, Stamp};
    use std::fs::{self, File};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    type Change = fn(&Path);

    /// Returns the stamp that a load one hour from now would take.
    fn stamp(path: &Path) -> Stamp {
        let later = SystemTime::now() + Duration::from_hours(1);
        Stamp::of(&fs::metadata(path).unwrap(), later).unwrap()
    }

    #[test]
    fn a_stamp_is_of_its_file_until_the_file_is_written_replaced_or_touched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.wasm");
        let changes: [(&str, Change); 5] = [
            ("written, with as many bytes and the old time", |path| {
                let written = fs::metadata(path).unwrap().modified().unwrap();
                // The clock for file times advances in steps. The loop repeats the change until the next step.
                let before = fs::metadata(path).unwrap();
                while Stamp::numbers(&fs::metadata(path).unwrap()) == Stamp::numbers(&before) {
                    fs::write(path, "other").unwrap();
                    File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
                }
                assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), written);
            }),
            ("replaced by a file of the same bytes and time", |path| {
                let written = fs::metadata(path).unwrap().modified().unwrap();
                let new = path.with_extension("new");
                fs::write(&new, "bytes").unwrap();
                File::options().write(true).open(&new).unwrap().set_modified(written).unwrap();
                fs::rename(&new, path).unwrap();
            }),
            ("longer", |path| fs::write(path, "longer bytes").unwrap()),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("a directory", |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            }),
        ];
        for (change, make) in changes {
            fs::write(&path, "bytes").unwrap();
            let stamp = stamp(&path);
            assert!(stamp.is_of(&path), "{change}");
            make(&path);
            assert!(!stamp.is_of(&path), "{change}");
            let _ = fs::remove_dir(&path);
        }
    }

    #[test]
    fn a_file_that_changed_a_moment_ago_has_no_stamp_whatever_its_time_of_writing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.wasm");
        fs::write(&path, "bytes").unwrap();
        let of = |now| Stamp::of(&fs::metadata(&path).unwrap(), now);
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(of(written), None);
        assert_eq!(of(written + SETTLED), None);
        assert!(of(written + SETTLED + Duration::from_millis(100)).is_some());
        // The last write was long ago, but the last change has just happened.
        let long_ago = written - Duration::from_hours(1);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(of(written + SETTLED), None);
        // The last write is one hour in the future.
        let later = written + Duration::from_hours(1);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(of(written + SETTLED + Duration::from_mins(1)), None);
    }

    #[test]
    fn a_stamp_is_written_down() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.wasm");
        fs::write(&path, "bytes").unwrap();
        let stamp = stamp(&path);
        assert_eq!(Stamp::parse(&stamp.to_bytes()), Some(stamp));
        assert_eq!(Stamp::parse(&[0; super::BYTES]), None);
    }
}
