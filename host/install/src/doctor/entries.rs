//! Whether the entries of a plan are in its files.

use crate::check::Check;
use crate::json;
use crate::ours::{self, Share};
use hookhost_adapters::install::{Context, FilePlan, JsonDialect, JsonEntry, Plan, Scope};
use hookhost_adapters::{Adapter, Agent};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// What of a plan is in its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Presence {
    /// Entries that are there as they would be written now; of a file that is wholly ours, its name.
    pub there: Vec<String>,
    /// Entries that are there in another form.
    pub other: Vec<String>,
    /// Entries that are missing.
    pub missing: Vec<String>,
    /// Files that cannot be read, a sentence each.
    pub unreadable: Vec<String>,
}

impl Presence {
    /// What of this plan is there, for an agent that reads this JSON.
    #[must_use]
    pub fn of(plan: &Plan, dialect: JsonDialect) -> Self {
        let mut presence = Self::default();
        for file in &plan.files {
            presence.look_at(file, dialect);
        }
        presence
    }

    /// Whether anything of ours is there.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.there.is_empty() || !self.other.is_empty()
    }

    fn look_at(&mut self, file: &FilePlan, dialect: JsonDialect) {
        let path = file.path();
        let content = match read(path) {
            Ok(content) => content,
            Err(why) => return self.unreadable.push(why),
        };
        match file {
            FilePlan::Whole { content: planned, .. } => {
                let list = match &content {
                    Some(content) if content == planned => &mut self.there,
                    Some(content) if ours::names_program(content) || content.contains("hookhost") => &mut self.other,
                    _ => &mut self.missing,
                };
                list.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
            FilePlan::Json { entries, .. } => {
                let value = content.filter(|text| !text.trim().is_empty()).map(|text| json::value_in(&text, dialect));
                let value = match value {
                    Some(Ok(value)) => value,
                    None => Value::Null,
                    Some(Err(why)) => {
                        let says = format!("{} {why}, so the agent does not read it", path.display());
                        return self.unreadable.push(says);
                    }
                };
                for entry in entries {
                    self.look_for(entry, &value);
                }
            }
            _ => {}
        }
    }

    fn look_for(&mut self, entry: &JsonEntry, value: &Value) {
        let JsonEntry::Element { at, value: planned } = entry else { return };
        let array = at.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_array);
        let ours = |element: &&Value| ours::share(element) != Share::Nothing;
        let found: Vec<&Value> = array.into_iter().flatten().filter(ours).collect();
        let list = match found.as_slice() {
            [] => &mut self.missing,
            found if found.contains(&planned) => &mut self.there,
            _ => &mut self.other,
        };
        list.push(at.last().cloned().unwrap_or_default());
    }

    /// The check of it.
    pub(super) fn check(&self, agent: &Agent, scope: Scope) -> Check {
        let flag = match scope {
            Scope::User => String::new(),
            Scope::Project | Scope::Managed => format!(" --{}", scope.name()),
        };
        let install = format!("hookhost install {}{flag}", agent.name);
        let whose = format!("the {} files of {}", scope.name(), agent.title);
        match self {
            Self { missing, .. } if !missing.is_empty() => {
                Check::problem("entry", format!("{whose} lack the hook at {}", missing.join(", ")), install)
            }
            Self { other, .. } if !other.is_empty() => {
                let says =
                    format!("{whose} have another form of the hook than this hookhost writes at {}", other.join(", "));
                Check::problem("entry", says, install)
            }
            Self { there, .. } => Check::ok("entry", format!("{whose} have the hook at {} places", there.len())),
        }
    }
}

/// The text of a file, where there is one.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("{} cannot be read ({error})", path.display())),
    }
}

/// The JSON files of the agent in all scopes, each with what it says; one that cannot be read is left out.
pub(super) fn json_files(adapter: &dyn Adapter, context: &Context<'_>) -> Vec<(PathBuf, Value)> {
    let mut files: Vec<(PathBuf, Value)> = Vec::new();
    for scope in [Scope::Managed, Scope::User, Scope::Project] {
        let plan = adapter.install(&Context { scope, ..*context });
        for file in plan.iter().flat_map(|plan| &plan.files) {
            if let FilePlan::Json { path, .. } = file
                && !files.iter().any(|(known, _)| known == path)
                && let Ok(Some(text)) = read(path)
                && let Ok(value) = json::value(&text)
            {
                files.push((path.clone(), value));
            }
        }
    }
    files
}

/// Files that switch all hooks off, by the key that several agents have for it.
pub(super) fn disabled(adapter: &dyn Adapter, context: &Context<'_>) -> Vec<Check> {
    let files = json_files(adapter, context);
    let disabled = files.iter().filter(|(_, value)| value.get("disableAllHooks") == Some(&Value::Bool(true)));
    disabled.map(|(path, _)| all_disabled(path, "disableAllHooks")).collect()
}

/// A file that switches all hooks off.
pub(super) fn all_disabled(path: &Path, key: &str) -> Check {
    let says = format!("{} says `{key}`, so the agent runs no hook", path.display());
    Check::problem("reached", says, format!("take `{key}` out of {}", path.display()))
}
