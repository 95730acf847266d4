//! Runs the program behind a proxy, and connects it to a client at the proxy's standard input and output. The proxies for MCP and ACP share
//! this code.

use crate::exit::{CliError, Exit};
use crate::output::quoted;
use anyhow::anyhow;
use hookhost_models::process::ProcessGroup;
use hookhost_proxy::jsonrpc::message_streams::{LineSink, LineSource, MessageSource};
use hookhost_proxy::jsonrpc::relay::{RelayEnd, ServerStreams};
use hookhost_proxy::jsonrpc::standard_streams::{self, Output, StoppableInput};
use hookhost_proxy::server_name::ServerName;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

/// Time in which the program should end after the proxy has received a signal. The time is short, because clients kill the proxy after two
/// seconds, and the program would then continue to run.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(1);

/// Time to wait for the program's exit code after the program has closed its output or was asked to end.
const FOR_ITS_STATUS: Duration = Duration::from_secs(1);

/// Programs that only start another program. If the command of a server begins with one of these, the server is named after the program
/// that it starts.
const RUNNERS: &[&str] = &[
    "bun", "bunx", "deno", "docker", "env", "node", "npm", "npx", "pipx", "python", "python3", "run", "sh", "uv", "uvx",
];

/// The streams of a started program, which speaks lines.
type ProgramStreams = ServerStreams<LineSource<ChildStdout>, LineSink<ChildStdin>>;

/// A started program. All processes that the program starts end together with it.
pub(crate) struct Program {
    /// The description of the program in messages.
    what: String,
    group: ProcessGroup,
    server: ProgramStreams,
}

/// Starts a program. This must be called on the main thread.
pub(crate) fn start(what: &str, command: &[OsString]) -> Result<Program, CliError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::usage("name the program's command after `--`"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let shown = quoted(&program.to_string_lossy());
    let mut group = ProcessGroup::start_bound(&mut command)
        .map_err(|error| anyhow!("{what} cannot be started: {shown}: {error}"))?;
    let (Some(input), Some(output), _) = group.take_pipes() else {
        return Err(anyhow!("{what} has no standard input and output").into());
    };
    let server = ServerStreams { output: LineSource::new(output), input: LineSink::new(input) };
    Ok(Program { what: what.to_owned(), group, server })
}

impl Program {
    /// Waits until the relay ends. After a signal, this waits for at most [`AFTER_A_SIGNAL`].
    pub(crate) async fn until_its_end<F: Future<Output = RelayEnd>>(
        self,
        cancel: &CancellationToken,
        relay: impl FnOnce(ProgramStreams) -> Result<F, CliError>,
    ) -> Result<Exit, CliError> {
        let Self { what, mut group, server } = self;
        match soon(relay(server)?, cancel).await {
            Some(RelayEnd::Server) => {
                let status = tokio::time::timeout(FOR_ITS_STATUS, group.wait()).await;
                let how = status.ok().and_then(Result::ok).map(|status| format!(" ({status})")).unwrap_or_default();
                Err(anyhow!("{what} has ended{how}").into())
            }
            Some(_) => {
                // The program's input is closed by now. If the program does not end, it is asked to end, and then killed.
                group.terminate();
                let _ = tokio::time::timeout(FOR_ITS_STATUS, group.wait()).await;
                Ok(Exit::Done)
            }
            None => Ok(Exit::Done),
        }
    }
}

/// Waits until `runs` ends. After a signal, this waits for at most [`AFTER_A_SIGNAL`] and then returns `None`.
pub(crate) async fn soon<T>(runs: impl Future<Output = T>, cancel: &CancellationToken) -> Option<T> {
    let too_late = async {
        cancel.cancelled().await;
        tokio::time::sleep(AFTER_A_SIGNAL).await;
    };
    tokio::select! {
        ended = runs => Some(ended),
        () = too_late => None,
    }
}

/// Returns two streams: the client's messages, which end at a signal, and the output to the client.
pub(crate) fn client(cancel: &CancellationToken) -> Result<(impl MessageSource + use<>, LineSink<Output>), CliError> {
    let stop = cancel.clone().cancelled_owned();
    let streams = || {
        let input = StoppableInput::new(standard_streams::input()?, stop);
        Ok::<_, io::Error>((LineSource::new(input), LineSink::new(standard_streams::output()?)))
    };
    streams().map_err(|error| anyhow!("the standard input and output cannot be used: {error}").into())
}

/// Makes a name from the program in a command. If that program is one of [`RUNNERS`], makes the name from the program that it starts.
pub(crate) fn made_of(command: &[OsString]) -> Option<ServerName> {
    let words = command.iter().map(|word| word.to_string_lossy());
    let mut words = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    let file_name = |word: &str| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let found = words.find_map(|word| file_name(&word).filter(|name| !RUNNERS.contains(&name.as_str())));
    let found = found?;
    let name = found.rsplit_once('.').map_or(found.as_str(), |(name, _)| name);
    ServerName::made_of(name)
}

#[cfg(test)]
mod tests {
    use super::made_of;

    #[test]
    fn a_program_is_named_after_what_its_command_runs() {
        for (command, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem .", "server-filesystem"),
            ("/usr/bin/python3 -u tools/my_server.py", "my-server"),
            ("uvx mcp-server-git --repository .", "mcp-server-git"),
            ("/opt/mcp_server", "mcp-server"),
        ] {
            let words: Vec<_> = command.split(' ').map(Into::into).collect();
            assert_eq!(made_of(&words).map(|name| name.to_string()).as_deref(), Some(name), "{command}");
        }
        assert_eq!(made_of(&["npx".into(), "-y".into()]), None);
    }
}
