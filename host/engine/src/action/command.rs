//! A command argument: a string, or an argv list such as `["bash", "-lc", "…"]`.

use serde_json::Value;

/// The text that a shell would read. A list that runs a shell on a script is that script; any other list is quoted, so
/// that its words stay words.
pub(super) fn text(command: &Value) -> String {
    match command {
        Value::String(text) => text.clone(),
        Value::Array(words) => match script(words) {
            Some(index) => words[index].as_str().unwrap_or_default().to_owned(),
            None => words.iter().map(quoted).collect::<Vec<_>>().join(" "),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
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

/// Where the script stands in `[shell, -c, script]`, whatever the shell's path and the cluster that holds `c`.
fn script(words: &[Value]) -> Option<usize> {
    let shell = words.first()?.as_str()?.rsplit('/').next()?;
    if !matches!(shell, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish") {
        return None;
    }
    let flag = words[1..].iter().position(|word| {
        word.as_str().is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
    })?;
    let script = flag + 2;
    // With operands behind it ($0, $1, …) the script alone is not the whole command.
    (script + 1 == words.len() && words[script].is_string()).then_some(script)
}

fn quoted(word: &Value) -> String {
    let text = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
