//! The sessions of the connection. Each session has a directory, which determines the rules for its events.

use crate::acp::memory_size::memory_size;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of sessions.
pub const MAX_SESSIONS: usize = 1000;

/// Maximum number of terminals.
pub const MAX_TERMINALS: usize = 1000;

/// Maximum memory of the terminals' commands, in bytes: 32 MiB.
pub const MAX_COMMANDS: usize = 32 * 1024 * 1024;

/// Maximum length of a session's or a terminal's name, in bytes.
pub const MAX_NAME: usize = 1024;

/// Maximum length of a directory's path, in bytes: `PATH_MAX` of Linux.
pub const MAX_PATH: usize = 4096;

/// The sessions and terminals of a connection.
#[derive(Debug)]
pub struct Sessions {
    /// The identifier of this connection.
    connection: String,
    /// The directory for events that belong to no known session.
    cwd: PathBuf,
    known: HashMap<String, OpenSession>,
    /// The directories of new sessions whose identifiers the agent has not sent yet.
    beginning: Vec<PathBuf>,
    terminals: HashMap<(String, String), Value>,
    /// Memory of the terminals' commands, in bytes.
    bytes: usize,
}

#[derive(Debug)]
struct OpenSession {
    cwd: PathBuf,
    loading: Option<SessionLoad>,
}

/// The state of a session that the agent was asked to continue. It is stored until the agent answers.
#[derive(Debug)]
struct SessionLoad {
    /// True if the agent replays the session's earlier messages.
    replays: bool,
    /// The previous directory of the session, if the session was already open.
    before: Option<PathBuf>,
}

impl Sessions {
    /// Creates an empty table for a connection.
    pub fn new(connection: String, cwd: PathBuf) -> Self {
        let (known, terminals) = Default::default();
        Self { connection, cwd, known, beginning: Vec::new(), terminals, bytes: 0 }
    }

    /// Adds a session that begins or continues in this directory.
    ///
    /// # Errors
    /// One sentence, if the session would exceed a limit. All requests of the session are then rejected.
    pub fn open(&mut self, id: &str, cwd: &Path) -> Result<(), String> {
        self.insert(id, OpenSession { cwd: cwd.to_owned(), loading: None })
    }

    /// Adds a session that the editor continues in this directory. `replays` is true if the agent replays the session's earlier
    /// messages.
    ///
    /// # Errors
    /// One sentence, if the session would exceed a limit, or if the agent has not yet answered an earlier request to continue it.
    pub fn load(&mut self, id: &str, cwd: &Path, replays: bool) -> Result<(), String> {
        let before = self.known.get(id);
        if before.is_some_and(|session| session.loading.is_some()) {
            return Err("the session is continued already, and the agent has not answered yet".to_owned());
        }
        let loading = SessionLoad { replays, before: before.map(|session| session.cwd.clone()) };
        self.insert(id, OpenSession { cwd: cwd.to_owned(), loading: Some(loading) })
    }

    fn insert(&mut self, id: &str, session: OpenSession) -> Result<(), String> {
        if id.len() > MAX_NAME {
            return Err(format!("the name of a session has more than {MAX_NAME} bytes"));
        }
        if session.cwd.as_os_str().len() > MAX_PATH {
            return Err(format!("the path of a session's directory has more than {MAX_PATH} bytes"));
        }
        if self.known.len() >= MAX_SESSIONS && !self.known.contains_key(id) {
            return Err(format!("{MAX_SESSIONS} sessions are open, and no more are known"));
        }
        self.known.insert(id.to_owned(), session);
        Ok(())
    }

    /// Processes an answer which says that the agent could not continue a session. If the session was open before, restores its
    /// directory and returns true. Otherwise removes the session and returns false.
    pub fn not_loaded(&mut self, id: &str) -> bool {
        let Some(session) = self.known.get_mut(id) else { return false };
        match session.loading.take() {
            None => true,
            Some(SessionLoad { before: Some(before), .. }) => {
                session.cwd = before;
                true
            }
            Some(_) => {
                self.close(id);
                false
            }
        }
    }

