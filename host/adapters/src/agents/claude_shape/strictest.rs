//! What can be done at a hook point where nothing could be settled.

use super::point_of;
use crate::agent::{Agent, HookPoint};

/// The strictest thing that an agent understands at a hook point.
#[derive(Clone, Copy, Debug)]
pub(in crate::agents) enum Strictest {
    /// It takes a no.
    Refuse(&'static HookPoint),
    /// Its user can be told.
    Tell(&'static HookPoint),
    /// Neither. So it is at a stop, known or not: an agent that could not stop would run for ever.
    Nothing,
    /// Nobody knows which hook point it is.
    Unknown,
}

/// The strictest thing at the hook point of this name.
pub(in crate::agents) fn strictest(agent: &'static Agent, point: Option<&str>) -> Strictest {
    match point.and_then(|name| point_of(agent, name)) {
        Some(known) if known.abilities.rejects => Strictest::Refuse(known),
        Some(known) if known.abilities.tells_user => Strictest::Tell(known),
        Some(_) => Strictest::Nothing,
        None if point.is_some_and(is_stop) => Strictest::Nothing,
        None => Strictest::Unknown,
    }
}

/// Whether a hook point of this name looks like one at which an agent stops.
fn is_stop(point: &str) -> bool {
    let point = point.to_ascii_lowercase();
    ["stop", "idle", "finish"].iter().any(|word| point.contains(word))
}
