//! A model that answers by a script, on loopback. It supports the protocols of the agents: Anthropic's Messages, OpenAI's Responses
//! and Chat Completions, Gemini.
//!
//! It keeps no state except a list of its requests. The last prompt of a user that contains `[script NAME]` selects the script; the
//! number of answers with tool calls after that prompt selects the step. So a sub-agent, whose prompt names a script of its own,
//! needs no other model, and an agent that repeats a request gets the same answer.

mod conversation;
mod server;
mod wire;

pub(crate) use conversation::{Call, Script, Step};
pub(crate) use server::{Exchange, Model};
