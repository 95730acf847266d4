//! Detects the successor of this program: another version in the same place.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::task::JoinHandle;

/// Time that a new version has to print its version.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Beginning of the output of `hookhost --version`.
const SAYS: &[u8] = b"hookhost ";

/// Inode, size and modification time of a file, which tell if it has changed.
type Version = (u64, u64, i64, i64);

/// Watches the file of this program.
#[derive(Debug)]
pub(crate) struct Watch {
    program: PathBuf,
    own: Version,
    /// The version that the last look found.
    last: Version,
    /// A version that does not run, and so cannot be the successor.
    broken: Option<Version>,
    trial: Option<(Version, JoinHandle<Trial>)>,
}

/// The result of a trial run of a new version.
#[derive(Debug)]
enum Trial {
    Runs,
    Broken(String),
    /// The file is still being written.
    Later,
}

impl Watch {
    /// Watches the program of this process. Returns `None` if the system does not name its file.
    pub(crate) fn new() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let own = version_of(&program)?;
        Some(Self { program, own, last: own, broken: None, trial: None })
    }

    /// Returns true if another version is there and runs. Call it periodically: a file is tried once two looks find it unchanged.
    pub(crate) async fn look(&mut self) -> bool {
        let Some(now) = version_of(&self.program) else { return false };
        let is_settled = std::mem::replace(&mut self.last, now) == now;
        if let Some((version, trial)) = self.trial.take_if(|(_, trial)| trial.is_finished()) {
            match trial.await {
                Ok(Trial::Runs) if version == now => return true,
                Ok(Trial::Broken(why)) => {
                    let program = self.program.display();
                    tracing::warn!(
                        why,
                        "the new program {program} does not run: this one continues until another one is there"
                    );
                    self.broken = Some(version);
                }
                _ => {}
            }
        }
        if is_settled && now != self.own && self.broken != Some(now) && self.trial.is_none() {
            self.trial = Some((now, tokio::spawn(tried(self.program.clone()))));
        }
        false
    }
}

/// Runs a program with `--version` and checks that it says that it is hookhost.
async fn tried(program: PathBuf) -> Trial {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let ended = match tokio::time::timeout(TIMEOUT, command.output()).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => return Trial::Later,
        Ok(Err(error)) => return Trial::Broken(error.to_string()),
        Err(_) => return Trial::Broken(format!("it did not say its version within {} s", TIMEOUT.as_secs())),
    };
    if ended.status.success() && ended.stdout.starts_with(SAYS) {
        Trial::Runs
    } else {
        Trial::Broken(format!("`--version` does not say that it is hookhost ({})", ended.status))
    }
}

fn version_of(program: &Path) -> Option<Version> {
    let file = fs::metadata(program).ok()?;
    Some((file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::{Trial, tried};
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
            let trial = tried(file.clone()).await;
            assert!(matches!(trial, Trial::Broken(_)), "{text:?}: {trial:?}");
        }
        std::fs::write(&file, "#!/bin/sh\necho hookhost 1").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(tried(file).await, Trial::Runs));
        assert!(matches!(tried(directory.path().to_owned()).await, Trial::Broken(_)));
    }
}
