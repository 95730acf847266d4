//! Determines the strictest reply for an event that could not be settled.

use super::point_of;
use crate::agent::{Agent, HookPoint};

/// The strictest reply that an agent understands at a hook point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strictest {
    /// The agent accepts a denial.
    Refuse(&'static HookPoint),
    /// The agent's user can be told.
    Tell(&'static HookPoint),
    /// Neither. This also holds at a stop, known or not, because an agent that could not stop would run for ever.
    Nothing,
    /// The hook point is unknown.
    Unknown,
}

/// Returns the strictest reply at the hook point of this name.
pub(crate) fn strictest(agent: &'static Agent, point: Option<&str>) -> Strictest {
    match point.and_then(|name| point_of(agent, name)) {
        Some(known) if known.abilities.rejects => Strictest::Refuse(known),
        Some(known) if known.abilities.tells_user => Strictest::Tell(known),
        Some(_) => Strictest::Nothing,
        None if point.is_some_and(is_stop) => Strictest::Nothing,
        None => Strictest::Unknown,
    }
}

/// Returns true if the name of the hook point suggests that the agent stops there.
fn is_stop(point: &str) -> bool {
    let point = point.to_ascii_lowercase();
    ["stop", "idle", "finish"].iter().any(|word| point.contains(word))
}
