//! Compares the hooks that a repository gives to agents with those of another checkout.

use super::{Finding, Kind};
use crate::output::capitalised;
use hookhost_agents::install::project_hooks::{HookChange, ProjectHook, changes, project_hooks};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Maximum number of characters of a command in a message.
const MAX_SHOWN: usize = 200;

/// Returns a sentence about what was checked, and the findings. Without another checkout, every hook is reported only as a
/// number, because nothing has changed.
pub(super) fn check(root: &Path, base: Option<&Path>) -> (String, Vec<Finding>) {
    let here = project_hooks(root);
    let mut findings: Vec<Finding> = Vec::new();
    for refusal in &here.unreadable {
        let file = refusal.path.strip_prefix(root).unwrap_or(&refusal.path).to_owned();
        let message = format!("The file {}. {}.", refusal.what, capitalised(&refusal.next));
        findings.push(Finding { kind: Kind::HooksUnreadable, file, line: 1, message });
    }
    let files: BTreeSet<&Path> = here.hooks.iter().map(|hook| hook.file.as_path()).collect();
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let what = match here.hooks.len() {
        0 => "no file here gives an agent a hook".to_owned(),
        hooks => format!("{} of agents in {}", count(hooks, "hook"), count(files.len(), "file")),
    };
    let Some(base) = base else {
        let disabled = here.hooks.iter().filter(|hook| hook.disables);
        findings.extend(disabled.map(|hook| disables(root, hook)));
        return (what, findings);
    };
    let changes = changes(&project_hooks(base).hooks, &here.hooks);
    let said = match changes.len() {
        0 => format!("{what}; the same as before"),
        number => format!("{what}; {}", count(number, "change")),
    };
    findings.extend(changes.iter().map(|change| finding(root, change, &here.hooks)));
    (said, findings)
}

fn finding(root: &Path, change: &HookChange, here: &[ProjectHook]) -> Finding {
    let place = |hook: &ProjectHook| if hook.at.is_empty() { String::new() } else { format!(" at {}", hook.at) };
    let still = |hook: &ProjectHook| {
        let same = |other: &&ProjectHook| other.is_ours && (&other.file, &other.at) == (&hook.file, &hook.at);
        here.iter().any(|other| same(&other))
    };
    match change {
        HookChange::Added(hook) | HookChange::Changed { after: hook, .. } if hook.disables => disables(root, hook),
        HookChange::Removed(hook) | HookChange::Changed { before: hook, .. } if hook.is_ours && !still(hook) => {
            let message = format!("{} no longer asks hookhost{}.", titles(hook), place(hook));
            Finding { kind: Kind::HookhostRemoved, file: hook.file.clone(), line: 1, message }
        }
        HookChange::Added(hook) => {
            let message = format!("{} runs a new hook{}: {}", titles(hook), place(hook), cut(&hook.shown()));
            Finding { kind: Kind::HookAdded, file: hook.file.clone(), line: line_of(root, hook), message }
        }
        HookChange::Removed(hook) => {
            let message = format!("{} no longer runs the hook{}: {}", titles(hook), place(hook), cut(&hook.shown()));
            Finding { kind: Kind::HookRemoved, file: hook.file.clone(), line: 1, message }
        }
        HookChange::Changed { before, after } => {
            let (titles, place) = (titles(after), place(after));
            let (was, is) = (cut(&before.shown()), cut(&after.shown()));
            let message = format!("{titles} runs another hook{place}.\nbefore: {was}\nnow: {is}");
            Finding { kind: Kind::HookChanged, file: after.file.clone(), line: line_of(root, after), message }
        }
    }
}

fn disables(root: &Path, hook: &ProjectHook) -> Finding {
    let message = format!("{} = {} disables all hooks of {}.", hook.at, hook.value, titles(hook));
    Finding { kind: Kind::HooksDisabled, file: hook.file.clone(), line: line_of(root, hook), message }
}

fn titles(hook: &ProjectHook) -> String {
    hook.agents.join(", ")
}

fn cut(command: &str) -> String {
    let cut: String = command.chars().take(MAX_SHOWN).collect();
    if cut.len() < command.len() { format!("{cut}…") } else { cut }
}

/// Returns the first line of the file that contains the hook's command, or else its last key. Returns 1 if there is none.
fn line_of(root: &Path, hook: &ProjectHook) -> usize {
    let text = fs::read_to_string(root.join(&hook.file)).unwrap_or_default();
    let command = hook.value.get("command").or_else(|| hook.value.get("bash")).map(ToString::to_string);
    let key = hook.at.rsplit('.').next().filter(|key| !key.is_empty()).map(|key| format!("\"{key}\""));
    let found =
        [command, key].into_iter().flatten().find_map(|said| text.lines().position(|line| line.contains(&said)));
    found.map_or(1, |line| line + 1)
}
