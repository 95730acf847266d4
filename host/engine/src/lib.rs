//! Runs policies for LLM agents as sandboxed WebAssembly components.
pub mod action;
pub mod allowlist;
pub mod approval;
pub mod audit;
pub mod chain;
pub mod contract;
pub mod event;
pub mod host;
pub mod plugin;
mod sandbox;
pub mod session;
mod state;

/// What plugins can ask of the host, as far as an embedder brings or sees it.
pub mod capability {
    pub use crate::sandbox::capability::{
        Finding, Level, LogLine, Message, Model, ModelRequest, Reminder, Severity, Transcript,
    };
}

pub use allowlist::Config;
pub use host::{Error, Host, HostBuilder};
pub use plugin::Plugin;
pub use sandbox::{Failure, FailureKind, SandboxError};
pub use session::{GateOutcome, Session, SessionSpec, Settled, TransformOutcome};
