//! The tool `bash`: runs a command line with a time limit and capped output.
//!
//! The command and its children form one process group without a terminal. The whole group is killed at the time limit,
//! on cancellation, when the call is dropped, and when the shell ends while something still runs in the background.

use super::capped_output::CappedOutput;
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use async_trait::async_trait;
use hookhost_models::process::ProcessGroup;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{sleep, timeout};

/// Name of the tool.
const NAME: &str = "bash";

/// Time limit for the remaining output after the shell has ended or was killed, because another process may keep the
/// pipe open.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(250);

/// Runs command lines.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Bash {
    /// Default time limit of a call.
    pub timeout: Duration,
    /// Maximum time limit that a call can ask for.
    pub longest_timeout: Duration,
    /// Maximum size of the output that is kept, in bytes. Of a longer output, one half of this size is kept from the
    /// beginning, the other half from the end.
    pub output_cap: usize,
}

impl Default for Bash {
    /// Sets a default time limit of 2 minutes, a maximum time limit of 10 minutes, and 64 KiB of output.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), longest_timeout: Duration::from_secs(600), output_cap: 64 * 1024 }
    }
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout_ms: Option<u64>,
}

enum CommandEnd {
    Exited(ExitStatus),
    TimedOut(Duration),
}

#[async_trait]
impl Tool for Bash {
    fn definition(&self) -> ToolDefinition {
        let longest = u64::try_from(self.longest_timeout.as_millis()).unwrap_or(u64::MAX);
        let description = "Runs a bash command line in the workspace and answers with its output (stdout and stderr as they came) and exit \
         code. There is no terminal and no input. Processes left in the background are killed when the command ends.";
        let properties = json!({
            "command": { "type": "string", "minLength": 1, "description": "The command line" },
            "timeout_ms": { "type": "integer", "minimum": 1, "maximum": longest, "description": "Time limit in milliseconds" },
        });
        super::definition(NAME, description, properties, &["command"])
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { command, timeout_ms } = super::parsed(NAME, arguments)?;
        let limit = timeout_ms.map_or(self.timeout, Duration::from_millis).min(self.longest_timeout);
        if context.cancel.is_cancelled() {
            return Err(ToolError::Aborted);
        }
        let failed = |error: io::Error| ToolError::Start { reason: error.to_string() };
        let (mut group, mut pipe) = start(&command, context).map_err(failed)?;
        let mut output = CappedOutput::new(self.output_cap);
        let end = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                group.kill();
                None
            }
            end = run(&mut group, &mut pipe, &mut output, limit) => Some(end.map_err(failed)?),
        };
        let Some(end) = end else {
            // The pipe may still hold earlier output.
            let _ = timeout(OUTPUT_TIMEOUT, drain(&mut pipe, &mut output, &mut vec![0; 16 * 1024])).await;
            let output = output.into_text();
            return Err(if output.is_empty() { ToolError::Aborted } else { ToolError::Interrupted { output } });
        };
        group.kill();
        Ok(answer(output, &end))
    }
}

/// Starts the command. Both output streams share one pipe, which preserves their order.
fn start(command: &str, context: &ToolContext) -> io::Result<(ProcessGroup, Receiver)> {
    let (reader, writer) = io::pipe()?;
    let mut bash = context.launcher.command("bash");
    bash.arg("-c").arg(command);
    bash.current_dir(context.workspace.root());
    bash.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let group = ProcessGroup::start(&mut bash)?;
    // `bash` holds the pipe's writing end until here.
    drop(bash);
    Ok((group, Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

async fn run(
    group: &mut ProcessGroup,
    pipe: &mut Receiver,
    output: &mut CappedOutput,
    limit: Duration,
) -> io::Result<CommandEnd> {
    let deadline = sleep(limit);
    tokio::pin!(deadline);
    let mut open = true;
    let mut chunk = vec![0; 16 * 1024];
    let status = loop {
        tokio::select! {
            () = &mut deadline => {
                group.kill();
                // The pipe may still hold earlier output.
                let _ = timeout(OUTPUT_TIMEOUT, drain(pipe, output, &mut chunk)).await;
                return Ok(CommandEnd::TimedOut(limit));
            }
            read = pipe.read(&mut chunk), if open => match read? {
                0 => open = false,
                length => output.push(&chunk[..length]),
            },
            status = group.wait() => break status?,
        }
    };
    if open {
        let _ = timeout(OUTPUT_TIMEOUT, drain(pipe, output, &mut chunk)).await;
    }
    Ok(CommandEnd::Exited(status))
}

async fn drain(pipe: &mut Receiver, output: &mut CappedOutput, chunk: &mut [u8]) -> io::Result<()> {
    loop {
        match pipe.read(chunk).await? {
            0 => return Ok(()),
            length => output.push(&chunk[..length]),
        }
    }
}

fn answer(output: CappedOutput, end: &CommandEnd) -> ToolOutput {
    let mut text = output.into_text();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let is_error = match end {
        CommandEnd::Exited(status) => {
            let _ = match (status.code(), status.signal()) {
                (Some(code), _) => write!(text, "[exit code {code}]"),
                (None, Some(signal)) => write!(text, "[killed by signal {signal}]"),
                (None, None) => write!(text, "[{status}]"),
            };
            !status.success()
        }
        CommandEnd::TimedOut(limit) => {
            let _ = write!(text, "[timed out after {limit:?}: the command and all it had started were killed]");
            true
        }
    };
    ToolOutput { text, is_error, raw: None }
}
