//! An agent on this machine that answers one question, in place of a model.
//!
//! The agent runs in an empty directory, without tools or without the right to change anything. Its answer is a text that is checked like
//! that of a model.

use crate::agent_places::AgentPlaces;
use crate::exit::{CliError, Exit};
use crate::output::one_line;
use anyhow::anyhow;
use hookhost_agents::by_name;
use hookhost_agents::install::find;
use hookhost_agents::plan::Scope;
use hookhost_models::process::ProcessGroup;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Maximum time for an answer.
const TIMEOUT: Duration = Duration::from_secs(240);

/// Maximum length of an answer, in bytes.
const MAX_ANSWER: u64 = 256 * 1024;

/// The agents that can answer, each with the arguments for one question on the standard input.
const AGENTS: &[(&str, &[&str])] = &[
    // Its hooks are off, because no rule needs to judge an agent that has no tools.
    ("claude-code", &["-p", "--output-format", "text", "--tools", "", "--settings", r#"{"disableAllHooks":true}"#]),
    ("codex", &["exec", "--sandbox", "read-only", "--skip-git-repo-check", "--color", "never", "-"]),
    // Its prompt follows the standard input.
    ("gemini-cli", &["--output-format", "text", "-p", "Answer as the text above asks."]),
];

/// An agent that can answer.
#[derive(Debug)]
pub(super) struct HeadlessAgent {
    pub(super) title: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl HeadlessAgent {
    /// Finds an agent by its name.
    pub(super) fn find(name: &str) -> Result<Self, CliError> {
        let names = || AGENTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let known = AGENTS.iter().find(|(known, _)| *known == name).zip(by_name(name));
        let Some(((_, arguments), adapter)) = known else {
            return Err(CliError::usage(format!("{name} cannot be asked for rules; hookhost can ask {}", names())));
        };
        let places = AgentPlaces::here()?;
        let traces = find::traces(adapter, &places.context(name, Scope::User), &places.path);
        let title = adapter.agent().title;
        let program = traces.program.ok_or_else(|| {
            CliError::new(Exit::Failed, anyhow!("{title} is not on this machine: its program is not on the PATH"))
                .advise("hookhost rule new, which needs no model")
        })?;
        Ok(Self { title, program, arguments })
    }

    /// Returns the name of an agent on this machine that can answer.
    pub(super) fn any() -> Option<&'static str> {
        AGENTS.iter().map(|(name, _)| *name).find(|name| Self::find(name).is_ok())
    }

    /// Sends a question and returns the answer.
    pub(super) async fn ask(&self, question: &str) -> Result<String, CliError> {
        let failed =
            |why: &dyn std::fmt::Display| CliError::new(Exit::Failed, anyhow!("{} did not answer: {why}", self.title));
        let directory = tempfile::tempdir().map_err(|error| failed(&error))?;
        let mut command = Command::new(&self.program);
        command.args(self.arguments).current_dir(directory.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A person who presses Ctrl-C ends the agent, too.
        let mut process = ProcessGroup::start_bound(&mut command).map_err(|error| failed(&error))?;
        let (input, output, errors) = process.take_pipes();
        let write = async {
            if let Some(mut input) = input {
                // An agent that does not read its input says so by its answer.
                let _ = input.write_all(question.as_bytes()).await;
            }
        };
        let answered = async {
            let ((), answer, errors) = tokio::join!(write, read(output), read(errors));
            (answer, errors, process.wait().await)
        };
        let ended = tokio::time::timeout(TIMEOUT, answered).await;
        let (answer, errors, status) = ended.map_err(|_| failed(&format!("{} s are over", TIMEOUT.as_secs())))?;
        match status {
            Ok(status) if status.success() => Ok(answer),
            Ok(status) => {
                let said = errors.lines().chain(answer.lines()).rfind(|line| !line.trim().is_empty());
                Err(failed(&format!("{status}: {}", one_line(said.unwrap_or("it said nothing")))))
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Reads a stream to its end, or up to the maximum length.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What came before an error may explain it.
        let _ = stream.take(MAX_ANSWER).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
