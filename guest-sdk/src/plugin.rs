//! The trait that a plugin implements: one method per event, and nothing else to register.

use crate::types::{
    BatchVerdict, Completion, CompletionVerdict, Custom, CustomVerdict, Inference, InferenceVerdict, Plan, PlanVerdict,
    Response, ResultSource, Session, Task, TextVerdict, ToolCall, ToolCallVerdict, ToolResult, ToolResultVerdict,
    Usage, UsageVerdict,
};
use crate::{Tool, Verdict};

/// A hookhost plugin. Implement it under [`#[plugin]`](crate::plugin) and write the methods that you want to hear of:
/// each method that you write is exported, and the host asks about nothing else.
///
/// The methods take no `self`, since every event gets a fresh instance of the component. What
/// [`configure`](Plugin::configure) leaves behind, in a [`Configured`](crate::Configured) for instance, is there in
/// each of them; what another method leaves behind is gone.
///
/// A *gate* is asked before something happens and can stop, change or defer it. A *transform* is handed a value on its
/// way and can replace it. What is *observed* has happened, and there is no answer.
#[expect(unused_variables, reason = "the defaults ignore what they are told; the names are for the documentation")]
pub trait Plugin {
    /// What [`configure`](Plugin::configure) takes. `#[plugin]` fills it in from that method's signature.
    type Config: serde::de::DeserializeOwned;

    // ------------------------------------------------------------ set-up

    /// Called once, when the plugin is loaded, with the `[plugin.config]` table of its allowlist entry. Nothing but
    /// the `log` capability answers here. The memory that it leaves is what each event starts from.
    ///
    /// Derive `serde::Deserialize` for your own struct; `#[serde(deny_unknown_fields)]` turns a misspelt key into an
    /// error, and `#[serde(rename_all = "kebab-case")]` gives keys the spelling of the rest of the file.
    ///
    /// # Errors
    /// One sentence that names the setting. The host then refuses to load the plugin and shows it.
    fn configure(config: Self::Config) -> Result<(), String> {
        Ok(())
    }

    // ------------------------------------------------------------ session and prompt

    /// Once, when a session opens, before any gate. The tasks join the agent's queue.
    fn session_start(session: &Session) -> Vec<Task> {
        Vec::new()
    }

    /// Observe. Once, when a session ends, however it ends. `usage` holds the session's totals.
    fn session_end(session: &Session, usage: &Usage) {}

    /// Transform. The user has sent a prompt; the model has not seen it.
    fn prompt_submit(session: &Session, prompt: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ inference

    /// Gate. Before each request to a model. A refusal ends the task.
    fn before_inference(session: &Session, request: &Inference) -> InferenceVerdict {
        Verdict::allow()
    }

    /// Transform. While an answer streams in: whole lines, or 4 KiB where a line is longer. What the user is shown.
    fn stream_delta(session: &Session, delta: &str) -> TextVerdict {
        Verdict::keep()
    }

    /// Observe. The stream of one answer has ended; `text` is all of its text.
    fn stream_end(session: &Session, text: &str) {}

    /// Observe. One answer of the model is complete; its tool calls have not been asked about.
    fn after_inference(session: &Session, response: &Response) {}

    /// Gate. After each answer of the model, with what it used. A refusal means no further model call in this task.
    fn token_usage(session: &Session, usage: &Usage) -> UsageVerdict {
        Verdict::allow()
    }

    /// Transform. The final text of a task, before the user sees it and before it is stored.
    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tools

    /// Gate. The calls of one response together, each already settled by [`before_tool_call`](Plugin::before_tool_call).
    /// It cannot change them, and a refusal stops them all.
    fn before_tools(session: &Session, calls: &[ToolCall]) -> BatchVerdict {
        Verdict::allow()
    }

    /// Gate. Before each tool call, and again whenever another plugin has changed the call since.
    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        Verdict::allow()
    }

    /// Transform. The result of a tool call, before the model sees it.
    fn after_tool_call(
        session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        source: ResultSource,
    ) -> ToolResultVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tasks, errors, everything

    /// Gate. The agent proposes a plan; its tasks are not queued yet.
    fn plan_submit(session: &Session, plan: &Plan) -> PlanVerdict {
        Verdict::allow()
    }

    /// When a task has ended. What it goes on with joins the agent's queue.
    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        Verdict::allow()
    }

    /// When the agent could not go on: a provider failed, a limit was reached.
    fn agent_error(session: &Session, message: &str) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Gate. An event that an embedding program defines for itself; `event.name` says which.
    fn custom_event(session: &Session, event: &Custom) -> CustomVerdict {
        Verdict::allow()
    }

    /// Observe. Every record of the audit log, as JSON, for plugins with the grant `audit`.
    fn audit_record(session: &Session, entry: &str) {}

    // ------------------------------------------------------------ tools that the plugin brings

    /// The tools that this plugin brings. Write [`call_tool`](Plugin::call_tool) with it.
    fn tools() -> Vec<Tool> {
        Vec::new()
    }

    /// Runs one of [`tools`](Plugin::tools) in the sandbox. `arguments` is a JSON object: hand it to
    /// [`parse`](crate::parse).
    fn call_tool(session: &Session, name: &str, arguments: &str) -> ToolResult {
        ToolResult::new(format!("there is no tool `{name}`")).failed()
    }
}
