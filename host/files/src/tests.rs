//! Tests which files are trusted, and that opening a file does not wait for another process.

use super::owner::unix::{Fault, Found, Me};
use super::{
    Access, FileError, Guard, Links, Lock, NewFile, Refused, check_own_directory, check_within, locked_out, look, open,
    read, replace,
};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ADA: u32 = 1000;
const EVE: u32 = 1001;
/// A group with members.
const STAFF: u32 = 50;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
}

fn refused<T: std::fmt::Debug>(result: Result<T, FileError>) -> Refused {
    match result {
        Err(FileError::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.0.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "text").unwrap();
        mode(&path, 0o600);
        path
    }
}

#[test]
fn a_file_that_its_own_owner_cannot_use_is_refused_by_its_mode_and_names_the_umask() {
    let place = Place::new();
    let file = place.file("state/trust.json");
    let directory = file.parent().unwrap();
    let denied = |access| locked_out(&file, access, io::ErrorKind::PermissionDenied.into());
    for (path, bits, access) in [
        (&*file, 0o000, Access::Read),
        (&*file, 0o400, Access::Write),
        (directory, 0o000, Access::Read),
        (directory, 0o500, Access::Write),
    ] {
        mode(path, bits);
        let refused = refused::<()>(Err(denied(access)));
        mode(path, 0o700);
        assert!(
            refused.path == path && refused.fault.contains(&format!("its mode {bits:03o} denies access")),
            "{refused}"
        );
        assert!(refused.remedy.contains("umask"), "{refused}");
    }
    // If the modes allow the access, something else denies it, so the error is passed on.
    assert!(matches!(denied(Access::Write), FileError::Io(_)));
}

#[test]
fn a_file_counts_where_nobody_but_the_user_and_root_can_have_written_it() {
    // In this test, the private groups are those of the two users and of root. All other groups have other members.
    let me = Me { uid: ADA, is_private: |gid| gid == ADA || gid == EVE || gid == 0 };
    let found = |uid, gid, mode| Found { uid, gid, mode, has_list: false };
    let others = |uid, gid, mode| found(uid, gid, mode).fault(&me, Guard::OnlyMineToWrite);
    let writable = |mode| Some(Fault::Writable { mode });
    for (uid, gid, mode, fault) in [
        (ADA, STAFF, 0o600, None),
        (ADA, STAFF, 0o644, None),
        (0, 0, 0o444, None),
        (EVE, ADA, 0o600, Some(Fault::Owner { uid: EVE, me: ADA })),
        (EVE, EVE, 0o666, Some(Fault::Owner { uid: EVE, me: ADA })),
        (ADA, STAFF, 0o664, writable(0o664)),
        (ADA, ADA, 0o664, None),
        (0, ADA, 0o664, None),
        (0, 0, 0o664, None),
        // The private group of another user contains that user.
        (ADA, EVE, 0o664, writable(0o664)),
        (ADA, ADA, 0o666, writable(0o666)),
        (ADA, ADA, 0o602, writable(0o602)),
    ] {
        assert_eq!(others(uid, gid, mode), fault, "{uid} {gid} {mode:o}");
    }
    // The mask of an access control list looks like a right of the group.
    let listed = Found { has_list: true, ..found(ADA, ADA, 0o664) };
    assert_eq!(listed.fault(&me, Guard::OnlyMineToWrite), writable(0o664));
    let no_group = Me { uid: ADA, is_private: |_| false };
    assert_eq!(found(ADA, ADA, 0o664).fault(&no_group, Guard::OnlyMineToWrite), writable(0o664));
}

#[test]
fn a_secret_counts_where_nobody_else_can_read_it() {
    let me = Me { uid: ADA, is_private: |gid| gid == ADA };
    let secret = |mode| Found { uid: ADA, gid: ADA, mode, has_list: false }.fault(&me, Guard::OnlyMineToRead);
    assert_eq!((secret(0o600), secret(0o400)), (None, None));
    for mode in [0o640, 0o604] {
        assert_eq!(secret(mode), Some(Fault::Readable { mode }));
    }
    for mode in [0o660, 0o602, 0o666] {
        assert_eq!(secret(mode), Some(Fault::Writable { mode }));
    }
}

#[test]
fn a_refusal_names_the_path_the_fault_and_the_command() {
    let place = Place::new();
    let file = place.file("f");
    mode(&file, 0o646);
    let shown = file.display();
    let said = refused(open(&file, Guard::OnlyMineToWrite, Links::Refused)).to_string();
    assert_eq!(
        said,
        format!(
            "{shown} is not used, since other users can write it (mode 646): check its content, and make it yours alone with \
             `chmod go-w '{shown}'`"
        )
    );
    mode(&file, 0o644);
    let said = refused(open(&file, Guard::OnlyMineToRead, Links::Refused)).to_string();
    assert!(said.contains("other users can read it (mode 644)") && said.contains("`chmod 600 '"), "{said}");
    // Only root can change the owner of a file, so only root can test a file of another user.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(EVE), None).unwrap();
        let said = refused(open(&file, Guard::OnlyMineToWrite, Links::Refused)).to_string();
        assert!(said.contains("it belongs to another user (uid 1001)") && said.contains("`sudo chown 0 '"), "{said}");
        assert_eq!(refused(look(&file, Guard::OnlyMineToWrite)).path, file);
    }
}

