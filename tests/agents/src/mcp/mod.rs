//! Runs public MCP servers and the protocol's conformance suite with and without the proxy. The results must be the same.

mod conformance;
mod inspector;
mod own_agent;
mod packages;

use crate::report::{Report, Tally};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// Time limit of a client, in seconds. This is an argument of `timeout`.
const LIMIT: &str = "180";

/// Definitions of tools are approved on first use, because there is no person who could approve them.
const CONFIGURATION: &str = "[mcp-proxy]\ndefinitions = \"first-use\"\n";

/// Runs `real-agents mcp --hookhost FILE`.
pub(crate) fn run(words: &[String], cache: &Path) -> Result<ExitCode> {
    let [option, hookhost] = words else { bail!("what is tested? `mcp --hookhost FILE`") };
    if option != "--hookhost" {
        bail!("there is no option {option}");
    }
    let tried = Tried::new(Path::new(hookhost), cache)?;
    let mut tally = Tally::default();
    match packages::node(cache) {
        Ok(node) => {
            inspector::run(&tried, &node, &mut tally);
            own_agent::run(&tried, &node, &mut tally);
            conformance::run(&tried, &node, &mut tally);
        }
        Err(why) => tally.add("mcp", &Report::skip(format!("{why:#}"))),
    }
    println!("{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program under test, and the directories of its user.
struct Tried {
    hookhost: PathBuf,
    cache: PathBuf,
    home: tempfile::TempDir,
}

impl Tried {
    fn new(hookhost: &Path, cache: &Path) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("real-servers-").tempdir()?;
        let tried = Self { hookhost: std::path::absolute(hookhost)?, cache: cache.to_owned(), home };
        tried.configure(CONFIGURATION)?;
        Ok(tried)
    }

    fn configure(&self, text: &str) -> Result<()> {
        let directory = self.home.path().join(".config/hookhost");
        std::fs::create_dir_all(&directory)?;
        Ok(std::fs::write(directory.join("hookhost.toml"), text)?)
    }

    /// Returns a command of this user that is ended at the time limit.
    fn limited(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command("timeout");
        command.args(["--kill-after=5", LIMIT]).arg(program);
        command
    }

    /// Returns a command of this user, with only a home directory and the `PATH`.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }
}

impl Drop for Tried {
    fn drop(&mut self) {
        // Stop the resident host that the proxy has started.
        let _ = self.command(&self.hookhost).args(["serve", "--stop"]).stderr(Stdio::null()).status();
    }
}

/// A program that prints its address on its first line. Dropping the value ends the program.
struct Started {
    child: Child,
    said: String,
}

impl Started {
    fn new(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("it cannot be started")?;
        let output = child.stdout.take().context("no standard output")?;
        let mut said = String::new();
        BufReader::new(output).read_line(&mut said)?;
        Ok(Self { child, said: said.trim().to_owned() })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
