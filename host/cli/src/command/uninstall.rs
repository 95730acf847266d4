//! `hookhost uninstall`: removes the hook from the settings of agents.

use super::hook_entries::{self, TakenOut, failed};
use super::mcp;
use crate::agent_places::{AgentPlaces, adapters, names};
use crate::args::UninstallArgs;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, one_line,
    style::{DIM, GOOD, NAME, WARNING},
};
use hookhost_agents::Adapter;
use hookhost_agents::install::uninstall::{FileUndo, UndoAction};
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
    let taken = match hook_entries::take_out(places, adapter, scope, is_dry)? {
        Some(taken) => taken,
        None if is_one_of_all => return Ok(true),
        None => {
            let why = adapter.install(&places.context(agent.name, scope)).err();
            return Err(failed(adapter, &why.map(|why| why.to_string()).unwrap_or_default()));
        }
    };
    if is_one_of_all && taken.is_nothing() {
        return Ok(true);
    }
    let TakenOut { undoings, .. } = &taken;
    let is_installed = undoings.iter().any(|undoing| undoing.undo != UndoAction::Nothing);
    let mut text = format!("{NAME}{}{NAME:#} {DIM}({}){DIM:#}\n", agent.title, scope.whose());
    if is_dry {
        undoings.iter().for_each(|undoing| text.push_str(&hook_entries::unified_undo(undoing)));
    }
    undoings.iter().for_each(|undoing| about_file(&mut text, undoing, is_dry));
    let is_whole = taken.is_whole();
    if !is_dry && is_whole && is_installed {
        output::sentence(&mut text, &format!("{} no longer asks hookhost.", agent.title));
    }
    output::print(&text)?;
    Ok(is_whole)
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
