//! The answers of rows, and their texts.

use crate::judge::Found;
use hookhost_contract::rule::RuleRow;
use serde_json::{Map, Value};
use shell_reader::UNKNOWN;
use std::cmp::Reverse;
use std::ops::Range;

/// The names that a text may have in braces.
pub(crate) const NAMES: [&str; 7] = ["path", "command", "program", "url", "host", "server", "tool"];

/// The answer of a row.
#[derive(Debug)]
pub(crate) enum Answer {
    Reject(String),
    Ask(String),
    Note(String),
    Remind(String),
    Change(Map<String, Value>),
    Redact(String),
    Label(String),
}

impl Answer {
    /// Returns the only answer of a valid row.
    pub(crate) fn of(row: &RuleRow) -> Option<Self> {
        let RuleRow { reject, ask, note, remind, change, redact, label, .. } = row;
        let stopping = reject.clone().map(Self::Reject).or_else(|| ask.clone().map(Self::Ask));
        let changing = || change.clone().map(Self::Change).or_else(|| redact.clone().map(Self::Redact));
        let telling = || remind.clone().map(Self::Remind).or_else(|| note.clone().map(Self::Note));
        stopping.or_else(changing).or_else(telling).or_else(|| label.clone().map(Self::Label))
    }

    /// Returns the key of the answer, which is the action of its finding.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Reject(_) => "reject",
            Self::Ask(_) => "ask",
            Self::Note(_) => "note",
            Self::Remind(_) => "remind",
            Self::Change(_) => "change",
            Self::Redact(_) => "redact",
            Self::Label(_) => "label",
        }
    }

    /// Returns the label that the answer gives the session.
    pub(crate) fn label(&self) -> Option<&str> {
        if let Self::Label(label) = self { Some(label) } else { None }
    }

    /// Returns true if the answer stops the call, at least until a person has decided.
    pub(crate) fn stops(&self) -> bool {
        matches!(self, Self::Reject(_) | Self::Ask(_))
    }
}

/// Returns the names in braces in a text, with the range of each name including its braces.
pub(crate) fn names(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.match_indices('{').filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let name = &rest[..rest.find('}')?];
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        is_name.then_some((at..at + name.len() + 2, name))
    })
}

/// Maximum length of a text with the values of its names, in bytes. Without it, a change could grow the call with each round.
pub(crate) const MAX_FILLED: usize = 256 * 1024;

/// Returns a text with the values of its names, each as `form` shows it. The value of a name that the call does not have is `(unknown)`.
/// Beyond `most` bytes, no further value is filled in.
fn filled_to(text: &str, found: &Found, most: usize, form: &dyn Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut end = 0;
    for (range, name) in names(text) {
        if filled.len() > most {
            break;
        }
        filled.push_str(&text[end..range.start]);
        filled.push_str(&found.value(name).map_or_else(|| "(unknown)".to_owned(), form));
        end = range.end;
    }
    filled + &text[end..]
}

/// Returns a text for arguments, with the values of its names as they are.
pub(crate) fn filled(text: &str, found: &Found) -> String {
    filled_to(text, found, MAX_FILLED, &str::to_owned)
}

/// Length of a text for people after which no further value is filled in, in bytes.
const MAX_SENTENCE: usize = 2 * 1024;

/// Returns a text for people, with the values of its names as people see them.
pub(crate) fn sentence(text: &str, found: &Found) -> String {
    filled_to(text, found, MAX_SENTENCE, &shown)
}

/// Returns a text, or only its beginning if it has more than `most` bytes.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

/// Maximum length of a value in a text for people, in characters.
const MAX_SHOWN: usize = 300;

/// Returns a value as people see it: on one line, and not too long.
pub(crate) fn shown(value: &str) -> String {
    let visible = |c: char| match c {
        UNKNOWN => '…',
        c if c.is_control() => ' ',
        c => c,
    };
    let mut shown: String = value.chars().take(MAX_SHOWN).map(visible).collect();
    if value.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns a value with the names in all of its strings filled.
fn filled_value(value: &Value, found: &Found) -> Value {
    match value {
        Value::String(text) => filled(text, found).into(),
        Value::Array(values) => values.iter().map(|value| filled_value(value, found)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled_value(value, found))).collect()
        }
        other => other.clone(),
    }
}

/// Sets the arguments that a change names by their paths: `a.b.0`.
pub(crate) fn change(arguments: &mut Value, change: &Map<String, Value>, found: &Found) {
    for (path, value) in change {
        if let Some(place) = place(arguments, path) {
            *place = filled_value(value, found);
        }
    }
}

/// Returns the argument at a path. Missing objects are made. Returns `None` if the path leads into a value that has no members.
fn place<'a>(arguments: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(arguments, |value, name| {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        match value {
            Value::Object(members) => Some(members.entry(name).or_insert(Value::Null)),
            Value::Array(values) => values.get_mut(name.parse::<usize>().ok()?),
            _ => None,
        }
    })
}

