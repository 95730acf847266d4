//! The sessions of the connection, each with the directory whose rules count.

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Upper bound of the sessions, and of the terminals, that are known.
const MAX: usize = 1000;

/// What is known of them.
#[derive(Debug)]
pub struct Sessions {
    /// What tells this connection from others.
    connection: String,
    /// The directory of what belongs to no session that is known.
    cwd: PathBuf,
    known: HashMap<String, Session>,
    /// How many begin now, whose names only the agent knows.
    beginning: usize,
    terminals: HashMap<(String, String), Value>,
}

#[derive(Debug)]
struct Session {
    cwd: PathBuf,
    /// Whether the agent replays what was said in it.
    is_loading: bool,
}

impl Sessions {
    /// None yet.
    #[must_use]
    pub fn new(connection: String, cwd: PathBuf) -> Self {
        Self { connection, cwd, known: HashMap::new(), beginning: 0, terminals: HashMap::new() }
    }

    /// A session begins or continues in this directory.
    pub fn open(&mut self, id: &str, cwd: &Path, is_loading: bool) {
        if self.known.len() < MAX || self.known.contains_key(id) {
            self.known.insert(id.to_owned(), Session { cwd: cwd.to_owned(), is_loading });
        }
    }

    /// A session begins whose name the agent has not said yet.
    pub const fn begin(&mut self) {
        self.beginning += 1;
    }

    /// The agent has answered that it has begun, or that it has not.
    pub const fn begun(&mut self) {
        self.beginning = self.beginning.saturating_sub(1);
    }

    /// Whether the directory of a session is known, or the session can be one that begins now.
    #[must_use]
    pub fn can_be(&self, id: &str) -> bool {
        self.beginning > 0 || self.known.contains_key(id)
    }

    /// All of a session was replayed.
    pub fn loaded(&mut self, id: &str) {
        if let Some(session) = self.known.get_mut(id) {
            session.is_loading = false;
        }
    }

    /// A session ends; `false` where it is not known.
    pub fn close(&mut self, id: &str) -> bool {
        self.terminals.retain(|(session, _), _| session != id);
        self.known.remove(id).is_some()
    }

    /// Whether the agent replays what was said in a session.
    #[must_use]
    pub fn is_loading(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|session| session.is_loading)
    }

    /// The name of a session for rules and the log, and its directory. Agents number theirs, each in its own way.
    #[must_use]
    pub fn of(&self, id: &str) -> (String, PathBuf) {
        let cwd = self.known.get(id).map_or(&self.cwd, |session| &session.cwd);
        let name = if id.is_empty() { self.connection.clone() } else { format!("{}.{id}", self.connection) };
        (name, cwd.clone())
    }

    /// The sessions that are open.
    #[must_use]
    pub fn open_ones(&self) -> Vec<String> {
        let mut all: Vec<String> = self.known.keys().cloned().collect();
        all.sort();
        all
    }

    /// A terminal runs the command of these parameters.
    pub fn add_terminal(&mut self, session: &str, terminal: &str, params: Value) {
        if self.terminals.len() < MAX {
            self.terminals.insert((session.to_owned(), terminal.to_owned()), params);
        }
    }

    /// What a terminal runs.
    #[must_use]
    pub fn terminal(&self, session: &str, terminal: &str) -> Option<Value> {
        self.terminals.get(&(session.to_owned(), terminal.to_owned())).cloned()
    }

    /// A terminal is not used any more.
    pub fn release_terminal(&mut self, session: &str, terminal: &str) {
        self.terminals.remove(&(session.to_owned(), terminal.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::Sessions;
    use std::path::Path;

    #[test]
    fn a_session_is_one_that_was_opened_or_begins_now() {
        let mut sessions = Sessions::new("c".to_owned(), "/own".into());
        assert!(!sessions.can_be("1"));
        sessions.begin();
        assert!(sessions.can_be("1"));
        sessions.begun();
        assert!(!sessions.can_be("1"));
        sessions.open("1", Path::new("/a"), true);
        assert!(sessions.can_be("1") && !sessions.can_be("2"));
        sessions.close("1");
        assert!(!sessions.can_be("1"));
    }

    #[test]
    fn each_session_has_its_directory_and_an_unknown_one_has_the_proxys() {
        let mut sessions = Sessions::new("c".to_owned(), "/own".into());
        sessions.open("1", Path::new("/a"), true);
        assert!(sessions.is_loading("1") && !sessions.is_loading("2"));
        sessions.loaded("1");
        assert!(!sessions.is_loading("1"));
        assert_eq!(sessions.of("1"), ("c.1".to_owned(), "/a".into()));
        assert_eq!(sessions.of("2"), ("c.2".to_owned(), "/own".into()));
        assert!(sessions.close("1") && !sessions.close("1"));
    }
}
