//! The format of Claude Code, which several other agents have adopted. A message is one object that names the hook
//! point and the tool. A reply has the key `hookSpecificOutput`. A settings file contains groups of hooks.
//! [`MessageKeys`] and [`ReplyDialect`] describe the differences between the agents in messages and in replies.

mod decode;
mod encode;
mod shaped;

pub(crate) use decode::{MessageKeys, absolute, decode, first, point_of, result, text};
pub(crate) use encode::{
    Denial, ReplyDialect, ReplyDraft, StrictestReply, denies, denies_by_decision, deny_if_possible, deny_twice, encode,
    fail, nonempty_reason, nonempty_text, prompts, strictest, unsettled,
};
pub(crate) use shaped::is_media;

use crate::agent::Abilities;

/// The user sees `systemMessage` at every hook point at which the agent reads the reply.
pub(crate) const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// The agent's model reads a text and the user sees a message. The reply has no other effect.
pub(crate) const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt can be refused, but not replaced.
pub(crate) const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// If a reply blocks the stop, the agent continues, with the reason as its next prompt.
pub(crate) const STOP: Abilities = Abilities { goes_on: true, ..TELLS };
