//! Proves that the hook denies calls. There are two test calls, the canary calls. If the agent's file contains the command of
//! hookhost's plan, this module runs the command for each of them, as the agent would run it. The hook must deny one call and let
//! the other call pass, because a hook that denies everything proves nothing.

use crate::clock::now;
use crate::install::configured::ConfiguredHook;
use crate::install::find;
use crate::install::process::{self, ProgramError, ProgramOutput};
use crate::install::settings_file::{digest_of, read_text};
use crate::{Adapter, Reply, canary};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout of the hook. The timeout is long, because the first call starts the resident host, which may have to compile
/// plugins.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Maximum size of a program or settings file whose digest is computed, in bytes: 256 MiB.
const MAX_DIGESTED: u64 = 256 << 20;

/// Maximum length of a hook's output in a proof, in characters.
const MAX_OUTPUT_LENGTH: usize = 300;

/// The hook's reaction to one canary call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trial {
    /// The command of the call.
    pub command: String,
    /// The agent's reaction to the reply.
    pub verdict: TrialVerdict,
    /// Exit code of the hook, or `None` if the hook did not exit by itself.
    pub exit: Option<i32>,
    /// The shortened output of the hook, or the reason why there is no output.
    pub said: String,
}

/// The agent's reaction to a call after the reply of its hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// The agent would not run the call.
    Denied,
    /// The agent would continue with the call.
    Passed,
    /// The hook failed. Whether the call runs depends on the agent.
    Failed,
}

/// A recorded proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Proof {
    /// The agent's name.
    pub agent: String,
    /// Time of the proof, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The agent's version, if known.
    pub agent_version: Option<String>,
    /// The version of hookhost.
    pub hookhost_version: String,
    /// The agent's file with the command.
    pub file: PathBuf,
    /// SHA-256 of that file.
    pub file_digest: Option<String>,
    /// The hook program. `None` if the program was not found, or if an earlier version of hookhost wrote the proof.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// SHA-256 of the hook program.
    pub program_digest: Option<String>,
    /// The call that has to be denied.
    pub denied: Trial,
    /// The call that has to pass.
    pub passed: Trial,
}

impl Proof {
    /// Returns true if the hook denied the call that it has to deny, and let the other call pass.
    pub fn holds(&self) -> bool {
        self.denied.verdict == TrialVerdict::Denied && self.passed.verdict == TrialVerdict::Passed
    }

    /// Returns the reason why the proof no longer holds, as the end of a sentence, or `None` if the proof still holds.
    pub fn outdated(&self) -> Option<String> {
        let program = self.program.iter().map(|program| (program, &self.program_digest));
        for (file, digest) in iter::once((&self.file, &self.file_digest)).chain(program) {
            if digest_of(file, MAX_DIGESTED) != *digest {
                return Some(format!("and {} has changed since", file.display()));
            }
        }
        let is_own = self.hookhost_version == env!("CARGO_PKG_VERSION");
        (!is_own).then(|| format!("with hookhost {}", self.hookhost_version))
    }

    /// Returns one sentence about the result.
    pub fn sentence(&self) -> String {
        let Self { denied, passed, .. } = self;
        match (denied.verdict, passed.verdict) {
            (TrialVerdict::Denied, TrialVerdict::Passed) => {
                "the hook denied a forbidden test call, and allowed an ordinary one".to_owned()
            }
            (TrialVerdict::Denied, TrialVerdict::Denied) => {
                format!("the hook denied an ordinary test call too; it says: {}", passed.said)
            }
            (TrialVerdict::Passed, _) => "the hook allowed the test call that it must deny".to_owned(),
            (TrialVerdict::Failed, _) => failed(denied),
            (_, TrialVerdict::Failed) => failed(passed),
        }
    }
}

fn failed(trial: &Trial) -> String {
    let code = trial.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
    format!("the hook failed on the test call `{}` ({code}): {}", trial.command, trial.said)
}

