//! Runs policies for LLM agents as sandboxed WebAssembly components.
//!
//! A [`Host`] loads the plugins of an allowlist, which names each plugin by its digest. A [`Session`] has one method
//! for each event of an agent. The method asks the plugins that subscribe to the event, and returns the outcome. Each
//! plugin runs in a fresh sandboxed instance under limits. The crate does not depend on any agent program: it does
//! not read from a terminal, and it does not call a model.
//!
//! ```
//! use hookhost::config::Entry;
//! use hookhost::{Config, Decision, Host};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), std::path::PathBuf::from);
//! # let wasm = plugins.join("path_guard.wasm");
//! let guard = Entry::from_file("path-guard", wasm)?.with("protected", ["infra/**"]);
//! let host = Host::builder(Config::empty()).plugin(guard).build().await?;
//! let session = host.session("my-agent", "/home/me/project")?;
//!
//! let arguments = serde_json::json!({ "path": "src/../infra/main.tf", "content": "" });
//! match session.check_tool("write_file", &arguments).await.outcome {
//!     Decision::Allowed { value: call } => panic!("run exactly this: {call:?}"),
//!     Decision::Responded { response, .. } => panic!("do not run it, this is its result: {response:?}"),
//!     Decision::Rejected(rejection) => {
//!         assert!(rejection.to_string().starts_with("Rejected by path-guard: "));
//!     }
//! }
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! `Config::discover` reads `hookhost.toml`, the allowlist of the command `hookhost`.
//!
//! # Programs to begin with
//!
//! | in the repository, below `host/engine` | what it shows |
//! |---|---|
//! | `examples/gate.rs` | how to decide whether a tool call may run |
//! | `examples/blocking.rs` | how to do this in a program without `async` |
//! | `examples/approvals_over_a_channel.rs` | how a person answers in another part of the program |
//! | `examples/streaming.rs` | how an answer is checked while it streams in |
//! | `examples/testing.rs` | how to test the rules of a product, without wasm |
//! | `examples/tenants.rs` | how tenants with different rules share one engine |
//! | `examples/own_capability.rs` | how plugins query a database of the program |
//! | `examples/audit_to_a_file.rs` | how to write the audit log to a file of the program |
//! | `examples/compile_ahead.rs` | how to start without compiling |
//!
//! # Where things are
//!
//! A module uses only modules above it in this list; a test checks this.
//!
//! | module | what it is |
//! |---|---|
//! | [`files`] | trusted files: owner, mode, opening, locking (the crate `hookhost-files`) |
//! | `unseen` | characters that are invisible |
//! | `marked_line` | a line of a text with a marked part |
//! | `runtime` | the tokio runtime of the thread, and whether it has a timer |
//! | `boxed` | boxed futures |
//! | `locked` | mutexes whose holder may have panicked |
//! | `callback` | calls into the embedding program: catches its panics, and detects events that would wait for themselves |
//! | [`contract`] | the vocabulary: events, their payloads and their outcomes (the crate `hookhost-contract`) |
//! | `failure_policy` | the consequences of a failed call |
//! | [`facts`] | facts about the world of an agent, which the host reads for plugins |
//! | `secrets` | the values of a project's secrets, which the host finds in texts |
//! | [`native`] | native rules: plugins that are part of the program |
//! | [`config`] | the configuration: which plugins may load, and how |
//! | [`schema`] | JSON Schemas of tools, bounded and compiled |
//! | `compose` | combines the answers of several plugins to one event, without I/O |
//! | `wire` | the contract's types as wasmtime passes them |
//! | `state` | key-value state of plugins: snapshots and writes, without I/O |
//! | [`passkey`] | keys of a person, and the signatures with which a yes is given |
//! | `sandbox` | what a guest gets: WASI, capabilities, limits ([`capability`] exports the parts that an embedder uses) |
//! | `event` | the typed events: the payload that a plugin's `handle` gets, and the meaning of the verdict that `handle` returns |
//! | [`plugin`] | loads a component: checks, compiles and configures it |
//! | `engine` | the resources that all rules of a process share: pools of instances, compiled code ([`Engine`]) |
//! | [`audit`] | the records of the log, their hash chain and their redaction, without I/O |
//! | `active_config` | the active configuration: plugins in chain order, settings |
//! | [`store`] | the database: commits the log and the state together, and reads them |
//! | [`approval`] | asking a person |
//! | [`session`] | asks the plugins about an event, decides and records it, and dispatches it to observers |
//! | `host` | combines the modules above ([`Host`]) |
//! | [`blocking`] | the host for programs without `async` |
//! | [`replay`] | asks plugins about recorded events a second time |
//! | [`testing`] | a host for the tests of a product |
//!
//! The crate needs a tokio runtime with the timer enabled.
//!
//! # Types that can grow
//!
//! Specifications, records and errors are `#[non_exhaustive]`: create them with `new` or `Default`, and then set their
//! fields. Outcomes ([`Decision`], [`TransformOutcome`], [`contract::Stop`]) and [`contract::Shape`] are exhaustive, so
//! that a program that does not handle a new variant fails to compile. The types that are generated from the WIT belong
//! to one version of the contract and do not change.

