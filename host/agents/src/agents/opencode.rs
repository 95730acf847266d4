//! The adapter of OpenCode. Sources: the types of its package `@opencode-ai/plugin` 1.18.33, and messages recorded with 1.18.33.
//!
//! OpenCode has no hooks. It loads the files of its plugin directories into its own process. `plugins/opencode.js` is such a file,
//! which calls the hook program and follows the reply. An event consists of the `input` and the `output` that OpenCode passes to a
//! plugin.

use super::prelude::*;
use crate::agents::own_plugin;
use crate::agents::own_plugin::{PROMPT, PluginMessage, Runtime, TELLS, file};

/// A plugin can change the arguments of a call. It can neither give a result in place of running the tool nor ask the user.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    programs: &["opencode"],
    versions: ("1.18.33", "1.18.33"),
    points: &[
        HookPoint::new("session.created", EventKind::SessionStart, TELLS),
        HookPoint::new("session.deleted", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("chat.message", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("tool.execute.before", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("tool.execute.after", EventKind::AfterToolCall, PROMPT),
        HookPoint::new(
            "experimental.session.compacting",
            EventKind::BeforeCompaction,
            Abilities { adds_context: true, ..TELLS },
        ),
        HookPoint::new("session.compacted", EventKind::AfterCompaction, TELLS),
        HookPoint::new(
            "experimental.text.complete",
            EventKind::FinalizeContent,
            Abilities { rejects: true, replaces: true, ..TELLS },
        ),
        HookPoint::new("session.idle", EventKind::QueueEmpty, TELLS),
        HookPoint::new("session.error", EventKind::AgentError, TELLS),
        // The package's types contain this hook point, but the agent was never observed to call it.
        HookPoint::new("permission.ask", EventKind::BeforeToolCall, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "the name does not separate server and tool"),
        Coverage::gated("sub-agents", "the call that starts one, and the calls in its session"),
        Coverage::blind("calls within a call of the tool `batch`", "OpenCode does not report them"),
        Coverage::gated("texts of the agent", "the user sees each text before the hook checks it"),
    ],
    gaps: &[
        "with `opencode --pure`, or without the plugin in its directory, the agent runs without any hook",
        "OpenCode installs packages before it loads plugins; if it cannot reach a package registry, plugins load late",
        "if a prompt is refused, `opencode run` shows a server error without the reason",
        "the plugin does not support version 2 of the plugin interface",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers,
    neutral: own_plugin::neutral,
    headless: &["opencode", "run", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, own_plugin::encode, |point, why| own_plugin::fail(&AGENT, point, why), install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = PluginMessage::of(message, fields)?;
    let input = told.event.within("input");
    if told.session.id.is_none() {
        told.session.id = input.id(&["sessionID"])?;
    }
    let info = told.event.within("info");
    // The session of a sub-agent begins and ends within its parent session.
    if let Some(parent) = info.some_text("parentID") {
        told.session.id = Some(parent);
    }
    let event = event(&told.point, &told.event, &input, &info);
    told.call(event)
}

fn event(point: &str, fields: &Fields, input: &Fields, info: &Fields) -> Result<HookEvent, Unreadable> {
    let output = fields.within("output");
    let subagent = info.some_text("parentID").and_then(|_| info.some_text("id"));
    Ok(match (point, subagent) {
        ("session.created", Some(id)) => {
            HookEvent::SubagentStart { id, prompt: info.some_text("title").unwrap_or_default() }
        }
        ("session.created", None) => HookEvent::SessionStart { is_resumed: false },
        ("session.deleted", Some(id)) => HookEvent::SubagentEnd { id, text: String::new(), is_continued: false },
        ("session.deleted", None) => HookEvent::SessionEnd,
        ("chat.message", _) => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        ("tool.execute.before", _) => HookEvent::BeforeToolCall(ToolUse::new(
            input.id(&["callID"])?,
            input.text("tool")?,
            output.arguments("args")?,
        )),
        ("tool.execute.after", _) => {
            let call = ToolUse::new(input.id(&["callID"])?, input.text("tool")?, input.arguments("args")?);
            HookEvent::AfterToolCall { call, result: ToolResult::text(output.text("output")?) }
        }
        ("permission.ask", _) => {
            let call = ToolUse::new(input.id(&["callID"])?, input.text("type")?, Value::Object(Map::new()));
            HookEvent::PermissionRequest(call)
        }
        ("experimental.session.compacting", _) => HookEvent::BeforeCompaction,
        ("session.compacted", _) => HookEvent::AfterCompaction { summary: String::new() },
        ("experimental.text.complete", _) => HookEvent::FinalText { text: output.text("text")? },
        ("session.idle", _) => HookEvent::Stop { text: None, is_continued: false },
        ("session.error", _) => {
            let error = fields.within("error");
            let text = error.within("data").some_text("message").or_else(|| error.first_text(&["message", "name"]));
            HookEvent::AgentError { message: text.unwrap_or_else(|| "the agent stopped".to_owned()) }
        }
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

const PLUGIN: &str = include_str!("plugins/opencode.js");

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let user = (context.variable)("OPENCODE_CONFIG_DIR");
    let user = user.unwrap_or_else(|| context.directory("XDG_CONFIG_HOME", ".config").join("opencode"));
    let managed = Err("OpenCode loads no plugins for a whole machine, so install the plugin for each user");
    let path = context.path(user, ".opencode", managed)?.join("plugins/hookhost.js");
    let content = file(&AGENT, context, Runtime::Node, "", PLUGIN);
    Ok(Plan::new(vec![FilePlan::whole(path, content)]).step("Restart OpenCode to load the plugin."))
}

fn mcp_servers(context: &Context<'_>) -> Option<ServersFile> {
    let file = ServersFile::of_scope(context, ".config/opencode/opencode.json", "opencode.json")?;
    Some(ServersFile { places: &[&["mcp"]], ..file })
}
