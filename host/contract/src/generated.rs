//! Generated from `wit/` by `cargo xtask contract`: change the WIT, not this file.

use crate::Json;
use serde::{Deserialize, Serialize};

/// The version of `hookhost:hooks` from which these types are generated.
pub const VERSION: &str = "0.1.0";

/// The agent session in which the event happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Session {
    /// Unique among all sessions.
    pub id: String,
    /// The agent program: "hookhost", "claude-code", "codex", …
    pub agent: String,
    /// Model calls made so far in this session.
    pub turn: u32,
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// Absolute working directory.
    pub cwd: String,
    /// Absolute root of the project that the agent works on.
    pub workspace: String,
    /// Whether a person is there to be asked.
    pub interactive: bool,
}

/// "No", and what the agent is to learn from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refusal {
    /// One sentence that the model may read. The host cuts it at 2 KiB and names the plugin.
    pub reason: String,
    /// Stable identifier of the rule, e.g. "shell.rm-rf-root".
    pub code: Option<String>,
    /// Whether another attempt, differently made, may succeed.
    pub retryable: bool,
    /// true ends the whole run, sub-agents included, unless the operator narrows that to the session; false lets the model
    /// continue with the refusal as its result.
    pub stop: bool,
}

/// "A person must decide."
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Escalation {
    /// What the person is asked.
    pub question: String,
    /// Stable identifier of the rule that asks.
    pub code: Option<String>,
}

/// Who brought a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOrigin {
    /// The agent itself.
    Builtin,
    /// The plugin of this name.
    Plugin(String),
    /// The MCP server of this name.
    Mcp(String),
    /// The agent's surroundings.
    External,
}

/// The language of a shell command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellDialect {
    /// sh, bash, zsh and their kin.
    Posix,
    /// PowerShell.
    Powershell,
    /// cmd.exe.
    Cmd,
    /// The agent does not say.
    Unknown,
}

/// A shell command and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShellCommand {
    /// The text that the shell reads.
    pub command: String,
    /// Working directory: the tool's own argument where it has one, otherwise the session's.
    pub cwd: String,
    /// The language of `command`.
    pub dialect: ShellDialect,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct McpTool {
    /// The server's name, where it is known.
    pub server: Option<String>,
    /// The tool's name on that server.
    pub tool: String,
}

/// What a tool call does. Paths are as the agent spelt them: a guard normalises before it compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Runs a shell command.
    Shell(ShellCommand),
    /// Reads this file or directory.
    ReadFile(String),
    /// Every path that the call creates, changes or deletes.
    WriteFiles(Vec<String>),
    /// Fetches this URL.
    Fetch(String),
    /// Calls a tool of an MCP server.
    Mcp(McpTool),
    /// Starts a sub-agent with this task.
    SpawnAgent(String),
    /// None of the above; a word for it where the agent has one, else empty. Where the arguments of a tool of a known kind
    /// cannot be read, the kind's name: "shell", "read-file", "write-files", "fetch" or "spawn-agent". A guard of that kind
    /// is asked about these, too.
    Other(String),
}

/// --- tools
/// A call of a tool that the model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolCall {
    /// The provider's identifier of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The whole arguments object.
    pub arguments: Json,
    /// What the call does, whatever the tool and its arguments are called.
    pub action: Action,
    /// Who brought the tool.
    pub origin: ToolOrigin,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The whole result where it is more than text: images, structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Json>,
}

/// Where a tool result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultSource {
    /// The tool ran.
    Tool,
    /// A plugin answered in its place.
    Plugin,
}

/// What a plugin answers to `before-tool-call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCallVerdict {
    /// No objection. Does not skip a person's approval.
    Allow,
    /// Allow, and no person need be asked; the text says why. Counts only with the grant `approve`; otherwise it is `allow`.
    Approve(String),
    /// Run with these arguments instead: a whole JSON object.
    Modify(Json),
    /// Do this instead: the host writes it back into the tool's own arguments, whatever they are called.
    Rewrite(Action),
    /// A person must decide; the other plugins are still asked, and a later `reject` outranks it.
    Escalate(Escalation),
    /// The tool does not run; the model gets the refusal as its result.
    Reject(Refusal),
    /// Do not run the tool: this is its result.
    Respond(ToolResult),
}

/// What a plugin answers to `before-tools`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchVerdict {
    /// No objection.
    Allow,
    /// A person must decide about the batch.
    Escalate(Escalation),
    /// None of the calls runs.
    Reject(Refusal),
}

