//! Refuses writes to protected paths, whichever tool writes and however the path is spelt. The files that decide under which rules
//! an agent runs are protected by default.
//!
//! ```toml
//! [[plugin]]
//! name = "path-guard"
//! path = "plugins/path_guard.wasm"
//! sha256 = "…"
//!
//! [plugin.config]
//! protected = ["infra/**", ".env*", "/etc/**", "~/.ssh/**"]
//! allow = ["infra/README.md"]     # exceptions, one path or pattern each
//! reason = "ask the platform team"                            # told to the model with each refusal
//! ignore-case = true              # default: `INFRA/x` is `infra/x`, as on macOS and Windows
//! self-defence = ["hookhost", "agents"]   # default; `[]` turns it off
//! ```
//!
//! # Self-defence
//!
//! By default it also refuses writes to the files that decide under which rules an agent runs:
//!
//! - `hookhost`: `hookhost.toml` and `hookhost-mcp.lock` anywhere, hookhost's directories for configuration, state and compiled code
//!   with the plugins in them, and its programs in a `bin`;
//! - `agents`: the settings and hook files of agents (`.claude/settings*.json`, `.codex/hooks.json`, `.github/hooks/**` and others), of
//!   the user, of any project and of the machine.
//!
//! `self-defence` says whose files: `hookhost`, `agents`, or one agent by its name, such as `claude-code`. `allow` makes an exception
//! of one file. `shell-syntax/guarded.toml` has the whole list, and shell-guard protects the same files. What gives such a file another
//! name (`ln`) is refused, too. Letters are compared in any case here, whatever `ignore-case` says.
//!
//! # Patterns
//!
//! `*` and `?` stop at `/`, `**` does not, `[a-z]` is one character. A pattern protects what it names and all below it.
//! Without a slash it is a name anywhere (`.env*`); with one it is a path from the workspace (`infra/*.tf`), from the
//! root where it begins with a slash, or from anybody's home with `~/`. Exceptions are compared by case always.
//!
//! # What is seen
//!
//! - Every path that the host says a call writes, and what patches in the arguments name (`*** Update File: x` blocks,
//!   unified and context diffs).
//! - Of a tool that the host knows nothing about, every argument that is a protected path, unless the tool's name says that it
//!   reads (`mcp__files__read_file`) or the argument's that it is a text (`content`). A directory in one argument and a name in
//!   another count as a path. Where the tool moves, renames or removes, a directory above a protected path counts, too.
//! - What an argument of such a tool that is called like a command (`command`, `cmd`, `script`) would write as a shell command.
//! - In a shell command: redirections, and the files named to commands that are known to write (`rm`, `mv`, `cp`, `tee`,
//!   `sed -i`, `git checkout`, `find -delete` and others), wherever they run: within `sh -c`, `$(…)`, loops and functions,
//!   through `sudo`, `xargs` and some two hundred other wrappers, in a container. Removing a directory above a protected path
//!   counts. A path is resolved from every directory that the command has been in, since a `cd` may fail.
//!
//! A path may be relative, absolute, under `~` or `$HOME`, with `.`, `..`, doubled or back slashes. Where its root cannot
//! be known (`$DIR/infra/x`) any of its ends may be what is meant, and it is refused if one of them is protected.
//!
//! # What is not seen
//!
//! A command that is no text for a shell, is longer than 64 KiB, or is so involved that it cannot be read is refused.
//!
//! Shell commands are read, not run: this is the best that can be done with text, and no wall. What a script, an
//! interpreter (`python -c …`), another machine (`ssh`) or a program of its own writes is not seen, nor are symbolic links, another Unicode
//! spelling of a name, or a command that hides what it does. Where it must hold against somebody who wants to get
//! round it, let the agent run in a sandbox as well.

mod arguments;
mod patch;
mod rules;
mod shell;

use arguments::Named;
use hookhost_guest::prelude::*;
use rules::{Rules, Target};
use serde::Deserialize;
use serde_json::Value;
use shell::Writes;
use shell_syntax::guarded::{self, Guarded, HOOKHOST, Reach};
use shell_syntax::path::is_absolute;
use shell_syntax::{Places, supposed_commands};

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    protected: Option<Vec<String>>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    reason: String,
    #[serde(default = "yes")]
    ignore_case: bool,
    #[serde(default = "all_files")]
    self_defence: Vec<String>,
}

fn yes() -> bool {
    true
}

fn all_files() -> Vec<String> {
    [HOOKHOST, AGENTS].map(str::to_owned).into()
}

/// The word for all agents.
const AGENTS: &str = "agents";

#[derive(Debug)]
struct Guard {
    rules: Rules,
    reason: String,
    /// Whose files are protected without a pattern: `hookhost`, `agents`, or agents by their names.
    self_defence: Vec<String>,
}

static GUARD: Configured<Guard> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct PathGuard;

