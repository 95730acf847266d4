//! The adapter of Claude Code. Sources: the vendor's hooks reference of 2.1.236, and messages recorded with 2.1.330.
//!
//! The module [`claude_shape`](crate::claude_shape) implements the format of the messages, in which the keys are in
//! snake case. Claude Code reads its hooks from `settings.json` of the user, the project or the machine.

use super::prelude::*;
use crate::claude_shape::{self, CONTEXT, Denial, MessageKeys, PROMPT, ReplyDialect, STOP, TELLS};
use crate::mcp_servers::ANY_KEY;

/// Abilities before a tool call. A hook cannot give a result in place of the tool. If no user is present, Claude Code
/// treats a question as a denial, and the model reads the reason. The same happens in the mode `bypassPermissions`, as
/// tested with 2.1.330.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, asks: true, approves: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// `updatedToolOutput` replaces a result. A refusal also uses this key, with the reason in place of the result. The
/// replacement must have the same shape as the result, otherwise Claude Code ignores the replacement.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// The hook can answer in place of the user.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, changes: true, stops: true, ..TELLS };

/// The hook can replace the text that the user sees, but not the text that the model reads later.
const DISPLAY: Abilities = Abilities { replaces: true, rejects: true, ..TELLS };

/// How the agent proposes a rule, for a user who wishes one. The plugin of the marketplace has the same file.
const SKILL: &str = include_str!("../../../../agent-plugin/skills/hookhost/SKILL.md");

static AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    versions: ("2.1.295", "2.1.330"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("Setup", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).timeout(1),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        // A slash command is also a prompt, because the agent sends the text of the command's file to the model.
        HookPoint::new("UserPromptExpansion", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolBatch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("TaskCreated", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TaskCompleted", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TeammateIdle", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, TELLS),
        // After the hook has made the agent continue eight times, the agent stops.
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        // The agent calls the hook for each chunk of a text.
        HookPoint::new("MessageDisplay", EventKind::FinalizeContent, DISPLAY).not_installed(),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("Elicitation", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("ElicitationResult", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("ConfigChange", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("InstructionsLoaded", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("CwdChanged", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("DirectoryAdded", EventKind::CustomEvent, Abilities::NONE),
        // The matcher of this hook determines the files that the agent watches.
        HookPoint::new("FileChanged", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // A hook at this point creates the worktree in place of the agent.
        HookPoint::new("WorktreeCreate", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("WorktreeRemove", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // The next two hook points are not installed, because the vendor's documents do not mention them. An unknown
        // name could make the agent ignore the whole file.
        HookPoint::new("PreModelSwitch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostModelSwitch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::blind("files that you name with @", "the agent reads them without a tool"),
        Coverage::gated("web pages", "searches on the vendor's servers are reported as `WebSearch` calls"),
        Coverage::gated("MCP tools", ""),
        Coverage::gated("sub-agents", "including their calls, which contain `agent_id`"),
    ],
    gaps: &[
        "from 2.1.295 on, `onFailure: \"block\"` stops the call if the hook crashes or is missing; older versions run the call",
        "with `MessageDisplay`, a rule gets each chunk alone, and cannot match across chunks",
        "the model gets the result of a failed tool unchanged",
        "Claude Code ignores a settings file that is not strict JSON, or in which a known key has a wrong type",
        "a mod can answer `tool.check` after the hook; only managed hooks have priority over mods",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers,
    unsettled: Some(|call, why| claude_shape::unsettled(&AGENT, &DIALECT, call, why)),
    canary: Some(("PreToolUse", canary, |point, reply| claude_shape::denies(&AGENT, &DIALECT, point, reply))),
    headless: &["claude", "-p", PROMPT_WORD, "--allowedTools", "Bash"],
    ..Adapter::new(
        &AGENT,
        decode,
        |call, outcome| claude_shape::encode(&AGENT, &DIALECT, call, outcome),
        |point, why| claude_shape::fail(&AGENT, &DIALECT, point, why),
        install,
    )
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &MessageKeys::CLAUDE)?;
    // In the mode `dontAsk`, the agent does not ask its user, and refuses each call that its own rules do not allow.
    call.session.interactive = fields.some_text("permission_mode").as_deref() != Some("dontAsk");
    Ok(call)
}

const DIALECT: ReplyDialect = ReplyDialect { denial, change_needs_allow: false, interrupts: true, needs_reason: false };

fn denial(point: &str) -> Denial {
    match point {
        "PreToolUse" => Denial::Permission,
        "PermissionRequest" => Denial::Behavior,
        // A result that was refused or could not be checked is replaced, because the model must not get it.
        "PostToolUse" => Denial::Result,
        "MessageDisplay" => Denial::Instead("displayContent"),
        _ => Denial::Block,
    }
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path(
        "/etc/claude-code/managed-settings.json",
        Some("/Library/Application Support/ClaudeCode/managed-settings.json"),
        None,
    );
    let user = context.directory("CLAUDE_CONFIG_DIR", ".claude");
    let path = context.path(user.join("settings.json"), ".claude/settings.json", Ok(managed))?;
    let entries = groups(&AGENT, &["hooks"], Some("*"), |point| {
        let words = context.words(&AGENT, point.name);
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        json!({
            "type": "command", "command": program, "args": arguments, "timeout": point.timeout, "onFailure": "block",
        })
    });
    let mut files = vec![FilePlan::Json { path, entries }];
    if context.scope == Scope::User {
        files.push(FilePlan::whole(context.home.join(user).join("skills/hookhost/SKILL.md"), SKILL.to_owned()));
    }
    Ok(Plan::new(files))
}

/// Claude Code stores servers of its default scope, `local`, under a key that is the path of the project.
fn mcp_servers(context: &Context<'_>) -> Option<ServersFile> {
    let user = context.directory("CLAUDE_CONFIG_DIR", "").join(".claude.json");
    let file = ServersFile::of_scope(context, user, ".mcp.json")?;
    let places: &[&[&str]] = match context.scope {
        Scope::User => &[&["mcpServers"], &["projects", ANY_KEY, "mcpServers"]],
        _ => file.places,
    };
    Some(ServersFile { places, ..file })
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    })
}
