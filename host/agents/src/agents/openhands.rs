//! OpenHands. Sources: the vendor's hooks page, and OpenHands/software-agent-sdk, `openhands-sdk/openhands/sdk/hooks/`.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

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
        // The agent continues with the reason of a block.
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities { goes_on: true, ..Abilities::NONE }),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, "the tool is called `terminal`"),
        Coverage::new("files read and written by tools", Covered::Gated, "both by `file_editor`"),
        Coverage::new("web pages", Covered::Gated, "as calls of the browser's tools"),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; whether their own calls are told is not known",
        ),
        Coverage::new("results of tools", Covered::Observed, "the model gets them as they are"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "only the first file that is found counts, that of the project before that of the user",
        "a file with the outermost key `hooks` loses all other keys: move what is below it to the top",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["openhands", "--headless", "-t", TASK]);
