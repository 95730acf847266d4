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
    /// The number of model calls so far in this session.
    pub turn: u32,
    /// 0 for the agent that the user talks to, 1 for its sub-agents, 2 for the sub-agents of these sub-agents, and so on.
    pub depth: u32,
    /// Absolute working directory.
    pub cwd: String,
    /// Absolute root of the project that the agent works on.
    pub workspace: String,
    /// Whether a person is present who can answer questions.
    pub interactive: bool,
}

/// The payload of a `reject`: why it happens, and whether the agent may try again or must stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refusal {
    /// One sentence that the model may read. The host cuts it at 2 KiB and names the plugin.
    pub reason: String,
    /// Stable identifier of the rule, e.g. "shell.rm-rf-root".
    pub code: Option<String>,
    /// Whether the model may succeed if it tries in a different way.
    pub retryable: bool,
    /// If true, the refusal ends the whole run with all sub-agents, unless the operator limits the effect to the session. If
    /// false, the model can continue, with the refusal as the result.
    pub stop: bool,
}

/// The payload of an `escalate`: the question that a person must answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Escalation {
    /// The question to the person.
    pub question: String,
    /// Stable identifier of the rule that asks.
    pub code: Option<String>,
}

/// Who provides a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOrigin {
    /// The agent itself.
    Builtin,
    /// The plugin with this name.
    Plugin(String),
    /// The MCP server with this name.
    Mcp(String),
    /// Something else outside the agent, for example an MCP server whose name is unknown.
    External,
}

/// The language of a shell command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellDialect {
    /// sh, bash, zsh and similar shells.
    Posix,
    /// PowerShell.
    Powershell,
    /// cmd.exe.
    Cmd,
    /// The agent does not report the language.
    Unknown,
}

/// A shell command and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShellCommand {
    /// The command line that the shell executes.
    pub command: String,
    /// The working directory: an argument of the tool if the tool takes a directory, otherwise that of the session.
    pub cwd: String,
    /// The language of `command`.
    pub dialect: ShellDialect,
}

/// A tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct McpTool {
    /// The server's name, if it is known.
    pub server: Option<String>,
    /// The tool's name on that server.
    pub tool: String,
}

/// What a tool call does. Paths are spelt as in the agent's call, so a plugin must normalise them before it compares them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Runs a shell command.
    Shell(ShellCommand),
    /// Reads this file or directory.
    ReadFile(String),
    /// Creates, changes or deletes files or directories. The list contains each of their paths.
    WriteFiles(Vec<String>),
    /// Fetches this URL.
    Fetch(String),
    /// Calls a tool of an MCP server.
    Mcp(McpTool),
    /// Starts a sub-agent with this task.
    SpawnAgent(String),
    /// Does something else. The text is the agent's word for the action, or empty if the agent has none. If the host knows
    /// what the tool does but cannot read the arguments of the call, the text is "shell", "read-file", "write-files", "fetch"
    /// or "spawn-agent". Plugins that are called for this kind of action are called for such a call too.
    Other(String),
}

/// A tool call that the model requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolCall {
    /// The provider's identifier of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as a JSON object.
    pub arguments: Json,
    /// What the call does. The action does not depend on the names of the tool and of its arguments.
    pub action: Action,
    /// Who provides the tool.
    pub origin: ToolOrigin,
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolResult {
    /// The text that the model reads.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The complete result if it contains more than text, such as images or structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Json>,
}

/// Where a tool result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultSource {
    /// The tool ran and returned the result.
    Tool,
    /// A plugin returned the result, and the tool did not run.
    Plugin,
}

/// What a plugin answers to `before-tool-call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCallVerdict {
    /// No objection. If the configuration requires a person's approval, the person is still asked.
    Allow,
    /// No objection, and no person needs to be asked. The text is the reason. Without the grant `approve`, the verdict has the
    /// effect of `allow`.
    Approve(String),
    /// Run the tool with these arguments instead. They are a complete JSON object.
    Modify(Json),
    /// Do this instead. The host converts the action to arguments of the tool.
    Rewrite(Action),
    /// A person must decide. The host still calls the next plugins, and a `reject` of one of them takes precedence.
    Escalate(Escalation),
    /// The tool does not run. The model gets the refusal as the result of the call.
    Reject(Refusal),
    /// The tool does not run. The model gets this result.
    Respond(ToolResult),
}

/// What a plugin answers to `before-tools`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchVerdict {
    /// No objection.
    Allow,
    /// A person must decide about all calls together.
    Escalate(Escalation),
    /// None of the calls runs. The model gets the refusal as the result of each call.
    Reject(Refusal),
}

/// What a plugin answers to `after-tool-call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolResultVerdict {
    /// The model gets the result unchanged.
    Keep,
    /// The model gets this result instead.
    Replace(ToolResult),
    /// The model gets the refusal instead.
    Reject(Refusal),
}

