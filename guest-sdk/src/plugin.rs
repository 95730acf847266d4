//! The trait that a plugin implements: one method per event, and nothing else to register.

use crate::types::{
    BatchVerdict, Compaction, CompactionVerdict, Completion, CompletionVerdict, Custom, CustomVerdict, Inference,
    InferenceVerdict, Plan, PlanSummary, PlanVerdict, Progress, RawRequest, RawResponse, RequestVerdict, Resolution,
    ResolutionVerdict, Response, ResponseVerdict, ResultSource, Session, Subagent, SubagentSummary, SubagentVerdict,
    Task, TaskVerdict, TextVerdict, ToolCall, ToolCallVerdict, ToolResult, ToolResultVerdict, Turn, TurnSummary,
    TurnVerdict, Usage, UsageVerdict,
};
use crate::{Tool, Verdict};

/// A hookhost plugin. Implement it under [`#[plugin]`](crate::plugin) and write a method for each event that you want to subscribe to. Each
/// method that you write is exported, and the host sends no other events.
///
/// The methods take no `self`, because every event gets a fresh instance of the component. A value that [`configure`](Plugin::configure)
/// stores, in a [`Configured`](crate::Configured) for instance, is available to each of them. A value that another method stores is lost.
///
/// A *gate* is called before something happens and can stop, change or defer it. A *transform* gets a value on its way and can replace it.
/// An event to *observe* has already happened and takes no answer.
#[expect(unused_variables, reason = "the defaults ignore what they are told; the names are for the documentation")]
pub trait Plugin {
    /// The argument of [`configure`](Plugin::configure). `#[plugin]` takes it from that method's signature.
    type Config: serde::de::DeserializeOwned;

