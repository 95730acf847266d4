//! The commands of the hook, read back from an agent's file: what the agent itself would run.

use crate::json;
use crate::ours;
use hookhost_adapters::install::FilePlan;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command of ours in an agent's file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Configured {
    /// The file.
    pub file: PathBuf,
    /// What is run.
    pub run: Run,
    /// The hook itself, as the file has it; the text of the file where the file is the hook.
    pub hook: Value,
}

/// What an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A program with arguments; no shell is involved.
    Words(Vec<String>),
    /// A command for this shell.
    Shell {
        /// The shell.
        shell: &'static str,
        /// The command.
        command: String,
    },
}

impl Configured {
    /// The words to run it with.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        match &self.run {
            Run::Words(words) => words.iter().map(OsString::from).collect(),
            Run::Shell { shell, command } => vec![shell.into(), "-c".into(), command.into()],
        }
    }

    /// Whether it is the hook of this hook point: our command says agent and hook point after the program.
    #[must_use]
    pub fn is_of(&self, agent: &str, point: &str) -> bool {
        let said = match (&self.run, &self.hook) {
            (Run::Shell { command: text, .. }, _) | (_, Value::String(text)) => text.replace(['\'', '"'], ""),
            (Run::Words(words), _) => words.join(" "),
        };
        let words: Vec<&str> = said.split_whitespace().collect();
        words.windows(2).any(|pair| pair == [agent, point])
    }

    /// The program that it names: the word that ends in the hook program's name.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        match (&self.run, &self.hook) {
            (Run::Shell { command: text, .. }, _) | (_, Value::String(text)) => program_in(text).map(PathBuf::from),
            (Run::Words(words), _) => words.iter().find(|word| ours::names_program(word)).map(PathBuf::from),
        }
    }
}

/// The word of a command that names the hook program, without its quotes.
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

/// Our commands in a file, as it is on the disk now. A file that is missing has none.
///
/// # Errors
/// One sentence about the file, where it cannot be read.
pub fn of_file(plan: &FilePlan) -> Result<Vec<Configured>, String> {
    let path = plan.path();
    let content = match std::fs::read_to_string(path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    if let FilePlan::Whole { is_program: true, .. } = plan {
        let run = Run::Words(vec![path.to_string_lossy().into_owned()]);
        let is_ours = ours::names_program(&content);
        let hook = Value::String(content);
        return Ok(is_ours.then(|| Configured { file: path.to_owned(), run, hook }).into_iter().collect());
    }
    match (json::value(&content), plan) {
        (Ok(value), _) => Ok(of_value(path, &value)),
        // A file of another kind, such as a script that the agent itself runs.
        (Err(_), FilePlan::Whole { .. }) => Ok(Vec::new()),
        (Err(why), _) => Err(format!("{} {why}", path.display())),
    }
}

/// Our commands anywhere in a value.
#[must_use]
pub fn of_value(file: &Path, value: &Value) -> Vec<Configured> {
    let mut found = Vec::new();
    collect(file, value, &mut found);
    found
}

fn collect(file: &Path, value: &Value, found: &mut Vec<Configured>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(file, item, found)),
        Value::Object(members) => match command(members) {
            Some(run) => found.push(Configured { file: file.to_owned(), run, hook: value.clone() }),
            None => members.values().for_each(|member| collect(file, member, found)),
        },
        _ => {}
    }
}

/// The command of a hook, if it is ours.
fn command(hook: &serde_json::Map<String, Value>) -> Option<Run> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).filter(|text| ours::names_program(text));
    if let Some(program) = text("command") {
        let words = match hook.get("args") {
            None => return Some(Run::Shell { shell: "/bin/sh", command: program.to_owned() }),
            Some(arguments) => arguments.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)),
        };
        let words: Option<Vec<String>> = std::iter::once(Some(program.to_owned())).chain(words).collect();
        return words.map(Run::Words);
    }
    text("bash").map(|command| Run::Shell { shell: "bash", command: command.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Run, of_value};
    use serde_json::json;
    use std::path::Path;

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
        let words = |words: &[&str]| Run::Words(words.iter().map(|&word| word.to_owned()).collect());
        let shell = |shell, command: &str| Run::Shell { shell, command: command.to_owned() };
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
