//! A local program that takes the place of a model provider's server. It reads a request body from standard input. It writes the
//! answer to standard output as a stream of server-sent events, in the format that a server would send. With the flags
//! `--describe`, `--ready`, `--defaults` and `--env`, it prints facts about itself. This is the provider protocol of
//! <https://github.com/wedow/harness>, except that a program runs only if its file has the configured digest.

use crate::error::ProviderError;
use crate::process::ProcessGroup;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use hookhost::config::Digest;
use hookhost::files::{self, Guard, Links};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// Maximum size of a program, in bytes. The size is limited because the whole file is read before each start to check its digest.
const MAX_PROGRAM: u64 = 512 << 20;

/// Time limit for the answer to a flag.
const FLAG_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of the answer to a flag, in bytes. The same number of bytes is kept of the program's error output.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Read size for the answer, in bytes.
const CHUNK_SIZE: usize = 16 * 1024;

/// Environment variables that every program gets. The configuration or the program itself can name further variables.
pub const COMMON_VARIABLES: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ"];

/// A program of the user that takes the place of a model provider's server.
#[derive(Clone, Debug)]
pub struct ProviderProgram {
    provider: String,
    file: PathBuf,
    sha256: Option<Digest>,
    /// Environment variables that the program gets besides the common variables. If the configuration lists no variables, the
    /// program is asked for them.
    variables: OnceCell<Vec<String>>,
}

/// A program's own description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramDescription {
    /// One line for people.
    pub summary: Option<String>,
    /// Defaults by name, such as `model`.
    pub defaults: BTreeMap<String, String>,
}

impl ProviderProgram {
    /// Creates a program from an absolute path. Besides the common environment variables, the program gets `variables`. If
    /// `variables` is `None`, the program gets the variables that it lists for the flag `--env`. This function does not read the
    /// file or start the program.
    #[must_use]
    pub fn new(provider: &str, file: PathBuf, sha256: Option<Digest>, variables: Option<Vec<String>>) -> Self {
        Self { provider: provider.to_owned(), file, sha256, variables: OnceCell::new_with(variables) }
    }

    /// Checks that the file has the configured digest.
    ///
    /// # Errors
    /// Returns an error if the path is relative, if the file cannot be read or others can write it, or if its digest is
    /// missing or different.
    pub fn check(&self) -> Result<(), ProviderError> {
        if !self.file.is_absolute() {
            return Err(self.unusable("must be named by its full path"));
        }
        read_pinned(&self.file, self.sha256, MAX_PROGRAM).map(drop).map_err(|why| self.unusable(&why))
    }

    /// Returns true if the program reports that it can answer, for example because its credentials are present.
    pub async fn is_ready(&self) -> bool {
        self.ask("--ready", self.variables().await).await.is_ok()
    }

    /// Asks the program for its description and defaults. If the program does not know a flag, its answer to that flag is treated
    /// as empty.
    ///
    /// # Errors
    /// Returns the errors of [`Self::check`].
    pub async fn describe(&self) -> Result<ProgramDescription, ProviderError> {
        self.check()?;
        let description = self.ask("--describe", &[]).await.unwrap_or_default();
        let summary = description.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
        let defaults = self.ask("--defaults", &[]).await.unwrap_or_default();
        let pair =
            |line: &str| line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        Ok(ProgramDescription { summary, defaults: defaults.lines().filter_map(pair).collect() })
    }

    /// Returns the environment variables that the program gets besides the common variables. The program is asked for them at most
    /// once.
    async fn variables(&self) -> &[String] {
        let name = |line: &str| {
            let name: String = line.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            (!name.is_empty()).then_some(name)
        };
        self.variables
            .get_or_init(|| async {
                self.ask("--env", &[]).await.unwrap_or_default().lines().filter_map(name).collect()
            })
            .await
    }