    /// The events whose methods are written, under their names in the contract. `#[plugin]` fills it in.
    #[doc(hidden)]
    const EVENTS: &'static [&'static str] = &[];

    /// True if `tools` and `call_tool` are written. `#[plugin]` fills it in.
    #[doc(hidden)]
    const BRINGS_TOOLS: bool = false;

    /// True if `configure` is written. `#[plugin]` fills it in.
    #[doc(hidden)]
    const CONFIGURES: bool = false;

    /// The version of the plugin's crate. `#[plugin]` fills it in.
    #[doc(hidden)]
    const VERSION: &'static str = "";

    // ------------------------------------------------------------ set-up

    /// Called once, when the plugin is loaded, with the `[plugin.config]` table of its allowlist entry. Only the `log` capability works
    /// here. Each event starts from the memory that this call leaves.
    ///
    /// Derive `serde::Deserialize` for your own struct. `#[serde(deny_unknown_fields)]` turns a misspelt key into an error, and
    /// `#[serde(rename_all = "kebab-case")]` gives keys the spelling of the rest of the file.
    ///
    /// # Errors
    /// Return one sentence that names the setting. The host then refuses to load the plugin and shows the sentence.
    fn configure(config: Self::Config) -> Result<(), String> {
        Ok(())
    }

    // ------------------------------------------------------------ session and prompt

    /// Called once, when a session opens, before any gate. The tasks join the agent's queue.
    fn session_start(session: &Session) -> Vec<Task> {
        Vec::new()
    }

    /// Observe. Called once when a session ends, however it ends. `usage` holds the session's totals.
    fn session_end(session: &Session, usage: &Usage) {}

    /// Transform. The user has sent a prompt; the model has not seen it.
    fn prompt_submit(session: &Session, prompt: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ turns

    /// Gate. A turn begins; its request is not complete yet. A refusal ends the task.
    fn turn_start(session: &Session, turn: &Turn) -> TurnVerdict {
        Verdict::allow()
    }

    /// Observe. A turn has ended: its calls have their results, or its text is final.
    fn turn_end(session: &Session, turn: &TurnSummary) {}

    // ------------------------------------------------------------ inference

    /// Gate. The model of a session is chosen, before its first task. A refusal ends the session.
    fn provider_resolve(session: &Session, resolution: &Resolution) -> ResolutionVerdict {
        Verdict::allow()
    }

    /// Gate. Called before each request to a model. A refusal ends the task.
    fn before_inference(session: &Session, request: &Inference) -> InferenceVerdict {
        Verdict::allow()
    }

    /// Gate. Called after [`before_inference`](Plugin::before_inference) with the body to send, in the provider's own protocol. A refusal
    /// ends the task.
    fn request_send(session: &Session, request: &RawRequest) -> RequestVerdict {
        Verdict::allow()
    }

    /// Transform. A whole answer, before any part of it is used. If a plugin writes this method, nothing is shown while an answer streams
    /// in, and no tool starts before the answer is complete.
    fn response_receive(session: &Session, response: &RawResponse) -> ResponseVerdict {
        Verdict::keep()
    }

    /// Transform. Text for the user while an answer streams in: whole lines, or 4 KiB of a longer line.
    fn stream_delta(session: &Session, delta: &str) -> TextVerdict {
        Verdict::keep()
    }

    /// Observe. The stream of one answer has ended; `text` is all of its text.
    fn stream_end(session: &Session, text: &str) {}

    /// Observe. One answer of the model is complete. Its tool calls are sent to gates as soon as each of them is complete, which may be
    /// earlier.
    fn after_inference(session: &Session, response: &Response) {}

    /// Gate. Called after each answer of the model, with the tokens that it used. A refusal means no further model call in this task.
    fn token_usage(session: &Session, usage: &Usage) -> UsageVerdict {
        Verdict::allow()
    }

    /// Transform. The final text of a task, before the user sees it and before it is stored.
    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tools

    /// Gate. The calls of one response together, each already settled by [`before_tool_call`](Plugin::before_tool_call). It cannot change
    /// them, and a refusal stops them all.
    fn before_tools(session: &Session, calls: &[ToolCall]) -> BatchVerdict {
        Verdict::allow()
    }

    /// Gate. Called before each tool call, and again whenever another plugin has changed the call since.
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

    /// Gate. A sub-agent is about to start; `session` is that of the agent that starts it. A refusal becomes the result of the call.
    fn subagent_start(session: &Session, subagent: &Subagent) -> SubagentVerdict {
        Verdict::allow()
    }

    /// Observe. A sub-agent has ended; `session` is that of the agent that started it.
    fn subagent_end(session: &Session, subagent: &SubagentSummary) {}

    // ------------------------------------------------------------ compaction

    /// Gate. The conversation nears the model's context window, and its older part is about to be summarised.
    fn before_compaction(session: &Session, compaction: &Compaction) -> CompactionVerdict {
        Verdict::allow()
    }

    /// Transform. The summary that replaces the older part of the conversation.
    fn after_compaction(session: &Session, summary: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tasks, errors, everything

    /// Gate. A task of the queue is about to begin, including the user's own prompt.
    fn task_start(session: &Session, task: &Task) -> TaskVerdict {
        Verdict::allow()
    }

    /// Gate. The agent proposes a plan; its tasks are not queued yet.
    fn plan_submit(session: &Session, plan: &Plan) -> PlanVerdict {
        Verdict::allow()
    }

    /// Called when a task has ended. The tasks that the verdict continues with join the agent's queue.
    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Observe. All tasks of a plan have ended or left the queue.
    fn plan_complete(session: &Session, plan: &PlanSummary) {}

    /// Called when all tasks have ended and none is queued. The tasks that the verdict continues with join the agent's queue.
    fn queue_empty(session: &Session, progress: &Progress) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Called when the agent could not continue: a provider failed, or a limit was reached.
    fn agent_error(session: &Session, message: &str) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Gate. An event that an embedding program defines; `event.name` has its name.
    fn custom_event(session: &Session, event: &Custom) -> CustomVerdict {
        Verdict::allow()
    }

    /// Observe. Every record of the audit log, as JSON, for plugins with the grant `audit`. The effects of this method have no record in
    /// turn and are not kept: writing to the state is an error, and reporting a finding or giving a reminder ends the call as a failure.
    /// The method can read the state and send requests.
    fn audit_record(session: &Session, entry: &str) {}

    // ------------------------------------------------------------ tools that the plugin brings

    /// Returns the tools that this plugin adds. Write [`call_tool`](Plugin::call_tool) with it.
    fn tools() -> Vec<Tool> {
        Vec::new()
    }

    /// Runs one of [`tools`](Plugin::tools) in the sandbox. `arguments` is a JSON object: pass it to [`parse`](crate::parse).
    fn call_tool(session: &Session, name: &str, arguments: &str) -> ToolResult {
        ToolResult::new(format!("there is no tool `{name}`")).failed()
    }
}
