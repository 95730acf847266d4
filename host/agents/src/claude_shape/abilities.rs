//! Abilities that all agents of this shape share at some hook points.

use crate::agent::Abilities;

/// The user sees `systemMessage` at every hook point whose reply is read.
pub(crate) const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// The agent's model reads a text, and nothing else is possible.
pub(crate) const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt can be refused and cannot be replaced.
pub(crate) const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// The agent continues if its stop is blocked. The reason is its next prompt.
pub(crate) const STOP: Abilities = Abilities { goes_on: true, ..TELLS };
