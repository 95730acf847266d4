//! The format that several agents took over from Claude Code. A message is one object that names the hook point and the
//! tool, a reply has `hookSpecificOutput`, and a settings file has groups of hooks. [`MessageKeys`] and
//! [`ReplyDialect`] describe the differences between the agents in messages and in replies.

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

/// The user sees `systemMessage` at every hook point whose reply is read.
pub(crate) const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// The agent's model reads a text, and nothing else is possible.
pub(crate) const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt can be refused, but not replaced.
pub(crate) const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// The agent continues if its stop is blocked. The reason is its next prompt.
pub(crate) const STOP: Abilities = Abilities { goes_on: true, ..TELLS };
