//! OpenCode. Sources: the types of its package `@opencode-ai/plugin` 1.18.33, and messages recorded with 1.18.33.
//!
//! OpenCode has no hooks, and runs plugins in its own process: `plugin.js` asks the hook program and follows its reply.

mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::agents::own_plugin::{PROMPT, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// The arguments change in place. A plugin can neither give a result in place of the tool's nor ask the user.
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
        // The types contain it; the agent was never observed to call it.
        HookPoint::new("permission.ask", EventKind::BeforeToolCall, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "the name does not tell the server and the tool apart"),
        Coverage::new("sub-agents", Covered::Gated, "the call that starts one, and the calls in its session"),
        Coverage::new("calls within a call of the tool `batch`", Covered::Blind, "no plugin is asked about them"),
        Coverage::new("texts of the agent", Covered::Gated, "the user sees a text while it streams in"),
    ],
    gaps: &[
        "`opencode --pure` and a plugin that was removed from its directory run the agent without any hook",
        "plugins load when the agent's own installation of packages has ended: a machine without a registry waits for it",
        "a refused prompt is an error of the server for the user of `opencode run`, without the reason",
        "the second version of the plugin interface is another one",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .headless(&["opencode", "run", TASK]);
