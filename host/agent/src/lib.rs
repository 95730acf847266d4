//! An agent loop that reports every step as an event to hookhost plugins and obeys their verdicts.
//!
//! An [`Agent`](agent::Agent) asks a [`Provider`](hookhost_models::Provider) for a model's answers and runs the tool calls in these answers
//! with a [`Toolbox`](tool::Toolbox). Each transition, from the session's start to its end, is an event of the contract, and each verdict
//! takes effect. For example, a refusal becomes the call's result, a changed call runs with the changed arguments, and the model and the
//! user see only masked text. The crate writes to no terminal: it passes events to a [`Reporter`](agent::Reporter). A
//! [`Dialogue`](agent::Dialogue) keeps one session open from prompt to prompt. The crate needs Unix, since it kills tools as process
//! groups, and a tokio runtime with all drivers.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | `plural` | counts with the right plural |
//! | [`launcher`] | how the agent starts programs |
//! | [`tool`] | the tools of the agent, and the checks of their arguments |
//! | [`context`] | instructions and skills: the model's texts besides the system prompt |
//! | [`mcp`] | the tools of MCP servers |
//! | [`session_store`] | sessions on disk |
//! | [`agent`] | the loop: requests, answers, calls, tasks, sub-agents |
//! | [`config`] | the section `[agent]`: provider, model, limits, hidden variables |
//!
//! ```
//! use hookhost_agent::agent::{Agent, AgentConfig, AgentEvent, Status};
//! use hookhost_agent::tool::Toolbox;
//! use hookhost_models::{Script, Scripted};
//! use std::sync::Arc;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let directory = tempfile::tempdir()?;
//! # let workspace = directory.path();
//! let script = r#"
//!     [[turn]]
//!     text = "I write it down."
//!     call = [{ tool = "write_file", arguments = { path = "note.txt", content = "done" } }]
//!
//!     [[turn]]
//!     text = "It is written."
//! "#;
//! let provider = Arc::new(Scripted::new(Script::parse(script, "demo.toml".as_ref())?));
//! let host = hookhost::Host::builder(hookhost::Config::empty()).build().await?;
//! let config = AgentConfig::new(workspace, "scripted");
//! let agent = Agent::builder(host, provider, Toolbox::builtin()?, config).build()?;
//!
//! let reporter = |event: &AgentEvent| {
//!     if let AgentEvent::Text { text } = event {
//!         print!("{text}");
//!     }
//! };
//! let outcome = agent.run("Write a note.", &reporter, &Default::default()).await?;
//! assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "It is written."));
//! assert_eq!(std::fs::read_to_string(workspace.join("note.txt"))?, "done");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]

pub mod agent;
pub mod config;
pub mod context;
pub mod launcher;
pub mod mcp;
mod plural;
pub mod session_store;
pub mod tool;
