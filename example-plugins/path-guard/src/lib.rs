//! Refuses writes to protected paths, with any tool and any spelling of the path. By default it protects the files that decide which rules
//! apply to an agent.
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
//! allow-private = true            # `chmod 600 x` and `chmod go-rwx x` pass; default: false
//! self-defence = ["hookhost", "agents"]   # default; `[]` turns it off
//! ```
//!
//! # Self-defence
//!
//! By default, the plugin also refuses writes to the files that decide which rules apply to an agent:
//!
//! - `hookhost`: `hookhost.toml` and `hookhost-mcp.lock` in any directory, hookhost's programs, and hookhost's directories for
//!   configuration, state and compiled code with the plugins in them. Moving the workspace is also refused.
//! - `agents`: the files in which agents name their hooks and MCP servers, such as `.claude/settings*.json`, `.codex/hooks.json` and
//!   `.mcp.json`. These are files of the user, of any project and of the machine. The files of editors that start the proxies are included.
//!   The files from which agents take their environment are included if a write adds a variable that makes an agent use other settings.
//!
//! `self-defence` names the owners: `hookhost`, `agents`, or one owner by its name, such as `claude-code`. `allow` makes an exception for
//! one file. No tool may read hookhost's keys or the directory that contains them. `shell/reader/guarded.toml` has the whole table, and
//! shell-guard protects the same files. The plugin also refuses a command that gives such a file another name (`ln`, `docker run -v`) or
//! passes the file to a program that is not known to be read-only. For these files, case never matters, even if `ignore-case` is false.
//!
//! # Patterns
//!
//! `*` and `?` do not match a `/`, but `**` does, and `[a-z]` matches one character. A pattern protects the named path and everything below
//! it. A pattern without a slash is a name in any directory (`.env*`). A pattern with a slash is a path relative to the workspace
//! (`infra/*.tf`). If it begins with a slash, it is an absolute path, and if it begins with `~/`, it is a path in any home directory. For
//! exceptions, case always matters.
//!
//! # Labels
//!
//! With the grant `labels`, the plugin labels the session by what its calls reach, before they run:
//!
//! - `read:secret`: the call reads a file that usually contains secrets, such as `.env`, a private key or the file of an agent's tokens.
//! - `read:outside`: the call reads a file outside of the workspace and of the session's directory.
//! - `text:untrusted`: the call fetches a page or calls a tool of an MCP server. If the plugin also has the grant of the fact
//!   `tool.open_world`, tools whose approved annotations say that they reach nobody else are left out.
//! - `wrote:startup-file`: the call writes a file that a shell, git or the system runs by itself, such as `~/.bashrc` or `.git/hooks/x`.
//!
//! # What is seen
//!
//! The plugin checks these paths:
//!
//! - Every path that a call writes according to the host, and the paths that patches in the arguments name (`*** Update File: x` blocks,
//!   unified and context diffs).
//! - For a tool that the host does not know: every argument that is a protected path. An argument is ignored if the tool's name shows that
//!   the tool reads (`mcp__files__read_file`), or if the argument's name shows that it is a text (`content`). A directory in one argument
//!   and a name in another argument are combined into a path, and so are the names in a list. If the tool moves, renames or removes files,
//!   a directory above a protected path is refused, too.
//! - For such a tool, also the files that an argument called `command`, `cmd` or `script` would write if a shell ran it.
//! - In a shell command: redirections, and the files passed to commands that are known to write (`rm`, `mv`, `cp`, `tee`, `sed -i`,
//!   `git checkout`, `find -delete` and others). Such commands are also found in `sh -c`, `$(…)`, loops, functions and containers, and
//!   behind `sudo`, `xargs` and about two hundred other wrappers. Removing a directory above a protected path is refused, too. A path is
//!   resolved from every directory that the command has been in, because a `cd` may fail.
//!
//! A path may be relative, absolute, or under `~` or `$HOME`, and may contain `.`, `..`, doubled slashes or backslashes. If the root of a
//! path is unknown (`$DIR/infra/x`), any of its endings may be the real path. Such a path is refused if one of the endings is protected.
//!
//! # What is not seen
//!
//! A command is refused if it cannot be parsed as a shell command, is longer than 64 KiB, or is too complex to be read.
//!
//! The plugin only reads the text of shell commands, so it cannot see all of their effects. It does not see writes by a script, an
//! interpreter (`python -c …`), another machine (`ssh`) or an unknown program. It does not see symbolic links, another Unicode spelling of
//! a name, or a command that hides its effect. If somebody may try to circumvent the plugin, also run the agent in a sandbox.

mod labels;