    /// Adds a new session in this directory. The agent has not sent the identifier of the session yet.
    ///
    /// # Errors
    /// Returns a one-sentence message if the path of the directory is too long.
    pub fn begin(&mut self, cwd: &Path) -> Result<(), String> {
        if cwd.as_os_str().len() > MAX_PATH {
            return Err(format!("the path of a session's directory has more than {MAX_PATH} bytes"));
        }
        self.beginning.push(cwd.to_owned());
        Ok(())
    }

    /// Removes one of the new sessions in this directory, because the agent has answered the request for it.
    pub fn begun(&mut self, cwd: &Path) {
        if let Some(at) = self.beginning.iter().position(|beginning| beginning == cwd) {
            self.beginning.swap_remove(at);
        }
    }

    /// Returns true if the directory of a session is known, because the session is open, or because all sessions that are beginning
    /// have the same directory.
    pub fn can_be(&self, id: &str) -> bool {
        let mut beginning = self.beginning.iter();
        let begins = beginning.next().is_some_and(|first| beginning.all(|cwd| cwd == first));
        begins || self.known.contains_key(id)
    }

    /// Removes a session and its terminals. Returns false if the session is not known.
    pub fn close(&mut self, id: &str) -> bool {
        self.terminals.retain(|(session, _), _| session != id);
        self.bytes = self.terminals.values().map(memory_size).sum();
        self.known.remove(id).is_some()
    }

    /// Returns true if the agent is replaying a session's earlier messages.
    pub fn is_loading(&self, id: &str) -> bool {
        let loading = self.known.get(id).and_then(|session| session.loading.as_ref());
        loading.is_some_and(|loading| loading.replays)
    }

    /// Returns the name of a session for rules and the log, and the directory of the session. The name is unique across
    /// connections.
    pub fn of(&self, id: &str) -> (String, PathBuf) {
        let open = self.known.get(id).map(|session| &session.cwd);
        let cwd = open.or(self.beginning.first()).unwrap_or(&self.cwd);
        let name = if id.is_empty() { self.connection.clone() } else { format!("{}.{id}", self.connection) };
        (name, cwd.clone())
    }

    /// Returns the names of the open sessions.
    pub fn open_ones(&self) -> Vec<String> {
        let is_open = |session: &OpenSession| session.loading.as_ref().is_none_or(|loading| loading.before.is_some());
        let open = self.known.iter().filter(|(_, session)| is_open(session));
        let mut all: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        all.sort();
        all
    }

    /// Returns true if a terminal that runs the command in these parameters would not exceed the limits.
    pub fn has_room(&self, params: &Value) -> bool {
        self.terminals.len() < MAX_TERMINALS && self.bytes + memory_size(params) <= MAX_COMMANDS
    }

    /// Adds a terminal that runs the command in these parameters. Returns false if the terminal would exceed a limit. In this case,
    /// the output of the terminal is withheld.
    pub fn add_terminal(&mut self, session: &str, terminal: &str, params: Value) -> bool {
        if terminal.len() > MAX_NAME || !self.has_room(&params) {
            return false;
        }
        self.bytes += memory_size(&params);
        let before = self.terminals.insert((session.to_owned(), terminal.to_owned()), params);
        self.bytes -= before.as_ref().map_or(0, memory_size);
        true
    }

    /// Returns the parameters with which a terminal was created. They contain the command that it runs.
    pub fn terminal(&self, session: &str, terminal: &str) -> Option<Value> {
        self.terminals.get(&(session.to_owned(), terminal.to_owned())).cloned()
    }

