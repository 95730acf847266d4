//! Reads the commands that mention the hook from an agent's file, and finds the commands that hookhost's own plan would
//! write.
//!
//! Anyone who can write the file can put a command into it, and a repository can contain such a file. So no command
//! from a file is run. If a [`ConfiguredHook`] belongs to hookhost, the command of the plan is run instead.

use crate::install::error::FileRefusal;
use crate::install::json;
use crate::install::ours;
use crate::install::settings_file::read_text;
use crate::plan::{FilePlan, JsonEntry};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command in an agent's file that mentions the hook program.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredHook {
    /// Path of the file.
    pub file: PathBuf,
    /// The command that the agent would run.
    pub run: HookCommand,
    /// The JSON value of the hook in the file, or the text of the file if the whole file is the hook.
    pub hook: Value,
    /// The command of hookhost's plan for this entry, or `None` if the entry does not come from such a plan.
    pub planned: Option<HookCommand>,
}

/// The form in which an agent runs a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCommand {
    /// A program with arguments, without a shell.
    Words(Vec<String>),
    /// A command for this shell.
    Shell {
        /// Path of the shell.
        shell: &'static str,
        /// The command.
        command: String,
    },
}

impl HookCommand {
    /// Returns the words that run the command.
    pub fn words(&self) -> Vec<OsString> {
        match self {
            Self::Words(words) => words.iter().map(OsString::from).collect(),
            Self::Shell { shell, command } => vec![shell.into(), "-c".into(), command.into()],
        }
    }

    /// Returns true if an earlier plan could have written this command. This is the case if the command equals
    /// `planned`, or lacks only some of the options of `planned`.
    fn is_form_of(&self, planned: &Self) -> bool {
        let pieces = |run: &Self| -> (&'static str, Vec<String>) {
            match run {
                Self::Words(words) => ("", words.clone()),
                Self::Shell { shell, command } => (shell, command.trim_end().split(" --").map(str::to_owned).collect()),
            }
        };
        let ((shell, found), (planned_shell, planned)) = (pieces(self), pieces(planned));
        // The first piece of a shell command contains the program, the agent and the hook point.
        let head = if shell.is_empty() { 3 } else { 1 };
        let mut left = planned.iter();
        shell == planned_shell
            && found.len() >= head
            && found.get(..head) == planned.get(..head)
            && found.iter().all(|piece| left.any(|other| other == piece))
    }
}

impl ConfiguredHook {
    /// Returns true if the command names this agent and then this hook point. In hookhost's commands, these two words
    /// follow the program.
    pub fn is_of(&self, agent: &str, point: &str) -> bool {
        self.said().windows(2).any(|pair| pair == [agent, point])
    }

    /// Returns true if the command names this agent after the program. A file can also contain the hook of another
    /// agent.
    pub fn is_for(&self, agent: &str) -> bool {
        self.said().iter().skip_while(|word| !ours::names_program(word)).skip(1).any(|word| word == agent)
    }

    /// Returns the words of the command, approximately as a shell splits them.
    fn said(&self) -> Vec<String> {
        let said = match &self.run {
            HookCommand::Shell { command, .. } => {
                command.replace(['\'', '"'], "").replace([';', '|', '&', '(', ')'], " ")
            }
            HookCommand::Words(words) => words.join(" "),
        };
        said.split_whitespace().map(str::to_owned).collect()
    }

    /// Returns the program of the command, which is the word that ends in the hook program's name.
    pub fn program(&self) -> Option<PathBuf> {
        match &self.run {
            HookCommand::Shell { command, .. } => program_in(command).map(PathBuf::from),
            HookCommand::Words(words) => words.iter().find(|word| ours::names_program(word)).map(PathBuf::from),
        }
    }
}

/// Returns the word of a command that names the hook program, without its quotes.
fn program_in(command: &str) -> Option<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() || ";|&()".contains(c) => words.push(String::new()),
            (_, c) => words.last_mut()?.push(c),
        }
    }
    words.into_iter().find(|word| ours::names_program(word))
}

/// Reads the commands that mention the hook program from a file on the disk. A missing file has no commands. For
/// `project`, see [`read_text`].
///
/// # Errors
/// If the file cannot be read, or if the plan has JSON entries and the file is not valid JSON.
pub fn of_file(plan: &FilePlan, project: Option<&Path>) -> Result<Vec<ConfiguredHook>, FileRefusal> {
    let path = plan.path();
    let Some(content) = read_text(path, project)? else { return Ok(Vec::new()) };
    let mut found = match plan {
        FilePlan::Whole { is_program: true, .. } => of_program(path, content).into_iter().collect(),
        _ => match (json::value(&content), plan) {
            (Ok(value), _) => of_value(path, &value),
            // The file has another format, such as a script that the agent itself runs.
            (Err(_), FilePlan::Whole { .. }) => Vec::new(),
            (Err(why), _) => return Err(FileRefusal::new(path, why.to_string(), "correct it")),
        },
    };
    let planned = of_plan(plan);
    for command in &mut found {
        let form = planned.iter().find(|planned| command.run.is_form_of(&planned.run));
        command.planned = form.map(|form| form.run.clone());
    }
    Ok(found)
}

/// Returns the commands that a plan writes into its file.
fn of_plan(plan: &FilePlan) -> Vec<ConfiguredHook> {
    let path = plan.path();
    match plan {
        FilePlan::Whole { is_program: true, content, .. } => of_program(path, content.clone()).into_iter().collect(),
        FilePlan::Whole { content, .. } => json::value(content).map(|value| of_value(path, &value)).unwrap_or_default(),
        FilePlan::Json { entries, .. } => {
            let elements = entries.iter().filter_map(|entry| match entry {
                JsonEntry::Element { value, .. } => Some(value),
                JsonEntry::Default { .. } => None,
            });
            elements.flat_map(|element| of_value(path, element)).collect()
        }
    }
}

