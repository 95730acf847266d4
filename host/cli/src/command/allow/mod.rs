//! `hookhost allow`: shows a plugin's subscriptions and the grants that it needs, and asks the user for confirmation. Then the command
//! loads the plugin with its configuration as a test, and writes an entry with the digest of exactly the bytes that were shown.

mod entry;
mod waiting;

use crate::args::AllowArgs;
use crate::command::inspect::{self, Metadata, is_http};
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::loading;
use crate::output::{
    self, interfaces, one_line, quoted,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use entry::Proposed;
use hookhost::command::{self, Change, Edited, Inspection, ProjectFile, TrustStore};
use hookhost::config::{Config, Entry, FILE_NAME, Layer, OnFailure, Source, UserDirectories};
use std::path::{Path, PathBuf};

pub(crate) async fn run(args: &AllowArgs) -> Result<Exit, CliError> {
    let Some(wasm) = &args.wasm else { return waiting::list(args) };
    inside_agent::refuse("allows a plugin")?;
    let (bytes, inspection) = inspect::read(wasm)?;
    if let Some(problem) = &inspection.problem {
        let shown = wasm.display();
        return Err(CliError::not_loaded(anyhow!("{shown} cannot be allowed: it {problem}"))
            .advise(format!("hookhost inspect {}", quoted(&wasm.to_string_lossy()))));
    }
    let places = configuration::places()?;
    let file = target(args, &places)?;
    let present = present(args, &file, &places)?;
    let proposed = proposed(args, &bytes);
    let (entry, proposed) = match present.entry_at(wasm) {
        // For an existing entry, the proposals are only shown, so an invalid proposal is not an error.
        Some(old) => (entry::renewed(args, old, &inspection)?, proposed.unwrap_or_default()),
        None => {
            let proposed = proposed?;
            (entry::new(args, wasm, &inspection, proposed, &file, &places)?, proposed)
        }
    };
    output::note(&describe(&entry, &inspection, proposed, present.entry(&entry.name), &file));
    ask(args)?;
    // An entry that fails to load would prevent all other plugins from loading.
    loading::attempt(&entry).await?;
    let written = command::allow(&file, &entry, &places, SECTIONS).map_err(CliError::not_loaded)?;
    let counts = settle_trust(args, &written, &places)?;
    output::print(&report(&entry, &written))?;
    if !counts {
        let file = quoted(&written.file.to_string_lossy());
        output::note(&format!(
            "{WARNING}note:{WARNING:#} this project's file is not used yet\n  to see and approve it: hookhost trust {file}\n"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the plugin's proposals for keys that the command line does not set.
fn proposed(args: &AllowArgs, bytes: &[u8]) -> Result<Proposed, CliError> {
    let wrong = |what: &str, problem: &str, instead: &str| {
        CliError::usage(format!("the {what} that the plugin proposes cannot be used: {}", one_line(problem)))
            .advise(output::this_command_and(instead))
    };
    let metadata = Metadata::of(bytes);
    let priority = match args.priority {
        Some(_) => None,
        None => metadata.priority().map_err(|problem| wrong("priority", problem, "--priority 100"))?,
    };
    let is_given = args.entry.iter().any(|line| line.trim_start().starts_with("on-failure"));
    let on_failure = match is_given {
        true => None,
        false => metadata
            .on_failure()
            .map_err(|problem| wrong("`on-failure`", problem, "--entry 'on-failure = \"reject\"'"))?,
    };
    Ok(Proposed { priority, on_failure })
}

/// Reads the file as it is now. The owner of a project's file is not checked, because the file applies only if its path and its
/// content are approved. If a project's file is a symbolic link, the command refuses it.
fn present(args: &AllowArgs, file: &Path, places: &UserDirectories) -> Result<Config, CliError> {
    if std::fs::symlink_metadata(file).is_err() {
        return Ok(Config::empty());
    }
    if !args.project {
        return Config::open(file, places, SECTIONS).map_err(CliError::not_loaded);
    }
    let project = ProjectFile::read(file).map_err(CliError::not_loaded)?;
    let source = Source::new(project.path, Layer::Chosen).with_home(places.home.clone());
    Config::parse(&project.text, &source, SECTIONS).map_err(CliError::not_loaded)
}

/// Returns the file to write.
pub(super) fn target(args: &AllowArgs, places: &UserDirectories) -> Result<PathBuf, CliError> {
    if let Some(file) = &args.config {
        return Ok(file.clone());
    }
    if !args.project {
        return Ok(places.user_file());
    }
    let cwd = configuration::cwd()?;
    let own = places.user_file().canonicalize().ok();
    let found = ProjectFile::find(&cwd).into_iter().find(|file| own.is_none() || file.canonicalize().ok() != own);
    Ok(found.unwrap_or_else(|| cwd.join(FILE_NAME)))
}

fn ask(args: &AllowArgs) -> Result<(), CliError> {
    if args.yes {
        return Ok(());
    }
    match output::confirm("Allow it?", " whether to allow this")? {
        true => Ok(()),
        false => Err(CliError::new(Exit::Rejected, anyhow!("not allowed: nothing was written"))),
    }
}

fn describe(entry: &Entry, inspection: &Inspection, proposed: Proposed, old: Option<&Entry>, file: &Path) -> String {
    let mut text = format!(
        "{NAME}{}{NAME:#} {DIM}{}{DIM:#}\n  {DIM}digest {DIM:#} sha256 {}\n",
        entry.name,
        one_line(&entry.code.to_string()),
        inspection.digest
    );
    if let Some(old) = old.and_then(|old| old.code.digest()).filter(|old| *old != inspection.digest) {
        text.push_str(&format!("  {WARNING}replaces{WARNING:#} sha256 {old}\n"));
    }
    let events: Vec<_> = inspection.events.iter().map(|event| event.name()).collect();
    let mut row = |label: &str, value: &str| output::row(&mut text, 7, label, value);
    row("events", &if events.is_empty() { "no event".to_owned() } else { events.join(", ") });
    row("exports", &one_line(&interfaces::grouped(&inspection.exports)));
    let imports = interfaces::grouped(&interfaces::beyond_wasi(&inspection.imports));
    row("imports", &if imports.is_empty() { "nothing but base WASI".to_owned() } else { one_line(&imports) });
    match proposed.priority {
        Some(priority) if priority == entry.priority => {
            row(
                "asked",
                &format!("at priority {priority}, as the plugin proposes; to change it, add --priority NUMBER"),
            );
        }
        Some(other) => {
            let own = entry.priority;
            row(
                "asked",
                &format!(
                    "at priority {own}, as the entry says; the plugin proposes {other}: to use it, set `priority` in the entry"
                ),
            );
        }
        None => {}
    }
    if let Some(on_failure) = proposed.on_failure {
        let word = on_failure.name();
        let text = match entry.on_failure {
            Some(own) if own == on_failure => {
                format!("on-failure = \"{word}\", as the plugin proposes; to change it, add --entry 'on-failure = …'")
            }
            own => {
                let own = own.map_or("nothing", OnFailure::name);
                format!(
                    "the entry says {own} for `on-failure`; the plugin proposes \"{word}\": to use it, set `on-failure` in the entry"
                )
            }
        };
        row("fails", &text);
    }
    row("gets", &one_line(&output::entry::grants(&entry.grants)));
    if entry.grants.http.is_empty() {
        for line in inspection.optional_grants.iter().filter(|line| is_http(line)) {
            row(
                "denied",
                &format!("requests by wasi:http; to allow some, add --grant '{line}' with the names of your servers"),
            );
        }
    }
    if !entry.config.is_empty() {
        row("config", &one_line(&serde_json::Value::Object(entry.config.clone()).to_string()));
    }
    row("file", &one_line(&file.to_string_lossy()));
    text
}

/// Returns true if the file applies. A project's file that applied before this command changed it stays approved. A file that this
/// command created becomes approved.
fn settle_trust(args: &AllowArgs, edited: &Edited, places: &UserDirectories) -> Result<bool, CliError> {
    let store = TrustStore::of(places);
    // Approves exactly the text that this command wrote, without later changes.
    let now = ProjectFile::read(&edited.file).map_err(CliError::not_loaded)?;
    if now.digest == edited.after {
        match edited.before {
            Some(before) => {
                store.renew(before, &now).map_err(CliError::not_loaded)?;
            }
            // The user has just agreed to the whole content. If the path has an approval of a deleted file, that approval stays until
            // the user revokes it, because the deleted file may have had more rules.
            None if args.project && store.approval(&now.path).map_err(CliError::not_loaded)?.is_none() => {
                store.approve(&now).map_err(CliError::not_loaded)?;
            }
            None => {}
        }
    }
    Ok(!args.project || store.is_approved(&now).map_err(CliError::not_loaded)?)
}

fn report(entry: &Entry, edited: &Edited) -> String {
    let at = format!("{}:{}", one_line(&edited.file.to_string_lossy()), edited.line);
    let done = match edited.change {
        Change::Added => "allowed",
        Change::DigestUpdated { .. } => "allowed again",
        Change::Unchanged => "allowed already",
        _ => "written",
    };
    let digest = entry.code.digest().map(|digest| digest.to_string()).unwrap_or_default();
    format!("{GOOD}{done}{GOOD:#} {} at {at}, pinned to sha256 {digest}\n", entry.name)
}