/// What a plugin answers to `after-tool-call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolResultVerdict {
    /// It is used as it is.
    Keep,
    /// This result is used in its place.
    Replace(ToolResult),
    /// The model gets the refusal instead.
    Reject(Refusal),
}

/// What was used so far: by the session, and by the whole run: by the session that the user talks to and by all sub-agents
/// below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Totals {
    /// Tokens read in the session.
    #[serde(default)]
    pub session_input_tokens: u64,
    /// Tokens written in the session.
    #[serde(default)]
    pub session_output_tokens: u64,
    /// Tokens read in the run.
    #[serde(default)]
    pub run_input_tokens: u64,
    /// Tokens written in the run.
    #[serde(default)]
    pub run_output_tokens: u64,
    /// Requests to models that were sent in the run, repeated tries included.
    #[serde(default)]
    pub run_requests: u32,
}

/// --- inference
/// A request to a model that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Inference {
    /// Name of the provider as the agent is configured.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The system prompt of this request.
    pub system_prompt: String,
    /// The last user message.
    pub prompt: String,
    /// Names of the tools that the model is offered.
    pub tools: Vec<String>,
    /// Estimated size of the request, in tokens.
    pub input_tokens: u64,
    /// What was used before it; in JSON nothing where it is left out.
    #[serde(default)]
    pub used: Totals,
}

/// Changes to an `inference`. Absent fields stay as they are. They touch this request only; `tools` can only become
/// fewer, `provider` and `model` can only be configured ones: anything else is a failure of the plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InferenceChanges {
    /// Another configured provider.
    pub provider: Option<String>,
    /// Another configured model.
    pub model: Option<String>,
    /// Another system prompt.
    pub system_prompt: Option<String>,
    /// Another last user message.
    pub prompt: Option<String>,
    /// Fewer tools.
    pub tools: Option<Vec<String>>,
}

/// What a plugin answers to `before-inference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InferenceVerdict {
    /// No objection.
    Allow,
    /// Change this request.
    Modify(InferenceChanges),
    /// A person must decide.
    Escalate(Escalation),
    /// Do not send it.
    Reject(Refusal),
    /// Do not send it: this is the answer.
    Respond(String),
}

/// What the model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Response {
    /// The text of the answer, possibly empty.
    pub text: String,
    /// The tool calls that it asks for, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped, as the provider says it.
    pub stop_reason: String,
}

/// Tokens of the last model call, of the session so far, and of the whole run so far: of the session that the user talks
/// to and of all sub-agents below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// Tokens read in the last call, cached ones included.
    pub input_tokens: u64,
    /// Of those, the ones that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens written in the last call.
    pub output_tokens: u64,
    /// Tokens read in the session so far.
    pub session_input_tokens: u64,
    /// Tokens written in the session so far.
    pub session_output_tokens: u64,
    /// Tokens read in the whole run so far; in JSON 0 where it is left out.
    #[serde(default)]
    pub run_input_tokens: u64,
    /// Tokens written in the whole run so far; in JSON 0 where it is left out.
    #[serde(default)]
    pub run_output_tokens: u64,
}

/// What a plugin answers to `token-usage`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageVerdict {
    /// No objection.
    Allow,
    /// No further model call in this task.
    Reject(Refusal),
}

/// What a plugin answers to an event about a text on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextVerdict {
    /// It is used as it is.
    Keep,
    /// This text is used in its place.
    Replace(String),
    /// It is withheld.
    Reject(Refusal),
}

/// --- tasks
/// Work for the agent's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Task {
    /// What the agent is told to do.
    pub prompt: String,
    /// A short name for people.
    pub title: Option<String>,
}

/// Tasks that the agent proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    /// A short name for people.
    pub title: String,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
    /// Whether the waiting tasks of the agent's own earlier plans are dropped first; tasks of plugins and of the user
    /// stay.
    pub clear_existing: bool,
}

/// What a plugin answers to `plan-submit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanVerdict {
    /// No objection.
    Allow,
    /// This plan instead.
    Modify(Plan),
    /// A person must decide.
    Escalate(Escalation),
    /// Nothing is queued.
    Reject(Refusal),
}

