//! Detects the successor of this program, which is another version at the same path.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::task::JoinHandle;

/// Maximum time for a new program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The beginning of the output of `hookhost --version`.
const VERSION_PREFIX: &[u8] = b"hookhost ";

/// The inode, the size and the modification time of a file. If the file is replaced or changed, these values change.
type Version = (u64, u64, i64, i64);

/// Watches the file of this program.
#[derive(Debug)]
pub(crate) struct ProgramWatch {
    program: PathBuf,
    own: Version,
    /// The version that the last poll found.
    last: Version,
    /// A version that cannot be the successor, because its trial run failed.
    broken: Option<Version>,
    trial: Option<(Version, JoinHandle<TrialResult>)>,
}

/// The result of a trial run of a new version.
#[derive(Debug)]
enum TrialResult {
    Runs,
    Broken(String),
    /// The file is still being written.
    Later,
}

impl ProgramWatch {
    /// Watches the program of this process. Returns `None` if the path of the program's file is unknown.
    pub(crate) fn new() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let own = version_of(&program)?;
        Some(Self { program, own, last: own, broken: None, trial: None })
    }

    /// Returns true if another version is installed and its trial run succeeded. Must be called periodically, because a trial run
    /// starts only after two calls in a row have found the same new version.
    pub(crate) async fn poll(&mut self) -> bool {
        let Some(now) = version_of(&self.program) else { return false };
        let is_settled = std::mem::replace(&mut self.last, now) == now;
        if let Some((version, trial)) = self.trial.take_if(|(_, trial)| trial.is_finished()) {
            match trial.await {
                Ok(TrialResult::Runs) if version == now => return true,
                Ok(TrialResult::Broken(why)) => {
                    let program = self.program.display();
                    tracing::warn!(
                        why,
                        "the new program {program} does not run: the old one continues until the file changes again"
                    );
                    self.broken = Some(version);
                }
                _ => {}
            }
        }
        if is_settled && now != self.own && self.broken != Some(now) && self.trial.is_none() {
            self.trial = Some((now, tokio::spawn(run_trial(self.program.clone()))));
        }
        false
    }
}

/// Runs a program with `--version`, and checks that the program prints the version of hookhost.
async fn run_trial(program: PathBuf) -> TrialResult {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let ended = match tokio::time::timeout(VERSION_TIMEOUT, command.output()).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => return TrialResult::Later,
        Ok(Err(error)) => return TrialResult::Broken(error.to_string()),
        Err(_) => {
            return TrialResult::Broken(format!("it did not print its version within {} s", VERSION_TIMEOUT.as_secs()));
        }
    };
    if ended.status.success() && ended.stdout.starts_with(VERSION_PREFIX) {
        TrialResult::Runs
    } else {
        TrialResult::Broken(format!("the output of `--version` is not hookhost's ({})", ended.status))
    }
}

fn version_of(program: &Path) -> Option<Version> {
    let file = fs::metadata(program).ok()?;
    Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::{TrialResult, run_trial};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn a_program_that_does_not_run_or_is_another_takes_nobodys_place() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost");
        for (text, mode) in
            [("", 0o755), ("garbage", 0o755), ("#!/bin/sh\necho hookhost 1", 0o644), ("#!/bin/sh\nexit 0", 0o755)]
        {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let trial = run_trial(file.clone()).await;
            assert!(matches!(trial, TrialResult::Broken(_)), "{text:?}: {trial:?}");
        }
        std::fs::write(&file, "#!/bin/sh\necho hookhost 1").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(run_trial(file).await, TrialResult::Runs));
        assert!(matches!(run_trial(directory.path().to_owned()).await, TrialResult::Broken(_)));
    }
}