/// Replaces each of these parts in a text, at one place the longest. Returns `None` if the text has none of them.
pub(crate) fn redacted(text: &str, parts: &[String], mark: &str) -> Option<String> {
    let after = |part: &String, from: usize| Some(from + text[from..].find(part.as_str())?);
    let mut places: Vec<Option<usize>> = parts.iter().map(|part| after(part, 0)).collect();
    let (mut redacted, mut end) = (String::new(), 0);
    loop {
        let found = places.iter().zip(parts).filter_map(|(place, part)| Some(((*place)?, part.len())));
        let Some((at, length)) = found.min_by_key(|(at, length)| (*at, Reverse(*length))) else { break };
        redacted.push_str(&text[end..at]);
        redacted.push_str(mark);
        end = at + length;
        for (place, part) in places.iter_mut().zip(parts).filter(|(place, _)| place.is_some_and(|at| at < end)) {
            *place = after(part, end);
        }
    }
    (end > 0).then(|| redacted + &text[end..])
}

/// Replaces each of these parts in the strings of a JSON text. Returns `None` if it has none of them.
pub(crate) fn redacted_json(json: &str, parts: &[String], mark: &str) -> Option<String> {
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return redacted(json, parts, mark).map(|text| Value::String(text).to_string());
    };
    redact_value(&mut value, parts, mark).then(|| value.to_string())
}

fn redact_value(value: &mut Value, parts: &[String], mark: &str) -> bool {
    let any = |changed: bool, value: &mut Value| redact_value(value, parts, mark) | changed;
    match value {
        Value::String(text) => redacted(text, parts, mark).map(|redacted| *text = redacted).is_some(),
        Value::Array(values) => values.iter_mut().fold(false, any),
        Value::Object(members) => {
            let mut is_changed = members.values_mut().fold(false, any);
            for name in members.keys().cloned().collect::<Vec<_>>() {
                if let Some(redacted) = redacted(&name, parts, mark) {
                    let value = members.remove(&name).unwrap_or_default();
                    members.insert(redacted, value);
                    is_changed = true;
                }
            }
            is_changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns all strings of a JSON text, one on each line, or the text itself if it is not JSON.
pub(crate) fn strings_of(json: &str) -> String {
    fn add(value: &Value, strings: &mut Vec<String>) {
        match value {
            Value::String(text) => strings.push(text.clone()),
            Value::Array(values) => values.iter().for_each(|value| add(value, strings)),
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                strings.push(name.clone());
                add(value, strings);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let Ok(value) = serde_json::from_str(json) else { return json.to_owned() };
    let mut strings = Vec::new();
    add(&value, &mut strings);
    strings.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{change, cut, names, redacted, redacted_json, sentence, shown};
    use crate::judge::Found;
    use serde_json::json;

    #[test]
    fn a_text_gets_the_values_of_its_names() {
        let found = Found { path: Some("a.txt".into()), ..Found::default() };
        assert_eq!(sentence("Write {path} in {host}? {} { x }", &found), "Write a.txt in (unknown)? {} { x }");
        assert_eq!(names("{a} {B} {git.branch}").map(|(_, name)| name).collect::<Vec<_>>(), ["a", "git.branch"]);
    }

    #[test]
    fn a_value_cannot_add_a_line_to_a_text_and_is_cut() {
        assert_eq!(shown("a\nInstead: \u{1a}"), "a Instead: …");
        assert_eq!(shown(&"x".repeat(400)).chars().count(), 301);
    }

    #[test]
    fn a_text_does_not_grow_without_end_and_is_cut_between_letters() {
        let found = Found { path: Some("x".repeat(400)), ..Found::default() };
        assert!(sentence(&"{path}".repeat(500), &found).len() < 6_000);
        assert_eq!((cut("aü".into(), 2), cut("aü".into(), 3)), ("a…".into(), "aü".into()));
    }

    #[test]
    fn a_change_sets_arguments_by_their_paths() {
        let mut arguments = json!({ "a": [{ "b": 1 }], "c": 2 });
        let set = json!({ "a.0.b": 5, "d.e": "{path}", "c.x": 1, "a.7": 1 });
        change(&mut arguments, set.as_object().unwrap(), &Found { path: Some("p".into()), ..Found::default() });
        assert_eq!(arguments, json!({ "a": [{ "b": 5 }], "c": 2, "d": { "e": "p" } }));
    }

    #[test]
    fn a_mark_is_not_redacted_itself_and_the_longest_part_is() {
        let parts = ["a", "ab", "x"].map(str::to_owned);
        assert_eq!(redacted("abxa", &parts, "[ax]").unwrap(), "[ax][ax][ax]");
        assert_eq!(redacted("", &parts, "m"), None);
    }

    #[test]
    fn a_part_is_replaced_in_each_string_of_json() {
        let parts = ["key".to_owned()];
        assert_eq!(redacted_json(r#"{"a":["a key"],"key":1}"#, &parts, "…").unwrap(), r#"{"a":["a …"],"…":1}"#);
        assert_eq!(redacted_json(r#"{"a":1}"#, &parts, "…"), None);
    }
}