/// The usage so far, in the session and in the whole run. The run consists of the session that the user talks to and of all
/// sub-agents below it.
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
    /// The number of requests to models in the run, including retries.
    #[serde(default)]
    pub run_requests: u32,
}

/// A request to a model that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Inference {
    /// Name of the provider in the agent's configuration.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The system prompt of this request.
    pub system_prompt: String,
    /// The last user message.
    pub prompt: String,
    /// Names of the tools that the request offers to the model.
    pub tools: Vec<String>,
    /// Estimated size of the request, in tokens.
    pub input_tokens: u64,
    /// The usage before this request. If JSON does not contain this field, all numbers are 0.
    #[serde(default)]
    pub used: Totals,
}

/// Changes to an `inference`. An absent field changes nothing. The changes apply to this request only. `tools` can only
/// remove tools, and `provider` and `model` must be configured. Otherwise the plugin has failed.
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
    /// Names of the remaining tools.
    pub tools: Option<Vec<String>>,
}

/// What a plugin answers to `before-inference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InferenceVerdict {
    /// No objection.
    Allow,
    /// Send the request with these changes.
    Modify(InferenceChanges),
    /// A person must decide.
    Escalate(Escalation),
    /// Do not send the request.
    Reject(Refusal),
    /// Do not send the request. This text is the model's answer.
    Respond(String),
}

/// An answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Response {
    /// The text of the answer, possibly empty.
    pub text: String,
    /// The tool calls that the answer requests, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The reason why the model stopped, in the provider's words.
    pub stop_reason: String,
}

/// Tokens of the last model call, of the session so far, and of the whole run so far. The run consists of the session that
/// the user talks to and of all sub-agents below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// Tokens read in the last call, including cached tokens.
    pub input_tokens: u64,
    /// The part of `input-tokens` that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens written in the last call.
    pub output_tokens: u64,
    /// Tokens read in the session so far.
    pub session_input_tokens: u64,
    /// Tokens written in the session so far.
    pub session_output_tokens: u64,
    /// Tokens read in the whole run so far. 0 if JSON does not contain this field.
    #[serde(default)]
    pub run_input_tokens: u64,
    /// Tokens written in the whole run so far. 0 if JSON does not contain this field.
    #[serde(default)]
    pub run_output_tokens: u64,
}

/// What a plugin answers to `token-usage`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageVerdict {
    /// No objection.
    Allow,
    /// The task makes no further model calls.
    Reject(Refusal),
}

/// What a plugin answers to `prompt-submit`, `stream-delta`, `finalize-content` and `after-compaction`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextVerdict {
    /// The text is used unchanged.
    Keep,
    /// This text is used instead.
    Replace(String),
    /// The text is withheld.
    Reject(Refusal),
}

/// A task of the agent's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Task {
    /// The instructions for the agent.
    pub prompt: String,
    /// A short name that people read.
    pub title: Option<String>,
}

/// Tasks that the agent proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    /// A short name that people read.
    pub title: String,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
    /// Whether the host first removes the waiting tasks of the agent's earlier plans from the queue. Tasks of plugins and of
    /// the user stay.
    pub clear_existing: bool,
}

/// What a plugin answers to `plan-submit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanVerdict {
    /// No objection.
    Allow,
    /// Queue this plan instead.
    Modify(Plan),
    /// A person must decide.
    Escalate(Escalation),
    /// No task of the plan is queued.
    Reject(Refusal),
}

/// How a task ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Completion {
    /// "success", "rejected", "max-turns", "max-tokens", "max-time", "error" or "cancelled".
    pub status: String,
    /// The number of model calls in the task.
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
    /// The plugin adds no tasks.
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
    /// Begin this task instead.
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
    /// The number of tasks in the plan.
    pub tasks: u32,
    /// The number of tasks that ended as "success".
    pub completed: u32,
}

/// The totals of a session so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    /// The number of tasks that have ended.
    pub tasks: u32,
    /// The number of model calls.
    pub turns: u32,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// A turn of the agent: one request to a model, its answer, and the tool calls of that answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Turn {
    /// The number of this turn in the session, from 1.
    pub number: u32,
    /// The number of this turn in the task, from 1.
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

/// The outcome of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TurnSummary {
    /// The number of the turn in the session, as in `turn`.
    pub number: u32,
    /// The number of the turn in the task, as in `turn`.
    pub number_in_task: u32,
    /// The number of tool calls in the turn's answer.
    pub tool_calls: u32,
    /// Tokens read by the turn's model call, including cached tokens.
    pub input_tokens: u64,
    /// The part of `input-tokens` that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens written by the turn's model call.
    pub output_tokens: u64,
}

/// A model of a configured provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelChoice {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
}

/// The model that a session will use, and all models that it could use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Resolution {
    /// The model that the session will use.
    pub chosen: ModelChoice,
    /// All configured models.
    pub candidates: Vec<ModelChoice>,
}

/// What a plugin answers to `provider-resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionVerdict {
    /// No objection.
    Allow,
    /// Use this candidate instead.
    Modify(ModelChoice),
    /// The session uses no model, and ends.
    Reject(Refusal),
}

