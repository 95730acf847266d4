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

/// Where the script stands in exactly `[shell, -c, script]`. Anything more (a file, an rc file, operands), or a shell from
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

fn quoted(word: &Value) -> String {
    let text = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
