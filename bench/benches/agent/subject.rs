//! The measured agent. It has one tool that does nothing, a model that takes no time, and either no plugin or a plugin that allows
//! everything.

use async_trait::async_trait;
use bench::plugins::built;
use futures_util::{StreamExt as _, stream};
use hookhost::config::{Digest, Entry, Settings};
use hookhost::{Config, Host};
use hookhost_agent::agent::{Agent, AgentConfig};
use hookhost_agent::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolbox};
use hookhost_models::message::{StopReason, TokenUsage, ToolUse};
use hookhost_models::{Delta, DeltaStream, Provider, ProviderError, Request};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// The component of the plugin, which subscribes to tool calls.
const COMPONENT: &str = "no_force_push.wasm";

/// Creates a host without plugins or with [`COMPONENT`], and with or without a log.
pub(crate) async fn host(plugin: bool, log: Option<&Path>) -> Host {
    let entries = if plugin { vec![entry()] } else { Vec::new() };
    let builder = Host::builder(Config::from_entries(entries, Settings::default()).unwrap());
    let builder = if let Some(log) = log { builder.store(log) } else { builder };
    builder.build().await.unwrap()
}

fn entry() -> Entry {
    let path = built(COMPONENT);
    Entry::new("no-force-push", path.clone(), Digest::of_file(&path).unwrap())
}

pub(crate) fn agent(host: Host, provider: Arc<dyn Provider>, tool: IdleTool, sessions: Option<PathBuf>) -> Agent {
    let mut config = AgentConfig::new(std::env::temp_dir(), "model");
    config.max_turns = NonZeroU32::MAX;
    config.max_requests = NonZeroU32::MAX;
    config.max_depth = 0;
    config.sessions_dir = sessions;
    let tools = Toolbox::empty().with(Arc::new(tool)).unwrap();
    Agent::builder(host, provider, tools, config).build().unwrap()
}

/// A tool that does nothing. It sends the time of its start to `begun`.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTool {
    pub(crate) begun: Option<UnboundedSender<Instant>>,
}

#[async_trait]
impl Tool for IdleTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "bash",
            "Runs a command.",
            json!({ "type": "object", "properties": { "command": { "type": "string" } }, "additionalProperties": false }),
        )
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(begun) = &self.begun {
            let _ = begun.send(Instant::now());
        }
        Ok(ToolOutput::success("done"))
    }
}

/// A model that calls the tool in each of `turns` turns, and then ends with a text.
#[derive(Debug)]
pub(crate) struct CallingProvider {
    turns: usize,
    next: AtomicUsize,
}

impl CallingProvider {
    pub(crate) fn new(turns: usize) -> Arc<Self> {
        Arc::new(Self { turns, next: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Provider for CallingProvider {
    fn name(&self) -> &str {
        "bench"
    }

    async fn send(&self, _: Request) -> Result<DeltaStream, ProviderError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let (said, stop) = if turn < self.turns {
            let arguments = json!({ "command": "cargo test --workspace --all-targets && git status" });
            let call = ToolUse::new(format!("call-{turn}"), "bash", arguments);
            (Delta::ToolCall(call), StopReason::ToolCalls)
        } else {
            (Delta::Text("Done.".into()), StopReason::EndTurn)
        };
        let used = TokenUsage::new(100, 10);
        Ok(stream::iter([said, Delta::Usage(used), Delta::Stop(stop)].map(Ok)).boxed())
    }
}