/// Runs the hook with both canary calls in a directory. The hook is run only if a file contains its command exactly as hookhost's
/// plan would write it. No other command of a file is run. Returns `None` if the agent starts no process for its hook, or if no
/// file has hookhost's hook at the hook point of the agent's canary call. `path` is the value of `PATH` with which programs are
/// found.
pub fn prove(
    adapter: &Adapter,
    commands: &[ConfiguredHook],
    directory: &Path,
    path: &OsStr,
    agent_version: Option<String>,
) -> Option<Proof> {
    let agent = adapter.agent().name;
    let (point, _) = adapter.canary(canary::DENIED, directory)?;
    let mut ours = commands.iter().filter(|command| command.is_of(agent, point));
    let (configured, planned) = ours.find_map(|command| Some((command, command.planned.as_ref()?)))?;
    let mut words = planned.words();
    if let Some(shell) = words.first_mut()
        && Path::new(shell).is_relative()
    {
        *shell = find::on_path(&shell.to_string_lossy(), path)?.into();
    }
    // Without the program on `path`, a shell with an empty `path` would search the working directory.
    let program = match configured.program() {
        Some(program) if program.is_relative() => Some(find::on_path(&program.to_string_lossy(), path)?),
        program => program,
    };
    let trial = |command: &str| {
        let (_, message) = adapter.canary(command, directory).unwrap_or((point, Vec::new()));
        let ended = process::run(&words, directory, &[("PATH", path)], &message, TIMEOUT);
        judged(adapter, point, command, ended)
    };
    let of_file = |path: &Path| digest_of(path, MAX_DIGESTED);
    Some(Proof {
        agent: agent.to_owned(),
        time: now(),
        agent_version,
        hookhost_version: env!("CARGO_PKG_VERSION").to_owned(),
        file: configured.file.clone(),
        file_digest: of_file(&configured.file),
        program_digest: program.as_deref().and_then(of_file),
        program,
        denied: trial(canary::DENIED),
        passed: trial(canary::PASSED),
    })
}

