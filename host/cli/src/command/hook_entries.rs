//! Puts the hook into an agent's files and takes it out, for the commands that do this in different ways. Only one process at a time
//! changes the files. An agent's files are all changed, or all left as they are.

use crate::agent_places::AgentPlaces;
use crate::exit::{CliError, Exit};
use crate::output::difference;
use crate::sandbox;
use anyhow::anyhow;
use hookhost::files::Lock;
use hookhost_agents::Adapter;
use hookhost_agents::install::receipt::{Installation, Receipts};
use hookhost_agents::install::uninstall::{self, FileUndo, UndoAction};
use hookhost_agents::install::{self, FileChange};
use hookhost_agents::plan::{Context, Plan, Scope};
use std::path::Path;

/// The hook in an agent's files.
pub(super) struct PutIn {
    pub(super) plan: Plan,
    pub(super) changes: Vec<FileChange>,
}

/// The removal of the hook from an agent's files.
pub(super) struct TakenOut {
    pub(super) undoings: Vec<FileUndo>,
    has_receipt: bool,
}

impl TakenOut {
    /// Returns true if hookhost was not in the agent's files.
    pub(super) fn is_nothing(&self) -> bool {
        !self.has_receipt && self.undoings.iter().all(|undoing| undoing.undo == UndoAction::Nothing)
    }

    /// Returns true if no part of the hook is left.
    pub(super) fn is_whole(&self) -> bool {
        self.undoings.iter().all(|undoing| undoing.undo != UndoAction::Leave)
    }
}

/// Puts the hook into the agent's files, and keeps what was there before. If `is_dry`, changes nothing.
pub(super) fn put_in(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    version: Option<String>,
    is_dry: bool,
) -> Result<PutIn, CliError> {
    let agent = adapter.agent().name;
    let context = places.context(agent, scope);
    check_projects_own(adapter, &context)?;
    let plan = adapter.install(&context).map_err(|why| failed(adapter, &why))?;
    let _lock = if is_dry { None } else { Some(lock(places)?) };
    let (of, receipts) = (Installation::new(agent, scope, &places.project), Receipts::of(&places.directories.state));
    let earlier = receipts.read(&of).map_err(|error| failed(adapter, &error))?;
    let not_put_in = |error: &dyn std::fmt::Display| {
        let state = if earlier.is_some() { "keeps its earlier hook" } else { "is not guarded" };
        CliError::new(Exit::Failed, anyhow!("{} {state}: {error}", adapter.agent().title))
    };
    let changes = install::prepare(&plan, &of, adapter.json_dialect(), earlier.as_ref());
    let changes = changes.map_err(|error| not_put_in(&error))?;
    if !is_dry {
        install::apply(&changes, &receipts, &of, version).map_err(|error| not_put_in(&error))?;
    }
    Ok(PutIn { plan, changes })
}

/// Fails for a project whose files are the user's own.
fn check_projects_own(adapter: &Adapter, context: &Context<'_>) -> Result<(), CliError> {
    if context.scope != Scope::Project || !adapter.shares_files(context) {
        return Ok(());
    }
    let why = "this directory is your home, so its files are your own and not a project's";
    Err(failed(adapter, &why).advise("the same command without --project"))
}

/// Takes the hook and the settings of the agent's own sandbox out of the agent's files. Returns `None` if the agent has no files in this scope. If `is_dry`, changes nothing.
pub(super) fn take_out(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    is_dry: bool,
) -> Result<Option<TakenOut>, CliError> {
    let agent = adapter.agent().name;
    let context = places.context(agent, scope);
    check_projects_own(adapter, &context)?;
    let Ok(plan) = adapter.install(&context) else { return Ok(None) };
    let (of, receipts) = (Installation::new(agent, scope, &places.project), Receipts::of(&places.directories.state));
    let look = || -> Result<TakenOut, CliError> {
        let receipt = receipts.read(&of).map_err(|error| failed(adapter, &error))?;
        let beneath = |file: &mut _| match scope {
            Scope::User => sandbox::take_export_from(file, places, agent),
            _ => Ok(()),
        };
        let undoings = uninstall::prepare_beneath(&plan, &of, receipt.as_ref(), &beneath);
        let undoings = undoings.map_err(|error| failed(adapter, &error))?;
        Ok(TakenOut { undoings, has_receipt: receipt.is_some() })
    };
    let found = look()?;
    // Where hookhost is not, nothing needs to be written.
    let has_export = scope == Scope::User && sandbox::has_export(places, agent);
    if is_dry || found.is_nothing() && !has_export {
        return Ok(Some(found));
    }
    let _lock = lock(places)?;
    if has_export {
        // They come first, because they were written after the hook.
        sandbox::remove_export(places, agent)?;
    }
    let taken = look()?;
    uninstall::apply(&taken.undoings).map_err(|error| failed(adapter, &error))?;
    if taken.is_whole() {
        receipts.remove(&of).map_err(|error| failed(adapter, &error))?;
    }
    Ok(Some(taken))
}

/// Takes the lock, without which another process could change the files between reading and writing.
fn lock(places: &AgentPlaces) -> Result<Lock, CliError> {
    let state = &places.directories.state;
    Lock::take(state).map_err(|error| anyhow!("{} cannot be written: {error}", state.display()).into())
}

/// Returns the change of a file as a unified difference.
pub(super) fn unified(change: &FileChange) -> String {
    let FileChange { file, after, .. } = change;
    unified_of(&file.real, file.content.as_deref(), Some(after))
}

/// Returns the removal from a file as a unified difference.
pub(super) fn unified_undo(undoing: &FileUndo) -> String {
    unified_of(&undoing.file.real, undoing.file.content.as_deref(), undoing.after())
}

fn unified_of(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    if before == after {
        return String::new();
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    difference::unified(&path.to_string_lossy(), before.map(text).as_deref(), after.map(text).as_deref())
}

/// The error for an agent whose files stay unchanged.
pub(super) fn failed(adapter: &Adapter, error: &dyn std::fmt::Display) -> CliError {
    CliError::new(Exit::Failed, anyhow!("{}: {error}", adapter.agent().title))
}