#![deny(missing_docs)]
#![cfg_attr(
    not(all(
        feature = "compile",
        feature = "config-file",
        feature = "http",
        feature = "json-schema",
        feature = "native",
        feature = "replay",
        feature = "store"
    )),
    allow(dead_code, unused_imports, reason = "without a feature, code that only it calls is unused")
)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

mod active_config;
pub mod approval;
pub mod audit;
pub mod blocking;
mod boxed;
mod callback;
mod compose;
pub mod config;
mod engine;
mod event;
pub mod facts;
mod failure_policy;
mod host;
mod locked;
mod marked_line;
pub mod native;
pub mod passkey;
pub mod plugin;
#[cfg(feature = "replay")]
pub mod replay;
mod runtime;
mod sandbox;
pub mod schema;
mod secrets;
pub mod session;
mod state;
pub mod store;
pub mod testing;
mod unseen;
mod wire;

pub use futures_util::future::BoxFuture;
pub use hookhost_contract as contract;
pub use hookhost_files as files;

/// The capabilities that a host can offer to plugins: the types that an embedder implements or uses.
pub mod capability {
    pub use crate::sandbox::capability::{
        Capability, CapabilityAnswer, CapabilityCall, CapabilityReply, Finding, Level, LogLine, Message, Model,
        ModelRequest, Reminder, Severity, Transcript,
    };
    #[cfg(feature = "http")]
    pub use crate::sandbox::http::Resolver;
}

/// The events as types, for [`Session::begin`].
pub mod event_types {
    pub use crate::event::compaction::{AfterCompaction, BeforeCompaction};
    pub use crate::event::custom::CustomEvent;
    pub use crate::event::inference::{
        AfterInference, BeforeInference, FinalizeContent, StreamDelta, StreamEnd, TokenUsage,
    };
    pub use crate::event::provider::{ProviderResolve, RequestSend, ResponseReceive};
    pub use crate::event::session::{PromptSubmit, SessionEnd, SessionStart};
    pub use crate::event::subagent::{SubagentEnd, SubagentStart};
    pub use crate::event::task::{AgentError, PlanComplete, PlanSubmit, QueueEmpty, TaskComplete, TaskStart};
    pub use crate::event::tools::{AfterToolCall, BeforeToolCall, BeforeTools};
    pub use crate::event::turn::{TurnEnd, TurnStart};
}

/// Items that only the command `hookhost` needs. They change without notice.
#[doc(hidden)]
pub mod command {
    #[cfg(feature = "config-file")]
    pub use crate::config::discover::rule_files;
    #[cfg(feature = "config-file")]
    pub use crate::config::document::{Document, Mistake};
    #[cfg(feature = "config-file")]
    pub use crate::config::edit::{Change, Edited, allow, replace_audit_modes};
    #[cfg(feature = "config-file")]
    pub use crate::config::edit_rules::RulesEdit;
    #[cfg(feature = "config-file")]
    pub use crate::config::project_file::{ProjectFile, is_rule_file};
    #[cfg(feature = "config-file")]
    pub use crate::config::trust::{Approved, TrustStore};
    pub use crate::marked_line::MarkedLine;
    #[cfg(feature = "cache")]
    pub use crate::plugin::cache::{CacheFiles, cache_files, clear_cache, default_directory};
    #[cfg(feature = "compile")]
    pub use crate::plugin::compile::inspect::{Inspection, inspect};
    #[cfg(feature = "cache")]
    pub use crate::plugin::component_file::read;
    pub use crate::plugin::error::Advice;
    #[cfg(feature = "replay")]
    pub use crate::replay::replay_event;
}

pub use config::{Config, ConfigError};
pub use contract::{Decision, EventKind, Failure, FailureKind, TransformOutcome};
#[cfg(feature = "compile")]
pub use engine::CompileError;
pub use engine::Engine;
pub use host::{Changes, Error, Host, HostBuilder, RuleSet, RuleSource};
pub use native::Rule;
pub use plugin::Plugin;
pub use sandbox::SandboxError;
pub use session::{
    AllowedCall, Clock, EventType, OpenDecision, OpenOutcome, PasskeyError, PendingApproval, PreparedCall,
    QuestionGone, RecordedOutcome, Session, SessionSpec,
};
pub use session::{FinalText, Piece, TextStream};
pub use store::StoreError;
pub use unseen::is_unseen;
