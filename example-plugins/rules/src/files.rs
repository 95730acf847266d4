//! Remembers which files and directories the calls of a run create and change. A call has created what was not there before it and is there
//! after it, unless the call may have moved it there from a file that the calls have not created.

use crate::memory::digest;
use call_paths::{ReadCall, Touch};
use hookhost_conditions::{Fact, Value};
use hookhost_guest::facts::Fact as HostFact;
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use serde::{Deserialize, Serialize};
use shell_reader::path::Normal;
use shell_reader::{Extent, UNKNOWN};

/// Maximum number of files that are remembered. Of further ones, it is unknown that the agent has written them.
const MAX_FILES: i64 = 2_000;

/// Maximum number of files of one call.
const MAX_OF_CALL: usize = 100;

/// The time for which a call is remembered whose result does not come, in seconds.
const MAX_WAIT: u64 = 24 * 60 * 60;

/// The key of the number of files.
const COUNT: &str = "files";

/// What is remembered of a file.
const CREATED: &[u8] = b"created";
const WRITTEN: &[u8] = b"written";

/// What a call is about to write.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    /// True if the call moves something that the calls have not created, so that a new file may have an old content.
    moves: bool,
    /// Absolute paths, each with whether it exists.
    files: Vec<(String, bool)>,
}

/// Remembers what a call is about to write.
pub(crate) fn note_before(session: &Session, call: &ToolCall) {
    let touched = ReadCall::new(session, call).touched(Touch::WRITES);
    let moves = touched.targets.iter().any(|(_, target)| {
        let is_own = || matches!(&target.path, Normal::Absolute(path) if !is_pattern(path) && is_created(path));
        target.reach.extent == Extent::Moved && !is_own()
    });
    let mut files: Vec<(String, bool)> = Vec::new();
    for (_, target) in &touched.targets {
        let Normal::Absolute(path) = &target.path else { continue };
        if is_pattern(path) || files.len() == MAX_OF_CALL || files.iter().any(|(known, _)| known == path) {
            continue;
        }
        files.push((path.clone(), exists(path) != Some(false)));
    }
    if !files.is_empty() {
        let pending = serde_json::to_vec(&Pending { moves, files }).unwrap_or_default();
        // What is not remembered is not the agent's, so nothing is lost.
        let _ = state::set_for(Scope::Tree, &key_of_call(call), &pending, MAX_WAIT);
    }
}

/// Remembers what a call has written.
pub(crate) fn note_after(call: &ToolCall) -> Result<(), state::Error> {
    let key = key_of_call(call);
    let Some(Pending { moves, files }) = state::get_json(Scope::Tree, &key)? else { return Ok(()) };
    state::delete(Scope::Tree, &key)?;
    let files: Vec<(String, bool, Option<bool>)> =
        files.into_iter().map(|(path, existed)| (path.clone(), existed, exists(&path))).collect();
    let is_moved = |path: &str, existed: bool, exists| existed && exists != Some(true) && !is_created(path);
    let moves = moves || files.iter().any(|(path, existed, exists)| is_moved(path, *existed, *exists));
    for (path, existed, exists) in files {
        let key = key_of_file(&path);
        let known = state::get(Scope::Tree, &key)?;
        if exists != Some(true) {
            if known.is_some() {
                state::delete(Scope::Tree, &key)?;
                state::increment(Scope::Tree, COUNT, -1)?;
            }
            continue;
        }
        if known.is_none() && state::increment(Scope::Tree, COUNT, 1)? > MAX_FILES {
            state::increment(Scope::Tree, COUNT, -1)?;
            continue;
        }
        let is_own = !moves && known.map_or(!existed, |known| known == CREATED);
        state::set(Scope::Tree, &key, if is_own { CREATED } else { WRITTEN })?;
        // What is moved into a directory would be deleted with it.
        for (at, _) in path.match_indices('/').filter(|_| moves) {
            if is_created(&path[..at]) {
                state::set(Scope::Tree, &key_of_file(&path[..at]), WRITTEN)?;
            }
        }
    }
    Ok(())
}

/// Returns true if a path stands for files that only the shell knows.
fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{', UNKNOWN])
}

/// Returns true if the calls have certainly created a file.
fn is_created(path: &str) -> bool {
    matches!(state::get(Scope::Tree, &key_of_file(path)), Ok(Some(known)) if known == CREATED)
}

/// Answers a function of the vocabulary about a file, by its absolute path.
pub(crate) fn answer(function: &str, path: &str) -> Fact<'static> {
    match state::get(Scope::Tree, &key_of_file(path)) {
        Ok(known) => {
            let known = known.as_deref();
            Fact::Is(Value::from(if function == "created_by_agent" { known == Some(CREATED) } else { known.is_some() }))
        }
        Err(_) => Fact::Unreadable,
    }
}

/// Returns whether there is something at a path, or `None` if this cannot be known.
fn exists(path: &str) -> Option<bool> {
    match facts::read("path.exists", Some(path)) {
        HostFact::Flag(exists) => Some(exists),
        _ => None,
    }
}

/// Returns the key of a call. Without an id, calls with the same name and arguments share it: the last of them counts.
fn key_of_call(call: &ToolCall) -> String {
    if call.id.is_empty() { format!("same-call:{:x}", digest(call)) } else { format!("call:{}", call.id) }
}

fn key_of_file(path: &str) -> String {
    format!("file:{path}")
}
