//! Compares the entries of a plan with the files on disk.

use crate::install::check::Check;
use crate::install::error::FileRefusal;
use crate::install::json;
use crate::install::ours::{self, Ownership};
use crate::install::settings_file::read_text;
use crate::plan::{Context, FilePlan, JsonDialect, JsonEntry, Plan, Scope};
use crate::{Adapter, Agent};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The result of comparing the entries of a plan with the files on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Entries that the files contain in the form that this hookhost would write. If a whole file belongs to hookhost, the list
    /// contains the file's name.
    pub there: Vec<String>,
    /// Entries that the files contain in a form that this hookhost would not write.
    pub other: Vec<String>,
    /// Entries that are missing.
    pub missing: Vec<String>,
    /// Files that cannot be read.
    pub unreadable: Vec<FileRefusal>,
}

impl Presence {
    /// Compares this agent's plan with its files. `dialect` is the JSON dialect that the agent accepts. For `project`,
    /// see [`read_text`].
    pub fn of(plan: &Plan, agent: &str, dialect: JsonDialect, project: Option<&Path>) -> Self {
        let mut presence = Self::default();
        for file in &plan.files {
            presence.look_at(file, agent, dialect, project);
        }
        presence
    }

    /// Returns true if the files contain any entry.
    pub fn any(&self) -> bool {
        !self.there.is_empty() || !self.other.is_empty()
    }

    fn look_at(&mut self, file: &FilePlan, agent: &str, dialect: JsonDialect, project: Option<&Path>) {
        let path = file.path();
        let content = match read_text(path, project) {
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
                        let what = format!("{why}, so the agent does not read it");
                        return self.unreadable.push(FileRefusal::new(path, what, "correct the file"));
                    }
                };
                for entry in entries {
                    self.look_for(entry, &value, agent);
                }
            }
        }
    }

    fn look_for(&mut self, entry: &JsonEntry, value: &Value, agent: &str) {
        let found = |at: &[String]| at.iter().try_fold(value, |value, key| value.get(key));
        let (at, planned) = match entry {
            JsonEntry::Element { at, value } => (at, value),
            JsonEntry::Default { at, value } if ours::is_named_after_us(at) => {
                let list = match found(at) {
                    None => &mut self.missing,
                    Some(found) if found == value => &mut self.there,
                    Some(_) => &mut self.other,
                };
                return list.push(at.join("."));
            }
            JsonEntry::Default { .. } => return,
        };
        let array = found(at).and_then(Value::as_array);
        let ours = |element: &&Value| ours::share(element, agent) != Ownership::Nothing;
        let found: Vec<&Value> = array.into_iter().flatten().filter(ours).collect();
        let list = match found.as_slice() {
            [] => &mut self.missing,
            found if found.contains(&planned) => &mut self.there,
            _ => &mut self.other,
        };
        list.push(at.last().cloned().unwrap_or_default());
    }

    /// Returns a check that says whether the files contain the entries.
    pub(super) fn check(&self, agent: &Agent, scope: Scope) -> Check {
        let install = format!("hookhost install {}{}", agent.name, scope.flag());
        let whose = match scope {
            Scope::User => format!("your settings of {}", agent.title),
            Scope::Project => format!("this project's settings of {}", agent.title),
            Scope::Managed => format!("this machine's settings of {}", agent.title),
        };
        match self {
            Self { missing, .. } if !missing.is_empty() => Check::problem(
                "entry",
                format!("{whose} lack a part of hookhost's hook: {}", missing.join(", ")),
                install,
            ),
            Self { other, .. } if !other.is_empty() => {
                let says = format!(
                    "{whose} have a hook that this version of hookhost would write differently: {}",
                    other.join(", ")
                );
                Check::problem("entry", says, install)
            }
            Self { there, .. } => Check::ok("entry", format!("{whose} have hookhost's hook ({} entries)", there.len())),
        }
    }
}

/// Returns the project's root for [`Scope::Project`], otherwise `None`. Symbolic links in a project must not lead out
/// of this root.
pub(super) fn root<'a>(context: &Context<'a>, scope: Scope) -> Option<&'a Path> {
    (scope == Scope::Project).then_some(context.project)
}

/// Returns the text of a file of this scope. Returns `None` if the file does not exist or cannot be read.
pub(super) fn text(context: &Context<'_>, scope: Scope, path: &Path) -> Option<String> {
    read_text(path, root(context, scope)).ok()?
}

/// Returns the agent's JSON files in a scope with their values. An unreadable file is left out.
pub(super) fn json_files(adapter: &Adapter, context: &Context<'_>, scope: Scope) -> Vec<(PathBuf, Value)> {
    let files = adapter.install(&Context { scope, ..*context }).map(|plan| plan.files).unwrap_or_default();
    let read = |path: &Path| json::value(&text(context, scope, path)?).ok();
    let paths = files.into_iter().map(|file| file.path().to_owned());
    paths.filter_map(|path| Some((read(&path)?, path))).map(|(value, path)| (path, value)).collect()
}

/// All scopes. The scope with the highest precedence comes first.
pub(super) const SCOPES: [Scope; 3] = [Scope::Managed, Scope::User, Scope::Project];

/// Creates the check for a file that disables all hooks.
pub(super) fn all_disabled(path: &Path, key: &str) -> Check {
    let says = format!("{} says `{key}`, so the agent runs no hook", path.display());
    Check::problem("reached", says, format!("take `{key}` out of {}", path.display()))
}
