//! Writes a note into the state directory which says that the user's configuration files have been active. With this note, the host
//! notices if such a file is missing later. This can happen if a program that the agent runs has removed the file, or if an
//! environment variable names another directory.

use hookhost::Config;
use hookhost::config::UserDirectories;
use hookhost_client::paths::HostPaths;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Checks that each of the user's configuration files is still active if it was active before. Writes the active files into the note.
///
/// # Errors
/// One sentence, if a file is no longer active, or if the note cannot be written.
pub fn check(places: &UserDirectories, config: &Config) -> Result<(), String> {
    let place = HostPaths::below(&places.state);
    let noted = read(&place)?;
    let counts = |file: &PathBuf| config.files().iter().any(|counting| counting == file || is_link_to(file, counting));
    let active: BTreeSet<PathBuf> = places.user_files().into_iter().filter(counts).collect();
    let is_missing = |noted: &&PathBuf| active.iter().all(|active| active.file_name() != noted.file_name());
    if let Some(missing) = noted.iter().find(is_missing) {
        let instead = if missing.file_name() == places.profile_file().file_name() {
            "`hookhost on` writes it again, and `hookhost off` ends its rules"
        } else {
            "put it back, or create an empty file if you want no rules of your own"
        };
        return Err(format!("{} is no longer there, but its rules were active here: {instead}", missing.display()));
    }
    if noted == active { Ok(()) } else { write(&place, &active) }
}

/// Puts a file that the program has written for the user into the note.
///
/// # Errors
/// One sentence, if the note cannot be read or written.
pub fn remember(places: &UserDirectories, file: &Path) -> Result<(), String> {
    let place = HostPaths::below(&places.state);
    let mut noted = read(&place)?;
    noted.retain(|noted| noted.file_name() != file.file_name());
    noted.insert(file.to_owned());
    write(&place, &noted)
}

/// Returns true if the note has this file.
///
/// # Errors
/// One sentence, if the note cannot be read.
pub fn is_noted(places: &UserDirectories, file: &Path) -> Result<bool, String> {
    let noted = read(&HostPaths::below(&places.state))?;
    Ok(noted.iter().any(|noted| noted.file_name() == file.file_name()))
}

/// Takes a file out of the note, because the user wants to remove it.
///
/// # Errors
/// One sentence, if the note cannot be read or written.
pub fn forget(places: &UserDirectories, file: &Path) -> Result<(), String> {
    let place = HostPaths::below(&places.state);
    let mut noted = read(&place)?;
    let before = noted.len();
    noted.retain(|noted| noted.file_name() != file.file_name());
    if noted.len() == before && place.users_file().exists() { Ok(()) } else { write(&place, &noted) }
}

/// Returns true if a file is missing because [`forget`] announced that, so its rules may go while a session is open.
#[must_use]
pub fn is_forgotten(places: &UserDirectories, file: &Path) -> bool {
    let place = HostPaths::below(&places.state);
    let is_noted = || read(&place).map(|noted| noted.iter().any(|noted| noted.file_name() == file.file_name()));
    places.user_files().iter().any(|own| own == file)
        && fs::symlink_metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && place.users_file().exists()
        && is_noted() == Ok(false)
}

fn is_link_to(file: &Path, target: &Path) -> bool {
    file.canonicalize().is_ok_and(|file| file == target)
}

/// Reads the note, which contains one path per line.
fn read(place: &HostPaths) -> Result<BTreeSet<PathBuf>, String> {
    let note = place.users_file();
    match fs::read(&note) {
        Ok(noted) => {
            let lines = noted.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            Ok(lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(format!("{} cannot be read: {error}", note.display())),
    }
}

fn write(place: &HostPaths, files: &BTreeSet<PathBuf>) -> Result<(), String> {
    let note = place.users_file();
    let lines: Vec<&[u8]> = files.iter().map(|file| file.as_os_str().as_bytes()).collect();
    let written = || {
        DirBuilder::new().recursive(true).mode(0o700).create(place.directory())?;
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&note)?;
        file.write_all(&lines.join(&b'\n'))
    };
    written().map_err(|error: io::Error| format!("{} cannot be written: {error}", note.display()))
}
