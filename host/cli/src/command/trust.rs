//! `hookhost trust`: shows what a project's hookhost.toml would load, and approves exactly that content.

use crate::args::TrustArgs;
use crate::configuration::{self, SECTIONS, not_loaded};
use crate::exit::{Exit, Stop};
use crate::output::{
    self, entry, quoted,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::allowlist::{Config, Digest, FILE_NAME, Inert, Layer, Places, ProjectFile, Source, TrustStore};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &TrustArgs) -> Result<Exit, Stop> {
    let places = configuration::places()?;
    let store = TrustStore::of(&places);
    if args.list {
        return list(&store);
    }
    let cwd = configuration::cwd()?;
    if args.revoke {
        return revoke(&store, &named_or_nearest(args.path.as_deref(), &cwd)?);
    }
    let file = match &args.path {
        Some(path) => ProjectFile::read(&file_of(path)).map_err(not_loaded)?,
        None => match nearest_inert(&store, &places, &cwd)? {
            Some(file) => file,
            None => {
                output::print("Nothing to approve here.\n")?;
                return Ok(Exit::Done);
            }
        },
    };
    approve(&store, &places, &file, args.yes)
}

/// A folder stands for the file in it.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() }
}

fn named_or_nearest(path: Option<&Path>, cwd: &Path) -> Result<PathBuf, Stop> {
    match path {
        Some(path) => Ok(file_of(path)),
        None => ProjectFile::find(cwd)
            .into_iter()
            .next()
            .ok_or_else(|| Stop::usage("there is no hookhost.toml here: name the file or its folder")),
    }
}

/// The nearest file of the project that is not approved as it is.
fn nearest_inert(store: &TrustStore, places: &Places, cwd: &Path) -> Result<Option<ProjectFile>, Stop> {
    let mut found = ProjectFile::find(cwd);
    // The user's own file needs no approval, also where the working directory lies beside it.
    let own = places.user_file().canonicalize().ok();
    found.retain(|path| own.is_none() || path.canonicalize().ok() != own);
    if found.is_empty() {
        let folder = cwd.display();
        return Err(Stop::usage(format!("neither {folder} nor a folder above it has a hookhost.toml")));
    }
    for path in found {
        let file = ProjectFile::read(&path).map_err(not_loaded)?;
        if store.objection(&file).map_err(not_loaded)?.is_some() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn approve(store: &TrustStore, places: &Places, file: &ProjectFile, yes: bool) -> Result<Exit, Stop> {
    let shown = quoted(&file.path.to_string_lossy());
    let before = match store.objection(file).map_err(not_loaded)? {
        None => {
            output::print(&format!("{shown} is approved already, as it is.\n"))?;
            return Ok(Exit::Done);
        }
        Some(Inert::Changed { approved }) => Some(approved),
        Some(_) => None,
    };
    let source = Source { file: file.path.clone(), layer: Layer::Project, home: places.home.clone() };
    let config = Config::parse(&file.text, &source, SECTIONS).map_err(not_loaded)?;
    configuration::agent(&config)?;
    output::note(&describe(file, &config, before));
    if !yes {
        match output::confirm("Approve it?") {
            Some(true) => {}
            Some(false) => return Err(Stop::new(Exit::Rejected, anyhow!("not approved: {shown} stays inert"))),
            None => {
                let stop = Stop::usage("there is no terminal on which to ask you whether to approve this");
                return Err(stop.advise(output::this_command_and("--yes")));
            }
        }
    }
    store.approve(file).map_err(not_loaded)?;
    let digest = file.digest;
    output::print(&format!("{GOOD}approved{GOOD:#} {shown}\n  sha256 {digest}: any change makes it inert again\n"))?;
    Ok(Exit::Done)
}

fn describe(file: &ProjectFile, config: &Config, before: Option<Digest>) -> String {
    let mut text = format!("{NAME}{}{NAME:#}\n", output::one_line(&file.path.to_string_lossy()));
    if before.is_some() {
        let _ = writeln!(text, "  {WARNING}it has changed since you approved it{WARNING:#}");
    }
    if config.entries().is_empty() {
        text.push_str("  names no plugin\n");
    }
    for plugin in config.entries() {
        let enabled = if plugin.enabled { "" } else { ", not enabled" };
        let mode = entry::mode(plugin.mode);
        let _ = write!(
            text,
            "  plugin {NAME}{}{NAME:#} {DIM}{} (priority {}, {mode}{enabled}){DIM:#}\n    sha256  {}\n    grants  {}\n",
            plugin.name,
            output::one_line(&plugin.path.to_string_lossy()),
            plugin.priority,
            plugin.digest,
            output::one_line(&entry::grants(&plugin.grants)),
        );
        if plugin.grants.approve {
            let _ = writeln!(
                text,
                "    {WARNING}its `approve` answers for you what [[ask]] rules of project files ask{WARNING:#}; your own rules still ask you"
            );
        }
    }
    for rule in config.asks() {
        let question = rule.question.as_deref().unwrap_or("may it run?");
        let about = output::one_line(&entry::narrowing(rule.actions.as_ref(), rule.tools.as_deref()));
        let _ = writeln!(text, "  asks you about calls ({about}): {}", output::one_line(question));
    }
    for section in SECTIONS {
        if let Ok(Some(settings)) = config.section::<toml::Table>(section) {
            let lines = output::printable(&settings.to_string());
            let _ = writeln!(text, "  [{section}]\n{}", indented(&lines));
        }
    }
    text
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn revoke(store: &TrustStore, path: &Path) -> Result<Exit, Stop> {
    let shown = quoted(&path.to_string_lossy());
    if store.revoke(path).map_err(not_loaded)? {
        output::print(&format!("{shown} is inert now\n"))?;
    } else {
        output::print(&format!("{shown} was not approved\n"))?;
    }
    Ok(Exit::Done)
}

fn list(store: &TrustStore) -> Result<Exit, Stop> {
    let mut text = String::new();
    for approved in store.approved().map_err(not_loaded)? {
        let state = match Digest::of_file(&approved.path) {
            Ok(digest) if digest == approved.digest => "",
            Ok(_) => " (has changed since: inert)",
            Err(_) => " (cannot be read: inert)",
        };
        let path = output::one_line(&approved.path.to_string_lossy());
        let _ = writeln!(text, "{}  {path}{WARNING}{state}{WARNING:#}", approved.digest);
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