/// How a task ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Completion {
    /// "success", "rejected", "max-turns", "max-tokens", "max-time", "error" or "cancelled".
    pub status: String,
    /// Model calls of the task.
    pub turns: u32,
    /// Tokens read in the task.
    pub input_tokens: u64,
    /// Tokens written in the task.
    pub output_tokens: u64,
}

/// What a plugin answers to `task-complete`, `queue-empty` and `agent-error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionVerdict {
    /// Nothing to add.
    Finish,
    /// These tasks join the queue.
    GoOn(Vec<Task>),
}

/// What a plugin answers to `task-start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskVerdict {
    /// No objection.
    Allow,
    /// This task instead.
    Modify(Task),
    /// A person must decide.
    Escalate(Escalation),
    /// The task does not begin.
    Reject(Refusal),
}

/// The outcome of a plan's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanSummary {
    /// The plan's title.
    pub title: String,
    /// How many tasks it had.
    pub tasks: u32,
    /// How many of them ended as "success".
    pub completed: u32,
}

/// What a session has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    /// Tasks that have ended.
    pub tasks: u32,
    /// Model calls.
    pub turns: u32,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// --- turns
/// A turn of the agent: one request to a model, its answer, and the tool calls of that answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Turn {
    /// Turns begun in the session, this one included.
    pub number: u32,
    /// Turns begun in the task, this one included.
    pub number_in_task: u32,
}

/// What a plugin answers to `turn-start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnVerdict {
    /// No objection.
    Allow,
    /// A person must decide.
    Escalate(Escalation),
    /// The turn does not begin.
    Reject(Refusal),
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TurnSummary {
    /// As in `turn`.
    pub number: u32,
    /// As in `turn`.
    pub number_in_task: u32,
    /// How many tools its answer called.
    pub tool_calls: u32,
    /// Tokens read by its model call, cached ones included.
    pub input_tokens: u64,
    /// Of those, the ones that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens written by its model call.
    pub output_tokens: u64,
}

/// --- a provider's side of a request
/// A model of a configured provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelChoice {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
}

/// The model that a session is to use, and those that it can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Resolution {
    /// The one it is to use.
    pub chosen: ModelChoice,
    /// All that are configured.
    pub candidates: Vec<ModelChoice>,
}

/// What a plugin answers to `provider-resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionVerdict {
    /// No objection.
    Allow,
    /// This one of the candidates instead.
    Modify(ModelChoice),
    /// The session uses none.
    Reject(Refusal),
}

/// A request as the provider's protocol has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RawRequest {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The body alone, never a header or a key.
    pub body: Json,
}

/// What a plugin answers to `request-send`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestVerdict {
    /// No objection.
    Allow,
    /// This body instead.
    Modify(Json),
    /// A person must decide.
    Escalate(Escalation),
    /// Do not send it.
    Reject(Refusal),
}

/// An answer as it came, put together where it came in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RawResponse {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// An object of "text", "tool-calls" (each with "id", "name" and "arguments"), "stop-reason" and, where the provider
    /// counts, "usage".
    pub body: Json,
}

/// What a plugin answers to `response-receive`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseVerdict {
    /// It is used as it is.
    Keep,
    /// This answer is used in its place.
    Replace(Json),
    /// Nothing of it is used.
    Reject(Refusal),
}

/// --- sub-agents
/// A sub-agent that is about to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Subagent {
    /// The tool call that asks for it.
    pub call_id: String,
    /// How deep it will be: 1 for one that the user's own agent starts.
    pub depth: u32,
    /// Its task.
    pub prompt: String,
}

/// What a plugin answers to `subagent-start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentVerdict {
    /// No objection.
    Allow,
    /// This prompt instead.
    Modify(String),
    /// A person must decide.
    Escalate(Escalation),
    /// It is not started.
    Reject(Refusal),
}

/// The outcome of a sub-agent. The numbers are of its whole session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SubagentSummary {
    /// Its own session's id.
    pub session: String,
    /// The tool call that asked for it.
    pub call_id: String,
    /// As in `completion`.
    pub status: String,
    /// Its final text, as it may be shown.
    pub text: String,
    /// Model calls of its session.
    pub turns: u32,
    /// Tokens read in its session.
    pub input_tokens: u64,
    /// Tokens written in its session.
    pub output_tokens: u64,
}

/// --- compaction
/// A conversation that nears its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compaction {
    /// How many messages would be summarised.
    pub messages: u32,
    /// Estimated size of the next request, in tokens.
    pub input_tokens: u64,
    /// The model's context window, in tokens.
    pub context_window: u64,
}

