//! What the agents can do at hook points at which all of them can do the same.

use crate::agent::Abilities;

/// `systemMessage` is shown to the user wherever a reply is read.
pub(in crate::agents) const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// Its model reads a text, and nothing else is possible.
pub(in crate::agents) const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt cannot be replaced, only refused.
pub(in crate::agents) const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// The agent continues when it is blocked from stopping; the reason is its next prompt.
pub(in crate::agents) const STOP: Abilities = Abilities { goes_on: true, ..TELLS };