    /// Removes a terminal that is no longer used.
    pub fn release_terminal(&mut self, session: &str, terminal: &str) {
        let released = self.terminals.remove(&(session.to_owned(), terminal.to_owned()));
        self.bytes -= released.as_ref().map_or(0, memory_size);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_COMMANDS, MAX_NAME, MAX_SESSIONS, MAX_TERMINALS, Sessions};
    use serde_json::json;
    use std::path::Path;

    fn sessions() -> Sessions {
        Sessions::new("c".to_owned(), "/own".into())
    }

    #[test]
    fn a_session_is_one_that_was_opened_or_begins_now() {
        let (mut sessions, a) = (sessions(), Path::new("/a"));
        assert!(!sessions.can_be("1"));
        sessions.begin(a).unwrap();
        assert!(sessions.can_be("1"));
        assert_eq!(sessions.of("1").1, a, "its directory is that of the one that begins");
        sessions.begin(Path::new("/b")).unwrap();
        assert!(!sessions.can_be("1"), "it could be that of either");
        sessions.begun(Path::new("/b"));
        sessions.begun(a);
        assert!(!sessions.can_be("1"));
        sessions.load("1", a, true).unwrap();
        assert!(sessions.can_be("1") && !sessions.can_be("2"));
        sessions.close("1");
        assert!(!sessions.can_be("1"));
    }

    #[test]
    fn each_session_has_its_directory_and_an_unknown_one_has_the_proxys() {
        let mut sessions = sessions();
        sessions.load("1", Path::new("/a"), true).unwrap();
        assert!(sessions.is_loading("1") && !sessions.is_loading("2"));
        sessions.open("1", Path::new("/a")).unwrap();
        assert!(!sessions.is_loading("1"));
        assert_eq!(sessions.of("1"), ("c.1".to_owned(), "/a".into()));
        assert_eq!(sessions.of("2"), ("c.2".to_owned(), "/own".into()));
        assert!(sessions.close("1") && !sessions.close("1"));
    }

    #[test]
    fn a_session_that_was_not_continued_is_what_it_was_before() {
        let (mut sessions, a) = (sessions(), Path::new("/a"));
        sessions.load("1", a, true).unwrap();
        assert!(!sessions.not_loaded("1") && !sessions.can_be("1"));
        sessions.open("1", a).unwrap();
        sessions.load("1", Path::new("/b"), false).unwrap();
        assert!(sessions.load("1", Path::new("/c"), false).is_err(), "nobody knows what it was before");
        assert!(sessions.not_loaded("1") && sessions.can_be("1"));
        assert_eq!(sessions.of("1").1, a);
    }

    #[test]
    fn sessions_and_terminals_that_cannot_be_known_are_refused() {
        let mut sessions = sessions();
        assert!(sessions.open(&"x".repeat(MAX_NAME + 1), Path::new("/a")).is_err());
        assert!(sessions.begin(Path::new(&"/x".repeat(super::MAX_PATH))).is_err());
        for n in 0..MAX_SESSIONS {
            sessions.open(&n.to_string(), Path::new("/a")).unwrap();
        }
        assert!(sessions.open("more", Path::new("/a")).is_err() && sessions.open("1", Path::new("/b")).is_ok());
        let large = json!({ "command": "x".repeat(MAX_COMMANDS / 4) });
        assert_eq!((0..5).filter(|n| sessions.add_terminal("1", &n.to_string(), large.clone())).count(), 3);
        assert!(!sessions.has_room(&large) && sessions.has_room(&json!({ "command": "ls" })));
        sessions.release_terminal("1", "0");
        assert!(sessions.has_room(&large));
        assert!(!sessions.add_terminal("1", &"x".repeat(MAX_NAME + 1), json!({})));
        sessions.close("1");
        assert_eq!(sessions.bytes, 0);
        assert_eq!(
            (0..2 * MAX_TERMINALS).filter(|n| sessions.add_terminal("2", &n.to_string(), json!({}))).count(),
            MAX_TERMINALS
        );
    }
}
