//! The adapter of Kiro, which is a command-line agent and an editor. Sources: the vendor's hooks pages for 2.x and 3.0, and a
//! reported message of version 1.0.165 of the editor.
//!
//! Kiro's messages have the format of Claude Code. The messages of older versions do not name their session. A denial
//! is exit code 2 with the reason on the standard error. At some hook points, the model reads the output of a hook that
//! ends with exit code 0. Kiro 3.0 reads its hooks from all files of a directory, and hookhost writes a separate file
//! in this directory.

use super::prelude::*;
use crate::claude_shape::{self, MessageKeys, deny_if_possible, nonempty_reason};

/// The model reads the hook's output.
const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: "kiro",
    title: "Kiro",
    programs: &["kiro-cli", "kiro"],
    versions: ("2.13.0", "3.0.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        // The name that the hook point `SessionStart` had before version 3.0. The other hook points had their present names, but in
        // camel case.
        HookPoint::new("agentSpawn", EventKind::SessionStart, CONTEXT).not_installed(),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities { rejects: true, ..CONTEXT }),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities::NONE),
        HookPoint::new("PreTaskExec", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostTaskExec", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostFileCreate", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostFileSave", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostFileDelete", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("Manual", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "the tool is called `@server/tool`"),
        Coverage::gated(
            "sub-agents",
            "the call that starts one is reported; it is unknown if its own calls are reported",
        ),
        Coverage::observed("results of tools", "the model gets them unchanged"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; one version of Kiro waited only ten seconds for its hook",
        "versions before 3.0 cannot refuse a prompt, and read hooks only from the file of each agent",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::in_both(context, ".kiro/settings/mcp.json"),
    canary: Some(("PreToolUse", canary, denies)),
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        encode,
        |point, why| deny_if_possible(&AGENT, point, Reply::exit_2(nonempty_reason(why))),
        install,
    )
};

const KEYS: MessageKeys =
    MessageKeys { project: "", text: &["assistant_response", "last_assistant_message"], ..MessageKeys::CLAUDE };

fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => Reply::exit_2(&reason::rejected(rejection)),
        _ => Reply { stdout: outcome.context.join("\n\n"), ..Reply::empty() },
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.exit == 2
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("Kiro has no hooks for a whole machine, so install them for each user or project");
    let path = context.path(".kiro/hooks/hookhost.json", ".kiro/hooks/hookhost.json", managed)?;
    let hooks = AGENT.installed().map(|point| {
        json!({
            "name": format!("hookhost-{}", point.name), "trigger": point.name,
            "action": { "type": "command", "command": context.command(&AGENT, point.name) },
            "timeout": point.timeout, "enabled": true,
        })
    });
    let content = json!({ "version": "v1", "hooks": hooks.collect::<Vec<_>>() });
    Ok(Plan::new(vec![FilePlan::whole_json(path, &content)]).step(
        "Use Kiro 3.0 (`kiro-cli --v3`, or the editor 1.0): older versions read hooks only from the file of each agent",
    ))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "hook_event_name": "PreToolUse",
        "cwd": directory,
        "tool_name": "execute_bash",
        "tool_input": { "command": command },
    })
}