/// Returns the hook if the file is a program that mentions the hook program. The command in the result is the whole text of the
/// file, because a comparison must cover exactly the text that was read.
fn of_program(path: &Path, content: String) -> Option<ConfiguredHook> {
    let run = HookCommand::Shell { shell: SHELL, command: content.clone() };
    let hook = Value::String(content);
    let file = path.to_owned();
    ours::names_program(hook.as_str()?).then_some(ConfiguredHook { file, run, hook, planned: None })
}

/// The shell in which agents run the command of a hook.
const SHELL: &str = "/bin/sh";

/// Returns the commands in a JSON value that mention the hook program, at any depth.
pub fn of_value(file: &Path, value: &Value) -> Vec<ConfiguredHook> {
    let mut found = Vec::new();
    collect(file, value, &mut found);
    found
}

fn collect(file: &Path, value: &Value, found: &mut Vec<ConfiguredHook>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(file, item, found)),
        Value::Object(members) => match command(members) {
            Some(run) => found.push(ConfiguredHook { file: file.to_owned(), run, hook: value.clone(), planned: None }),
            None => members.values().for_each(|member| collect(file, member, found)),
        },
        _ => {}
    }
}

/// Returns the command of a hook if it mentions the hook program.
fn command(hook: &serde_json::Map<String, Value>) -> Option<HookCommand> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).map(str::to_owned);
    let run = match (text("command"), hook.get("args")) {
        (Some(command), None) => HookCommand::Shell { shell: SHELL, command },
        (Some(program), Some(arguments)) => {
            let words = arguments.as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
            HookCommand::Words(std::iter::once(Some(program)).chain(words).collect::<Option<_>>()?)
        }
        (None, _) => HookCommand::Shell { shell: "bash", command: text("bash")? },
    };
    let mentions = match &run {
        HookCommand::Words(words) => words.iter().any(|word| ours::names_program(word)),
        HookCommand::Shell { command, .. } => ours::names_program(command),
    };
    mentions.then_some(run)
}

#[cfg(test)]
mod tests {
    use super::{HookCommand, of_file, of_value};
    use crate::plan::{FilePlan, JsonEntry};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn what_would_be_run_is_the_plans_command_and_none_that_a_file_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hooks.json");
        let planned = "'/a b/hookhost-hook' cursor stop --on-failure=allow --state-dir /s";
        let plan = FilePlan::Json {
            path: path.clone(),
            entries: vec![JsonEntry::element(&["hooks", "stop"], json!({ "command": planned }))],
        };
        let found = |command: &str| {
            std::fs::write(&path, json!({ "hooks": { "stop": [{ "command": command }] } }).to_string()).unwrap();
            of_file(&plan, None).unwrap().remove(0).planned
        };
        let as_planned = Some(HookCommand::Shell { shell: "/bin/sh", command: planned.to_owned() });
        for ours in [
            planned,
            "'/a b/hookhost-hook' cursor stop",
            "'/a b/hookhost-hook' cursor stop --state-dir /s",
            "'/a b/hookhost-hook' cursor stop --on-failure=allow",
        ] {
            assert_eq!(found(ours), as_planned, "{ours}");
        }
        for theirs in [
            "touch x; '/a b/hookhost-hook' cursor stop",
            "'/a b/hookhost-hook' cursor stop; touch x",
            "'/a b/hookhost-hook' cursor stop --config-dir /evil",
            "'/a b/hookhost-hook' cursor stop --state-dir /s --on-failure=allow",
            "'/a b/hookhost-hook' cursor preToolUse",
            "./hookhost-hook cursor stop",
            "X=1 '/a b/hookhost-hook' cursor stop",
            "'/a b/hookhost-hook' cursor stop --on-failure=allow --state-dir /s --state-dir /t",
        ] {
            assert_eq!(found(theirs), None, "{theirs}");
        }
    }

    #[test]
    fn commands_are_found_in_the_form_of_each_agent() {
        let value = json!({ "hooks": {
            "PreToolUse": [{ "matcher": "*", "hooks": [
                { "type": "command", "command": "lint" },
                { "type": "command", "command": "/a b/hookhost-hook", "args": ["claude-code", "PreToolUse"] },
            ] }],
            "stop": [{ "command": "'/a b/hookhost-hook' cursor stop --on-failure=allow" }],
            "preToolUse": [{ "type": "command", "bash": "/x/hookhost-hook copilot preToolUse", "timeoutSec": 10 }],
        } });
        let found = of_value(Path::new("/f"), &value);
        let runs: Vec<_> = found.iter().map(|found| &found.run).collect();
        let words = |words: &[&str]| HookCommand::Words(words.iter().map(|&word| word.to_owned()).collect());
        let shell = |shell, command: &str| HookCommand::Shell { shell, command: command.to_owned() };
        assert_eq!(
            runs,
            [
                &words(&["/a b/hookhost-hook", "claude-code", "PreToolUse"]),
                &shell("/bin/sh", "'/a b/hookhost-hook' cursor stop --on-failure=allow"),
                &shell("bash", "/x/hookhost-hook copilot preToolUse"),
            ]
        );
        let programs: Vec<_> = found.iter().map(|found| found.program().unwrap()).collect();
        assert_eq!(
            programs,
            ["/a b/hookhost-hook", "/a b/hookhost-hook", "/x/hookhost-hook"].map(std::path::PathBuf::from)
        );
        assert!(found[1].is_of("cursor", "stop") && !found[1].is_of("cursor", "preToolUse"));
        assert!(found[0].is_of("claude-code", "PreToolUse") && !found[0].is_of("codex", "PreToolUse"));
    }
}
