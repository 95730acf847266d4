//! A settings file of a person. The file is read once. It is then either replaced completely or left unchanged.

use crate::install::error::FileRefusal;
use crate::plan::quoted;
use data_encoding::HEXLOWER;
use hookhost_files::{Guard, Links};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Maximum size of a file, in bytes: 16 MiB.
const MAX_BYTES: u64 = 16 << 20;

/// A file with the content that it had when it was read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// The path under which the caller named the file.
    pub named: PathBuf,
    /// The path with all symbolic links resolved.
    pub real: PathBuf,
    /// True if the path in `named` is a symbolic link or leads through a symbolic link.
    pub is_linked: bool,
    /// The content, or `None` if the file does not exist.
    pub content: Option<Vec<u8>>,
    /// Owner, permissions and identity, if the file exists.
    found: Option<FileIdentity>,
    /// The root of the project to which the file belongs.
    project: Option<PathBuf>,
}

/// Identifies the file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileIdentity {
    mode: u32,
    owner: (u32, u32),
    device_and_inode: (u64, u64),
}

impl SettingsFile {
    /// Reads a file, which may be missing. Symbolic links are followed if they lead to a file of this user. In a
    /// project, a link that leads out of `project` is not followed, because other people may have written the project's
    /// files.
    ///
    /// # Errors
    /// If the file cannot be read, is not a regular file, or is larger than 16 MiB. It is also an error if a link leads to no file,
    /// to a file of another user, or out of the project.
    pub fn read(named: &Path, project: Option<&Path>) -> Result<Self, FileRefusal> {
        let named = std::path::absolute(named).map_err(|error| FileRefusal::io(named, "found", &error))?;
        let is_link = fs::symlink_metadata(&named).is_ok_and(|metadata| metadata.is_symlink());
        check_within(&named, project)?;
        let real = match named.canonicalize() {
            Ok(real) => real,
            Err(_) if is_link => {
                let next = "make the file that it leads to, or remove the link";
                return Err(FileRefusal::new(&named, "is a symbolic link that leads nowhere", next));
            }
            Err(error) if is_missing(&error) => return Self::missing(named, project),
            Err(error) => return Err(FileRefusal::io(&named, "read", &error)),
        };
        let is_linked = is_link || leads_through_link(&named);
        let unreadable = |error| FileRefusal::unreadable(&named, error);
        let file = hookhost_files::open(&real, Guard::Anybodys, Links::Followed).map_err(unreadable)?;
        let metadata = file.metadata().map_err(|error| FileRefusal::io(&named, "read", &error))?;
        check_owner(&named, &real, is_linked, &metadata)?;
        let content = hookhost_files::read_opened(&real, &file, MAX_BYTES).map_err(unreadable)?;
        let project = project.map(Path::to_owned);
        Ok(Self { real, is_linked, content: Some(content), found: Some(FileIdentity::of(&metadata)), named, project })
    }

    /// Reads the same file again.
    pub(crate) fn reread(&self) -> Result<Self, FileRefusal> {
        Self::read(&self.named, self.project.as_deref())
    }

    fn missing(named: PathBuf, project: Option<&Path>) -> Result<Self, FileRefusal> {
        let is_linked = leads_through_link(&named);
        if let Some(directory) = existing_ancestor(&named)
            && is_linked
            && let Ok(metadata) = directory.metadata()
        {
            check_owner(&named, &directory, true, &metadata)?;
        }
        let project = project.map(Path::to_owned);
        Ok(Self { real: named.clone(), named, is_linked, content: None, found: None, project })
    }

    /// Returns the content as text. The text is empty if the file does not exist.
    ///
    /// # Errors
    /// If the content is not UTF-8.
    pub fn text(&self) -> Result<&str, FileRefusal> {
        text_of(&self.named, self.content.as_deref().unwrap_or_default())
    }

    /// Checks that the file may be written.
    ///
    /// # Errors
    /// If the file is read-only.
    pub fn check_writable(&self) -> Result<(), FileRefusal> {
        let Some(found) = &self.found else { return Ok(()) };
        if found.mode & 0o200 == 0 {
            let next =
                format!("if it is to be changed, `chmod u+w {}`, and try again", quoted(&self.real.to_string_lossy()));
            return Err(FileRefusal::new(&self.named, "is read-only", next));
        }
        Ok(())
    }