#[plugin]
impl Plugin for PathGuard {
    fn configure(config: Config) -> Result<(), String> {
        let Config { protected, allow, reason, ignore_case, self_defence } = config;
        if protected.as_ref().is_some_and(Vec::is_empty) {
            return Err("`protected` is empty: name at least one pattern, or leave it out".into());
        }
        let protected = protected.unwrap_or_default();
        if protected.is_empty() && self_defence.is_empty() {
            return Err(
                "nothing is protected: name a pattern in `protected`, or an owner of files in `self-defence`".into()
            );
        }
        let owners = guarded::owners();
        if let Some(word) = self_defence.iter().find(|word| *word != AGENTS && !owners.contains(&word.as_str())) {
            return Err(format!(
                "`{word}` in `self-defence` owns no files that are known: the words are `{AGENTS}`, `{}`",
                owners.join("`, `")
            ));
        }
        GUARD.set(Guard { rules: Rules::new(&protected, &allow, ignore_case)?, reason, self_defence });
        Ok(())
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let guard = GUARD.get();
        let Writes { targets, links, unreadable, .. } = written(session, call);
        let places = Places::new(&session.workspace);
        for (written, target) in &targets {
            if let Some(pattern) = guard.rules.protecting(target, places.workspace()) {
                let why = format!("`{written}` must not be written: it is protected by `{pattern}`");
                return Refusal::new(guard.because(&why)).code("path-guard.protected").into();
            }
        }
        for (written, target) in targets.iter().chain(&links) {
            if let Some(refusal) = guard.defend(written, target, places.workspace()) {
                return refusal.into();
            }
        }
        if let Some(why) = unreadable {
            return Refusal::new(guard.because(&why)).code("path-guard.unreadable").retryable().into();
        }
        Verdict::allow()
    }
}

impl Guard {
    /// Refuses what would change a file that decides under which rules an agent runs.
    fn defend(&self, written: &str, target: &Target, workspace: &str) -> Option<Refusal> {
        let is_defended = |guarded: &&Guarded| {
            self.self_defence.iter().any(|word| word == guarded.owner || (word == AGENTS && !guarded.is_hosts()))
        };
        let reach = Reach { whole: target.whole, wild: target.wild, supposed: target.supposed };
        let guarded = guarded::at(&target.path, reach).into_iter().find(is_defended)?;
        if self.rules.is_excepted(target, workspace) {
            return None;
        }
        let (code, what) = if guarded.is_hosts() {
            ("path-guard.hookhost", "it is one of hookhost's own files".to_owned())
        } else {
            ("path-guard.agent-files", format!("the agent {} reads its settings or hooks there", guarded.owner))
        };
        let why = format!(
            "`{written}` must not be written: {what} (`{}`), and only the person who runs the agent changes it, outside of \
             the session",
            guarded.path
        );
        Some(Refusal::new(self.because(&why)).code(code))
    }

    fn because(&self, why: &str) -> String {
        if self.reason.is_empty() { why.to_owned() } else { format!("{why}; {}", self.reason) }
    }
}

/// What a call writes.
fn written(session: &Session, call: &ToolCall) -> Writes {
    // Arguments that are no JSON hold no member to look at; what the host made of them is in the action.
    let arguments: Value = call.arguments().unwrap_or(Value::Null);
    let whole = arguments::takes_all(&call.name, &arguments);
    let named = |path: &String| Named { path: path.clone(), whole, is_called_so: true };
    let mut paths: Vec<Named> = call.action.written_paths().iter().map(named).collect();
    if !matches!(call.action, Action::ReadFile(_)) {
        paths.extend(patch::in_arguments(&arguments, !paths.is_empty()).iter().map(named));
    }
    let is_unknown = matches!(call.action, Action::Mcp(_) | Action::Other(_));
    if is_unknown {
        paths.extend(arguments::paths(&call.name, &arguments));
    }
    let mut written = match call.action.shell() {
        Some(shell) => shell::writes(shell, session),
        None => Writes::default(),
    };
    for command in supposed_commands(session, call) {
        let supposed = shell::writes(&command, session);
        written.targets.extend(supposed.targets);
        written.links.extend(supposed.links);
    }
    // Where the arguments are relative to is the tool's affair: the directory and the workspace both count.
    let places = [Places::new(&session.cwd), Places::new(&session.workspace)];
    for Named { path, whole, .. } in &paths {
        for places in &places {
            let from = Some(places.workspace()).filter(|from| is_absolute(from));
            let target = Target {
                path: places.spelt(&arguments::local(path), from),
                whole: *whole,
                wild: false,
                supposed: false,
            };
            written.targets.push((path.clone(), target));
        }
    }
    let mut called_so = paths.iter().filter(|named| named.is_called_so);
    // One program refuses such a path, and another ends it there.
    let ends_early = called_so.clone().any(|named| named.path.contains('\0'));
    let why = match &call.action {
        _ if ends_early => "a path has a NUL character in it, where some programs end it",
        Action::Other(kind) if kind == "shell" => "the command cannot be found in the call's arguments",
        Action::Other(kind) if kind == "write-files" && called_so.next().is_none() => {
            "what would be written cannot be told from the call's arguments"
        }
        _ => return written,
    };
    written.unreadable = Some(why.into());
    written
}

#[cfg(test)]
mod tests;
