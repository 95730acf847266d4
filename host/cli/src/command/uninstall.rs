//! `hookhost uninstall`: removes the hook from the settings of agents.

use super::install::failed;
use super::mcp;
use crate::agent_places::{AgentPlaces, adapters, names};
use crate::args::UninstallArgs;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, difference, one_line,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::files::Lock;
use hookhost_agents::Adapter;
use hookhost_agents::install::receipt::{Installation, Receipts};
use hookhost_agents::install::uninstall::{self, FileUndo, UndoAction};
use hookhost_agents::plan::Scope;
use std::fmt::Write as _;

pub(crate) fn run(args: &UninstallArgs) -> Result<Exit, CliError> {
    if !args.dry_run {
        inside_agent::refuse("removes the hook from the settings of agents")?;
    }
    if args.agents.is_empty() && !args.all {
        let stop = CliError::usage(format!("name an agent; hookhost knows {}", names()));
        return Err(stop.advise("hookhost uninstall --all"));
    }
    let places = AgentPlaces::here()?;
    if args.mcp {
        let agents = adapters(&args.agents);
        return mcp::change_servers(&places, &agents, args.scope.scope(), mcp::To::Server, args.dry_run);
    }
    let mut exit = Exit::Done;
    for adapter in adapters(&args.agents) {
        match uninstall(&places, adapter, args.scope.scope(), args.dry_run, args.all) {
            Ok(true) => {}
            // A file was left unchanged, because a person must decide about it.
            Ok(false) => exit = Exit::Failed,
            Err(error) => {
                error.print();
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

/// Removes the hook. Returns true if no part of the hook is left.
fn uninstall(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    is_dry: bool,
    is_one_of_all: bool,
) -> Result<bool, CliError> {
    let agent = adapter.agent();
    let of = Installation::new(agent.name, scope, &places.project);
    let receipts = Receipts::of(&places.directories.state);
    let plan = match adapter.install(&places.context(agent.name, scope)) {
        Ok(plan) => plan,
        Err(_) if is_one_of_all => return Ok(true),
        Err(why) => return Err(failed(adapter, &why)),
    };
    let lock =
        if is_dry { None } else { Some(Lock::take(&places.directories.state).map_err(|error| anyhow!("{error}"))?) };
    let receipt = receipts.read(&of).map_err(|error| failed(adapter, &error))?;
    let undoings = uninstall::prepare(&plan, &of, receipt.as_ref()).map_err(|error| failed(adapter, &error))?;
    let is_installed = undoings.iter().any(|undoing| undoing.undo != UndoAction::Nothing);
    if is_one_of_all && !is_installed && receipt.is_none() {
        return Ok(true);
    }
    let mut text = format!("{NAME}{}{NAME:#} {DIM}({}){DIM:#}\n", agent.title, scope.whose());
    if is_dry {
        undoings.iter().for_each(|undoing| text.push_str(&unified(undoing)));
    }
    if !is_dry {
        uninstall::apply(&undoings).map_err(|error| failed(adapter, &error))?;
    }
    undoings.iter().for_each(|undoing| about_file(&mut text, undoing, is_dry));
    let is_whole = !undoings.iter().any(|undoing| undoing.undo == UndoAction::Leave);
    if !is_dry && is_whole {
        receipts.remove(&of).map_err(|error| failed(adapter, &error))?;
    }
    drop(lock);
    if !is_dry && is_whole && is_installed {
        output::sentence(&mut text, &format!("{} no longer asks hookhost.", agent.title));
    }
    output::print(&text)?;
    Ok(is_whole)
}

fn unified(undoing: &FileUndo) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (before, after) = (undoing.file.content.as_deref().map(text), undoing.after().map(text));
    if before == after {
        return String::new();
    }
    difference::unified(&undoing.file.real.to_string_lossy(), before.as_deref(), after.as_deref())
}

fn about_file(text: &mut String, undoing: &FileUndo, is_dry: bool) {
    let shown = one_line(&undoing.file.named.to_string_lossy());
    let (does, would, note) = match undoing.undo {
        UndoAction::Nothing => ("unchanged", "would not change", "it has no hook of hookhost"),
        UndoAction::Restore(_) => ("restored", "would restore", "it is what it was before, byte for byte"),
        UndoAction::Remove => ("removed", "would remove", "it was not there before"),
        UndoAction::RemoveEntries(_) => {
            ("changed", "would change", "it has other changes since, so only hookhost's entries are removed")
        }
        UndoAction::Leave => {
            ("left", "would leave", "somebody has changed this file of hookhost: look at it, and remove it yourself")
        }
    };
    let does = if is_dry { would } else { does };
    let style = if undoing.undo == UndoAction::Leave { WARNING } else { GOOD };
    let _ = writeln!(text, "  {style}{does}{style:#} {shown} {DIM}({note}){DIM:#}");
}
