//! Supports agents of other vendors. This crate turns an agent's message into an event, and the outcome of the event into a reply
//! that the agent understands. It also installs the hook in the agent's settings.
//!
//! All modules except [`install`] and [`ancestry`] are pure: they read no file, open no socket and run no plugin. The hook program uses only these
//! modules. So the program is small, and can deny a call in the agent's format even if no resident host answers.
//!
//! To support a new agent, add a file in `agents/` and a line in the list of [`agents::all`]. Add the agent's tools to
//! `hookhost_contract::action`. Add the agent's files to `guarded.toml`, which lists the files that plugins guard.
//!
//! A module uses only modules above it in this list:
//!
//! | module | purpose |
//! |---|---|
//! | [`message`] | an agent's message and its origin |
//! | [`json`] | parses messages as JSON objects, and records their ambiguous parts |
//! | [`hook_call`] | the event that a message reports |
//! | [`outcome`] | the outcome of an event, in a form that an agent can carry out |
//! | [`agent`] | data about an agent, such as its hook points, abilities and coverage |
//! | `checks` | checks that messages of all agents have to pass |
//! | [`reason`] | sentences for models and users |
//! | [`clock`] | the time in the unit of the log |
//! | [`canary`] | the test calls with which `hookhost doctor` proves that a hook denies |
//! | [`mod@degrade`] | replaces outcomes that an agent cannot carry out with stricter outcomes |
//! | [`reply`] | output and exit code of the hook |
//! | [`directories`] | the directories of hookhost's own files, and the variables that set them |
//! | [`plan`] | the files of an agent that have to name the hook |
//! | [`mcp_servers`] | the files of an agent that name MCP servers |
//! | [`adapter`] | the data and functions of one agent's adapter |
//! | `claude_shape` | the format that several agents took over from Claude Code |
//! | [`agents`] | the agents, one file each |
//! | [`ancestry`] | detects that an agent has started a process |
//! | [`guarded`] | the files that decide under which rules an agent runs |
//! | [`proxies`] | the reply format of all proxies |
//! | [`acp_proxy`] | the adapter of the proxy between an editor and an agent |
//! | [`mcp_proxy`] | the adapter of the proxy in front of MCP servers |
//! | [`install`] | installs the hook in the settings of agents, and checks it |

#![deny(missing_docs)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

pub mod acp_proxy;
pub mod adapter;
pub mod agent;
pub mod agents;
pub mod ancestry;
pub mod canary;
mod checks;
mod claude_shape;
pub mod clock;
pub mod degrade;
pub mod directories;
pub mod guarded;
pub mod hook_call;
pub mod install;
pub mod json;
pub mod mcp_proxy;
pub mod mcp_servers;
pub mod message;
pub mod outcome;
pub mod plan;
pub mod proxies;
pub mod reason;
pub mod reply;

pub use adapter::Adapter;
pub use agent::{Abilities, Agent, Coverage, Covered, HookPoint};
pub use agents::{all, by_name, detect};
pub use degrade::{Degradation, degrade};
pub use hook_call::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
pub use message::{Message, Unreadable};
pub use outcome::{Answer, Outcome};
pub use reply::Reply;
