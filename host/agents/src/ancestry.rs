//! Detects that an agent has started a process. Commands that loosen rules then fail, because an agent must not change its own rules.
//!
//! This check stops only an agent that does not try to avoid it. Like any program of the same user, an agent can hide its variables and its
//! parent processes: docs/security.md.

use std::fmt;
use std::path::Path;

/// The variable that `hookhost exec` sets for the program inside. Any program can set it, so it is only a hint.
pub const INSIDE_VARIABLE: &str = "HOOKHOST_INSIDE";

/// Returns true if this process seems to run in `hookhost exec`. On Linux, the variable alone does not suffice: the kernel must keep the
/// process from gaining privileges, and filter its system calls.
#[must_use]
pub fn is_inside() -> bool {
    let is_confined = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is = |name: &str, value: &str| {
            status.lines().any(|line| line.strip_prefix(name).is_some_and(|found| found.trim() == value))
        };
        // 2 is a filter of system calls.
        is("NoNewPrivs:", "1") && is("Seccomp:", "2")
    };
    std::env::var_os(INSIDE_VARIABLE).is_some() && (!cfg!(target_os = "linux") || is_confined())
}

/// Variables that agents set for their child processes, each with the agent's name.
const MARKS: &[(&str, &str)] = &[
    (INSIDE_VARIABLE, "hookhost exec"),
    ("AI_AGENT", "an agent"),
    ("CLAUDECODE", "Claude Code"),
    ("CLINE_ACTIVE", "Cline"),
    ("CODEX_CI", "Codex"),
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    ("COPILOT_CLI", "Copilot CLI"),
    ("CURSOR_AGENT", "Cursor"),
    ("GEMINI_CLI", "Gemini CLI"),
    ("GOOSE_TERMINAL", "goose"),
    ("OPENCODE", "OpenCode"),
    ("QWEN_CODE", "Qwen Code"),
];

/// Programs of agents, in addition to the programs that the adapters name. `hookhost` is this project's own agent.
const PROGRAMS: &[&str] = &[
    "claude",
    "cline",
    "codex",
    "copilot",
    "cursor-agent",
    "droid",
    "gemini",
    "grok",
    "hookhost",
    "kiro-cli",
    "opencode",
    "qwen",
];

/// Editors in whose terminals people work, too. Such a parent process does not show that an agent has started this process.
const EDITORS: &[&str] = &["antigravity", "code", "cursor", "kiro", "windsurf"];

/// Programs that run scripts.
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "nodejs", "python"];

/// Options of these programs whose value is the next word.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-C",
    "-W",
    "-X",
    "-r",
    "--conditions",
    "--env-file",
    "--experimental-loader",
    "--import",
    "--loader",
    "--require",
];

/// Maximum number of parent processes that are examined. Real process trees are much less deep.
const MAX_PARENTS: usize = 1000;

/// A sign that an agent has started a process. Its text completes the sentence "this runs …".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentSign {
    /// This variable is set.
    #[non_exhaustive]
    Mark {
        /// The variable.
        variable: &'static str,
        /// The agent that sets it.
        agent: &'static str,
    },
    /// A parent process is this program.
    Parent(String),
    /// There are more parent processes than are examined.
    TooDeep,
}

impl AgentSign {
    /// Looks for a sign in the environment and the parents of this process.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
        sign(is_set, parents(std::process::id()))
    }

    /// Looks for a sign in the parents of another process of this user. On Linux, looks in its environment, too.
    #[must_use]
    pub fn of_process(pid: u32) -> Option<Self> {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_set = |variable: &str| {
            let value =
                |entry: &[u8]| entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"=").map(<[u8]>::is_empty);
            environment.split(|byte| *byte == 0).any(|entry| value(entry) == Some(false))
        };
        sign(is_set, parents(pid))
    }

    /// Returns the name of the agent.
    #[must_use]
    pub fn agent(self) -> String {
        match self {
            Self::Mark { agent, .. } => agent.to_owned(),
            Self::Parent(program) => program,
            Self::TooDeep => "an unknown program".to_owned(),
        }
    }
}

