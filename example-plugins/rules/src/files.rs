//! Remembers which files and directories the calls of a run create and change. A call has created what was not there before it and is there
//! after it, unless the call may have moved it there.

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
    /// True if the call moves something, so that a new file may have an old content.
    moves: bool,
    /// Absolute paths, each with whether it exists.
    files: Vec<(String, bool)>,
}

/// Remembers what a call is about to write.
pub(crate) fn note_before(session: &Session, call: &ToolCall) {
    let touched = ReadCall::new(session, call).touched(Touch::WRITES);
    let moves = touched.targets.iter().any(|(_, target)| target.reach.extent == Extent::Moved);
    let mut files: Vec<(String, bool)> = Vec::new();
    for (_, target) in &touched.targets {
        let Normal::Absolute(path) = &target.path else { continue };
        let is_pattern = path.contains(['*', '?', '[', '{', UNKNOWN]);
        if is_pattern || files.len() == MAX_OF_CALL || files.iter().any(|(known, _)| known == path) {
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
    let moves = moves || files.iter().any(|(_, existed, exists)| *existed && *exists != Some(true));
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
        let stays_created = existed && known.as_deref() == Some(CREATED);
        let is_created = stays_created || (!existed && !moves);
        state::set(Scope::Tree, &key, if is_created { CREATED } else { WRITTEN })?;
    }
    Ok(())
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

fn key_of_call(call: &ToolCall) -> String {
    format!("call:{}", call.id)
}

fn key_of_file(path: &str) -> String {
    format!("file:{path}")
}
