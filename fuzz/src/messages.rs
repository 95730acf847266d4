//! Messages of agents, as their hooks get them. Each adapter reads and answers them.

use hookhost::contract::{Cause, Rejection};
use hookhost_agents::{Answer, Message, Outcome, all, degrade, detect, json};
use std::path::Path;

/// Reads bytes as a message. The first byte chooses the agent for which the hook is called.
pub fn messages(bytes: &[u8]) {
    let Some((agent, bytes)) = bytes.split_first() else { return };
    let named = all()[usize::from(*agent) % all().len()];
    let message = Message::new(bytes, Path::new("/work"));
    let adapter = detect(named, &message);
    let call = match adapter.decode(&message) {
        Ok(call) => call,
        Err(unreadable) => {
            assert!(!unreadable.to_string().is_empty());
            let _ = adapter.fail(unreadable.point.as_deref(), "its message cannot be read");
            return;
        }
    };
    json::object(call.raw.as_bytes()).expect("what is recorded of a message can be read");
    let outcomes: Vec<Outcome> = call
        .parts()
        .iter()
        .map(|part| {
            let no = Rejection::host(vec!["rule".to_owned()], Cause::NotRecorded, "a reason".to_owned());
            degrade(part, Outcome::new(Answer::Rejected(no)), adapter.abilities(part)).0
        })
        .collect();
    let reply = match outcomes.as_slice() {
        [outcome] if call.further.is_empty() => adapter.encode(&call, outcome),
        outcomes => adapter.encode_all(&call, outcomes),
    };
    if call.parts().iter().any(|part| adapter.abilities(part).rejects) {
        let neutral = adapter.neutral(Some(&call.point));
        assert!(
            reply.stdout != neutral.stdout || reply.exit != neutral.exit,
            "{}: the reply to a rejected event is the neutral one",
            call.point
        );
    }
    let _ = adapter.unsettled(&call, "the resident host has ended");
}