/// Returns the parent processes of a process, nearest first.
pub fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(parent_of(pid), |pid| parent_of(*pid)).take_while(|pid| *pid > 1).take(MAX_PARENTS)
}

/// Returns false if a process has no terminal. Only Linux says so; on other systems, returns true.
#[must_use]
pub fn has_terminal(pid: u32) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    // The parent, the group and the session lie between the state and the number of the terminal.
    stat(pid).is_some_and(|fields| fields.split_whitespace().nth(4).is_some_and(|terminal| terminal != "0"))
}

impl fmt::Display for AgentSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark { variable, agent } => write!(f, "inside {agent} ({variable} is set)"),
            Self::Parent(program) => write!(f, "below the agent `{}`", program.escape_debug()),
            Self::TooDeep => write!(f, "below more than {MAX_PARENTS} programs, and one may be an agent"),
        }
    }
}

fn sign(is_set: impl Fn(&str) -> bool, parents: impl Iterator<Item = Vec<String>>) -> Option<AgentSign> {
    let mark = MARKS.iter().find(|(variable, _)| is_set(variable));
    if let Some((variable, agent)) = mark {
        return Some(AgentSign::Mark { variable, agent });
    }
    parents.enumerate().find_map(|(depth, names)| match names.into_iter().find(|name| is_agent(name)) {
        Some(name) => Some(AgentSign::Parent(name)),
        None => (depth >= MAX_PARENTS).then_some(AgentSign::TooDeep),
    })
}

fn is_agent(name: &str) -> bool {
    let mut adapters = crate::all().iter().flat_map(|adapter| adapter.agent().programs);
    !EDITORS.contains(&name) && (PROGRAMS.contains(&name) || adapters.any(|program| *program == name))
}

/// Returns the names of each parent process, nearest first. The names are the name of the program and the name of the script that the
/// program runs.
fn parents(pid: u32) -> impl Iterator<Item = Vec<String>> {
    let first = parent_of(pid);
    std::iter::successors(first, |pid| parent_of(*pid)).take_while(|pid| *pid > 1 && !is_test(*pid)).map(names_of)
}

/// Returns true if the process is a test. In debug builds, the search stops there, because an agent may have started the test.
fn is_test(pid: u32) -> bool {
    cfg!(debug_assertions) && std::env::var("HOOKHOST_TEST_PROCESS").is_ok_and(|test| test == pid.to_string())
}

/// Returns the names in the command line of a process, and the name that the system reports for the process.
fn names(system: &str, words: &[String]) -> Vec<String> {
    let name = |word: &str| {
        let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_suffix(".js").map(str::to_owned).unwrap_or(name)
    };
    let mut names = vec![system.trim().to_owned()];
    if let Some((program, arguments)) = words.split_first() {
        let program = name(program);
        // Versions of Python are named `python3.11`.
        if INTERPRETERS.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')) {
            let is_value = |at: usize| at > 0 && OPTIONS_WITH_VALUE.contains(&arguments[at - 1].as_str());
            let is_script =
                |at: usize, word: &str| !(word.starts_with('-') || is_value(at) || at == 0 && word == "run");
            let mut words = arguments.iter().enumerate().filter(|(at, word)| is_script(*at, word));
            let script = words.next().map(|(_, script)| name(script));
            // Such a script is the launcher of the npm package. It only starts `hookhost`, which is a process of its own.
            names.extend(script.filter(|script| script != "hookhost"));
        }
        names.push(program);
    }
    names
}

/// Returns what the system says about a process, from its state on.
fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses, and can itself contain parentheses.
    Some(stat.rsplit_once(')')?.1.to_owned())
}

#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    stat(pid)?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(target_os = "linux")]
fn names_of(pid: u32) -> Vec<String> {
    let system = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> =
        words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    names(&system, &words)
}