    /// Starts the program with a request body and returns its answer in pieces. The program is killed if it writes nothing for
    /// longer than `idle`, or if the answer is dropped.
    ///
    /// # Errors
    /// Returns the errors of [`Self::check`], and an error if the program cannot be started or ends without an answer.
    pub(crate) async fn answer(
        &self,
        body: String,
        idle: Duration,
    ) -> Result<BoxStream<'static, io::Result<Vec<u8>>>, ProviderError> {
        let mut running = self.start("--stream", self.variables().await).await?;
        if let Some(mut input) = running.input.take() {
            // The input is written in a separate task, because a program may stop reading before the end of its input.
            tokio::spawn(async move { input.write_all(body.as_bytes()).await });
        }
        let first = running.read(idle).await.map_err(|error| self.unusable(&error.to_string()))?;
        let Some(first) = first else { return Err(self.unusable("ended without an answer")) };
        let rest = stream::try_unfold(running, move |mut running| async move {
            Ok(running.read(idle).await?.map(|piece| (piece, running)))
        });
        Ok(stream::once(std::future::ready(Ok(first))).chain(rest).boxed())
    }

    /// Returns the program's output for a flag, if the program exits with 0 in time.
    async fn ask(&self, flag: &str, variables: &[String]) -> Result<String, ProviderError> {
        let mut running = self.start(flag, variables).await?;
        running.input = None;
        let mut output = Vec::new();
        let asked = async {
            while let Some(piece) = running.read(FLAG_TIMEOUT).await? {
                output.extend(piece);
                if output.len() as u64 > MAX_OUTPUT {
                    return Err(io::Error::other("says too much"));
                }
            }
            Ok(())
        };
        match tokio::time::timeout(FLAG_TIMEOUT, asked).await {
            Ok(Ok(())) => Ok(String::from_utf8_lossy(&output).into_owned()),
            Ok(Err(error)) => Err(self.unusable(&error.to_string())),
            Err(_) => Err(self.unusable("does not answer in time")),
        }
    }

    async fn start(&self, flag: &str, variables: &[String]) -> Result<RunningProgram, ProviderError> {
        self.check()?;
        let mut command = Command::new(&self.file);
        command.arg(flag).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_clear();
        let names = COMMON_VARIABLES.iter().copied().chain(variables.iter().map(String::as_str));
        command.envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))));
        let mut group =
            ProcessGroup::start(&mut command).map_err(|error| self.unusable(&format!("cannot be started: {error}")))?;
        let (input, output, errors) = group.take_pipes();
        let errors = errors.map(|errors| {
            tokio::spawn(async move {
                let mut text = Vec::new();
                // The rest of the output is not kept, but must be read too, because a full pipe would block the program.
                let mut errors = errors;
                let _ = (&mut errors).take(MAX_OUTPUT).read_to_end(&mut text).await;
                let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        let output = output.map(|output| Box::new(output) as Box<dyn AsyncRead + Send + Unpin>);
        Ok(RunningProgram { group, input, output, errors })
    }

    fn unusable(&self, why: &str) -> ProviderError {
        let (provider, program) = (self.provider.clone(), self.file.display().to_string());
        ProviderError::Program { provider, program, reason: why.to_owned() }
    }
}

/// A running program.
struct RunningProgram {
    group: ProcessGroup,
    input: Option<tokio::process::ChildStdin>,
    output: Option<Box<dyn AsyncRead + Send + Unpin>>,
    errors: Option<tokio::task::JoinHandle<String>>,
}

impl RunningProgram {
    /// Reads the next piece of the output. At the end of the output, returns `None` if the program exits with 0, and otherwise an
    /// error.
    async fn read(&mut self, idle: Duration) -> io::Result<Option<Vec<u8>>> {
        let Some(output) = &mut self.output else { return Ok(None) };
        let mut piece = vec![0; CHUNK_SIZE];
        let silent = |_| io::Error::other(format!("says nothing for {} s", idle.as_secs()));
        let length = tokio::time::timeout(idle, output.read(&mut piece)).await.map_err(silent)??;
        if length > 0 {
            piece.truncate(length);
            return Ok(Some(piece));
        }
        self.output = None;
        let status = tokio::time::timeout(idle, self.group.wait()).await.map_err(silent)??;
        if status.success() {
            return Ok(None);
        }
        // Child processes of the program may keep its error output open, so they are killed before the error output is read.
        self.group.kill();
        let errors = match &mut self.errors {
            Some(errors) => {
                tokio::time::timeout(FLAG_TIMEOUT, errors).await.ok().and_then(Result::ok).unwrap_or_default()
            }
            None => String::new(),
        };
        let last = errors.lines().rev().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        Err(io::Error::other(format!("ended with {status}{}", last.unwrap_or_default())))
    }
}

/// Reads a file that must have the given digest.
///
/// # Errors
/// Returns an error if the file cannot be read, or if its digest is missing or different. The text completes a sentence whose
/// subject is the file.
pub(crate) fn read_pinned(file: &std::path::Path, sha256: Option<Digest>, most: u64) -> Result<Vec<u8>, String> {
    let bytes = files::read(file, Guard::OnlyMineToWrite, Links::Followed, most).map_err(|error| error.to_string())?;
    let actual = Digest::of_bytes(&bytes);
    match sha256 {
        Some(expected) if expected == actual => Ok(bytes),
        Some(expected) => Err(format!(
            "is not what was allowed: its sha256 is {actual}, and not {expected}; look at what changed, then correct `sha256`"
        )),
        None => Err(format!("is not allowed: if you trust it, add sha256 = \"{actual}\"")),
    }
}