#[test]
fn a_directory_in_which_others_can_put_another_file_makes_its_files_not_count() {
    let place = Place::new();
    let file = place.file("directory/f");
    let directory = file.parent().unwrap();
    mode(directory, 0o777);
    for found in [open(&file, Guard::OnlyMineToWrite, Links::Refused).map(drop), look(&file, Guard::OnlyMineToWrite)] {
        let refused = refused(found);
        assert_eq!(refused.path, directory);
        assert!(refused.remedy.contains("`chmod go-w '"), "{refused}");
    }
    // In a directory such as `/tmp`, others can add files, but can change only their own files.
    mode(directory, 0o1777);
    assert!(open(&file, Guard::OnlyMineToWrite, Links::Refused).is_ok());
    mode(directory, 0o755);
    assert!(open(&file, Guard::OnlyMineToWrite, Links::Refused).is_ok());
    assert!(refused(check_own_directory(directory)).remedy.contains("`chmod 700 '"));
    mode(directory, 0o700);
    check_own_directory(directory).unwrap();
}

#[test]
fn a_link_that_is_followed_leads_to_a_file_that_is_checked_with_both_directories() {
    let place = Place::new();
    let file = place.file("real/f");
    let link = place.file("links/other").with_file_name("f");
    symlink(&file, &link).unwrap();
    assert_eq!(read(&link, Guard::OnlyMineToWrite, Links::Followed, 4).unwrap(), b"text");
    assert!(refused(read(&link, Guard::Anybodys, Links::Refused, 4)).fault.contains("symbolic link"));
    for directory in ["real", "links"] {
        let directory = file.parent().unwrap().with_file_name(directory);
        mode(&directory, 0o777);
        assert_eq!(refused(open(&link, Guard::OnlyMineToWrite, Links::Followed)).path, directory);
        mode(&directory, 0o755);
    }
    mode(&file, 0o666);
    assert!(refused(open(&link, Guard::OnlyMineToWrite, Links::Followed)).fault.contains("(mode 666)"));
}

#[test]
fn no_link_of_a_directory_leads_out_of_it() {
    let place = Place::new();
    let (inside, outside) = (place.file("root/real/f"), place.file("outside/f"));
    let root = inside.parent().unwrap().with_file_name("");
    symlink("real", root.join("within")).unwrap();
    symlink("real/f", root.join("file")).unwrap();
    symlink(outside.parent().unwrap(), root.join("out")).unwrap();
    symlink(&outside, root.join("out-file")).unwrap();
    for path in ["real/f", "within/f", "file", "within/new", "new/deep/file", "real/f/below"] {
        check_within(&root.join(path), &root).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    for path in ["out/f", "out/new/file", "out-file", "../outside/f", "within/../../outside/f"] {
        assert!(refused(check_within(&root.join(path), &root)).fault.contains("outside of"), "{path}");
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_at_once_and_a_file_is_read_to_its_bound() {
    let place = Place::new();
    let file = place.file("f");
    assert_eq!(read(&file, Guard::OnlyMineToRead, Links::Refused, 4).unwrap(), b"text");
    assert_eq!(refused(read(&file, Guard::OnlyMineToRead, Links::Refused, 3)).fault, "it is larger than 3 bytes");
    let pipe_at = file.with_file_name("pipe");
    pipe(&pipe_at);
    for path in [&pipe_at, Path::new("/dev/zero"), file.parent().unwrap()] {
        for links in [Links::Followed, Links::Refused] {
            let found = open(path, Guard::Anybodys, links);
            assert_eq!(refused(found).fault, "it is not a regular file", "{}", path.display());
        }
    }
    assert!(open(&file.with_file_name("nothing"), Guard::Anybodys, Links::Refused).unwrap_err().is_missing());
}

#[test]
fn one_holds_the_lock_and_the_next_waits_until_it_is_free() {
    let place = Place::new();
    let directory = place.0.path().join("state");
    let held = Lock::take(&directory).unwrap();
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let said = refused(Lock::take_within(&directory, Duration::from_millis(30))).to_string();
    assert!(said.contains("another hookhost holds it: let that one finish"), "{said}");
    drop(held);
    Lock::take(&directory).unwrap();
    // Taking the lock closes the user's own directory to others, unless the directory is shared by all users.
    mode(&directory, 0o755);
    Lock::take(&directory).unwrap();
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    mode(&directory, 0o1777);
    assert!(refused(Lock::take(&directory)).fault.contains("(mode 777)"));
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o7777, 0o1777);
    mode(&directory, 0o700);
    // Opening a pipe in place of the lock file would wait forever.
    fs::remove_file(directory.join("trust.lock")).unwrap();
    pipe(&directory.join("trust.lock"));
    assert_eq!(refused(Lock::take(&directory)).fault, "it is not a regular file");
    fs::remove_file(directory.join("trust.lock")).unwrap();
    symlink(place.file("elsewhere"), directory.join("trust.lock")).unwrap();
    assert_eq!(refused(Lock::take(&directory)).fault, "it is a symbolic link");
}

#[test]
fn a_file_is_replaced_whole_and_a_new_one_is_private_where_it_is_to_be() {
    let place = Place::new();
    let file = place.file("f");
    mode(&file, 0o640);
    replace(&file, b"new", NewFile::Private).unwrap();
    assert_eq!(
        (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().permissions().mode() & 0o777),
        (b"new".to_vec(), 0o640)
    );
    let fresh = file.with_file_name("fresh");
    replace(&fresh, b"x", NewFile::Private).unwrap();
    assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(fresh.parent().unwrap()).unwrap().count(), 2);
}