#[cfg(not(target_os = "linux"))]
fn parent_of(pid: u32) -> Option<u32> {
    ps(pid, "ppid=")?.trim().parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn names_of(pid: u32) -> Vec<String> {
    let system = ps(pid, "comm=").unwrap_or_default();
    let words: Vec<String> = ps(pid, "args=").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    names(Path::new(system.trim()).file_name().unwrap_or_default().to_string_lossy().as_ref(), &words)
}

#[cfg(not(target_os = "linux"))]
fn ps(pid: u32, column: &str) -> Option<String> {
    let output = std::process::Command::new("/bin/ps").args(["-o", column, "-p", &pid.to_string()]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{AgentSign, names, sign};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_mark_of_an_agent_in_the_environment_is_a_sign() {
        let none = || std::iter::empty();
        assert_eq!(sign(|_| false, none()), None);
        let mark = AgentSign::Mark { variable: "CLAUDECODE", agent: "Claude Code" };
        assert_eq!(sign(|variable| variable == "CLAUDECODE", none()), Some(mark));
    }

    #[test]
    fn a_parent_that_is_an_agent_is_a_sign_and_an_editor_is_not() {
        let found = |programs: &[&[&str]]| {
            sign(|_| false, programs.iter().map(|program| names(program[0], &words(&program[1..]))))
        };
        assert_eq!(found(&[&["bash", "-bash"], &["sshd", "sshd"]]), None);
        assert_eq!(found(&[&["cursor", "/usr/share/cursor/cursor"], &["code", "code"]]), None);
        assert_eq!(found(&[&["sh", "sh"], &["claude\n", "claude"]]), Some(AgentSign::Parent("claude".to_owned())));
        assert_eq!(found(&[&["hookhost", "hookhost"]]), Some(AgentSign::Parent("hookhost".to_owned())));
        let script: &[&str] = &["MainThread", "/usr/bin/node", "--no-warnings", "/usr/local/bin/gemini", "-p", "x"];
        assert_eq!(found(&[script]), Some(AgentSign::Parent("gemini".to_owned())));
        let required: &[&str] = &["node", "node", "-r", "x.js", "gemini.js"];
        assert_eq!(found(&[&["deno", "deno", "run", "gemini.js"]]), Some(AgentSign::Parent("gemini".to_owned())));
        assert_eq!(found(&[required]), Some(AgentSign::Parent("gemini".to_owned())));
        assert_eq!(
            found(&[&["python3.11", "python3.11", "openhands"]]),
            Some(AgentSign::Parent("openhands".to_owned()))
        );
        let shells: Vec<&[&str]> = vec![&["sh", "sh"]; super::MAX_PARENTS + 1];
        assert_eq!((found(&shells[1..]), found(&shells)), (None, Some(AgentSign::TooDeep)));
        let launcher: &[&str] = &["node", "/usr/bin/node", "/usr/local/bin/hookhost", "on"];
        assert_eq!(found(&[launcher, &["bash", "-bash"]]), None);
        assert_eq!(
            found(&[&["sh", "sh"], &["hookhost", "/opt/bin/hookhost", "run"], launcher]),
            Some(AgentSign::Parent("hookhost".to_owned()))
        );
        // A file or an argument with the name of an agent is not a program of an agent.
        assert_eq!(found(&[&["vim", "vim", "claude"], &["node", "node", "server.js", "codex"]]), None);
    }

    #[test]
    fn the_parents_of_this_process_are_found() {
        let parent = super::parent_of(std::process::id()).unwrap();
        assert!(!super::names_of(parent).iter().all(String::is_empty));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_environment_of_another_process_has_a_mark() {
        let mut child = std::process::Command::new("sleep").arg("60").env("GOOSE_TERMINAL", "1").spawn().unwrap();
        // Until `exec` has succeeded, a child has the environment of this process.
        let found = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            AgentSign::of_process(child.id()).filter(|sign| matches!(sign, AgentSign::Mark { agent: "goose", .. }))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.is_some());
    }
}
