//! The trait that a plugin implements: one method per event, and nothing else to register.

use crate::types::{
    BatchVerdict, Compaction, CompactionVerdict, Completion, CompletionVerdict, Custom, CustomVerdict, Inference,
    InferenceVerdict, Plan, PlanSummary, PlanVerdict, Progress, RawRequest, RawResponse, RequestVerdict, Resolution,
    ResolutionVerdict, Response, ResponseVerdict, ResultSource, Session, Subagent, SubagentSummary, SubagentVerdict,
    Task, TaskVerdict, TextVerdict, ToolCall, ToolCallVerdict, ToolResult, ToolResultVerdict, Turn, TurnSummary,
    TurnVerdict, Usage, UsageVerdict,
};
use crate::{Tool, Verdict};

/// A hookhost plugin. Implement it under [`#[plugin]`](crate::plugin) and write a method for each
/// event that you want to subscribe to: each method that you write is exported, and the host asks
/// about nothing else.
///
/// The methods take no `self`, since every event gets a fresh instance of the component. What
/// [`configure`](Plugin::configure) stores, in a [`Configured`](crate::Configured) for instance, is there in
/// each of them; what another method stores is gone.
///
/// A *gate* is asked before something happens and can stop, change or defer it. A *transform* is handed a value on its
/// way and can replace it. What is *observed* has happened, and there is no answer.
#[expect(unused_variables, reason = "the defaults ignore what they are told; the names are for the documentation")]
pub trait Plugin {
    /// What [`configure`](Plugin::configure) takes. `#[plugin]` fills it in from that method's signature.
    type Config: serde::de::DeserializeOwned;

    /// The events whose methods are written, as the contract names them. `#[plugin]` fills it in.
    #[doc(hidden)]
    const EVENTS: &'static [&'static str] = &[];

    /// Whether `tools` and `call_tool` are written. `#[plugin]` fills it in.
    #[doc(hidden)]
    const BRINGS_TOOLS: bool = false;

    /// Whether `configure` is written. `#[plugin]` fills it in.
    #[doc(hidden)]
    const CONFIGURES: bool = false;

    /// The version of the plugin's crate. `#[plugin]` fills it in.
    #[doc(hidden)]
    const VERSION: &'static str = "";

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

    // ------------------------------------------------------------ turns

    /// Gate. A turn begins; its request is not put together yet. A refusal ends the task.
    fn turn_start(session: &Session, turn: &Turn) -> TurnVerdict {
        Verdict::allow()
    }

    /// Observe. A turn has ended: its calls have their results, or its text is final.
    fn turn_end(session: &Session, turn: &TurnSummary) {}

    // ------------------------------------------------------------ inference

    /// Gate. It is settled which model a session uses, before its first task. A refusal ends the session.
    fn provider_resolve(session: &Session, resolution: &Resolution) -> ResolutionVerdict {
        Verdict::allow()
    }

    /// Gate. Before each request to a model. A refusal ends the task.
    fn before_inference(session: &Session, request: &Inference) -> InferenceVerdict {
        Verdict::allow()
    }

    /// Gate. After [`before_inference`](Plugin::before_inference), about the body that is sent, in the provider's own
    /// protocol. A refusal ends the task.
    fn request_send(session: &Session, request: &RawRequest) -> RequestVerdict {
        Verdict::allow()
    }

    /// Transform. An answer, whole, before anything of it is used: where a plugin writes this,
    /// nothing is shown while an answer streams in, and no tool starts before it is complete.
    fn response_receive(session: &Session, response: &RawResponse) -> ResponseVerdict {
        Verdict::keep()
    }

    /// Transform. While an answer streams in: whole lines, or 4 KiB where a line is longer. What the user is shown.
    fn stream_delta(session: &Session, delta: &str) -> TextVerdict {
        Verdict::keep()
    }

    /// Observe. The stream of one answer has ended; `text` is all of its text.
    fn stream_end(session: &Session, text: &str) {}

    /// Observe. One answer of the model is complete. Its tool calls are asked about as each of them
    /// is complete, which may be before.
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

    /// Gate. The calls of one response together, each already settled by
    /// [`before_tool_call`](Plugin::before_tool_call). It cannot change them, and a refusal stops
    /// them all.
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

    // ------------------------------------------------------------ sub-agents

    /// Gate. A sub-agent is about to be started; `session` is that of the agent that starts it. A
    /// refusal is the result of the call.
    fn subagent_start(session: &Session, subagent: &Subagent) -> SubagentVerdict {
        Verdict::allow()
    }

    /// Observe. A sub-agent has ended; `session` is that of the agent that started it.
    fn subagent_end(session: &Session, subagent: &SubagentSummary) {}

    // ------------------------------------------------------------ compaction

    /// Gate. The conversation nears the model's context window; its older part is about to be summarised.
    fn before_compaction(session: &Session, compaction: &Compaction) -> CompactionVerdict {
        Verdict::allow()
    }

    /// Transform. The summary that takes the place of the older part of the conversation.
    fn after_compaction(session: &Session, summary: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tasks, errors, everything

    /// Gate. A task of the queue is about to begin, the user's own prompt included.
    fn task_start(session: &Session, task: &Task) -> TaskVerdict {
        Verdict::allow()
    }

    /// Gate. The agent proposes a plan; its tasks are not queued yet.
    fn plan_submit(session: &Session, plan: &Plan) -> PlanVerdict {
        Verdict::allow()
    }

    /// When a task has ended. The tasks that the verdict continues with join the agent's queue.
    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Observe. All tasks of a plan have ended, or were taken out of the queue.
    fn plan_complete(session: &Session, plan: &PlanSummary) {}

    /// When all tasks have ended and none is queued. The tasks that the verdict continues with join the agent's queue.
    fn queue_empty(session: &Session, progress: &Progress) -> CompletionVerdict {
        Verdict::allow()
    }

    /// When the agent could not continue: a provider failed, a limit was reached.
    fn agent_error(session: &Session, message: &str) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Gate. An event that an embedding program defines for itself; `event.name` says which.
    fn custom_event(session: &Session, event: &Custom) -> CustomVerdict {
        Verdict::allow()
    }

    /// Observe. Every record of the audit log, as JSON, for plugins with the grant `audit`. What
    /// this does has no record in turn, so nothing of it is kept: writing to the state is an error,
    /// and to report a finding or give a reminder ends the call as a failure. The state can be
    /// read, and requests be sent.
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
