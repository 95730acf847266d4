//! The adapter of Grok Build. Sources: the vendor's hooks page, and reports about the behaviour of 0.2.106 and 1.0.0.
//!
//! Grok Build's messages have the format of Claude Code, with keys in camel case and hook points in snake case. A
//! denial is exit code 2 and `decision: "deny"`. A reply with `allow` means the same as an empty reply. Grok Build
//! reads its hooks from all files of a directory, and hookhost writes a separate file in this directory.

use super::prelude::*;
use crate::claude_shape::{self, MessageKeys, denies_by_decision, deny_if_possible, deny_twice};

static AGENT: Agent = Agent {
    name: "grok-build",
    title: "Grok Build",
    programs: &["grok"],
    versions: ("0.2.106", "1.0.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE),
        // Only this hook point can refuse a call. The key for changed arguments is not documented.
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, Abilities::NONE),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, Abilities::NONE),
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities::NONE),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("StopCancelled", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", ""),
        Coverage::gated(
            "sub-agents",
            "the call that starts a sub-agent is reported; it is unknown whether the sub-agent's calls are reported",
        ),
        Coverage::observed("prompts", "a prompt cannot be refused"),
        Coverage::observed("results of tools", "the model gets them unchanged"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "versions before 1.0.0 did not call hooks in every mode",
        "the agent also runs the hooks of Claude Code and Cursor, and sends them messages in its own format; if two hooks report the same call, hookhost decides only once",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["grok", "--always-approve", "-p", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        encode,
        |point, why| deny_if_possible(&AGENT, point, deny_twice(why)),
        install,
    )
};

const KEYS: MessageKeys = MessageKeys {
    point: &["hookEventName"],
    session: &["sessionId"],
    cwd: &["cwd"],
    workspace: &["workspaceRoot"],
    project: "GROK_WORKSPACE_ROOT",
    subagent: &["agentId", "subagentId"],
    subagent_kind: &["agentType", "subagentType"],
    tool: &["toolName"],
    arguments: &["toolInput"],
    call: &["toolUseId", "toolCallId"],
    response: &["toolResponse", "toolResult", "toolOutput"],
    prompt: &["prompt"],
    text: &["lastAssistantMessage"],
    error: &["errorDetails", "error"],
    is_continued: "stopHookActive",
};

fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => deny_twice(&reason::rejected(rejection)),
        _ => Reply::empty(),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "deny")
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("Grok Build has no hooks for a whole machine, so install them for each user or project");
    let path = context.path(".grok/hooks/hookhost.json", ".grok/hooks/hookhost.json", managed)?;
    let hooks = hook_lists(&AGENT, |point| json!({ "hooks": [context.command_hook(&AGENT, point)] }));
    let trust = "Type /hooks-trust in Grok Build, which runs no hooks of untrusted projects";
    Ok(Plan::new(vec![FilePlan::whole_json(path, &json!({ "hooks": hooks }))]).step_in(context, Scope::Project, trust))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "hookEventName": "pre_tool_use",
        "sessionId": SESSION,
        "cwd": directory,
        "workspaceRoot": directory,
        "toolName": "run_terminal_command",
        "toolInput": { "command": command },
    })
}