/// What a plugin answers to `before-compaction`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompactionVerdict {
    /// No objection.
    Allow,
    /// It is not compacted.
    Reject(Refusal),
    /// This text is the summary.
    Respond(String),
}

/// --- the rest
/// An event that an embedding program defines for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Custom {
    /// Which event.
    pub name: String,
    /// What it carries.
    pub payload: Json,
}

/// What a plugin answers to `custom-event`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CustomVerdict {
    /// No objection.
    Allow,
    /// This payload instead.
    Modify(Json),
    /// A person must decide.
    Escalate(Escalation),
    /// The program is told no.
    Reject(Refusal),
}

/// The events of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// Once, when a session opens; awaited before any gate.
    SessionStart,
    /// Once, when a session ends, however it ends.
    SessionEnd,
    /// When the user has sent a prompt, before the model sees it.
    PromptSubmit,
    /// When a turn begins, before its request is put together.
    TurnStart,
    /// When a turn has ended: its calls have their results, or its text is final.
    TurnEnd,
    /// When it is settled which model a session uses; before its first task.
    ProviderResolve,
    /// Before each request to a model.
    BeforeInference,
    /// After `before-inference`, about the body that is sent, in the provider's own protocol.
    RequestSend,
    /// An answer, whole, before anything of it is used.
    ResponseReceive,
    /// While an answer streams in: whole lines, what there is of one before a tool call or the end, or 4 KiB where a line is longer.
    StreamDelta,
    /// When the stream of one answer has ended; `text` is all of its text.
    StreamEnd,
    /// When one answer of the model is complete.
    AfterInference,
    /// After each answer of the model, with what it used.
    TokenUsage,
    /// The final text of a task, before the user sees it and before it is stored; and text beside tool calls, before the user sees it: once its answer is complete, unless text is shown while it streams in.
    FinalizeContent,
    /// The calls of one response together, after each has been settled by `before-tool-call`.
    BeforeTools,
    /// Before each tool call, and again whenever another plugin has changed the call since this one last saw it.
    BeforeToolCall,
    /// The result of a tool call, before the model sees it.
    AfterToolCall,
    /// Before a sub-agent is started, in the session of the agent that starts it.
    SubagentStart,
    /// When a sub-agent has ended, in the session of the agent that started it.
    SubagentEnd,
    /// When the conversation nears the model's context window, before its older part is summarised.
    BeforeCompaction,
    /// The summary that takes the place of the older part of the conversation.
    AfterCompaction,
    /// Before a task of the queue begins, the user's own prompt included.
    TaskStart,
    /// When the agent proposes a plan, before its tasks are queued.
    PlanSubmit,
    /// When a task has ended.
    TaskComplete,
    /// When all tasks of a plan have ended, or were taken out of the queue.
    PlanComplete,
    /// When all tasks have ended and none is queued, before the session ends.
    QueueEmpty,
    /// When the agent could not continue: a provider failed, a limit was reached.
    AgentError,
    /// An event that an embedding program defines for itself; `event.name` says which.
    CustomEvent,
    /// Every record of the audit log, after it was written, for plugins with the grant `audit`.
    AuditRecord,
}

impl EventKind {
    /// All events, in the order of the contract.
    pub const ALL: &[Self] = &[
        Self::SessionStart,
        Self::SessionEnd,
        Self::PromptSubmit,
        Self::TurnStart,
        Self::TurnEnd,
        Self::ProviderResolve,
        Self::BeforeInference,
        Self::RequestSend,
        Self::ResponseReceive,
        Self::StreamDelta,
        Self::StreamEnd,
        Self::AfterInference,
        Self::TokenUsage,
        Self::FinalizeContent,
        Self::BeforeTools,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::SubagentStart,
        Self::SubagentEnd,
        Self::BeforeCompaction,
        Self::AfterCompaction,
        Self::TaskStart,
        Self::PlanSubmit,
        Self::TaskComplete,
        Self::PlanComplete,
        Self::QueueEmpty,
        Self::AgentError,
        Self::CustomEvent,
        Self::AuditRecord,
    ];

