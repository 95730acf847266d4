//! Writes a note into the state directory which says that the user's configuration file has been active. With this note, the host
//! notices if the file is missing later. This can happen if a program that the agent runs has removed the file, or if an
//! environment variable names another directory.

use hookhost::Config;
use hookhost_client::paths::HostPaths;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Checks that the user's configuration file is still active if it was active before. If the file is active, writes the note.
///
/// # Errors
/// One sentence, if the file is no longer active, or if the note cannot be written.
pub fn check(place: &HostPaths, file: &Path, config: &Config) -> Result<(), String> {
    let note = place.users_file();
    let noted = match fs::read(&note) {
        Ok(noted) => Some(noted),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{} cannot be read: {error}", note.display())),
    };
    let is_the_users =
        |counting: &PathBuf| *counting == file || file.canonicalize().is_ok_and(|file| *counting == file);
    let counts = config.files().iter().any(is_the_users);
    match noted {
        Some(noted) if !counts => {
            let noted = String::from_utf8_lossy(&noted);
            Err(format!(
                "{noted} is no longer there, but its rules were active here: put it back, or create an \
                 empty file if you want no rules of your own"
            ))
        }
        None if !counts => Ok(()),
        Some(noted) if noted == file.as_os_str().as_bytes() => Ok(()),
        _ => write(place, &note, file).map_err(|error| format!("{} cannot be written: {error}", note.display())),
    }
}

fn write(place: &HostPaths, note: &Path, file: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(place.directory())?;
    let mut note = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(note)?;
    note.write_all(file.as_os_str().as_bytes())
}
