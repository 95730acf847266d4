//! Calls the tools of plugins, records the calls, and applies their effects.
//!
//! A call of a tool is not an event. The events about the call (`before-tool-call`, `after-tool-call`) are dispatched
//! before and after it. Several calls of one session may run at the same time, even while events are dispatched.

use super::dispatch::{Durability, RecordEffects, written_labels};
use super::handle::Session;
use super::inner::SessionInner;
use super::invocation::{self, CallEffects, Invocation};
use crate::active_config::ActiveConfig;
use crate::audit::{Header, ToolRun, raw};
use crate::contract::{self, Failure, ToolResult};
use crate::facts::{AgentContext, FactReader};
use crate::plugin::Plugin;
use crate::sandbox::GuestSetup;
use crate::sandbox::capability::EventFacts;
use serde_json::Value;
use std::sync::Arc;

/// The tools of plugins, for calls in one session.
///
/// ```
/// use hookhost::{Config, Host};
/// use hookhost_guest::prelude::*;
///
/// /// A plugin of the guest SDK that brings a tool.
/// struct Words;
///
/// #[plugin]
/// impl Plugin for Words {
///     fn tools() -> Vec<Tool> {
///         let properties = json!({ "text": { "type": "string" } });
///         let schema = json!({ "type": "object", "properties": properties, "required": ["text"] });
///         vec![Tool::new("count", "Counts the words of a text.", schema)]
///     }
///
///     fn call_tool(_: &Session, _: &str, arguments: &str) -> ToolResult {
///         let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
///         let words = arguments["text"].as_str().unwrap_or_default().split_whitespace().count();
///         ToolResult::new(words.to_string())
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder(Config::empty()).native::<Words>("words", json!({})).build().await?;
/// // What the model is offered: name, description and schema.
/// assert_eq!(host.tools()[0].full_name, "words__count");
///
/// let session = host.session("my-agent", "/work")?;
/// let result = session.plugin_tools().call("words", "count", &json!({ "text": "to be or not to be" })).await?;
/// assert_eq!(result.text, "6");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct PluginTools {
    shared: Arc<SessionInner>,
}

/// The reason why a tool of a plugin gave no result. The message is suitable for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolCallError {
    /// There is no such tool. The configuration may have changed since the tools were listed.
    #[error("the plugin {plugin} has no tool `{tool}`; the configuration may have changed")]
    Unknown {
        /// The plugin.
        plugin: String,
        /// The plugin's own name for the tool.
        tool: String,
    },
    /// The plugin failed, so the call has no effects.
    #[error("the tool `{tool}` failed: the plugin {plugin} {failure}")]
    Failed {
        /// The plugin.
        plugin: String,
        /// The plugin's own name for the tool.
        tool: String,
        /// The failure.
        failure: Failure,
    },
    /// The session has ended.
    #[error("the tool `{tool}` of the plugin {plugin} was not called: the session has ended")]
    Ended {
        /// The plugin.
        plugin: String,
        /// The plugin's own name for the tool.
        tool: String,
    },
    /// The call could not be recorded, so none of its effects is applied.
    #[error("the tool `{tool}` of the plugin {plugin} gave a result that could not be recorded: {reason}")]
    NotRecorded {
        /// The plugin.
        plugin: String,
        /// The plugin's own name for the tool.
        tool: String,
        /// The reason.
        reason: String,
    },
}

impl Session {
    /// Returns the tools of plugins, which can be called in this session. [`crate::Host::tools`] lists them.
    #[must_use]
    pub fn plugin_tools(&self) -> PluginTools {
        PluginTools { shared: Arc::clone(&self.shared) }
    }
}

impl PluginTools {
    /// Calls a tool in a fresh instance of its plugin, under the plugin's limits and grants, and records the call.
    /// The writes, reminders and findings of the call are applied only if it returns a result. `arguments` must match
    /// the tool's schema. A tool that fails does not trip its plugin.
    ///
    /// # Errors
    /// If the session has ended, there is no such tool, the plugin fails, or the call cannot be recorded.
    pub async fn call(&self, plugin: &str, tool: &str, arguments: &Value) -> Result<ToolResult, ToolCallError> {
        if self.shared.is_over() {
            return Err(ToolCallError::Ended { plugin: plugin.to_owned(), tool: tool.to_owned() });
        }
        let rules = self.shared.config();
        let found = rules.plugins().iter().find(|loaded| loaded.name() == plugin);
        let Some(found) = found.filter(|plugin| plugin.tools().iter().any(|known| known.name == tool)) else {
            return Err(ToolCallError::Unknown { plugin: plugin.to_owned(), tool: tool.to_owned() });
        };
        let mut call = Call::new(&self.shared, &rules, found, tool, arguments);
        let answer = call.run(found, tool).await;
        let recorded = call.conclude(found, answer.as_ref().ok()).await;
        let (plugin, tool) = (plugin.to_owned(), tool.to_owned());
        match (answer, recorded) {
            (Ok(_), Err(reason)) => Err(ToolCallError::NotRecorded { plugin, tool, reason }),
            (Ok(result), Ok(())) => Ok(result),
            (Err(failure), _) => Err(ToolCallError::Failed { plugin, tool, failure }),
        }
    }
}

