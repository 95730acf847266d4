//! `hookhost off`: removes hookhost from agents, or pauses it.

use super::hook_entries::{self, TakenOut};
use super::leftovers;
use super::mcp;
use super::table::{Row, Table};
use crate::agent_places::{AgentPlaces, adapters};
use crate::args::OffArgs;
use crate::directory_rules::pause_note;
use crate::exit::{CliError, Exit};
use crate::interrupt::Signals;
use crate::output::{self, one_line};
use crate::profile::{self, Profile, RemovedProfile};
use crate::sandbox::Shims;
use crate::{audit_log, inside_agent};
use anyhow::anyhow;
use hookhost::audit::{OperatorAction, OperatorActionKind};
use hookhost::config::UserDirectories;
use hookhost::{Config, Error, Host};
use hookhost_agents::Adapter;
use hookhost_agents::install::receipt::Receipts;
use hookhost_agents::install::uninstall::{FileUndo, UndoAction};
use hookhost_agents::plan::Scope;
use hookhost_client::connection::ConnectionError;
use hookhost_client::control;
use hookhost_client::paths::HostPaths;
use hookhost_resident::Pause;
use hookhost_resident::pause::Clocks;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time to wait until the resident host has ended.
const END_TIMEOUT: Duration = Duration::from_secs(35);

pub(crate) async fn run(args: &OffArgs) -> Result<Exit, CliError> {
    if !args.dry_run {
        inside_agent::refuse("turns hookhost off")?;
    }
    match args.pause {
        Some(length) => pause(length).await,
        None => remove(args).await,
    }
}

/// Pauses hookhost. The record is written first, so that there is no pause that the log does not have.
async fn pause(length: Duration) -> Result<Exit, CliError> {
    let places = crate::configuration::places()?;
    let has_rules = places.profile_file().exists() || places.user_file().exists();
    if !has_rules && Receipts::of(&places.state).all().is_empty() {
        return Err(CliError::usage("there is nothing to pause: you have no rules, and have given no agent the hook")
            .advise("hookhost on"));
    }
    let pause = Pause::new(person(), length, Clocks::now());
    let mut action = OperatorAction::new(OperatorActionKind::Pause);
    action.until = Some(pause.until);
    record(action).await?;
    pause
        .begin(&places.state)
        .map_err(|error| anyhow!("the pause cannot be written to {}: {error}", Pause::file(&places.state).display()))?;
    output::print(&format!("{}.\nIt ends by itself; to end it now: hookhost on\n", pause_note(&pause)))?;
    Ok(Exit::Done)
}

/// Ends the pause, if one lasts. Returns its end, in milliseconds since the Unix epoch.
pub(super) async fn resume(places: &UserDirectories) -> Result<Option<u64>, CliError> {
    let Some(pause) = Pause::current(&places.state) else { return Ok(None) };
    Pause::end(&places.state)
        .map_err(|error| anyhow!("{} cannot be removed: {error}", Pause::file(&places.state).display()))?;
    record(OperatorAction::new(OperatorActionKind::Resume)).await?;
    Ok(Some(pause.until))
}

/// Opens the log for a record.
pub(super) async fn open_log() -> Result<Host, CliError> {
    let builder = Host::builder(Config::empty()).store(audit_log::prepared()?);
    builder.build().await.map_err(|error| match error {
        Error::Store(error) => audit_log::unusable(&error),
        other => anyhow::Error::new(other).into(),
    })
}

/// Writes what the user did into the log.
pub(super) async fn record(mut action: OperatorAction) -> Result<(), CliError> {
    action.by = person();
    let host = open_log().await?;
    let recorded = host.record_operator_action(action).await;
    recorded.and(audit_log::drain(&host).await.map(drop)).map_err(|error| audit_log::unusable(&error))
}

/// Returns the user's name.
pub(super) fn person() -> Option<String> {
    ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|name| !name.is_empty())
}

async fn remove(args: &OffArgs) -> Result<Exit, CliError> {
    let cancel = CancellationToken::new();
    Signals::listen()?.cancel_on_first(cancel.clone());
    let places = AgentPlaces::here()?;
    let is_all = args.agents.is_empty();
    let mut table = Table::default();
    let mut removed = Vec::new();
    for adapter in adapters(&args.agents) {
        if cancel.is_cancelled() {
            break;
        }
        let name = adapter.agent().name;
        match take_out(&places, adapter, args, &mut table) {
            Ok(true) => removed.push(name.to_owned()),
            Ok(false) if is_all => {}
            Ok(false) => table.push(Row::done(name, "hookhost is not in its files")),
            Err(error) => table.push(Row::failed(name, &error)),
        }
    }
    if cancel.is_cancelled() {
        table.print()?;
        return Err(CliError::new(
            Exit::Interrupted,
            anyhow!("interrupted: the agents that are not listed are as they were"),
        )
        .advise("hookhost off"));
    }
    let shims = if is_all { Shims::of(&places).names() } else { Vec::new() };
    if !shims.is_empty() {
        let does = if args.dry_run { "would remove" } else { "removed" };
        if !args.dry_run {
            Shims::of(&places).remove()?;
        }
        table.push(Row::done("second line", &format!("{does} the shims of {}", shims.join(", "))));
    }
    let is_off = !table.has_failure();
    let had_profile = is_all && is_off && forget_rules(&places, args.dry_run, &mut table);
    let is_nothing = removed.is_empty() && !had_profile && shims.is_empty();
    if !args.dry_run && !removed.is_empty() {
        let mut action = OperatorAction::new(OperatorActionKind::Off);
        action.agents = removed;
        if let Err(error) = record(action).await {
            table.push(Row::problem("log", &format!("this is not recorded: {}", error.message())));
        }
    }
    let left = leftovers::rows(&places, &args.agents);
    if is_all && is_off && is_nothing && left.is_empty() {
        output::print("hookhost is off: no agent has its hook.\n")?;
        return Ok(Exit::Done);
    }
    if is_all && is_off {
        let state = one_line(&places.directories.state.to_string_lossy());
        let own = if places.directories.user_file().exists() { ", and your own hookhost.toml" } else { "" };
        table.push(Row::note("stays", &format!("the log and your approvals in {state}{own}")));
    }
    table.extend(left);
    table.print()?;
    Ok(if table.has_failure() { Exit::Failed } else { Exit::Done })
}

