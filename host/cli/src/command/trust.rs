//! `hookhost trust`: shows what a project's hookhost.toml would load, and approves exactly that content.

use crate::args::TrustArgs;
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::loading;
use crate::output::{
    self, difference, entry, quoted,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::command::{Approved, ProjectFile, TrustStore};
use hookhost::config::{Config, FILE_NAME, UserDirectories};
use hookhost_agent::config::SentVariable;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of characters of a line in the shown difference.
const MAX_LINE: usize = 300;

pub(crate) async fn run(args: &TrustArgs) -> Result<Exit, CliError> {
    let places = configuration::places()?;
    let store = TrustStore::of(&places);
    if args.list {
        return list(&store);
    }
    inside_agent::refuse("changes which files are trusted")?;
    let cwd = configuration::cwd()?;
    if args.revoke {
        return revoke(&store, &named_or_nearest(&store, args.path.as_deref(), &cwd)?);
    }
    let file = match &args.path {
        Some(path) => read(&store, &file_of(path))?,
        None => match nearest_to_approve(&store, &places, &cwd)? {
            Some(file) => file,
            None => {
                output::print("Nothing to approve here.\n")?;
                return Ok(Exit::Done);
            }
        },
    };
    approve(&store, &places, &file, args.yes).await
}

/// If the path is a directory, returns the path of its hookhost.toml, otherwise the path itself.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() }
}

/// Reads the file that the user wants to approve, with the files of rules that it names. If an older content of the file is approved, an error also tells how to revoke that
/// approval.
fn read(store: &TrustStore, path: &Path) -> Result<ProjectFile, CliError> {
    ProjectFile::read(path).and_then(ProjectFile::with_rule_files).map_err(|error| {
        let stop = CliError::not_loaded(error);
        match store.approval(path) {
            Ok(Some(_)) => stop.advise(format!("hookhost trust --revoke {}", quoted(&path.to_string_lossy()))),
            _ => stop,
        }
    })
}

/// Returns the named file. If none is named, returns the nearest file of the project that exists or is approved.
fn named_or_nearest(store: &TrustStore, path: Option<&Path>, cwd: &Path) -> Result<PathBuf, CliError> {
    if let Some(path) = path {
        return Ok(file_of(path));
    }
    let found = ProjectFile::find(cwd);
    for place in ProjectFile::places(cwd) {
        if found.contains(&place) || store.approval(&place).map_err(CliError::not_loaded)?.is_some() {
            return Ok(place);
        }
    }
    let why = "there is no hookhost.toml here: name the file or its directory, or write one for this project";
    Err(CliError::usage(why).advise("hookhost allow --project X.wasm"))
}

/// Returns the nearest file of the project whose current content is not approved.
fn nearest_to_approve(
    store: &TrustStore,
    places: &UserDirectories,
    cwd: &Path,
) -> Result<Option<ProjectFile>, CliError> {
    let mut looked_at = ProjectFile::places(cwd);
    // The user's own file needs no approval, even if the working directory lies below it.
    let own = places.user_file().canonicalize().ok();
    looked_at.retain(|path| own.is_none() || path.canonicalize().ok() != own);
    let found = ProjectFile::find(cwd);
    let mut any = false;
    for path in looked_at {
        if found.contains(&path) {
            any = true;
            let file = read(store, &path)?;
            if !store.is_approved(&file).map_err(CliError::not_loaded)? {
                return Ok(Some(file));
            }
        } else if store.approval(&path).map_err(CliError::not_loaded)?.is_some() {
            // The file no longer exists, so there is nothing to approve. Its earlier approval can be revoked.
            return read(store, &path).map(Some);
        }
    }
    if !any {
        let directory = cwd.display();
        let error = format!("neither {directory} nor a directory above it has a hookhost.toml");
        return Err(CliError::usage(error).advise("hookhost trust PROJECT, with the directory of a project"));
    }
    Ok(None)
}

async fn approve(
    store: &TrustStore,
    places: &UserDirectories,
    file: &ProjectFile,
    yes: bool,
) -> Result<Exit, CliError> {
    let shown = quoted(&file.path.to_string_lossy());
    let before = store.approval(&file.path).map_err(CliError::not_loaded)?;
    if before.as_ref().is_some_and(|before| before.is_of(file)) {
        output::print(&format!("{shown} is approved already, as it is.\n"))?;
        return Ok(Exit::Done);
    }
    let config = Config::of_project_file(file, places.home.as_deref(), SECTIONS).map_err(CliError::not_loaded)?;
    let sent = configuration::sent_variables(&config)?;
    if !config.rules().is_empty() {
        let merged = Config::with_project_file(file, places, SECTIONS).map_err(CliError::not_loaded)?;
        let merged = configuration::with_rules_plugin(merged, places)?;
        if let Some(problems) = loading::mistakes_in_rules(&merged).await? {
            return Err(CliError::not_loaded(problems));
        }
    }
    output::note(&describe(file, &config, &sent, before.as_ref()));
    if !yes && !output::confirm("Approve it?", " whether to approve this")? {
        let stays =
            if before.is_some() { "the content that you approved before stays in use" } else { "it stays inert" };
        return Err(CliError::new(Exit::Rejected, anyhow!("{shown} is not approved: {stays}")));
    }
    store.approve(file).map_err(CliError::not_loaded)?;
    let digest = file.digest;
    output::print(&format!(
        "{GOOD}approved{GOOD:#} {shown}\n  sha256 {digest}: this content is used until you approve a change or revoke the approval\n"
    ))?;
    Ok(Exit::Done)
}