fn judged(adapter: &Adapter, point: &str, command: &str, ended: Result<ProgramOutput, ProgramError>) -> Trial {
    let trial = |verdict, exit, said: &str| Trial { command: command.to_owned(), verdict, exit, said: cut(said) };
    let ended = match ended {
        Ok(ended) => ended,
        Err(error @ (ProgramError::NotStarted(_) | ProgramError::TimedOut(_))) => {
            return trial(TrialVerdict::Failed, None, &format!("it {error}"));
        }
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
    let said = if stdout.trim().is_empty() { stderr.clone() } else { stdout.clone() };
    // The hook was ended by a signal, so the agent would read no reply.
    let Some(exit) = ended.code.and_then(|code| u8::try_from(code).ok()) else {
        return trial(TrialVerdict::Failed, ended.code, &said);
    };
    let mut reply = Reply::text(stdout);
    (reply.exit, reply.stderr) = (exit, stderr);
    let verdict = match exit {
        _ if adapter.denies(point, &reply) => TrialVerdict::Denied,
        0 => TrialVerdict::Passed,
        _ => TrialVerdict::Failed,
    };
    trial(verdict, ended.code, &said)
}

fn cut(text: &str) -> String {
    let line = text.trim().replace(['\n', '\r'], " ");
    if line.chars().count() <= MAX_OUTPUT_LENGTH {
        return line;
    }
    line.chars().take(MAX_OUTPUT_LENGTH).chain(['…']).collect()
}

/// The directory of proofs. It contains one file for each agent, with one line for each proof.
#[derive(Clone, Debug)]
pub struct Proofs {
    directory: PathBuf,
}

impl Proofs {
    /// Returns the proofs in this state directory.
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("proofs") }
    }

    fn path(&self, agent: &str) -> PathBuf {
        self.directory.join(format!("{agent}.jsonl"))
    }

    /// Appends a proof. Failed proofs are stored too.
    ///
    /// # Errors
    /// If the proof cannot be written.
    pub fn keep(&self, proof: &Proof) -> io::Result<()> {
        hookhost_files::make_own_directory(&self.directory)?;
        let mut options = fs::OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut line = serde_json::to_string(proof)?;
        line.push('\n');
        options.create(true).append(true).open(self.path(&proof.agent))?.write_all(line.as_bytes())
    }

    /// Returns the newest proof of an agent. An unreadable line is skipped.
    pub fn newest(&self, agent: &str) -> Option<Proof> {
        let text = read_text(&self.path(agent), None).ok()??;
        text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Proofs, TrialVerdict, prove};
    use crate::by_name;
    use crate::install::configured::of_file;
    use crate::plan::{FilePlan, JsonEntry};
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    const NO: &str = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}'"#;

    /// Returns the proof for a hook that runs this script. The script can read the call from `$call`.
    fn shown(script: &str) -> super::Proof {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("hookhost-hook");
        fs::write(&program, format!("#!/bin/sh\ncall=$(cat)\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let group = |program: &Path, point: &str| json!({ "hooks": [{ "type": "command", "command": program, "args": ["claude-code", point] }] });
        let nowhere = group(Path::new("/nowhere/hookhost-hook"), "PreToolUse");
        let planned = group(&program, "PreToolUse");
        let file = directory.path().join("settings.json");
        fs::write(&file, json!({ "hooks": { "PreToolUse": [nowhere, planned] } }).to_string()).unwrap();
        let entries = vec![JsonEntry::element(&["hooks", "PreToolUse"], planned)];
        let commands = of_file(&FilePlan::Json { path: file, entries }, None).unwrap();
        assert_eq!(commands.len(), 2, "one is of somebody else");
        let claude_code = by_name("claude-code").unwrap();
        let path = std::ffi::OsStr::new("/usr/bin:/bin");
        assert_eq!(prove(claude_code, &commands[..1], directory.path(), path, None), None);
        let proof = prove(claude_code, &commands, directory.path(), path, None).unwrap();
        let proofs = Proofs::of(directory.path());
        proofs.keep(&proof).unwrap();
        assert_eq!(proofs.newest("claude-code"), Some(proof.clone()));
        assert_eq!(proofs.newest("codex"), None);
        assert_eq!(proof.outdated(), None);
        fs::write(&program, "another program").unwrap();
        assert_eq!(proof.outdated(), Some(format!("and {} has changed since", program.display())));
        proof
    }

    #[test]
    fn a_hook_that_denies_the_one_call_and_passes_the_other_is_proven() {
        let proof = shown(&format!(
            "[ \"$1 $2\" = 'claude-code PreToolUse' ] || exit 7\ncase \"$call\" in *canary-denied*) {NO};; esac"
        ));
        assert!(proof.holds(), "{proof:?}");
        assert!(proof.program_digest.is_some());
    }

    #[test]
    fn hooks_that_pass_all_deny_all_or_fail_are_not() {
        for (script, denied, passed, says) in [
            ("true", TrialVerdict::Passed, TrialVerdict::Passed, "allowed the test call that it must deny"),
            (NO, TrialVerdict::Denied, TrialVerdict::Denied, "denied an ordinary test call too"),
            ("exit 2", TrialVerdict::Denied, TrialVerdict::Denied, "denied an ordinary"),
            ("echo oops >&2; exit 1", TrialVerdict::Failed, TrialVerdict::Failed, "(exit code 1): oops"),
            ("kill -9 $$", TrialVerdict::Failed, TrialVerdict::Failed, "(no exit code)"),
            (
                "echo '{\"permissionDecision\":\"deny\"}'",
                TrialVerdict::Passed,
                TrialVerdict::Passed,
                "allowed the test call that it must deny",
            ),
        ] {
            let proof = shown(script);
            assert_eq!((proof.denied.verdict, proof.passed.verdict), (denied, passed), "{script}");
            assert!(!proof.holds() && proof.sentence().contains(says), "{}", proof.sentence());
        }
    }
}