/// Removes the hook and the proxies from the user's files of an agent. Returns false if there were none.
fn take_out(places: &AgentPlaces, adapter: &Adapter, args: &OffArgs, table: &mut Table) -> Result<bool, CliError> {
    let name = adapter.agent().name;
    let (is_dry, is_verbose) = (args.dry_run, args.verbose);
    let taken = hook_entries::take_out(places, adapter, Scope::User, is_dry)?.filter(|taken| !taken.is_nothing());
    if let Some(taken) = &taken {
        table.push(row(name, taken, is_dry));
        if is_verbose {
            table.show(&taken.undoings.iter().map(hook_entries::unified_undo).collect::<String>());
        }
    }
    // The proxies come last, because the file of the hook may be restored with the proxies in it.
    let servers = mcp::take_out_proxies(places, adapter, Scope::User, is_dry)?;
    if let Some(servers) = &servers {
        let does = if is_dry { "would run" } else { "run" };
        let says = format!("its MCP servers {does} without hookhost after its next start: {}", servers.names());
        table.push(Row::done(name, &says));
        if is_verbose {
            table.show(&servers.unified());
        }
    }
    Ok(taken.is_some() || servers.is_some())
}

/// Removes the profile, and ends the pause and the resident host, which has nothing left to do. Returns true if there was a profile.
fn forget_rules(places: &AgentPlaces, is_dry: bool, table: &mut Table) -> bool {
    let directories = &places.directories;
    let has_profile = directories.profile_file().exists();
    if is_dry {
        if has_profile {
            let file = one_line(&directories.profile_file().to_string_lossy());
            table.push(Row::done("profile", &format!("would remove {file}")));
        }
        return has_profile;
    }
    // An error is ignored, because a pause without hooks has no effect.
    let _ = Pause::end(&directories.state);
    let chosen = profile::in_force(directories).ok().flatten().map(|found| found.profile);
    match profile::remove(directories) {
        Ok(None) => {}
        Ok(Some(RemovedProfile { copy })) => {
            let copy = copy.map(|copy| format!("; the file as it was is in {}", one_line(&copy.to_string_lossy())));
            let says = format!("removed; its plugins stay for your own rules{}", copy.unwrap_or_default());
            let row = Row::done("profile", &says);
            table.push(match chosen {
                None | Some(Profile::DEFAULT) => row,
                Some(profile) => row.next(format!("to return to it: hookhost on --profile {profile}")),
            });
        }
        Err(error) => table.push(Row::failed("profile", &error)),
    }
    match control::stop(&HostPaths::below(&directories.state), END_TIMEOUT) {
        Ok(()) | Err(ConnectionError::NotThere(_)) => {}
        Err(error) => table.push(Row::note("host", &format!("the resident host does not end: {error}"))),
    }
    has_profile
}

fn row(name: &str, taken: &TakenOut, is_dry: bool) -> Row {
    let files: Vec<_> = taken.undoings.iter().filter_map(|undoing| sentence(undoing, is_dry)).collect();
    let text = if files.is_empty() { "its files are as they were".to_owned() } else { files.join("; ") };
    if taken.is_whole() { Row::done(name, &text) } else { Row::problem(name, &text) }
}

/// Says what happens to a file.
fn sentence(undoing: &FileUndo, is_dry: bool) -> Option<String> {
    let file = one_line(&undoing.file.named.to_string_lossy());
    let (does, would, note) = match undoing.undo {
        UndoAction::Nothing => return None,
        UndoAction::Restore(_) => ("restored", "would restore", ", byte for byte"),
        UndoAction::Remove => ("removed", "would remove", ", which hookhost made"),
        UndoAction::RemoveEntries(_) => {
            ("took the hook out of", "would take the hook out of", ", which somebody has changed since")
        }
        UndoAction::Leave => ("left", "would leave", ": somebody has changed it since, so remove it yourself"),
    };
    Some(format!("{} {file}{note}", if is_dry { would } else { does }))
}
