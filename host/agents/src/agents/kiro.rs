//! Kiro, the command line and the editor. Sources: the vendor's hooks pages for 2.x and 3.0, and a reported message of
//! version 1.0.165 of the editor.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::Functions;
use hookhost_contract::EventKind;

/// The model reads the hook's output.
const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: "kiro",
    title: "Kiro",
    programs: &["kiro-cli", "kiro"],
    versions: ("2.13.0", "3.0.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        // The name before 3.0. The other names were spelt in camel case.
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
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "the tool is called `@server/tool`"),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; whether their own calls are told is not known",
        ),
        Coverage::new("results of tools", Covered::Observed, "the model gets them as they are"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run; one version waited for ten seconds only",
        "versions before 3.0 do not take a no to a prompt, and read hooks from the file of each agent only",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies);
