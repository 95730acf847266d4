//! The adapter of OpenHands. Sources: the vendor's hooks page, and OpenHands/software-agent-sdk,
//! `openhands-sdk/openhands/sdk/hooks/`.
//!
//! OpenHands' messages have the format of Claude Code, with the keys `event_type`, `working_dir` and `message`. Exit
//! code 2 is a denial. The reason is on both the standard output and the standard error, because some versions read
//! only the standard output and other versions read only the standard error. The outermost keys of `hooks.json` are the
//! hook points in snake case.

use super::prelude::*;
use crate::claude_shape::{self, MessageKeys, denies_by_decision, deny_if_possible, deny_twice, prompts};
use crate::plan::snake_case;

/// The agent's model reads a text.
const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: "openhands",
    title: "OpenHands",
    programs: &["openhands"],
    versions: ("", ""),
    points: &[
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities { rejects: true, ..CONTEXT }),
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        // If a reply blocks the stop, the agent continues, with the reason as its next prompt.
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities { goes_on: true, ..Abilities::NONE }),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", "the tool is called `terminal`"),
        Coverage::gated("file reads and edits", "`file_editor` does both"),
        Coverage::gated("web pages", "as calls of the browser's tools"),
        Coverage::gated("MCP tools", ""),
        Coverage::gated(
            "sub-agents",
            "the call that starts one is reported; it is unknown if its own calls are reported",
        ),
        Coverage::observed("results of tools", "the model gets them unchanged"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "OpenHands reads only the first file that it finds: the project's, then the user's",
        "if a file has the outermost key `hooks`, OpenHands ignores all other keys",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["openhands", "--headless", "-t", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        encode,
        |point, why| deny_if_possible(&AGENT, point, deny_twice(why)),
        install,
    )
};

const KEYS: MessageKeys = MessageKeys {
    point: &["event_type", "hook_event_name"],
    cwd: &["working_dir", "cwd"],
    project: "OPENHANDS_PROJECT_DIR",
    call: &[],
    response: &["tool_response", "tool_output"],
    prompt: &["message", "prompt"],
    text: &["message"],
    ..MessageKeys::CLAUDE
};

fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => deny_twice(&reason::rejected(rejection)),
        Answer::GoOn(tasks) if !tasks.is_empty() => deny_twice(&prompts(tasks)),
        _ if outcome.context.is_empty() => Reply::empty(),
        _ => Reply::json(&json!({ "additionalContext": outcome.context.join("\n\n") })),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "deny")
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("OpenHands has no hooks for a whole machine, so install them for each user or project");
    let path = context.path(".openhands/hooks.json", ".openhands/hooks.json", managed)?;
    let entry = |point: &HookPoint| {
        let group = json!({ "matcher": "*", "hooks": [context.command_hook(&AGENT, point)] });
        JsonEntry::element(&[&snake_case(point.name)], group)
    };
    let entries = AGENT.installed().map(entry).collect();
    let elsewhere = "If a project has its own `.openhands/hooks.json`, it needs the hook there, because OpenHands reads only one file";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }])
        .step(
            "If `hooks.json` has the outermost key `hooks`, move its content to the top level. If it has names such as \
             `PreToolUse`, rename them to `pre_tool_use`. OpenHands reads only this form",
        )
        .step_in(context, Scope::User, elsewhere))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "event_type": "PreToolUse",
        "tool_name": "terminal",
        "tool_input": { "command": command, "is_input": false },
        "tool_response": null,
        "message": null,
        "session_id": SESSION,
        "working_dir": directory,
        "metadata": {},
    })
}
