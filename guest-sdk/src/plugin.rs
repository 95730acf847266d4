//! The trait that a plugin implements. It has one method per event, and a plugin subscribes to an event by writing the
//! method.

use crate::types::{
    BatchVerdict, Compaction, CompactionVerdict, Completion, CompletionVerdict, Custom, CustomVerdict, Inference,
    InferenceVerdict, Plan, PlanSummary, PlanVerdict, Progress, RawRequest, RawResponse, RequestVerdict, Resolution,
    ResolutionVerdict, Response, ResponseVerdict, ResultSource, Session, Subagent, SubagentSummary, SubagentVerdict,
    Task, TaskVerdict, TextVerdict, ToolCall, ToolCallVerdict, ToolResult, ToolResultVerdict, Turn, TurnSummary,
    TurnVerdict, Usage, UsageVerdict,
};
use crate::{Tool, Verdict};

/// A hookhost plugin. Implement it under [`#[plugin]`](crate::plugin), and write a method for each event to which you
/// want to subscribe. The host sends only these events.
///
/// The methods take no `self`, because every event gets a fresh instance of the component. All methods can read a value
/// that [`configure`](Plugin::configure) stores, for example in a [`Configured`](crate::Configured). A value that any
/// other method stores is lost.
///
/// A *gate* is called before an action and can stop the action, change it, or have a person decide. A *transform* gets
/// a value before it is passed on and can replace it. A method to *observe* is called after something has happened, and
/// it returns nothing.
#[expect(unused_variables, reason = "the defaults ignore what they are told; the names are for the documentation")]
pub trait Plugin {
    /// The argument of [`configure`](Plugin::configure). `#[plugin]` takes it from that method's signature.
    type Config: serde::de::DeserializeOwned;

