//! Commands that a call may run although nobody knows its tool: `mcp__box__execute {"command": "ls"}`.

use hookhost_guest::prelude::*;
use serde_json::Value;

/// Names of arguments that hold a command, without `_`, `-` and case.
const NAMES: [&str; 8] = ["command", "cmd", "commandline", "cmdline", "script", "bash", "shell", "argv"];
/// Maximum number of commands of a call.
const MAX_COMMANDS: usize = 16;

/// Returns the commands that a call of an unknown tool may run: the arguments that are called like a command, texts or lists of words.
/// A guard objects to none that cannot be read, or runs no program that it knows: they may be no commands of a shell.
#[must_use]
pub fn supposed_commands(session: &Session, call: &ToolCall) -> Vec<ShellCommand> {
    let is_unknown = match &call.action {
        Action::Mcp(_) => true,
        Action::Other(kind) => kind.is_empty(),
        _ => false,
    };
    let mut texts = Vec::new();
    if is_unknown && let Ok(arguments) = call.arguments() {
        collect(&arguments, "", &mut texts);
    }
    texts.truncate(MAX_COMMANDS);
    let command = |command| ShellCommand { command, cwd: session.cwd.clone(), dialect: ShellDialect::Posix };
    texts.into_iter().map(command).collect()
}

/// Returns whether an argument is called like a command.
#[must_use]
pub fn is_command(argument: &str) -> bool {
    let folded = argument.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase());
    NAMES.contains(&&*folded.collect::<String>())
}

fn collect(value: &Value, name: &str, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if is_command(name) => texts.push(text.clone()),
        Value::Array(values) if is_command(name) => {
            // A list of words, or of commands.
            let words: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
            texts.push(quoted.collect::<Vec<_>>().join(" "));
            texts.extend(words.iter().filter(|word| word.contains(' ')).map(|word| (*word).to_owned()));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, name, texts)),
        Value::Object(members) => members.iter().for_each(|(name, value)| collect(value, name, texts)),
        _ => {}
    }
}
