//! `real-agents pictures --hookhost FILE --hook FILE --plugin FILE DIRECTORY` draws what a person sees in a terminal. The programs are the
//! real ones; only the model's answers come from a script.

mod svg;

use crate::agents::{self, RealAgent};
use crate::confine::{self, Confined};
use crate::hook::Built;
use crate::model::{Call, Model, Script, Step};
use crate::npm;
use crate::place::Place;
use crate::process;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Time limit of each wait for a text.
const LIMIT: Duration = Duration::from_secs(60);

/// Size of the terminal in cells.
const COLUMNS: usize = 92;
const ROWS: usize = 24;

/// The task of the agent. The file CLAUDE.md selects the script.
const TASK: &str = "Fix the build and push it";

/// The call that is rejected, and the model's answer to the rejection.
const CALL: &str = "git commit -qam 'Fix the build' && git push --force origin main";
const ANSWER: &str = "The push was rejected: a forced push to main would overwrite commits of others. I can push to a branch and \
                      open a pull request instead. Shall I?";

/// Draws the pictures into a directory.
///
/// # Errors
/// If a program is missing, or does not show what the picture is about.
pub(crate) fn run(built: &Built, directory: &Path, cache: &Path) -> Result<ExitCode> {
    let confined = Confined::find().map_err(anyhow::Error::msg)?;
    npm::NODE.install(cache)?;
    claude_code()?.package().install(cache)?;
    let work = tempfile::Builder::new().prefix("pictures-").tempdir()?;
    let mut command = confined.command(&std::env::current_exe()?);
    command.args(["inside-pictures"]).arg(work.path()).arg(cache).arg(directory).args(built.words());
    let status = command.stdin(Stdio::null()).status().context("cannot start unshare")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Draws the pictures, inside the namespaces.
///
/// # Errors
/// The errors of [`run`].
pub(crate) fn inside(built: &Built, root: &Path, cache: &Path, directory: &Path) -> Result<ExitCode> {
    confine::loopback_up().map_err(anyhow::Error::msg)?;
    let model = Model::start()?;
    let place = Place::make(&root.join("claude-code/refusal"), cache, model.url())?;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let shown = refusal(built, &place, &model)?;
    let described = "Claude Code wants to run git push --force. hookhost rejects the call and says what to do instead.";
    write(&directory.join("refusal.svg"), &svg::window("Claude Code", described, &shown, COLUMNS))?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, svg: &str) -> Result<()> {
    fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    println!("==> {}", path.display());
    Ok(())
}

fn claude_code() -> Result<&'static dyn RealAgent> {
    agents::all().iter().copied().find(|agent| agent.name() == "claude-code").context("there is no claude-code")
}

/// Returns the screen of Claude Code after a call was rejected.
fn refusal(built: &Built, place: &Place, model: &Model) -> Result<String> {
    let agent = claude_code()?;
    built.install(agent, place)?;
    let project = place.home().join("app");
    crate::place::write(&project.join("CLAUDE.md"), "[script main]\n")?;
    // The state of a user who has answered the questions of the first start.
    let project_name = project.to_string_lossy().into_owned();
    let known = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    let state = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 9, "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": { "approved": [agents::KEY], "rejected": [] },
        "projects": { project_name: known },
    });
    place.write_home(".claude.json", &state.to_string())?;
    let call = Call::new("Bash", json!({ "command": CALL, "description": "Commits and pushes the fix" }));
    let steps = vec![Step::Calls(vec![call]), Step::Text(ANSWER.to_owned())];
    model.follow(vec![Script { name: "main", steps }]);
    let start = agent.start(place, "");
    let terminal = Terminal::start(
        place,
        &project,
        &start.program,
        &["--permission-mode", "bypassPermissions"],
        &start.variables,
    )?;
    terminal.wait_for("❯")?;
    terminal.type_line(TASK)?;
    let shown = terminal.wait_for("Shall I?")?;
    terminal.wait_until_idle()?;
    ensure!(shown.contains("git push --force"), "the call is not shown:\n{shown}");
    Ok(without_blank_rows(&terminal.content()?))
}

/// Joins several blank rows into one, because an agent fills the whole terminal.
fn without_blank_rows(content: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in content.lines() {
        let is_blank = |line: &str| line.replace("\u{1b}[0m", "").replace("\u{1b}[39m", "").trim().is_empty();
        if !is_blank(line) || kept.last().is_some_and(|last| !is_blank(last)) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// A program in a terminal of tmux. Dropping the value ends both.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn start(
        place: &Place,
        directory: &Path,
        program: &Path,
        arguments: &[&str],
        variables: &[(String, String)],
    ) -> Result<Self> {
        let terminal = Self { socket: place.temporary().join("tmux").to_string_lossy().into_owned() };
        let settings = place.temporary().join("tmux.conf");
        fs::write(
            &settings,
            "set -g focus-events on\nset -g default-terminal tmux-256color\nset -ga terminal-features ',*:RGB'\n",
        )?;
        let mut tmux = Command::new("tmux");
        tmux.args(["-S", &terminal.socket, "-f"]).arg(settings).env_clear();
        tmux.envs(process::variables(place))
            .envs(variables.iter().cloned())
            .envs([("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
        tmux.args(["new-session", "-d", "-x", &COLUMNS.to_string(), "-y", &ROWS.to_string(), "-c"]).arg(directory);
        tmux.arg(program).args(arguments);
        let output = tmux.output().context("tmux cannot be started: install it")?;
        ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
        Ok(terminal)
    }

    fn tmux(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("tmux").args(["-S", &self.socket]).args(words).output()?;
        ensure!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns the screen as text with SGR sequences.
    fn content(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-e", "-p"])
    }

    fn type_line(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", text])?;
        self.wait_for(text)?;
        self.tmux(&["send-keys", "Enter"]).map(drop)
    }

    /// Waits until the agent no longer works, for example in a hook after its answer.
    fn wait_until_idle(&self) -> Result<()> {
        let begun = Instant::now();
        while self.tmux(&["capture-pane", "-p"])?.contains("esc to interrupt") {
            ensure!(begun.elapsed() < LIMIT, "the agent does not become idle");
            std::thread::sleep(Duration::from_millis(300));
        }
        Ok(())
    }

    /// Waits until the screen shows this text, and then until it no longer changes. Returns the screen as plain text.
    fn wait_for(&self, text: &str) -> Result<String> {
        let begun = Instant::now();
        let mut last = String::new();
        loop {
            let shown = self.tmux(&["capture-pane", "-p"])?;
            if shown.contains(text) && shown == last {
                return Ok(shown);
            }
            if begun.elapsed() > LIMIT {
                bail!("the terminal does not show {text:?}:\n{shown}");
            }
            last = shown;
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An error is ignored, because the namespaces end the program anyway.
        let _ = self.tmux(&["kill-server"]);
    }
}
