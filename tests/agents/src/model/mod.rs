//! A model that answers by a script, on loopback. It supports the protocols of the agents: Anthropic's Messages, OpenAI's Responses
//! and Chat Completions, Gemini.
//!
//! The model's only state is a list of its requests. The last prompt of a user that contains `[script NAME]` selects the script. The
//! number of answers with tool calls after that prompt selects the step. So a sub-agent can use the same model, because its prompt names
//! another script. And an agent that repeats a request gets the same answer.

mod conversation;
mod server;
mod wire;

pub(crate) use conversation::{Call, Script, Step};
pub(crate) use server::{Exchange, Model};