use call_paths::{Patterns, ReadCall, Target, Touch, Touched, arguments, contexts, patch, spellings};
use hookhost_guest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use shell_reader::PathContext;
use shell_reader::guarded::{self, Guarded, HOOKHOST};
use shell_reader::path::Normal;

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
    #[serde(default)]
    allow_private: bool,
    #[serde(default = "all_files")]
    self_defence: Vec<String>,
}

fn yes() -> bool {
    true
}

fn all_files() -> Vec<String> {
    [HOOKHOST, AGENTS].map(str::to_owned).into()
}

/// The word for all agents in `self-defence`.
const AGENTS: &str = "agents";

#[derive(Debug)]
struct Guard {
    patterns: Patterns,
    reason: String,
    /// True if a command may take rights on protected files from everybody but their owner.
    allow_private: bool,
    /// Owners whose files are protected without a pattern: `hookhost`, `agents`, or the names of agents.
    self_defence: Vec<String>,
}

static GUARD: Configured<Guard> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct PathGuard;

#[plugin]
impl Plugin for PathGuard {
    fn configure(config: Config) -> Result<(), String> {
        let Config { protected, allow, reason, ignore_case, allow_private, self_defence } = config;
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
        GUARD.set(Guard {
            patterns: Patterns::new(&protected, &allow, ignore_case)?,
            reason,
            allow_private,
            self_defence,
        });
        Ok(())
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let guard = GUARD.get();
        let read = ReadCall::new(session, call);
        let written = read.touched(Touch::WRITES);
        let Touched { targets, made_private, exposed, unreadable, .. } = &written;
        let context = PathContext::new(&session.workspace);
        for (written, target) in targets.iter().chain(made_private.iter().filter(|_| !guard.allow_private)) {
            if let Some(pattern) = guard.patterns.protecting(target, context.workspace()) {
                let why = format!("`{written}` must not be written: it is protected by `{pattern}`");
                return Refusal::new(guard.because(&why)).code("path-guard.protected").into();
            }
        }
        for (written, target) in targets.iter().chain(made_private).chain(exposed) {
            if let Some(refusal) = guard.defend(call, written, target, context.workspace()) {
                return refusal.into();
            }
        }
        if guard.self_defence.iter().any(|word| word == HOOKHOST)
            && let Some(path) = names_keys(session, call)
        {
            let why = format!("`{path}` must not be read: hookhost keeps its keys there");
            return Refusal::new(guard.because(&why)).code("path-guard.keys").into();
        }
        if let Some(why) = unreadable {
            return Refusal::new(guard.because(why)).code("path-guard.unreadable").retryable().into();
        }
        labels::add(session, call, &read, &written);
        Verdict::allow()
    }
}

impl Guard {
    /// Refuses a change of a file that decides which rules apply to an agent.
    fn defend(&self, call: &ToolCall, written: &str, target: &Target, workspace: &str) -> Option<Refusal> {
        let is_defended = |guarded: &&Guarded| {
            self.self_defence.iter().any(|word| word == guarded.owner || (word == AGENTS && !guarded.is_hosts()))
                && (!guarded.is_of_variables() || names_variable(call))
        };
        let guarded = guarded::at(&target.path, target.reach, workspace).into_iter().find(is_defended)?;
        if self.patterns.is_excepted(target, workspace) {
            return None;
        }
        let (code, what) = if guarded.is_hosts() {
            ("path-guard.hookhost", "it is one of hookhost's own files".to_owned())
        } else {
            let what = match guarded.owner {
                "editors" | "environment" => "programs that start agents or proxies are set up there".to_owned(),
                agent => format!("the agent {agent} reads its settings or hooks there"),
            };
            ("path-guard.agent-files", what)
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

/// Returns true if a text in a call names a variable that makes hookhost or an agent use other settings.
fn names_variable(call: &ToolCall) -> bool {
    let mut names = false;
    patch::visit(&call.arguments().unwrap_or(Value::Null), "", &mut |_, text| names |= guarded::names_variable(text));
    names
}

/// Returns the argument that leads to hookhost's keys, because no tool may read the keys. For a shell, the commands are checked instead.
fn names_keys(session: &Session, call: &ToolCall) -> Option<String> {
    if call.action.shell().is_some() {
        return None;
    }
    let arguments: Value = call.arguments().unwrap_or(Value::Null);
    let may_be = |path: &str| ["hookhost", "keys", "~", "*", "%"].iter().any(|part| path.to_lowercase().contains(part));
    let contexts = contexts(session);
    let is_keys = |path: &str| {
        let path = arguments::local(path);
        let is_at_keys = |(context, path): (&PathContext, Normal)| guarded::is_keys(&path, context.workspace());
        may_be(&path) && spellings(&path, &contexts).any(is_at_keys)
    };
    let paths = arguments::all(&call.name, false, &arguments);
    paths.into_iter().map(|named| named.path).find(|path| is_keys(path))
}

#[cfg(test)]
mod tests;
