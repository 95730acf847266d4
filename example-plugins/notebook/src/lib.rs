//! Adds three tools: `write_note`, `read_notes` and `remove_note`. A note from one session is available in later sessions.
//!
//! ```toml
//! [[plugin]]
//! name = "notebook"
//! path = "plugins/notebook.wasm"
//! sha256 = "…"
//! [plugin.grants]
//! state = { quota = "64KiB" }
//!
//! [plugin.config]
//! most-notes = 50                 # default 100
//! ```
//!
//! The model sees the tools as `notebook__write_note` and so on. The tools touch no files, because the notes are the plugin's own state,
//! whose size the grant's quota limits. Each call passes `before-tool-call` and `after-tool-call` like a call of any other tool, so other
//! plugins can stop, change and mask the call. A model writes the notes, perhaps because of a text that somebody else wrote. Therefore a
//! later session must not trust their text.

use hookhost_guest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// The key of the notes in the state.
const KEY: &str = "notes";

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 100;

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    most_notes: Option<NonZeroUsize>,
}

static MAX_NOTES: Configured<usize> = Configured::new();

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    title: String,
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Title {
    title: String,
}

/// The notes by title. A second note with the same title replaces the first note.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes(BTreeMap<String, String>);

/// The plugin.
#[derive(Debug)]
pub struct Notebook;

#[plugin]
impl Plugin for Notebook {
    fn configure(config: Config) -> Result<(), String> {
        MAX_NOTES.set(config.most_notes.map_or(100, NonZeroUsize::get));
        Ok(())
    }

    fn tools() -> Vec<Tool> {
        let title = json!({ "type": "string", "minLength": 1, "maxLength": MAX_TITLE });
        let object = |properties: hookhost_guest::serde_json::Value| {
            let required: Vec<_> = properties.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
        };
        vec![
            Tool::new(
                "write_note",
                "Keeps a note for later sessions on this machine. A second note of the same title replaces the first.",
                object(json!({ "title": title, "text": { "type": "string", "minLength": 1 } })),
            ),
            Tool::new("read_notes", "Reads all notes that earlier sessions have left.", object(json!({}))),
            Tool::new("remove_note", "Removes a note.", object(json!({ "title": title }))),
        ]
    }

    fn call_tool(_session: &Session, name: &str, arguments: &str) -> ToolResult {
        let done = match name {
            "write_note" => write_note(arguments),
            "read_notes" => read_notes(),
            "remove_note" => remove_note(arguments),
            other => Err(format!("there is no tool `{other}`")),
        };
        done.map_or_else(|why| ToolResult::new(why).failed(), ToolResult::new)
    }
}

fn write_note(arguments: &str) -> Result<String, String> {
    let Note { title, text } = arguments_of(arguments)?;
    let mut notes = stored()?;
    let most = *MAX_NOTES.get();
    if !notes.0.contains_key(&title) && notes.0.len() >= most {
        return Err(format!("there are {most} notes already, the most there may be: remove one first"));
    }
    notes.0.insert(title.clone(), text);
    keep(&notes)?;
    Ok(format!("noted under `{title}`"))
}

fn read_notes() -> Result<String, String> {
    let notes = stored()?;
    if notes.0.is_empty() {
        return Ok("there are no notes".into());
    }
    Ok(notes.0.iter().map(|(title, text)| format!("# {title}\n{text}\n")).collect())
}

fn remove_note(arguments: &str) -> Result<String, String> {
    let Title { title } = arguments_of(arguments)?;
    let mut notes = stored()?;
    if notes.0.remove(&title).is_none() {
        return Err(format!("there is no note `{title}`"));
    }
    keep(&notes)?;
    Ok(format!("removed `{title}`"))
}

fn arguments_of<T: serde::de::DeserializeOwned>(arguments: &str) -> Result<T, String> {
    hookhost_guest::parse(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}

fn stored() -> Result<Notes, String> {
    let notes = state::get_json(state::Scope::Plugin, KEY);
    notes.map(Option::unwrap_or_default).map_err(|error| format!("the notes cannot be read: {}", why(&error)))
}

fn keep(notes: &Notes) -> Result<(), String> {
    let kept = state::set_json(state::Scope::Plugin, KEY, notes);
    kept.map_err(|error| format!("the notes cannot be kept: {}", why(&error)))
}

fn why(error: &state::Error) -> &str {
    match error {
        state::Error::QuotaExceeded => "the notebook is full; remove a note, or write a shorter one",
        state::Error::Unavailable(why) => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost_guest::testing::{prime, session};

    #[expect(clippy::needless_pass_by_value, reason = "so that a test reads as what it hands over")]
    fn call(tool: &str, arguments: hookhost_guest::serde_json::Value) -> (String, bool) {
        let result = Notebook::call_tool(&session(), tool, &arguments.to_string());
        (result.text, result.is_error)
    }

    fn configure(config: &str) {
        prime(|_| {});
        Notebook::configure(hookhost_guest::parse(config).unwrap()).unwrap();
    }

    #[test]
    fn what_is_noted_can_be_read_replaced_and_removed() {
        configure("{}");
        assert_eq!(call("read_notes", json!({})), ("there are no notes".into(), false));
        assert!(!call("write_note", json!({"title": "build", "text": "make"})).1);
        assert!(!call("write_note", json!({"title": "build", "text": "cargo"})).1);
        assert_eq!(call("read_notes", json!({})).0, "# build\ncargo\n");
        assert!(!call("remove_note", json!({"title": "build"})).1);
        assert_eq!(call("remove_note", json!({"title": "build"})), ("there is no note `build`".into(), true));
    }

    #[test]
    fn there_are_no_more_notes_than_may_be() {
        configure(r#"{"most-notes": 1}"#);
        assert!(!call("write_note", json!({"title": "a", "text": "1"})).1);
        let (text, is_error) = call("write_note", json!({"title": "b", "text": "2"}));
        assert!(is_error && text.contains("there are 1 notes already"), "{text}");
        assert!(!call("write_note", json!({"title": "a", "text": "3"})).1, "the same title again");
    }

    #[test]
    fn arguments_that_do_not_fit_are_an_error_result() {
        configure("{}");
        let (text, is_error) = call("write_note", json!({"title": "a"}));
        assert!(is_error && text.contains("missing field `text`"), "{text}");
    }

    #[test]
    fn each_tool_that_is_listed_can_be_called() {
        configure("{}");
        for tool in Notebook::tools() {
            let (text, _) = call(&tool.name, json!({"title": "a", "text": "b"}));
            assert!(!text.contains("there is no tool"), "{text}");
        }
    }
}
