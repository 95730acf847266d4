//! Calls that no resident host answered. The hook writes a line for each such call, and the next resident host records them.

use crate::connection::{ConnectionError, Deadline, connect_to};
use crate::paths::HostPaths;
use hookhost_agents::ancestry::is_inside;
use hookhost_agents::clock::now;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum size of the file with the calls, in bytes: 1 MiB. If the file is larger, the hook does not write the call into the file, and
/// prints an error.
const MAX_BYTES: u64 = 1024 * 1024;

/// Maximum number of attempts to open the file, if a resident host renames it at the same time.
const MAX_OPEN_ATTEMPTS: u32 = 10;

/// Maximum size of a call that a hook sends to a supervisor, in bytes.
const MAX_NOTE: usize = 64 * 1024;

/// Time that a hook may take to send a call.
const NOTE_TIMEOUT: Duration = Duration::from_millis(500);

/// Pause after a connection that could not be accepted.
const NOTE_INTERVAL: Duration = Duration::from_secs(1);

/// A call that no resident host answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnansweredCall {
    /// The agent.
    pub agent: String,
    /// The hook point. Empty if the hook point is unknown.
    pub point: String,
    /// The time of the call, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The reason, as one sentence.
    pub why: String,
    /// True if the hook let the agent continue, because the operator chose this.
    pub was_allowed: bool,
}

impl UnansweredCall {
    /// Creates the record of a call, with the current time.
    pub fn now(agent: &str, point: &str, why: &str, was_allowed: bool) -> Self {
        Self { agent: agent.to_owned(), point: point.to_owned(), time: now(), why: why.to_owned(), was_allowed }
    }

    /// Appends the call to the file, as one line. In `hookhost exec`, where the file cannot be written, a supervisor does.
    ///
    /// # Errors
    /// If the file cannot be written. In this case, the log will not contain the call, and the hook can report the error only to
    /// the agent.
    pub fn note(&self, paths: &HostPaths) -> io::Result<()> {
        if is_inside() { self.hand_over(paths) } else { self.append(paths) }
    }

    fn hand_over(&self, paths: &HostPaths) -> io::Result<()> {
        // A program inside can keep the supervisor from accepting.
        let deadline = Deadline::within(NOTE_TIMEOUT, None);
        let mut listening = paths.all_notes().into_iter().filter_map(|socket| connect_to(&socket, deadline).ok());
        let Some(mut supervisor) = listening.next() else {
            return Err(io::Error::other("no supervisor of hookhost exec listens"));
        };
        let note = serde_json::to_vec(self)?;
        deadline.write_all(&mut supervisor, &note).map_err(|error| io::Error::other(error.to_string()))
    }

    fn append(&self, paths: &HostPaths) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(paths.directory())?;
        let mut file = open_for_appending(&paths.unanswered())?;
        if file.metadata()?.len() >= MAX_BYTES {
            return Err(io::Error::other(format!("the file has more than {MAX_BYTES} bytes already")));
        }
        file.write_all(&[&serde_json::to_vec(self)?, b"\n".as_slice()].concat())
    }
}

/// The socket at which a supervisor of `hookhost exec` takes the calls of hooks inside.
#[derive(Debug)]
pub struct NoteListener {
    listener: UnixListener,
    paths: HostPaths,
}

impl NoteListener {
    /// Listens, and removes the sockets of supervisors that have ended.
    ///
    /// # Errors
    /// If the socket cannot be made, for example because its path is too long.
    pub fn bind(paths: &HostPaths) -> io::Result<Self> {
        for socket in paths.all_notes() {
            if matches!(connect_to(&socket, Deadline::within(NOTE_TIMEOUT, None)), Err(ConnectionError::Io(_))) {
                // Another supervisor may remove it at the same time.
                let _ = fs::remove_file(&socket);
            }
        }
        let listener = UnixListener::bind(paths.notes(std::process::id()))?;
        Ok(Self { listener, paths: paths.clone() })
    }

    /// Writes down each call that arrives. Calls `tell` with the error of each that cannot be written down.
    pub fn serve(self, mut tell: impl FnMut(&io::Error)) -> ! {
        loop {
            match self.take() {
                Ok(Some(call)) => _ = call.append(&self.paths).inspect_err(&mut tell),
                // A program inside can send anything, or nothing.
                Ok(None) => {}
                Err(_) => std::thread::sleep(NOTE_INTERVAL),
            }
        }
    }

