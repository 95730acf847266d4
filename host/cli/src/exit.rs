//! The exit codes, and the error type that contains an exit code.
//!
//! The codes are part of the interface. With them, scripts distinguish a rejection from a policy that failed, and from a policy that was
//! not loaded. `docs/cli.md` and `--help` list the codes.

use crate::output;
use hookhost::config::{ConfigError, Problem};
use std::process::ExitCode;

/// The list of the codes in `hookhost --help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0    done
  1    the agent, its provider or the system failed
  2    the command line, an event's payload or a case file is wrong
  3    rejected, by a plugin or by a person
  4    rejected, because a plugin failed or timed out
  5    not loaded: the allowlist, a plugin's file or its digest is wrong, or the
       audit log cannot be used; nothing ran
  6    the audit log is not as it was written, a replay or a case had another
       outcome, or a repository's files disable or remove hooks
  130  interrupted (Ctrl-C, or a request to terminate)";

/// The result of a command, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The agent, its provider or the system failed.
    Failed = 1,
    /// The command line is wrong, or a file or payload that it names is wrong.
    Usage = 2,
    /// Rejected by a plugin or a person.
    Rejected = 3,
    /// Rejected, because a plugin failed or timed out.
    PluginFailed = 4,
    /// Nothing ran, because the allowlist or a plugin cannot be loaded, or the audit log cannot be used.
    NotLoaded = 5,
    /// The audit log was changed, an outcome of a replay differs from the record, a case failed, or a repository's files disable or remove
    /// hooks.
    Differs = 6,
    /// Ctrl-C, or a request to terminate.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    error: anyhow::Error,
    advice: Vec<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), advice: Vec::new() }
    }

    pub(crate) fn usage(message: impl std::fmt::Display) -> Self {
        Self::new(Exit::Usage, anyhow::anyhow!("{message}"))
    }

    pub(crate) fn not_loaded(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::NotLoaded, error)
    }

    /// Adds a command as a next step.
    #[must_use]
    pub(crate) fn advise(mut self, command: impl Into<String>) -> Self {
        self.advice.push(command.into());
        self
    }

    /// Returns the problem and the next steps as text.
    pub(crate) fn message(&self) -> String {
        let advice = self.advice.iter().map(|command| format!("\n  try: {command}"));
        format!("{}{}", self.error, advice.collect::<String>())
    }

    /// Returns the first mistake in a configuration file, if that is the error.
    pub(crate) fn mistake(&self) -> Option<&Problem> {
        match self.error.downcast_ref()? {
            ConfigError::Invalid(problems) => problems.iter().next(),
            _ => None,
        }
    }

    /// Prints the problem and the next steps on standard error.
    pub(crate) fn print(&self) {
        use output::style::{ADVICE, ERROR};
        let message = output::printable(&self.error.to_string());
        let mut text = format!("{ERROR}error:{ERROR:#} {message}\n");
        for command in &self.advice {
            text.push_str(&format!("  {ADVICE}try:{ADVICE:#} {}\n", output::printable(command)));
        }
        output::note(&text);
    }
}

/// An unexpected error is a failure of the system.
impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failed, error)
    }
}
