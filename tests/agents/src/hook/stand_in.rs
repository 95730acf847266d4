//! Installs the stand-in. The installed files of the agent are the ones that its adapter plans.

use super::Received;
use crate::agents::RealAgent;
use crate::place::{Place, write};
use anyhow::{Context as _, Result};
use hookhost_agents::by_name;
use hookhost_agents::plan::{Context, FilePlan, JsonEntry, OnFailure, Scope};
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes the files that name `program`.
///
/// # Errors
/// If the plan has a kind of file that this module does not know.
pub(super) fn install(agent: &dyn RealAgent, place: &Place, program: &Path) -> Result<()> {
    let adapter = by_name(agent.name()).with_context(|| format!("there is no adapter {}", agent.name()))?;
    let (home, project) = (place.home(), place.project());
    let context = Context {
        scope: Scope::User,
        home: &home,
        project: &project,
        program,
        on_failure: OnFailure::Deny,
        directories: None,
        variable: &|_| None,
    };
    for file in adapter.install(&context)?.files {
        match file {
            FilePlan::Whole { path, content, is_program } => {
                write(&path, &content)?;
                if is_program {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                }
            }
            FilePlan::Json { path, entries } => {
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
                let mut root: Value = serde_json::from_str(&text)?;
                for entry in entries {
                    match entry {
                        JsonEntry::Element { at, value } => {
                            let place = reach(&mut root, &at);
                            if !place.is_array() {
                                *place = json!([]);
                            }
                            place.as_array_mut().context("no array")?.push(value);
                        }
                        JsonEntry::Default { at, value } => {
                            let place = reach(&mut root, &at);
                            if place.is_null() {
                                *place = value;
                            }
                        }
                    }
                }
                write(&path, &serde_json::to_string_pretty(&root)?)?;
            }
        }
    }
    Ok(())
}

/// Returns the value at this path of keys. Missing objects on the path are created.
fn reach<'a>(value: &'a mut Value, keys: &[String]) -> &'a mut Value {
    keys.iter().fold(value, |value, key| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        &mut value[key]
    })
}

/// Returns the events that the stand-in has recorded.
///
/// # Errors
/// If a record cannot be read.
pub(super) fn told(place: &Place) -> Result<Vec<Received>> {
    let mut files: Vec<_> = fs::read_dir(place.recorded())?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let record: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let event = serde_json::from_value(record["event"].clone())?;
        Ok(Received {
            event,
            text: record["message"].to_string(),
            shown: format!("{}: {}", text("point"), text("means")),
        })
    };
    files.iter().map(read).collect()
}
