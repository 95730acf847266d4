//! The adapter of GitHub Copilot CLI. Sources: the vendor's hooks reference, and messages recorded with 1.0.102.
//!
//! Copilot has two dialects, selected by the spelling of the hook point in the hooks file. For a hook point in camel
//! case, all keys of the message are in camel case. For a hook point in Pascal case, the keys are in snake case, some
//! tools have Claude Code's names, and the message always names its hook point. `hookhost install` uses camel case.
//!
//! An empty reply is neutral. A denial is JSON with exit code 2. The exit code alone would deny the call. The JSON is needed for
//! the reason that the model reads. Copilot reads each JSON file in its hook directories, so hookhost writes the hook into a
//! separate file.

use super::prelude::*;
use crate::checks::misplaced_call;
use crate::claude_shape::prompts;
use hookhost_contract::Json;

const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

/// The model can get another text in place of a prompt. If a prompt is refused, this text is the refusal. In both cases, the user
/// sees the original prompt.
const PROMPT: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// The agent shows a question to the user. The cloud agent, and an agent without a user, treat a question as a denial,
/// and their model reads the reason.
const BEFORE_TOOL: Abilities = Abilities { changes: true, asks: true, approves: true, ..Abilities::REJECTS };

const PERMISSION: Abilities = Abilities { approves: true, stops: true, ..Abilities::REJECTS };

