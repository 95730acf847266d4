//! Reads a command argument: a string, or an argv list such as `["bash", "-lc", "…"]`.

use serde_json::{Map, Value};

/// Returns the text that a shell would read. If a list runs a shell on a script, the text is the script. For any other
/// list, the text is its words, quoted where necessary.
///
/// Returns `None` for any other value, because its meaning for the tool is unknown.
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

/// Returns a program with the words of a list, quoted for a shell. Returns `None` if the list is empty or contains a
/// value that is not a string.
pub(super) fn line(program: &str, words: &[Value]) -> Option<String> {
    let words = words.iter().map(quoted).collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())?;
    Some(format!("{program} {}", words.join(" ")))
}

/// Returns variables in the form in which they precede a command, each followed by a space. Omits names that a shell
/// does not accept.
pub(super) fn environment(variables: &Map<String, Value>) -> String {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let set = variables.iter().filter(|(name, _)| is_name(name));
    set.filter_map(|(name, value)| Some(format!("{name}={} ", quoted(value)?))).collect()
}

/// Returns one string for each command of a list. An item is a string, or a program with its arguments, `{"command",
/// "args"}`, which runs without a shell.
///
/// Returns `None` for any other value, because its meaning for the tool is unknown.
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

/// Returns the new value of an argument that contained `old`: a list if `old` is a list, otherwise a string.
pub(super) fn replaced(old: Option<&Value>, command: &str) -> Value {
    let Some(Value::Array(words)) = old else { return Value::String(command.to_owned()) };
    let mut words = words.clone();
    match script(&words) {
        Some(index) => words[index] = Value::String(command.to_owned()),
        None => words = ["sh", "-c", command].map(|word| Value::String(word.to_owned())).to_vec(),
    }
    Value::Array(words)
}

/// Returns the index of the script in exactly `[shell, -c, script]`. A list with more words (a file, an rc file,
/// operands), or with a shell in an unusual directory, does more than run its script, so plugins see the whole list.
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
