//! OpenHands. Sources: the vendor's hooks page, and OpenHands/software-agent-sdk, `openhands-sdk/openhands/sdk/hooks/`.

mod decode;
mod encode;
mod install;

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::event::HookCall;
use crate::install::{Context, NotInstallable, Plan};
use crate::message::{Message, Unreadable};
use crate::outcome::Outcome;
use crate::reply::Reply;
use hookhost_contract::EventKind;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct OpenHands;

/// Its model reads a text.
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
        // The reason of a block is what the agent does next.
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

impl Adapter for OpenHands {
    fn agent(&self) -> &'static Agent {
        &AGENT
    }

    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        decode::decode(message)
    }

    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        encode::encode(call, outcome)
    }

    fn fail(&self, point: Option<&str>, why: &str) -> Reply {
        encode::fail(point, why)
    }

    fn neutral(&self, _point: Option<&str>) -> Reply {
        Reply::empty()
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        install::plan(context)
    }
}