    /// Replaces the file's content. Writes a new file in the same directory, and then renames the new file to the name
    /// of the old file. So a reader sees either the old content or the complete new content, even after a crash. The
    /// new file gets the owner and the permissions of the old file. Returns the directories that were created for the
    /// file, outermost first.
    ///
    /// # Errors
    /// If the file has changed since it was read, or if the new file cannot be written. In both cases, the old file is
    /// unchanged.
    pub fn replace(&self, content: &[u8], is_program: bool) -> Result<Vec<PathBuf>, FileRefusal> {
        self.check_writable()?;
        let mut made = Vec::new();
        let directory = self.real.parent().unwrap_or(Path::new("/"));
        if self.content.is_none() {
            made = make_directories(directory).map_err(|error| FileRefusal::io(&self.named, "written", &error))?;
        }
        let put = self.put(directory, content, is_program);
        if put.is_err() {
            remove_directories(&made);
        }
        put.map(|()| made)
    }

    fn put(&self, directory: &Path, content: &[u8], is_program: bool) -> Result<(), FileRefusal> {
        let failed = |error: &io::Error| FileRefusal::io(&self.named, "written", error);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".hookhost-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // The user's umask restricts these permissions.
            builder.permissions(fs::Permissions::from_mode(if is_program { 0o777 } else { 0o666 }));
        }
        let mut file = builder.tempfile_in(directory).map_err(|error| failed(&error))?;
        file.write_all(content).map_err(|error| failed(&error))?;
        if let Some(found) = &self.found {
            found.give_to(file.as_file(), is_program).map_err(|error| failed(&error))?;
        }
        file.as_file().sync_all().map_err(|error| failed(&error))?;
        self.check_unchanged()?;
        let persisted = match self.found {
            Some(_) => file.persist(&self.real),
            None => file.persist_noclobber(&self.real),
        };
        match persisted {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Err(self.changed()),
            Err(error) => return Err(failed(&error.error)),
        }
        // Also write the changed directory to the disk, if the system can do that.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    }

    /// Removes the file.
    ///
    /// # Errors
    /// If the file has changed since it was read, or cannot be removed.
    pub fn remove(&self) -> Result<(), FileRefusal> {
        self.check_writable()?;
        self.check_unchanged()?;
        fs::remove_file(&self.real).map_err(|error| FileRefusal::io(&self.named, "removed", &error))
    }

    /// Checks that the file has not changed since it was read.
    ///
    /// # Errors
    /// If the file has changed.
    pub fn check_unchanged(&self) -> Result<(), FileRefusal> {
        let now = self.reread()?;
        let is_same = now.real == self.real && now.content == self.content && now.found == self.found;
        if is_same { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> FileRefusal {
        FileRefusal::new(&self.named, "was changed by somebody else meanwhile", "try again")
    }
}

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            mode: metadata.mode() & 0o7777,
            owner: (metadata.uid(), metadata.gid()),
            device_and_inode: (metadata.dev(), metadata.ino()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let mode = if metadata.permissions().readonly() { 0o444 } else { 0o644 };
        Self { mode, owner: (0, 0), device_and_inode: (0, 0) }
    }

    /// Gives a new file the owner and permissions of the file that was read.
    #[cfg(unix)]
    fn give_to(&self, file: &File, is_program: bool) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        if Self::of(&file.metadata()?).owner != self.owner {
            std::os::unix::fs::fchown(file, Some(self.owner.0), Some(self.owner.1))?;
        }
        let readable = (self.mode & 0o444) >> 2;
        let mode = if is_program { self.mode | readable } else { self.mode };
        file.set_permissions(fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the other systems give it")]
    fn give_to(&self, _: &File, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text of a file that is only read, or `None` if the file does not exist. The file can belong to any user.
/// For `project`, see [`SettingsFile::read`].
///
/// # Errors
/// The errors of [`SettingsFile::read`] and [`SettingsFile::text`], with two exceptions: a file of another user and a
/// link that leads to no file are not errors.
pub fn read_text(path: &Path, project: Option<&Path>) -> Result<Option<String>, FileRefusal> {
    check_within(path, project)?;
    match hookhost_files::read(path, Guard::Anybodys, Links::Followed, MAX_BYTES) {
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(FileRefusal::unreadable(path, error)),
        Ok(content) => text_of(path, &content).map(|text| Some(text.to_owned())),
    }
}

/// Returns the digest of a file that is only read, or `None` if the file cannot be read or is larger than `most` bytes.
pub(crate) fn digest_of(path: &Path, most: u64) -> Option<String> {
    let content = hookhost_files::read(path, Guard::Anybodys, Links::Followed, most).ok()?;
    Some(digest(&content))
}

fn check_within(path: &Path, project: Option<&Path>) -> Result<(), FileRefusal> {
    let Some(project) = project else { return Ok(()) };
    match hookhost_files::check_within(path, project) {
        // If the project does not exist, the file does not exist either.
        Err(error) if error.is_missing() => Ok(()),
        checked => checked.map_err(|error| FileRefusal::unreadable(path, error)),
    }
}

/// Returns the content of a file as text.
fn text_of<'a>(path: &Path, content: &'a [u8]) -> Result<&'a str, FileRefusal> {
    let next = "save it as UTF-8, and try again";
    let what = match content {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] | [0, ..] => "is UTF-16, and not UTF-8".to_owned(),
        _ => match std::str::from_utf8(content) {
            Ok(text) => return Ok(text),
            Err(error) => {
                let (before, rest) = content.split_at(error.valid_up_to());
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
                let byte = rest.first().copied().unwrap_or_default();
                format!(
                    "is not UTF-8, and probably Latin-1 or Windows-1252: line {line} has the byte {byte:#04x} at byte {column}"
                )
            }
        },
    };
    Err(FileRefusal::new(path, what, next))
}

/// Returns the SHA-256 digest of `content` in hexadecimal digits.
pub fn digest(content: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(content))
}