    /// Returns the name of the event's interface, such as `before-tool-call`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
            Self::PromptSubmit => "prompt-submit",
            Self::TurnStart => "turn-start",
            Self::TurnEnd => "turn-end",
            Self::ProviderResolve => "provider-resolve",
            Self::BeforeInference => "before-inference",
            Self::RequestSend => "request-send",
            Self::ResponseReceive => "response-receive",
            Self::StreamDelta => "stream-delta",
            Self::StreamEnd => "stream-end",
            Self::AfterInference => "after-inference",
            Self::TokenUsage => "token-usage",
            Self::FinalizeContent => "finalize-content",
            Self::BeforeTools => "before-tools",
            Self::BeforeToolCall => "before-tool-call",
            Self::AfterToolCall => "after-tool-call",
            Self::SubagentStart => "subagent-start",
            Self::SubagentEnd => "subagent-end",
            Self::BeforeCompaction => "before-compaction",
            Self::AfterCompaction => "after-compaction",
            Self::TaskStart => "task-start",
            Self::PlanSubmit => "plan-submit",
            Self::TaskComplete => "task-complete",
            Self::PlanComplete => "plan-complete",
            Self::QueueEmpty => "queue-empty",
            Self::AgentError => "agent-error",
            Self::CustomEvent => "custom-event",
            Self::AuditRecord => "audit-record",
        }
    }

    /// Returns the way in which the answers of several plugins compose.
    #[must_use]
    pub fn shape(self) -> crate::Shape {
        match self {
            Self::SessionStart => crate::Shape::Collect,
            Self::SessionEnd => crate::Shape::Observe,
            Self::PromptSubmit => crate::Shape::Transform,
            Self::TurnStart => crate::Shape::Gate,
            Self::TurnEnd => crate::Shape::Observe,
            Self::ProviderResolve => crate::Shape::Gate,
            Self::BeforeInference => crate::Shape::Gate,
            Self::RequestSend => crate::Shape::Gate,
            Self::ResponseReceive => crate::Shape::Transform,
            Self::StreamDelta => crate::Shape::Transform,
            Self::StreamEnd => crate::Shape::Observe,
            Self::AfterInference => crate::Shape::Observe,
            Self::TokenUsage => crate::Shape::Gate,
            Self::FinalizeContent => crate::Shape::Transform,
            Self::BeforeTools => crate::Shape::Gate,
            Self::BeforeToolCall => crate::Shape::Gate,
            Self::AfterToolCall => crate::Shape::Transform,
            Self::SubagentStart => crate::Shape::Gate,
            Self::SubagentEnd => crate::Shape::Observe,
            Self::BeforeCompaction => crate::Shape::Gate,
            Self::AfterCompaction => crate::Shape::Transform,
            Self::TaskStart => crate::Shape::Gate,
            Self::PlanSubmit => crate::Shape::Gate,
            Self::TaskComplete => crate::Shape::Collect,
            Self::PlanComplete => crate::Shape::Observe,
            Self::QueueEmpty => crate::Shape::Collect,
            Self::AgentError => crate::Shape::Collect,
            Self::CustomEvent => crate::Shape::Gate,
            Self::AuditRecord => crate::Shape::Observe,
        }
    }

    /// Returns the names of the parameters of the event's `handle`, without the session.
    #[must_use]
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::SessionStart => &[],
            Self::SessionEnd => &["usage"],
            Self::PromptSubmit => &["prompt"],
            Self::TurnStart => &["turn"],
            Self::TurnEnd => &["turn"],
            Self::ProviderResolve => &["resolution"],
            Self::BeforeInference => &["request"],
            Self::RequestSend => &["request"],
            Self::ResponseReceive => &["response"],
            Self::StreamDelta => &["delta"],
            Self::StreamEnd => &["text"],
            Self::AfterInference => &["response"],
            Self::TokenUsage => &["usage"],
            Self::FinalizeContent => &["content"],
            Self::BeforeTools => &["calls"],
            Self::BeforeToolCall => &["call"],
            Self::AfterToolCall => &["call", "tool-result", "source"],
            Self::SubagentStart => &["subagent"],
            Self::SubagentEnd => &["subagent"],
            Self::BeforeCompaction => &["compaction"],
            Self::AfterCompaction => &["summary"],
            Self::TaskStart => &["task"],
            Self::PlanSubmit => &["plan"],
            Self::TaskComplete => &["completion"],
            Self::PlanComplete => &["plan"],
            Self::QueueEmpty => &["progress"],
            Self::AgentError => &["message"],
            Self::CustomEvent => &["event"],
            Self::AuditRecord => &["entry"],
        }
    }
}