fn describe(file: &ProjectFile, config: &Config, sent: &[SentVariable], before: Option<&Approved>) -> String {
    let mut text = format!("{NAME}{}{NAME:#}\n", output::one_line(&file.path.to_string_lossy()));
    if let Some(before) = before {
        let _ = writeln!(text, "  {WARNING}it has changed since you approved it{WARNING:#}");
        match &before.content {
            Some(content) => {
                text.push_str(&difference::of_texts(content, &file.text, MAX_LINE));
                text.push_str(&changed_rule_files(&before.rule_files, &file.rule_files));
            }
            None => text.push_str("    (only the digest of the approved content was stored)\n"),
        }
        text.push_str("  as it is now:\n");
    }
    if config.entries().is_empty() && config.rules().is_empty() {
        text.push_str("  names no plugin\n");
    }
    for plugin in config.entries() {
        let enabled = if plugin.enabled { "" } else { ", not enabled" };
        let mode = plugin.mode.name();
        let _ = write!(
            text,
            "  plugin {NAME}{}{NAME:#} {DIM}{} (priority {}, {mode}{enabled}){DIM:#}\n    sha256  {}\n    grants  {}\n",
            plugin.name,
            output::one_line(&plugin.code.to_string()),
            plugin.priority,
            plugin.code.digest().map(|digest| digest.to_string()).unwrap_or_default(),
            output::one_line(&entry::grants(&plugin.grants)),
        );
        if plugin.grants.approve {
            let _ = writeln!(
                text,
                "    {WARNING}its `approve` answers for you what rules of project files ask{WARNING:#}; your own rules still ask you"
            );
        }
    }
    for rule in config.rules() {
        let _ = writeln!(text, "  rule {}", entry::rule(rule));
    }
    // Only variables that this file names are shown. The key of the provider in `[agent]` would be sent even without this file.
    let said = |sent: &&SentVariable| {
        sent.keys.iter().any(|keys| config.origin(&keys.iter().map(String::as_str).collect::<Vec<_>>()).is_some())
    };
    for SentVariable { name, to, .. } in sent.iter().filter(said) {
        let (name, to) = (output::one_line(name), output::one_line(&to.to_string()));
        let _ = writeln!(text, "  {WARNING}sends the value of your {name} to {to}{WARNING:#}");
    }
    for section in SECTIONS {
        if let Ok(Some(settings)) = config.section::<toml::Table>(section) {
            let lines = output::printable(&settings.to_string());
            let _ = writeln!(text, "  [{section}]\n{}", indented(&lines));
        }
    }
    text
}

/// Describes the changes of the files of rules.
fn changed_rule_files(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> String {
    let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |path: &String| {
        let of = |files: &BTreeMap<String, String>| files.get(path).cloned().unwrap_or_default();
        let (before, now) = (of(before), of(now));
        let lines = difference::of_texts(&before, &now, MAX_LINE);
        if before == now { String::new() } else { format!("  {NAME}{}{NAME:#}\n{lines}", output::one_line(path)) }
    };
    paths.into_iter().map(change).collect()
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn revoke(store: &TrustStore, path: &Path) -> Result<Exit, CliError> {
    let shown = quoted(&path.to_string_lossy());
    if store.revoke(path).map_err(CliError::not_loaded)? {
        output::print(&format!("{shown} is inert now\n"))?;
    } else {
        output::print(&format!("{shown} was not approved\n"))?;
    }
    Ok(Exit::Done)
}

fn list(store: &TrustStore) -> Result<Exit, CliError> {
    let mut text = String::new();
    for approved in store.approved().map_err(CliError::not_loaded)? {
        let becomes = if approved.content.is_some() { "the approved content is used" } else { "inert" };
        let state = match ProjectFile::read(&approved.path) {
            Ok(file) if file.clone().with_rule_files().is_ok_and(|file| approved.is_of(&file)) => String::new(),
            Ok(_) => format!(" (has changed since: {becomes})"),
            Err(_) if std::fs::symlink_metadata(&approved.path).is_err() => format!(" (is gone: {becomes})"),
            Err(_) => format!(" (cannot be read: {becomes})"),
        };
        let path = output::one_line(&approved.path.to_string_lossy());
        let _ = writeln!(text, "{}  {path}{WARNING}{state}{WARNING:#}", approved.digest);
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
