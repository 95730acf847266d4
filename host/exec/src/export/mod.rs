//! The same policy as settings of the agents' own sandboxes. An agent's sandbox covers only the commands that its model runs, and most
//! express less than the policy, so each export lists what it does not say.
//!
//! | module | purpose |
//! |---|---|
//! | [`claude_code`], [`codex`], [`cursor`], [`gemini_cli`] | the settings of one agent |
//! | `edit` | adds settings to a text and removes them |
//! | [`install`] | writes settings into the agent's file, and removes exactly what was written |

pub mod claude_code;
pub mod codex;
pub mod cursor;
mod edit;
pub mod gemini_cli;
pub mod install;
#[cfg(test)]
pub(crate) mod tests;

use crate::plan::Guard;
use crate::policy::{FileFormat, Gap, Places, Policy};
use hookhost_agents::plan::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Settings of an agent's own sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name of the agent.
    pub agent: &'static str,
    /// The scope: the user's file has the paths outside of the project, and the project's file those in it.
    pub scope: Scope,
    /// The agent's file.
    pub file: PathBuf,
    /// Format of the file.
    pub format: FileFormat,
    /// The settings.
    pub settings: Vec<Setting>,
    /// What the settings do not say exactly, with a sentence for the user each.
    pub inexact: Vec<Gap>,
    /// Settings of the user that make the agent ignore these, and the sentence for the user.
    pub(crate) overriding: &'static [(&'static str, &'static str)],
}

/// One setting: a value at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The keys that lead to the place, outermost first.
    pub at: Vec<String>,
    /// The value.
    pub value: Value,
    /// True if the value is an element of the array at the place, and false if it is the member there.
    pub is_element: bool,
}

impl Setting {
    fn element(at: &[&str], value: impl Into<Value>) -> Self {
        Self { at: at.iter().map(|&key| key.to_owned()).collect(), value: value.into(), is_element: true }
    }

    fn member(at: &[&str], value: impl Into<Value>) -> Self {
        Self { is_element: false, ..Self::element(at, value) }
    }
}

/// A function that exports a policy.
pub type Exporter = fn(&Policy, &Places<'_>, Scope) -> Export;

/// The exporters, with the names of their agents.
pub const EXPORTERS: [(&str, Exporter); 4] = [
    ("claude-code", claude_code::export),
    ("codex", codex::export),
    ("gemini-cli", gemini_cli::export),
    ("cursor", cursor::export),
];

impl Export {
    fn new(agent: &'static str, scope: Scope, file: PathBuf, format: FileFormat) -> Self {
        Self { agent, scope, file, format, settings: Vec::new(), inexact: Vec::new(), overriding: &[] }
    }

    fn inexact(&mut self, guard: &Guard, places: &Places<'_>, sentence: &str) {
        let sentence = format!("{} {sentence} ({})", places.shown(&guard.path), guard.reason);
        self.inexact.push(Gap { path: guard.path.clone(), sentence });
    }

    /// Names the configurations of git in the project. Claude Code and Codex keep them read-only themselves.
    fn git_configuration(&mut self, policy: &Policy, places: &Places<'_>) {
        let of_git = policy.restored.iter().filter(|file| file.format == FileFormat::GitConfig && file.exists);
        for file in of_git.filter(|_| self.scope == Scope::Project) {
            let sentence = format!("{} stays writable, with keys whose values git runs", places.shown(&file.path));
            self.inexact.push(Gap { path: file.path.clone(), sentence });
        }
    }

    fn note(&mut self, sentence: impl Into<String>) {
        self.inexact.push(Gap { path: self.file.clone(), sentence: sentence.into() });
    }

    /// Returns the settings as the text of a file that has nothing else. The text is empty if there are no settings.
    pub fn text(&self) -> String {
        if self.settings.is_empty() {
            return String::new();
        }
        edit::added(self.format, "", &self.settings).map(|added| added.text).unwrap_or_default()
    }
}

/// Returns the guards of a scope: those in the project, or those outside of it.
fn guards(policy: &Policy, scope: Scope) -> impl Iterator<Item = &Guard> {
    policy.guards.iter().filter(move |guard| is_of(policy, &guard.path, scope))
}

/// Returns the files of a scope of which keys are restored inside, but for those of git. An agent writes such a file itself, outside of its
/// sandbox, so the sandbox can make it read-only.
fn restored(policy: &Policy, scope: Scope) -> impl Iterator<Item = &std::path::Path> {
    let files = policy.restored.iter().filter(|file| file.format != FileFormat::GitConfig && file.exists);
    let paths = files.map(|file| file.path.as_path());
    paths.filter(move |path| is_of(policy, path, scope))
}

/// Returns true if the file of a scope has the path. A project that contains the home has no paths of its own.
fn is_of(policy: &Policy, path: &std::path::Path, scope: Scope) -> bool {
    let is_in_project = path.starts_with(&policy.project) && !policy.home.starts_with(&policy.project);
    is_in_project == (scope == Scope::Project)
}

/// Returns a file in the project, or in the directory of the user that a variable replaces.
fn file(places: &Places<'_>, scope: Scope, variable: &str, directory: &str, (user, project): (&str, &str)) -> PathBuf {
    match scope {
        Scope::Project => places.project.join(directory).join(project),
        _ => places.path_of(variable).unwrap_or_else(|| places.home.join(directory)).join(user),
    }
}