/// `modifiedResult` replaces a result. To refuse a result, the reply replaces the result with the reason.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// If a hook blocks the stop, the agent continues. After hooks have blocked the stop eight times, the agent stops
/// anyway.
const STOP: Abilities = Abilities { goes_on: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: "copilot-cli",
    title: "GitHub Copilot CLI",
    programs: &["copilot"],
    versions: ("1.0.71", "1.0.102"),
    points: &[
        HookPoint::new("sessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("sessionEnd", EventKind::SessionEnd, Abilities::NONE),
        // The agent ignores the reply at this hook point, but reads the reply at the next hook point in this list.
        HookPoint::new("userPromptSubmitted", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("userPromptTransformed", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("preToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("permissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("postToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("postToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("subagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("subagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("preCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("agentStop", EventKind::QueueEmpty, STOP),
        HookPoint::new("errorOccurred", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("notification", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT).not_installed(),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).not_installed(),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL).not_installed(),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL).not_installed(),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT).not_installed(),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP).not_installed(),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE).not_installed(),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP).not_installed(),
        HookPoint::new("ErrorOccurred", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", "text typed into a running command is a separate call"),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("prompts", "the turn begins, and the model reads the refusal in place of the prompt"),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "reported as calls of the server's tool"),
        Coverage::gated(
            "sub-agents",
            "the call that starts one; start and end of the built-in `general-purpose` are not reported",
        ),
    ],
    gaps: &[
        "if a hook takes longer than its `timeoutSec`, or an HTTP hook cannot be reached, the call runs",
        "Copilot skips an HTTP hook before a call, and notes it only in its log, unless the address is https, or local with \
         `COPILOT_HOOK_ALLOW_LOCALHOST=1`",
        "`disableAllHooks` in a trusted project's settings turns off all hooks except those of the machine",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers,
    canary: Some(("preToolUse", canary, denies)),
    headless: &["copilot", "--allow-all-tools", "-p", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    HookCall::decoded(point(fields, message.point)?, |point| {
        let cwd = fields.some_text("cwd").map_or_else(|| message.directory.to_owned(), PathBuf::from);
        Ok((AgentSession::new(fields.id(&["sessionId", "session_id"])?, cwd), event(point, fields)?))
    })
}

/// Returns the hook point. Three sources are tried in this order: the name in the message, the name on the command
/// line, and the keys of the message.
fn point(fields: &Fields, named: Option<&str>) -> Result<String, Unreadable> {
    let is_pascal = fields.some_text("hook_event_name").is_some_and(|named| named.starts_with(char::is_uppercase));
    if fields.has("hook_event_name") && !fields.has("session_id") && !is_pascal {
        return Err(Unreadable::new("the message is of another agent, whose hook points are in camel case"));
    }
    if fields.has("session_id") || is_pascal {
        return fields.text("hook_event_name");
    }
    if fields.has("hookEventName") {
        return Err(Unreadable::new("the message is of another agent, which says `hookEventName`"));
    }
    if let Some(said) = fields.some_text("hookName") {
        return Ok(said);
    }
    // If a person has edited the hooks file, the command line can name a hook point of the dialect that hookhost does not install.
    // Such a name is ignored.
    if let Some(named) = named.filter(|named| AGENT.point(named).is_some() && named.starts_with(char::is_lowercase)) {
        let has_run = fields.has("toolResult") || fields.has("toolError") || fields.has("error");
        if named.starts_with("postToolUse") && !has_run {
            return Err(misplaced_call(&AGENT, named));
        }
        return Ok(named.to_owned());
    }
    let of_keys: &[(&str, &str)] = &[
        ("toolResult", "postToolUse"),
        ("toolError", "postToolUseFailure"),
        ("notification_type", "notification"),
        ("permissionSuggestions", "permissionRequest"),
        ("transformedPrompt", "userPromptTransformed"),
        ("prompt", "userPromptSubmitted"),
        ("errorContext", "errorOccurred"),
        ("agentId", "subagentStop"),
        ("agentName", "subagentStart"),
        ("stopReason", "agentStop"),
        ("trigger", "preCompact"),
        ("source", "sessionStart"),
    ];
    let is_failed_call = fields.has("toolName") && fields.has("error");
    let shown = of_keys.iter().find(|(key, _)| fields.has(key)).map(|(_, point)| *point);
    let shown = match shown {
        _ if is_failed_call => Some("postToolUseFailure"),
        None if fields.has("toolName") => Some("preToolUse"),
        None if fields.has("reason") => Some("sessionEnd"),
        shown => shown,
    };
    shown.or(named).map(str::to_owned).ok_or_else(|| Unreadable::new("the message does not show its hook point"))
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "sessionStart" | "SessionStart" => {
            HookEvent::SessionStart { is_resumed: fields.some_text("source").as_deref() == Some("resume") }
        }
        "sessionEnd" | "SessionEnd" => HookEvent::SessionEnd,
        "userPromptSubmitted" | "UserPromptSubmit" => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        // This text contains the prompt and the text that the agent has added around it.
        "userPromptTransformed" => HookEvent::PromptSubmit { prompt: fields.text("transformedPrompt")? },
        "preToolUse" | "PreToolUse" => HookEvent::BeforeToolCall(call(fields)?),
        "permissionRequest" | "PermissionRequest" => HookEvent::PermissionRequest(call(fields)?),
        "postToolUse" | "PostToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields) },
        "postToolUseFailure" | "PostToolUseFailure" => {
            HookEvent::AfterToolCall { call: call(fields)?, result: ToolResult::error(failure(fields)) }
        }
        "subagentStart" | "SubagentStart" => HookEvent::SubagentStart {
            id: fields.first_text(&["agentId", "agent_id", "agentName", "agent_name"]).unwrap_or_default(),
            prompt: fields.first_text(&["agentDescription", "agent_description", "agentName"]).unwrap_or_default(),
        },
        "subagentStop" | "SubagentStop" => HookEvent::SubagentEnd {
            id: fields.first_text(&["agentId", "agent_id", "agentName", "agent_name"]).unwrap_or_default(),
            text: fields.first_text(&["response", "last_assistant_message"]).unwrap_or_default(),
            is_continued: fields.is("stop_hook_active"),
        },
        "preCompact" | "PreCompact" => HookEvent::BeforeCompaction,
        "agentStop" | "Stop" => HookEvent::Stop { text: None, is_continued: fields.is("stop_hook_active") },
        "errorOccurred" | "ErrorOccurred" => HookEvent::AgentError {
            message: fields.within("error").some_text("message").unwrap_or_else(|| "the agent stopped".to_owned()),
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Decodes the call. Depending on the version, the arguments of `permissionRequest` have the key `toolInput` or
/// `toolArgs`. Their value may be a string that contains JSON.
fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let key = ["toolArgs", "toolInput", "tool_input"].into_iter().find(|key| fields.has(key)).unwrap_or("toolArgs");
    let name = fields.first_text(&["toolName", "tool_name"]);
    let name = name.ok_or_else(|| Unreadable::new("`toolName` is missing"))?;
    let id = fields.id(&["toolCallId", "tool_call_id", "tool_use_id"])?;
    Ok(ToolUse::new(id, name, fields.arguments(key)?))
}

fn result(fields: &Fields) -> ToolResult {
    let key = if fields.has("tool_result") { "tool_result" } else { "toolResult" };
    let told = fields.within(key);
    let text = told.first_text(&["textResultForLlm", "text_result_for_llm"]).unwrap_or_default();
    let kind = told.first_text(&["resultType", "result_type"]);
    let is_error = kind.is_some_and(|kind| kind != "success");
    ToolResult { text, is_error, raw: fields.get(key).map(Json::from) }
}

fn failure(fields: &Fields) -> String {
    fields.some_text("error").unwrap_or_else(|| match fields.get("toolError") {
        Some(Value::String(text)) => text.clone(),
        Some(error) => error.get("stderr").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned),
        None => String::new(),
    })
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match (&outcome.answer, point) {
        (Answer::Rejected(rejection), "preToolUse" | "PreToolUse") => {
            denied(point, &reason::rejected(rejection), &rejection.to_string())
        }
        (Answer::Approved { by }, "preToolUse" | "PreToolUse") => {
            decided(point, Some(("allow", &format!("approved by {by}"))), None)
        }
        // The reply contains no decision, so that the agent's own permissions apply to the changed call.
        (Answer::Changed { arguments, .. }, "preToolUse" | "PreToolUse") => decided(point, None, Some(arguments)),
        (Answer::Ask { questions, arguments }, "preToolUse" | "PreToolUse") => {
            decided(point, Some(("ask", &reason::asked(questions))), arguments.as_ref())
        }
        (Answer::Rejected(rejection), "permissionRequest" | "PermissionRequest") => {
            let mut reply = json!({ "behavior": "deny", "message": reason::rejected(rejection) });
            if rejection.ends.is_some() {
                reply["interrupt"] = json!(true);
            }
            Reply::json(&reply)
        }
        (Answer::Approved { .. }, "permissionRequest" | "PermissionRequest") => {
            Reply::json(&json!({ "behavior": "allow" }))
        }
        (_, "userPromptTransformed") => prompt(&call.event, outcome),
        (_, "postToolUse" | "PostToolUse") => after_tool(outcome),
        // At this hook point, exit code 2 makes the agent show the standard output to the model.
        (_, "postToolUseFailure" | "PostToolUseFailure") if !outcome.context.is_empty() => {
            let mut reply = Reply::empty();
            (reply.exit, reply.stdout) = (2, outcome.context.join("\n\n"));
            reply
        }
        (Answer::GoOn(tasks), "agentStop" | "subagentStop" | "Stop" | "SubagentStop") if !tasks.is_empty() => {
            Reply::json(&json!({ "decision": "block", "reason": prompts(tasks) }))
        }
        _ if !outcome.context.is_empty() => Reply::json(&json!({ "additionalContext": outcome.context.join("\n\n") })),
        _ => Reply::empty(),
    }
}

/// If the prompt changes, encodes the text that the model reads in its place.
fn prompt(event: &HookEvent, outcome: &Outcome) -> Reply {
    let own = if let HookEvent::PromptSubmit { prompt } = event { prompt.as_str() } else { "" };
    let mut text = match &outcome.answer {
        Answer::Rejected(rejection) => withheld(&reason::rejected(rejection)),
        Answer::Replaced(text) => text.clone(),
        _ if outcome.context.is_empty() => return Reply::empty(),
        _ => own.to_owned(),
    };
    for context in &outcome.context {
        text.push_str("\n\n");
        text.push_str(context);
    }
    Reply::json(&json!({ "modifiedTransformedPrompt": text }))
}

/// Returns the text that the model reads in place of a withheld prompt.
fn withheld(why: &str) -> String {
    format!("The prompt of the user was withheld. Do nothing but tell the user so, and why: {why}")
}

fn after_tool(outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    let text = match &outcome.answer {
        Answer::Rejected(rejection) => Some(reason::rejected(rejection)),
        Answer::ReplacedResult(result) => Some(result.text.clone()),
        _ => None,
    };
    if let Some(text) = text {
        // With any other `resultType` than `success`, the agent would pass the result to the hooks for failed calls.
        top.insert("modifiedResult".to_owned(), json!({ "resultType": "success", "textResultForLlm": text }));
    }
    if !outcome.context.is_empty() {
        top.insert("additionalContext".to_owned(), json!(outcome.context.join("\n\n")));
    }
    if top.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(top)) }
}

/// Encodes a decision about a call in the dialect of its hook point. The two dialects have different keys for changed
/// arguments, and each dialect ignores the key of the other dialect.
fn decided(point: &str, decision: Option<(&str, &str)>, arguments: Option<&Value>) -> Reply {
    let is_pascal = point == "PreToolUse";
    let mut said = Map::new();
    if is_pascal {
        said.insert("hookEventName".to_owned(), json!(point));
    }
    if let Some((decision, reason)) = decision {
        said.insert("permissionDecision".to_owned(), json!(decision));
        said.insert("permissionDecisionReason".to_owned(), json!(reason));
    }
    if let Some(arguments) = arguments {
        said.insert(if is_pascal { "updatedInput" } else { "modifiedArgs" }.to_owned(), arguments.clone());
    }
    Reply::json(&if is_pascal { json!({ "hookSpecificOutput": said }) } else { Value::Object(said) })
}

fn denied(point: &str, for_model: &str, for_user: &str) -> Reply {
    let mut reply = decided(point, Some(("deny", for_model)), None);
    (reply.exit, reply.stderr) = (2, for_user.to_owned());
    reply
}

/// Returns true if the agent treats the reply as a denial.
fn denies(point: &str, reply: &Reply) -> bool {
    let said = reply.json_output();
    match point {
        "preToolUse" => reply.exit == 2 || said["permissionDecision"] == "deny",
        "PreToolUse" => reply.exit == 2 || said["hookSpecificOutput"]["permissionDecision"] == "deny",
        "permissionRequest" | "PermissionRequest" => said["behavior"] == "deny",
        _ => false,
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        Some(point @ ("preToolUse" | "PreToolUse")) => denied(point, why, why),
        Some("permissionRequest" | "PermissionRequest") => Reply::json(&json!({ "behavior": "deny", "message": why })),
        // The result could not be checked, so the model does not get it.
        Some("postToolUse" | "PostToolUse") => {
            Reply::json(&json!({ "modifiedResult": { "resultType": "success", "textResultForLlm": why } }))
        }
        Some("userPromptTransformed") => Reply::json(&json!({ "modifiedTransformedPrompt": withheld(why) })),
        // At the remaining hook points, nothing can be denied, or a denial would make the agent continue forever.
        Some(_) => Reply::empty(),
        None => denied("preToolUse", why, why),
    }
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path("/etc/github-copilot/policy.d", None, Some(r"C:\ProgramData\GitHub\Copilot\policy.d"));
    let user = context.directory("COPILOT_HOME", ".copilot").join("hooks");
    let path = context.path(user, ".github/hooks", Ok(managed))?.join("hookhost.json");
    let hooks = hook_lists(&AGENT, |point| {
        json!({
            "type": "command",
            "bash": context.command(&AGENT, point.name),
            "powershell": powershell(&context.words(&AGENT, point.name)),
            "timeoutSec": point.timeout,
        })
    });
    let content = json!({ "version": 1, "hooks": hooks });
    let owner = "Make root the owner of the file, and let nobody else write to it; otherwise Copilot ignores the file.";
    Ok(Plan::new(vec![FilePlan::whole_json(path, &content)]).step_in(context, Scope::Managed, owner))
}

/// Formats the words as a PowerShell command. Each word is in single quotes, where only a single quote has a special
/// meaning.
fn powershell(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "''")));
    format!("& {}", quoted.collect::<Vec<_>>().join(" "))
}

fn mcp_servers(context: &Context<'_>) -> Option<ServersFile> {
    ServersFile::of_user(context, context.directory("COPILOT_HOME", ".copilot").join("mcp-config.json"))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "sessionId": SESSION,
        "timestamp": 0,
        "cwd": directory,
        "toolName": "bash",
        "toolArgs": { "command": command, "description": "Proves the hook" },
    })
}