/// A running call.
struct Call<'a> {
    session: &'a Arc<SessionInner>,
    rules: &'a Arc<ActiveConfig>,
    info: Arc<contract::Session>,
    record: ToolRun,
    /// The effects of the call, until it is recorded.
    did: Option<CallEffects>,
    concluded: bool,
}

/// A call is dropped if the caller no longer waits. In this case, the call is recorded, but none of its effects is
/// applied.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.concluded {
            self.record.not_replayable.push("the agent stopped waiting before the call returned".into());
            self.session.record_soon(self.rules, &self.info, &self.record);
        }
    }
}

impl<'a> Call<'a> {
    fn new(
        session: &'a Arc<SessionInner>,
        rules: &'a Arc<ActiveConfig>,
        plugin: &Plugin,
        tool: &str,
        arguments: &Value,
    ) -> Self {
        let info = session.info();
        let record = ToolRun {
            id: session.ids.next_call(),
            header: Header::new(&*info.id, session.services.now()),
            turn: info.turn,
            tool: tool.to_owned(),
            arguments: raw(arguments),
            call: invocation::record(plugin, 1),
            not_replayable: Vec::new(),
            redacted: std::collections::BTreeMap::new(),
        };
        Self { session, rules, info, record, did: None, concluded: false }
    }

    async fn run(&mut self, plugin: &Plugin, tool: &str) -> Result<ToolResult, Failure> {
        let arguments = self.record.arguments.get().to_owned();
        if let Some(failure) = invocation::too_large(plugin, "was not called: the arguments have", arguments.len()) {
            return Err(self.failed(failure));
        }
        let called = plugin.call_tool(&self.info, tool, &arguments, self.setup(plugin)).await;
        let (answer, did, why) = invocation::note(self.session, plugin, &mut self.record.call, called);
        self.record.not_replayable.extend(why);
        let answer = answer.map(|(result,)| result);
        if answer.is_ok() {
            self.did = Some(did);
        }
        answer.map_err(|failure| self.failed(failure))
    }

    fn failed(&mut self, failure: Failure) -> Failure {
        self.record.call.failure = Some(failure.clone());
        failure
    }

    fn setup(&self, plugin: &Plugin) -> Box<GuestSetup> {
        let session = self.session;
        let time = self.record.header.time;
        let snapshot = |_: &_| session.services.store.snapshot(&plugin.shared.name, session.lineage(), time);
        let parent_session = session.spec.parent.clone();
        let world = FactReader::new(Arc::clone(&self.info), AgentContext::default());
        let invocation = Invocation {
            session,
            plugin,
            facts: Arc::new(EventFacts { id: self.record.id.clone(), time, parent_session, raw: None, world }),
            round: 1,
            state: plugin.entry().grants.state.as_ref().map(snapshot),
            labels: plugin.entry().grants.labels.then(|| session.labels(time)),
            is_recorded: true,
            holds_turn: false,
            replayed: None,
            overload_deadline: self.rules.settings().overload_deadline,
        };
        invocation.setup()
    }

    /// Records the call and applies its effects. If the call cannot be recorded, no effects are applied.
    async fn conclude(mut self, plugin: &Plugin, result: Option<&ToolResult>) -> Result<(), String> {
        let mut reminders = Vec::new();
        let mut writes = Vec::new();
        if let Some(result) = result
            && let Some(CallEffects { writes: written, effects }) = self.did.take()
        {
            let call = &mut self.record.call;
            call.verdict = Some(raw(result));
            call.findings = effects.findings;
            if plugin.enforces() {
                call.labels = effects.labels;
                writes.extend(written_labels(&call.labels, &self.record.id, self.record.header.time));
            }
            reminders = effects.reminders;
            if let Some(written) = written.filter(|writes| !writes.is_empty()) {
                call.note_writes(&written);
                writes.push((Arc::clone(&plugin.shared.name), written));
            }
        }
        let with = RecordEffects { writes, reminders, question: None };
        let recorded = self.session.record(self.rules, &self.info, &self.record, with, Durability::Soon).await;
        self.concluded = true;
        match recorded {
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(%error, tool = self.record.tool, "a tool's call could not be recorded");
                self.record.call.void_effects();
                self.session.record_soon(self.rules, &self.info, &self.record);
                Err(error.to_string())
            }
        }
    }
}

impl std::fmt::Debug for PluginTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginTools").field("session", &self.shared.id).finish_non_exhaustive()
    }
}
