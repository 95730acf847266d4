//! A command argument: a string, or an argv list such as `["bash", "-lc", "…"]`.

use serde_json::{Map, Value};

/// The text that a shell would read. A list that runs a shell on a script is that script; any other list is quoted, so
/// that its words stay words.
///
/// `None` for anything else: what a tool makes of it, nobody can tell.
pub(super) fn text(command: &Value) -> Option<String> {
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => match script(words) {
            Some(index) => words[index].as_str().map(str::to_owned),
            None => Some(words.iter().map(quoted).collect::<Option<Vec<_>>>()?.join(" ")),
        },
        _ => None,
    }
}

/// A program with the words of a list behind it, as a shell would be given them; `None` where one is no text.
pub(super) fn line(program: &str, words: &[Value]) -> Option<String> {
    let words = words.iter().map(quoted).collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())?;
    Some(format!("{program} {}", words.join(" ")))
}

/// Variables as they precede a command, with a blank after each; those alone whose names a shell takes.
pub(super) fn environment(variables: &Map<String, Value>) -> String {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let set = variables.iter().filter(|(name, _)| is_name(name));
    set.filter_map(|(name, value)| Some(format!("{name}={} ", quoted(value)?))).collect()
}

/// The commands of a list, one text each: a text, or a program with its arguments, `{"command", "args"}`, which no shell reads.
///
/// `None` for anything else: what a tool makes of it, nobody can tell.
pub(super) fn texts(commands: &Value) -> Option<Vec<String>> {
    commands.as_array()?.iter().map(entry).collect()
}

fn entry(command: &Value) -> Option<String> {
    if let Some(text) = command.as_str() {
        return Some(text.to_owned());
    }
    let none = Vec::new();
    let arguments = command.get("args").map_or(Some(&none), Value::as_array)?;
    let words = std::iter::once(command.get("command")?).chain(arguments);
    Some(words.map(quoted).collect::<Option<Vec<_>>>()?.join(" "))
}

/// `command` in the form that `old` has.
pub(super) fn replaced(old: Option<&Value>, command: &str) -> Value {
    let Some(Value::Array(words)) = old else { return Value::String(command.to_owned()) };
    let mut words = words.clone();
    match script(&words) {
        Some(index) => words[index] = Value::String(command.to_owned()),
        None => words = ["sh", "-c", command].map(|word| Value::String(word.to_owned())).to_vec(),
    }
    Value::Array(words)
}

/// Where the script is in exactly `[shell, -c, script]`. Anything more (a file, an rc file, operands), or a shell from
/// an unusual place, is more than its script, and is shown as it is.
fn script(words: &[Value]) -> Option<usize> {
    const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];
    const PLACES: [&str; 4] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    let [shell, flag, script] = words else { return None };
    let shell = shell.as_str()?;
    let name = PLACES.iter().find_map(|place| shell.strip_prefix(place)).unwrap_or(shell);
    // `-l` only reads the user's own profile first.
    let runs_a_script = SHELLS.contains(&name) && matches!(flag.as_str()?, "-c" | "-lc" | "-cl");
    (runs_a_script && script.is_string()).then_some(2)
}

fn quoted(word: &Value) -> Option<String> {
    let text = word.as_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let is_plain = !text.is_empty() && text.chars().all(plain);
    Some(if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) })
}