    /// Waits for the next connection. Returns the call if it arrives whole in time.
    fn take(&self) -> io::Result<Option<UnansweredCall>> {
        let (mut hook, _) = self.listener.accept()?;
        let text = Deadline::within(NOTE_TIMEOUT, None).read_json(&mut hook, MAX_NOTE);
        Ok(text.ok().and_then(|text| serde_json::from_slice(&text).ok()))
    }
}

/// Opens the file for appending, with a shared lock. As long as the returned file is open, no resident host reads the file.
fn open_for_appending(path: &Path) -> io::Result<File> {
    for _ in 0..MAX_OPEN_ATTEMPTS {
        // If there is a pipe at this path, opening the pipe must not wait for a reader.
        let flags = OFlag::O_NONBLOCK.bits();
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
        match file.try_lock_shared() {
            // The resident host may have renamed the file between open and lock.
            Ok(()) if fs::metadata(path).is_ok_and(|there| is_same(&there, &file)) => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("a resident host took the file during each attempt to open it"))
}

fn is_same(there: &Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|file| (file.dev(), file.ino()) == (there.dev(), there.ino()))
}

/// The calls that hooks have written into the file. The file stays until these calls are recorded, because otherwise they would be
/// lost if the host is killed.
#[derive(Debug)]
pub struct UnansweredCalls {
    /// The calls, in the order of the file.
    pub calls: Vec<UnansweredCall>,
    file: PathBuf,
}

impl UnansweredCalls {
    /// Renames the file and reads all calls from it. Skips lines that cannot be read. Returns `None` if there is no file, or if a
    /// hook is writing a call at this moment. Only the resident host calls this function.
    ///
    /// # Errors
    /// If the file exists but cannot be renamed or read.
    pub fn take(paths: &HostPaths) -> io::Result<Option<Self>> {
        let file = paths.unanswered().with_extension("taken");
        // If a file with this name exists, an earlier host renamed the file and did not record the calls in it.
        if !file.exists() {
            match fs::rename(paths.unanswered(), &file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                renamed => renamed?,
            }
        }
        let taken = File::open(&file)?;
        match taken.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut bytes = Vec::new();
        taken.take(2 * MAX_BYTES).read_to_end(&mut bytes)?;
        let calls = bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(Some(Self { calls, file }))
    }

    /// Removes the file after the calls are recorded.
    ///
    /// # Errors
    /// If the file cannot be removed. In this case, the next host records the calls again.
    pub fn recorded(self) -> io::Result<()> {
        fs::remove_file(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::{UnansweredCall, UnansweredCalls, open_for_appending};
    use crate::paths::HostPaths;

    #[test]
    fn what_nobody_answered_is_taken_until_it_is_recorded() {
        let directory = tempfile::tempdir().unwrap();
        let paths = HostPaths::below(directory.path());
        assert!(UnansweredCalls::take(&paths).unwrap().is_none());
        let first = UnansweredCall::now("codex", "PreToolUse", "no resident \"host\"\nanswered", false);
        let second = UnansweredCall::now("claude-code", "", "too late", true);
        first.note(&paths).unwrap();
        second.note(&paths).unwrap();
        assert_eq!(UnansweredCalls::take(&paths).unwrap().unwrap().calls, [first.clone(), second.clone()]);
        // The resident host that read the first two calls was killed.
        let third = UnansweredCall::now("codex", "Stop", "too late", false);
        third.note(&paths).unwrap();
        let noted = UnansweredCalls::take(&paths).unwrap().unwrap();
        assert_eq!(noted.calls, [first, second]);
        noted.recorded().unwrap();
        let noted = UnansweredCalls::take(&paths).unwrap().unwrap();
        assert_eq!(noted.calls, [third]);
        noted.recorded().unwrap();
        assert!(UnansweredCalls::take(&paths).unwrap().is_none());
    }

    #[test]
    fn a_file_to_which_a_hook_is_writing_is_taken_later() {
        let directory = tempfile::tempdir().unwrap();
        let paths = HostPaths::below(directory.path());
        let call = UnansweredCall::now("codex", "Stop", "too late", false);
        call.note(&paths).unwrap();
        let writing = open_for_appending(&paths.unanswered()).unwrap();
        assert!(UnansweredCalls::take(&paths).unwrap().is_none());
        drop(writing);
        assert_eq!(UnansweredCalls::take(&paths).unwrap().unwrap().calls, [call]);
    }
}
