//! Finds variables that an agent's own files set for the hook and that would make the hook use other rules.

use super::entries::{SCOPES, json_files, text};
use crate::Adapter;
use crate::directories::{DIRECTORY_VARIABLES, Directories};
use crate::install::check::Check;
use crate::install::json;
use crate::plan::{Context, JsonDialect, Scope};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns a problem for each variable that sets a directory other than the user's directory.
pub(super) fn problems(adapter: &Adapter, context: &Context<'_>) -> Vec<Check> {
    let home = |name: &str| (name == "HOME").then(|| context.home.as_os_str().to_owned());
    let variable = |name: &str| (context.variable)(name).map(PathBuf::into_os_string).or_else(|| home(name));
    let own = context.directories.cloned().unwrap_or_default().or(Directories::of_environment(&variable));
    let leads_elsewhere = |name: &str, value: &str| {
        let changed = |asked: &str| if asked == name { Some(OsString::from(value)) } else { variable(asked) };
        DIRECTORY_VARIABLES.contains(&name) && own.contradiction(&changed).is_some()
    };
    let set = set_in_settings(adapter, context).into_iter().chain(set_in_dotenv(adapter, context));
    let elsewhere = set.filter(|(_, name, value)| leads_elsewhere(name, value));
    elsewhere
        .map(|(file, name, value)| {
            let says = format!("{} sets `{name}` to {value:?}, so the hook does not use your rules", file.display());
            Check::problem("reached", says, format!("take `{name}` out of {}", file.display()))
        })
        .collect()
}

/// Returns the variables in the member `env` of the agent's settings, as file, name and value.
fn set_in_settings(adapter: &Adapter, context: &Context<'_>) -> Vec<(PathBuf, String, String)> {
    let of_scope = |scope| json_files(adapter, context, scope);
    let mut files: Vec<_> = SCOPES.into_iter().flat_map(of_scope).collect();
    if adapter.agent().name == "claude-code" {
        let path = context.project.join(".claude/settings.local.json");
        let value = text(context, Scope::Project, &path);
        let value = value.and_then(|text| json::value_in(&text, JsonDialect::Strict).ok());
        files.extend(value.map(|value| (path, value)));
    }
    let members = files.iter().filter_map(|(file, value)| Some((file, value.get("env")?.as_object()?)));
    members
        .flat_map(|(file, variables)| variables.iter().map(move |variable| (file, variable)))
        .filter_map(|(file, (name, value))| Some((file.clone(), name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Returns the variables in the `.env` files that the agent reads.
fn set_in_dotenv(adapter: &Adapter, context: &Context<'_>) -> Vec<(PathBuf, String, String)> {
    let above = |own: &str| {
        let directories = context.project.ancestors().chain([context.home]);
        directories.flat_map(|directory| [directory.join(own).join(".env"), directory.join(".env")]).collect()
    };
    let files: Vec<PathBuf> = match adapter.agent().name {
        "codex" => vec![context.directory("CODEX_HOME", ".codex").join(".env")],
        "gemini-cli" => above(".gemini"),
        "qwen-code" => above(".qwen"),
        _ => Vec::new(),
    };
    files
        .iter()
        .filter_map(|file| {
            let scope = if file.starts_with(context.project) { Scope::Project } else { Scope::User };
            Some((file, text(context, scope, file)?))
        })
        .flat_map(|(file, text)| assignments(file, &text))
        .collect()
}

/// Returns the assignments in a text, one per line. An assignment has the form `NAME=VALUE`, optionally with `export`
/// or quotes.
fn assignments(file: &Path, text: &str) -> Vec<(PathBuf, String, String)> {
    let assignment = |line: &str| {
        let line = line.trim_start();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'', '`']);
        Some((file.to_owned(), name.trim().to_owned(), value.to_owned()))
    };
    text.lines().filter_map(assignment).collect()
}
