//! Runs other programs for a limited time with a limited output. No shell is involved unless the caller names a shell as the program.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of bytes that are stored of each stream: about 1 MiB.
const MAX_OUTPUT: u64 = 1 << 20;

/// Poll interval for the end of the process.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Timeout for the streams after the process has ended, because a child of the process can keep the streams open forever.
const STREAMS_TIMEOUT: Duration = Duration::from_millis(500);

/// The exit of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit code, or `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The first MiB of the standard output.
    pub stdout: Vec<u8>,
    /// The first MiB of the standard error.
    pub stderr: Vec<u8>,
}

/// The reason why a program was not started or did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program could not be started.
    #[error("cannot be started ({0})")]
    NotStarted(#[from] io::Error),
    /// The program took too long and was killed.
    #[error("did not end within {} s, and was killed", .0.as_secs_f32())]
    TimedOut(Duration),
}

/// Runs a program in a directory, with `input` on its standard input and these additional variables.
///
/// # Errors
/// If the program cannot be started, or if it takes longer than `timeout`. In the second case, its process group is killed.
pub fn run(
    words: &[OsString],
    directory: &Path,
    variables: &[(&str, &OsStr)],
    input: &[u8],
    timeout: Duration,
) -> Result<ProgramOutput, ProgramError> {
    let mut child = start(words, directory, variables, Stdio::piped())?;
    let began = Instant::now();
    write(&mut child, input.to_vec());
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ProgramOutput { code: status.code(), stdout: read(&stdout), stderr: read(&stderr) });
        }
        if began.elapsed() >= timeout {
            kill(&mut child);
            let _ = child.wait();
            return Err(ProgramError::TimedOut(timeout));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Writes lines to a program and reads lines from the program until `wanted` returns a value. Then kills the program. Returns `None` if the
/// program ends before that or takes longer than `timeout`.
pub fn converse<T>(
    words: &[OsString],
    directory: &Path,
    variables: &[(&str, &OsStr)],
    lines: &[String],
    timeout: Duration,
    wanted: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let mut child = start(words, directory, variables, Stdio::null()).ok()?;
    let until = Instant::now() + timeout;
    let stdout = reader(child.stdout.take());
    let mut stdin = child.stdin.take();
    // The lines are few and short, so they fit into the pipe even if the program does not read them.
    let sent = stdin.as_mut().is_some_and(|stdin| lines.iter().all(|line| writeln!(stdin, "{line}").is_ok()));
    let mut pending = Vec::new();
    let mut found = None;
    while sent && found.is_none() {
        let Ok(more) = stdout.recv_timeout(until.saturating_duration_since(Instant::now())) else { break };
        pending.extend(more);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            found = found.or_else(|| wanted(&String::from_utf8_lossy(&line)));
        }
    }
    kill(&mut child);
    let _ = child.wait();
    found
}

/// Starts a program in its own process group.
fn start(words: &[OsString], directory: &Path, variables: &[(&str, &OsStr)], stderr: Stdio) -> io::Result<Child> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

/// Writes the input in a thread, because the write blocks if the program does not read.
fn write(child: &mut Child, input: Vec<u8>) {
    if let Some(mut stdin) = child.stdin.take() {
        thread::spawn(move || {
            // A write error means that the program has closed its standard input, which is allowed.
            let _ = stdin.write_all(&input);
        });
    }
}

fn reader(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            let mut kept = 0;
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                // The bytes beyond the maximum are read and dropped, because a full pipe would block the program.
                if kept < MAX_OUTPUT && sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
                kept = kept.saturating_add(length as u64);
            }
        });
    }
    receiver
}

fn read(stream: &mpsc::Receiver<Vec<u8>>) -> Vec<u8> {
    let until = Instant::now() + STREAMS_TIMEOUT;
    let mut bytes = Vec::new();
    loop {
        match stream.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(more) => bytes.extend(more),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return bytes,
        }
    }
}

#[cfg(unix)]
fn kill(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // All processes of the group may have ended already, so an error is ignored.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(all(test, unix))]
mod tests {
    use super::{ProgramError, ProgramOutput, run};
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn shell(script: &str, input: &[u8], timeout: Duration) -> Result<ProgramOutput, ProgramError> {
        run(&["sh".into(), "-c".into(), script.into()], Path::new("/"), &[], input, timeout)
    }

    #[test]
    fn what_it_reads_and_writes_and_how_it_ends_is_told() {
        let ended = shell("cat; echo no >&2; exit 3", b"yes", Duration::from_secs(20)).unwrap();
        assert_eq!(ended, ProgramOutput { code: Some(3), stdout: b"yes".to_vec(), stderr: b"no\n".to_vec() });
        assert_eq!(shell("kill -9 $$", b"", Duration::from_secs(20)).unwrap().code, None);
        assert!(matches!(
            run(&["/nowhere".into()], Path::new("/"), &[], b"", Duration::ZERO),
            Err(ProgramError::NotStarted(_))
        ));
    }

    #[test]
    fn nothing_is_waited_for_longer_than_it_may_take() {
        let began = Instant::now();
        assert!(matches!(shell("sleep 100", b"", Duration::from_millis(100)), Err(ProgramError::TimedOut(_))));
        // The script does not read its input, and its background process keeps the streams open.
        let ended = shell("setsid sleep 100 & exit 0", &[0; 1 << 20], Duration::from_secs(20)).unwrap();
        assert_eq!(ended.code, Some(0));
        assert!(shell("head -c 9000000 /dev/zero", b"", Duration::from_secs(50)).unwrap().stdout.len() < 1_100_000);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