    /// The contract's names of the events for which the plugin has methods. `#[plugin]` fills in this constant.
    #[doc(hidden)]
    const EVENTS: &'static [&'static str] = &[];

    /// True if the plugin has the methods `tools` and `call_tool`. `#[plugin]` fills it in.
    #[doc(hidden)]
    const BRINGS_TOOLS: bool = false;

    /// True if the plugin has the method `configure`. `#[plugin]` fills it in.
    #[doc(hidden)]
    const CONFIGURES: bool = false;

    /// The version of the plugin's crate. `#[plugin]` fills it in.
    #[doc(hidden)]
    const VERSION: &'static str = "";

    // ------------------------------------------------------------ set-up

    /// Called once, when the plugin is loaded, with the `[plugin.config]` table of its allowlist entry. The only
    /// capability that this method can use is `log`. When it returns, the host keeps the memory of the component, and
    /// each event starts with a copy of this memory.
    ///
    /// Derive `serde::Deserialize` for your own struct. With `#[serde(deny_unknown_fields)]`, a misspelt key is an
    /// error. With `#[serde(rename_all = "kebab-case")]`, keys have the same spelling as in the rest of the file.
    ///
    /// # Errors
    /// Return one sentence that names the setting. The host then refuses to load the plugin and shows the sentence.
    fn configure(config: Self::Config) -> Result<(), String> {
        Ok(())
    }

    // ------------------------------------------------------------ session and prompt

    /// Called once, when a session opens, before any gate. The returned tasks are added to the agent's queue.
    fn session_start(session: &Session) -> Vec<Task> {
        Vec::new()
    }

    /// Observe. Called once when a session ends, for whatever reason. `usage` contains the token counts of the whole
    /// session.
    fn session_end(session: &Session, usage: &Usage) {}

    /// Transform. The user has sent a prompt; the model has not seen it.
    fn prompt_submit(session: &Session, prompt: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ turns

    /// Gate. A turn begins. Its request to the model is not complete yet. A refusal ends the task.
    fn turn_start(session: &Session, turn: &Turn) -> TurnVerdict {
        Verdict::allow()
    }

    /// Observe. A turn has ended, because its tool calls have results or because its text is final.
    fn turn_end(session: &Session, turn: &TurnSummary) {}

    // ------------------------------------------------------------ inference

    /// Gate. The model of a session is being chosen, before the first task. A refusal ends the session.
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

    /// Transform. Called with a complete answer of the model, before any part of the answer is used. If a plugin has
    /// this method, no text is shown while an answer streams in, and no tool starts before the answer is complete.
    fn response_receive(session: &Session, response: &RawResponse) -> ResponseVerdict {
        Verdict::keep()
    }

    /// Transform. Called while an answer streams in, with a part of the text for the user. The part consists of
    /// complete lines, or of 4 KiB of a longer line.
    fn stream_delta(session: &Session, delta: &str) -> TextVerdict {
        Verdict::keep()
    }

    /// Observe. The stream of one answer has ended. `text` is the whole text of the answer.
    fn stream_end(session: &Session, text: &str) {}

    /// Observe. One answer of the model is complete. Gates may have received the answer's tool calls earlier, because
    /// each tool call is sent to gates as soon as it is complete.
    fn after_inference(session: &Session, response: &Response) {}

    /// Gate. Called after each answer of the model, with the tokens that the answer used. After a refusal, the task
    /// makes no further model calls.
    fn token_usage(session: &Session, usage: &Usage) -> UsageVerdict {
        Verdict::allow()
    }

    /// Transform. Called with the final text of a task, before the user sees the text and before it is stored.
    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tools

    /// Gate. Called with all tool calls of one answer. Each call has already passed
    /// [`before_tool_call`](Plugin::before_tool_call). A plugin cannot change the calls here, and a refusal stops all
    /// of them.
    fn before_tools(session: &Session, calls: &[ToolCall]) -> BatchVerdict {
        Verdict::allow()
    }

    /// Gate. Called before each tool call, and again if another plugin has changed the call since.
    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        Verdict::allow()
    }

    /// Transform. Called with the result of a tool call, before the model sees the result.
    fn after_tool_call(
        session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        source: ResultSource,
    ) -> ToolResultVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ sub-agents

    /// Gate. A sub-agent is about to start. `session` is the session of the agent that starts it. If the plugin
    /// refuses, the refusal becomes the result of the call that should have started the sub-agent.
    fn subagent_start(session: &Session, subagent: &Subagent) -> SubagentVerdict {
        Verdict::allow()
    }

    /// Observe. A sub-agent has ended. `session` is the session of the agent that started it.
    fn subagent_end(session: &Session, subagent: &SubagentSummary) {}

    // ------------------------------------------------------------ compaction

    /// Gate. The conversation has almost filled the model's context window, and its older part is about to be
    /// summarised.
    fn before_compaction(session: &Session, compaction: &Compaction) -> CompactionVerdict {
        Verdict::allow()
    }

    /// Transform. Called with the summary that will replace the older part of the conversation.
    fn after_compaction(session: &Session, summary: &str) -> TextVerdict {
        Verdict::keep()
    }

    // ------------------------------------------------------------ tasks, errors, everything

    /// Gate. A task from the queue is about to begin. The user's prompt is a task, too.
    fn task_start(session: &Session, task: &Task) -> TaskVerdict {
        Verdict::allow()
    }

    /// Gate. The agent proposes a plan. The tasks of the plan are not queued yet.
    fn plan_submit(session: &Session, plan: &Plan) -> PlanVerdict {
        Verdict::allow()
    }

    /// Called when a task has ended. If the verdict contains tasks, they are added to the agent's queue.
    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Observe. All tasks of a plan have ended or left the queue.
    fn plan_complete(session: &Session, plan: &PlanSummary) {}

    /// Called when all tasks have ended and the queue is empty. If the verdict contains tasks, they are added to the
    /// agent's queue.
    fn queue_empty(session: &Session, progress: &Progress) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Called when the agent could not continue because a provider failed or a limit was reached.
    fn agent_error(session: &Session, message: &str) -> CompletionVerdict {
        Verdict::allow()
    }

    /// Gate. An event that the embedding program defines. `event.name` is the name of the event.
    fn custom_event(session: &Session, event: &Custom) -> CustomVerdict {
        Verdict::allow()
    }

    /// Observe. Called with every record of the audit log, as JSON, if the plugin has the grant `audit`. The log
    /// contains no record about this call, so the call's effects are not stored. A write to the state returns an error,
    /// and a finding or reminder makes the call fail. The method can still read the state and send requests.
    fn audit_record(session: &Session, entry: &str) {}

    // ------------------------------------------------------------ tools that the plugin brings

    /// Returns the tools that this plugin adds. A plugin with this method also needs [`call_tool`](Plugin::call_tool).
    fn tools() -> Vec<Tool> {
        Vec::new()
    }

    /// Runs one of the plugin's [`tools`](Plugin::tools) in the sandbox. `arguments` is a JSON object: pass it to
    /// [`parse`](crate::parse).
    fn call_tool(session: &Session, name: &str, arguments: &str) -> ToolResult {
        ToolResult::new(format!("there is no tool `{name}`")).failed()
    }
}
