//! The agents of sessions. Only the first record of a session names its agent.

use crate::positions::PositionFile;
use crate::tally::agent_of_session;
use hookhost::audit::Record;
use std::collections::HashMap;
use std::rc::Rc;

/// The agent of a session that nothing is known about.
pub(crate) const UNKNOWN: &str = "_OTHER";

/// Number of sessions in memory. The others are in the file.
const MAX_IN_MEMORY: usize = 10_000;

/// Finds the agent of a session: in its record, in the file, or in its identifier, which begins with the agent's name if the session
/// belongs to a known agent.
#[derive(Debug)]
pub(crate) struct SessionAgents {
    file: Rc<PositionFile>,
    known: HashMap<String, String>,
}

impl SessionAgents {
    pub(crate) fn new(file: Rc<PositionFile>) -> Self {
        Self { file, known: HashMap::new() }
    }

    /// Returns the agent of a record, and notes the agent that the record names.
    pub(crate) fn of(&mut self, record: &Record) -> String {
        let Some(session) = record.session() else { return UNKNOWN.to_owned() };
        if let Some(agent) = agent_of_session(session).and_then(hookhost_agents::by_name) {
            return agent.agent().name.to_owned();
        }
        if let Record::Session(opened) = record {
            self.file.note_agent(session, &opened.agent);
            self.remember(session, &opened.agent);
            return opened.agent.clone();
        }
        if let Some(agent) = self.known.get(session) {
            return agent.clone();
        }
        let agent = self.file.agent(session).unwrap_or_else(|| UNKNOWN.to_owned());
        self.remember(session, &agent);
        agent
    }

    fn remember(&mut self, session: &str, agent: &str) {
        if self.known.len() >= MAX_IN_MEMORY {
            self.known.clear();
        }
        self.known.insert(session.to_owned(), agent.to_owned());
    }
}