/// A request in the format of the provider's protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RawRequest {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The body of the request. The host does not show headers and keys to plugins.
    pub body: Json,
}

/// What a plugin answers to `request-send`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestVerdict {
    /// No objection.
    Allow,
    /// Send this body instead.
    Modify(Json),
    /// A person must decide.
    Escalate(Escalation),
    /// Do not send the request.
    Reject(Refusal),
}

/// An answer of a provider. If the answer was streamed, the host has joined the pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RawResponse {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// A JSON object with the members "text", "tool-calls" (each with "id", "name" and "arguments") and "stop-reason". If the
    /// provider counts tokens, the object also has the member "usage".
    pub body: Json,
}

/// What a plugin answers to `response-receive`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseVerdict {
    /// The answer is used unchanged.
    Keep,
    /// This answer is used instead.
    Replace(Json),
    /// No part of the answer is used.
    Reject(Refusal),
}

/// A sub-agent that is about to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Subagent {
    /// The id of the tool call that requests the sub-agent.
    pub call_id: String,
    /// The depth of the sub-agent's session: 1 if the agent that the user talks to starts the sub-agent.
    pub depth: u32,
    /// The task of the sub-agent.
    pub prompt: String,
}

/// What a plugin answers to `subagent-start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentVerdict {
    /// No objection.
    Allow,
    /// Start the sub-agent with this prompt instead.
    Modify(String),
    /// A person must decide.
    Escalate(Escalation),
    /// The sub-agent does not start.
    Reject(Refusal),
}

/// The outcome of a sub-agent. The numbers are totals of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SubagentSummary {
    /// The id of the sub-agent's session.
    pub session: String,
    /// The id of the tool call that requested the sub-agent.
    pub call_id: String,
    /// How the sub-agent ended. The words are those of `status` in `completion`.
    pub status: String,
    /// The sub-agent's final text, after changes by plugins.
    pub text: String,
    /// The number of model calls in the sub-agent's session.
    pub turns: u32,
    /// Tokens read in the sub-agent's session.
    pub input_tokens: u64,
    /// Tokens written in the sub-agent's session.
    pub output_tokens: u64,
}

/// A conversation that nears the limit of its size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compaction {
    /// The number of messages that would be summarised.
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
    /// The conversation is not compacted.
    Reject(Refusal),
    /// This text is the summary. No model is called.
    Respond(String),
}

/// An event that an embedding program defines for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Custom {
    /// The name of the event.
    pub name: String,
    /// The payload of the event.
    pub payload: Json,
}

/// What a plugin answers to `custom-event`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CustomVerdict {
    /// No objection.
    Allow,
    /// Use this payload instead.
    Modify(Json),
    /// A person must decide.
    Escalate(Escalation),
    /// The program gets a rejection.
    Reject(Refusal),
}

/// The events of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// Once, when a session opens.
    SessionStart,
    /// Once, when a session ends, for whatever reason.
    SessionEnd,
    /// When the user has sent a prompt, before the model sees it.
    PromptSubmit,
    /// When a turn begins, before its request is built.
    TurnStart,
    /// When a turn has ended, because its tool calls have results or its text is final.
    TurnEnd,
    /// When the model of a session is chosen, before the session's first task.
    ProviderResolve,
    /// Before each request to a model.
    BeforeInference,
    /// After `before-inference`, with the body to send, in the provider's own protocol.
    RequestSend,
    /// A complete answer, before any part of it is used.
    ResponseReceive,
    /// A part of the text for the user, while an answer streams in.
    StreamDelta,
    /// When the stream of one answer has ended.
    StreamEnd,
    /// When one answer of the model is complete.
    AfterInference,
    /// After each answer of the model, with the tokens that the answer used.
    TokenUsage,
    /// The final text of a task, before the user sees it and before it is stored.
    FinalizeContent,
    /// All tool calls of one response, after each call has passed `before-tool-call`.
    BeforeTools,
    /// Before each tool call, and again if another plugin has changed the call after this plugin saw it.
    BeforeToolCall,
    /// The result of a tool call, before the model sees it.
    AfterToolCall,
    /// When a sub-agent is about to start.
    SubagentStart,
    /// When a sub-agent has ended.
    SubagentEnd,
    /// When the conversation nears the model's context window, before its older part is summarised.
    BeforeCompaction,
    /// The summary that replaces the older part of the conversation.
    AfterCompaction,
    /// Before a task of the queue begins.
    TaskStart,
    /// When the agent proposes a plan, before its tasks are queued.
    PlanSubmit,
    /// When a task has ended.
    TaskComplete,
    /// When all tasks of a plan have ended or were removed from the queue.
    PlanComplete,
    /// When all tasks have ended and none is queued, before the session ends.
    QueueEmpty,
    /// When the agent could not continue because a provider failed or a limit was reached.
    AgentError,
    /// An event that an embedding program defines for itself.
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
