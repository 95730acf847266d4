//! A model that answers by a script, on loopback. It speaks what the agents speak: Anthropic's Messages, OpenAI's Responses
//! and Chat Completions, Gemini.
//!
//! It keeps no state but a list of what it was sent. Which script counts is said by the last prompt of a user that holds
//! `[script NAME]`; which step of it, by the answers with tool calls that come after that prompt. So a sub-agent, whose
//! prompt names a script of its own, needs no other model, and an agent that repeats a request gets the same answer.

mod conversation;
mod server;
mod wire;

pub(crate) use conversation::{Call, Script, Step};
pub(crate) use server::{Exchange, Model};
