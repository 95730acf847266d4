//! What `hookhost off` leaves: hooks and proxies in files that are not only the user's.

use super::hook_entries;
use super::mcp;
use super::table::Row;
use crate::agent_places::{AgentPlaces, adapters};
use crate::output::{one_line, quoted};
use hookhost_agents::Adapter;
use hookhost_agents::install::receipt::{Receipt, Receipts};
use hookhost_agents::install::settings_file::read_text;
use hookhost_agents::install::uninstall::UndoAction;
use hookhost_agents::plan::Scope;

/// Returns a row for each file of a project or of the machine in which hookhost is, with the command that removes it.
pub(super) fn rows(places: &AgentPlaces, named: &[String]) -> Vec<Row> {
    let receipts = Receipts::of(&places.directories.state).all();
    let mut rows = Vec::new();
    for adapter in adapters(named) {
        let name = adapter.agent().name;
        // In the home directory, a project's files are the user's own.
        let context = places.context(name, Scope::Project);
        if !adapter.shares_files(&context) {
            rows.extend(hook(places, adapter, Scope::Project));
            rows.extend(proxies(places, adapter));
        }
        rows.extend(hook(places, adapter, Scope::Managed));
        rows.extend(receipts.iter().filter(|receipt| receipt.agent == name).filter_map(|receipt| {
            let project = receipt.project.as_ref().filter(|project| **project != places.project)?;
            let directory = quoted(&project.to_string_lossy());
            let next = format!("cd {directory} && hookhost uninstall {name} --project");
            is_there(receipt).then(|| row(name, &one_line(&project.to_string_lossy())).next(next))
        }));
    }
    rows
}

fn row(agent: &str, place: &str) -> Row {
    Row::note(agent, &format!("the hook in the files of {place} stays, because they are not only yours"))
}

/// Returns the row of a hook in the files of this project or of the machine.
fn hook(places: &AgentPlaces, adapter: &Adapter, scope: Scope) -> Option<Row> {
    let name = adapter.agent().name;
    let taken = hook_entries::take_out(places, adapter, scope, true).ok()??;
    let sudo = if scope == Scope::Managed { "sudo " } else { "" };
    let next = format!("{sudo}hookhost uninstall {name}{}", scope.flag());
    let is_there = taken.undoings.iter().any(|undoing| undoing.undo != UndoAction::Nothing);
    is_there.then(|| row(name, scope.whose()).next(next))
}

/// Returns the row of the proxies in front of this project's MCP servers.
fn proxies(places: &AgentPlaces, adapter: &Adapter) -> Option<Row> {
    let name = adapter.agent().name;
    let servers = mcp::take_out_proxies(places, adapter, Scope::Project, true).ok()??;
    let says = format!("MCP servers of this project still run through hookhost: {}", servers.names());
    Some(Row::note(name, &says).next(format!("hookhost uninstall {name} --mcp --project")))
}

/// Returns true if a file of an installation still has the hook, or cannot be read.
fn is_there(receipt: &Receipt) -> bool {
    receipt.files.iter().any(|file| {
        let text = read_text(&file.path, receipt.project.as_deref());
        text.map_or(true, |text| text.is_some_and(|text| text.contains("hookhost")))
    })
}
