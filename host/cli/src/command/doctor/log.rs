//! Checks that the audit log can be written. Without the log every call is denied.

use crate::output::quoted;
use hookhost::config::UserDirectories;
use hookhost::files;
use hookhost_agents::install::check::Check;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Size of the test file, in bytes: 1 MiB, the space that a new log and its first events need.
const SIZE: usize = 1 << 20;

pub(crate) fn check(directories: &UserDirectories) -> Check {
    let directory = &directories.state;
    match tried(directory) {
        Ok(()) => Check::ok("log", "the audit log can be written"),
        Err(error) => {
            let shown = quoted(&directory.to_string_lossy());
            let says = format!("nothing can be written in {shown}, so every call is denied: {error}");
            Check::problem(
                "log",
                says,
                "make room on its disk and make the directory yours, or name another directory in HOOKHOST_STATE_DIR",
            )
        }
    }
}

/// Writes a file of [`SIZE`] bytes beside the log, and removes it.
fn tried(directory: &Path) -> io::Result<()> {
    files::make_own_directory(directory)?;
    let path = directory.join(format!("doctor-{}", std::process::id()));
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).and_then(|mut file| {
        file.write_all(&vec![0; SIZE])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&path);
    written.and(removed)
}
