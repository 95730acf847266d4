//! People's own agents: what an agent tells its hooks becomes an event, and an outcome becomes the reply that the agent
//! understands.
//!
//! The crate is pure: it reads no file, opens no socket and asks no plugin. So the small hook program can afford it, and
//! says no in an agent's own words also where nobody else answers.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`message`] | what an agent sent, and from where |
//! | [`json`] | messages as JSON objects, and what of them not every reader reads alike |
//! | [`event`] | the event that it means |
//! | [`outcome`] | the outcome of the event, as far as an agent can be told |
//! | [`agent`] | what is known of an agent: its hook points, what it can do at each, what it covers |
//! | `checks` | what a message of any agent has to be |
//! | [`reason`] | sentences for models and users |
//! | [`canary`] | the calls that prove that a hook is obeyed |
//! | [`mod@degrade`] | outcomes that an agent cannot express, made stricter |
//! | [`reply`] | what the hook prints, and its exit code |
//! | [`directories`] | where hookhost's own files are, and what leads there |
//! | [`install`] | which files of an agent have to name the hook |
//! | [`mcp_servers`] | which files of an agent name MCP servers |
//! | [`guarded`] | what else decides whether an agent's hooks run |
//! | [`adapter`] | the trait that each agent implements |
//! | `functions` | the functions of an adapter, as the trait below has them |
//! | [`agents`] | the agents, a directory each |
//! | [`proxies`] | what all proxies have in common: they ask like agents |
//! | [`acp_proxy`] | the proxy between an editor and an agent, which asks like an agent |
//! | [`mcp_proxy`] | the proxy in front of MCP servers, which asks like an agent |

#![deny(missing_docs)]

pub mod acp_proxy;
pub mod adapter;
pub mod agent;
pub mod agents;
pub mod canary;
mod checks;
pub mod degrade;
pub mod directories;
pub mod event;
mod functions;
pub mod guarded;
pub mod install;
pub mod json;
pub mod mcp_proxy;
pub mod mcp_servers;
pub mod message;
pub mod outcome;
pub mod proxies;
pub mod reason;
pub mod reply;

pub use adapter::Adapter;
pub use agent::{Abilities, Agent, Coverage, Covered, HookPoint};
pub use agents::{all, by_name, detect};
pub use degrade::{Degradation, degrade};
pub use event::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
pub use message::{Message, Unreadable};
pub use outcome::{Answer, Outcome};
pub use reply::Reply;