/// Removes the directories that were created and are now empty. Begins with the innermost directory.
pub fn remove_directories(made: &[PathBuf]) {
    for directory in made.iter().rev() {
        // The directory contains another file, so it and the directories above are kept.
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

fn make_directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = directory.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
    let mut made = Vec::new();
    for directory in missing.into_iter().rev() {
        if let Err(error) = fs::create_dir(&directory) {
            remove_directories(&made);
            return Err(error);
        }
        made.push(directory);
    }
    Ok(made)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn existing_ancestor(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|ancestor| ancestor.canonicalize().ok())
}

/// Returns true if a directory above the file is a symbolic link. Links of root directly below `/` are ignored, because
/// on some systems `/tmp` or `/home` is a link.
#[cfg(unix)]
fn leads_through_link(named: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_link = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.is_symlink() && !(metadata.uid() == 0 && path.ancestors().count() <= 2))
    };
    named.ancestors().skip(1).any(is_link)
}

#[cfg(not(unix))]
fn leads_through_link(named: &Path) -> bool {
    named.ancestors().skip(1).any(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()))
}

/// Checks that the file belongs to this user. If this user is root and no link is involved, the file may belong to any
/// user, because root can give the new file the same owner.
#[cfg(unix)]
fn check_owner(named: &Path, real: &Path, is_linked: bool, metadata: &Metadata) -> Result<(), FileRefusal> {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() == me || (me == 0 && !is_linked) {
        return Ok(());
    }
    let whose = format!("belongs to another user (uid {})", metadata.uid());
    let what = if is_linked { format!("leads to {}, which {whose}", real.display()) } else { whose };
    Err(FileRefusal::new(named, what, "have that user install the hook, or put a file of your own in its place"))
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Path, _: bool, _: &Metadata) -> Result<(), FileRefusal> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::{SettingsFile, read_text};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        SettingsFile::read(&path, None).unwrap().replace(b"{\"a\":1}", false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{\"a\":1}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_not_there_is_made_with_its_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/settings.json");
        let made = SettingsFile::read(&path, None).unwrap().replace(b"{}", false).unwrap();
        assert_eq!(made, [directory.path().join("a"), directory.path().join("a/b")]);
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }

    #[test]
    fn what_somebody_changed_or_made_meanwhile_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let missing = SettingsFile::read(&path, None).unwrap();
        fs::write(&path, "theirs").unwrap();
        let error = missing.replace(b"ours", false).unwrap_err();
        assert!(error.what.contains("changed by somebody else"), "{error}");
        let read = SettingsFile::read(&path, None).unwrap();
        fs::write(&path, "other").unwrap();
        assert!(read.replace(b"ours", false).is_err() && read.remove().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_followed_and_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (link, real) = (directory.path().join("link.json"), directory.path().join("dotfiles/real.json"));
        fs::create_dir(directory.path().join("dotfiles")).unwrap();
        fs::write(&real, "{}").unwrap();
        symlink("dotfiles/real.json", &link).unwrap();
        let file = SettingsFile::read(&link, None).unwrap();
        assert!(file.is_linked);
        file.replace(b"{\"a\":1}", false).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"{\"a\":1}");
        let through = directory.path().join("through");
        symlink("dotfiles", &through).unwrap();
        assert!(SettingsFile::read(&through.join("real.json"), None).unwrap().is_linked);
        assert!(!SettingsFile::read(&real, None).unwrap().is_linked);
    }

    #[test]
    fn links_that_lead_nowhere_directories_and_read_only_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        symlink("nowhere", path("dangling")).unwrap();
        let error = SettingsFile::read(&path("dangling"), None).unwrap_err();
        assert!(
            error.to_string().contains("is a symbolic link that leads nowhere, so it is left as it is: "),
            "{error}"
        );
        fs::create_dir(path("directory")).unwrap();
        assert!(SettingsFile::read(&path("directory"), None).unwrap_err().what.contains("not a regular file"));
        fs::write(path("read-only"), "{}").unwrap();
        fs::set_permissions(path("read-only"), fs::Permissions::from_mode(0o444)).unwrap();
        let error = SettingsFile::read(&path("read-only"), None).unwrap().replace(b"x", false).unwrap_err();
        assert!(
            error.to_string().contains("is read-only, so it is left as it is: if it is to be changed, `chmod u+w "),
            "{error}"
        );
        assert_eq!(fs::read(path("read-only")).unwrap(), b"{}");
    }

    #[test]
    fn no_link_of_a_project_is_followed_out_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (project, mine) = (root.join("project"), root.join("mine"));
        fs::create_dir_all(project.join("real")).unwrap();
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("rc"), "{}").unwrap();
        fs::write(project.join("real/settings.json"), "{}").unwrap();
        symlink(mine.join("rc"), project.join("file")).unwrap();
        symlink(&mine, project.join("directory")).unwrap();
        symlink("real", project.join("within")).unwrap();
        for path in ["file", "directory/rc", "directory/new"] {
            let path = project.join(path);
            let (read, looked) = (SettingsFile::read(&path, Some(&project)), read_text(&path, Some(&project)));
            for error in [read.unwrap_err(), looked.unwrap_err()] {
                assert!(error.what.contains("which is outside of "), "{error}");
            }
            assert!(SettingsFile::read(&path, None).is_ok(), "the user's own links are followed");
        }
        let within = project.join("within/settings.json");
        assert!(SettingsFile::read(&within, Some(&project)).unwrap().is_linked);
        assert_eq!(read_text(&within, Some(&project)).unwrap().as_deref(), Some("{}"));
    }

    #[test]
    fn a_device_is_not_read_and_a_file_to_its_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        symlink("/dev/zero", path("device")).unwrap();
        let large = fs::File::create(path("large")).unwrap();
        large.set_len(super::MAX_BYTES + 1).unwrap();
        for (name, why) in
            [("device", "not a regular file"), ("large", "larger than 16 MiB"), ("", "not a regular file")]
        {
            for error in [SettingsFile::read(&path(name), None).unwrap_err(), read_text(&path(name), None).unwrap_err()]
            {
                assert!(error.what.contains(why), "{error}");
            }
        }
        assert_eq!(read_text(&path("nothing"), None), Ok(None));
        assert_eq!(read_text(&path("large/nothing"), None), Ok(None));
    }

    #[test]
    fn a_text_in_another_encoding_is_named_with_its_place() {
        for (content, says) in [
            (&b"{\n \"a\": \"caf\xe9\"}"[..], "line 2 has the byte 0xe9 at byte 11"),
            (b"\xff\xfe{\0}\0", "is UTF-16"),
            (b"{\0}\0", "is UTF-16"),
            (b"\0{\0}", "is UTF-16"),
        ] {
            let error = super::text_of(std::path::Path::new("/f"), content).unwrap_err();
            assert!(error.what.contains(says) && error.next.starts_with("save it as UTF-8"), "{error}");
        }
    }

    #[test]
    fn a_link_to_a_file_of_another_user_is_refused_also_for_root() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("theirs"), "{}").unwrap();
        if std::os::unix::fs::chown(path("theirs"), Some(12_345), None).is_err() {
            println!("only root can give a file away: not tried");
            return;
        }
        symlink("theirs", path("link")).unwrap();
        let error = SettingsFile::read(&path("link"), None).unwrap_err();
        assert!(error.what.ends_with("which belongs to another user (uid 12345)"), "{error}");
        // Root may change a file of another user. The file still belongs to that user afterwards.
        let file = SettingsFile::read(&path("theirs"), None).unwrap();
        file.replace(b"{ }", false).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&path("theirs").metadata().unwrap()), 12_345);
    }
}
