//! How the proxy in front of MCP servers asks the resident host: a message for each event, and its reply. To the resident host
//! the proxy is an agent like others, with an adapter of its own, [`ADAPTER`]; nobody installs it as one.
//!
//! | point | event |
//! |---|---|
//! | `request` | `before-tool-call` |
//! | `result` | `after-tool-call` |
//! | `held-back` | `custom-event`: tools that the client does not see, or called nevertheless |
//! | `answered` | `custom-event`: what the client says that its user has answered to a question of the rules |
//! | `session-start`, `session-end` | those |

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::functions::Functions;
use crate::install::{Context, NotInstallable, Plan};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use crate::proxies;
use hookhost_contract::{EventKind, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The name of the proxy: in `session.agent`, in the log, and to the resident host.
pub const NAME: &str = "mcp-proxy";

/// The place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// A request that is about to be passed on.
    Request,
    /// What it was answered with.
    Result,
    /// Tools that the client does not see, or called nevertheless.
    HeldBack,
    /// The client's user was asked, and this is what the client says that they have answered.
    Answered,
    /// A proxy begins.
    SessionStart,
    /// A proxy ends.
    SessionEnd,
}

impl Point {
    const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Result => "result",
            Self::HeldBack => "held-back",
            Self::Answered => "answered",
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
        }
    }
}

/// An event of the proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// Where it happens.
    pub point: Point,
    /// The proxy's session.
    pub session: String,
    /// The directory whose rules count.
    pub cwd: PathBuf,
    /// The server.
    pub server: String,
    /// Whether rules are only observed: what they reject happens nevertheless.
    #[serde(default)]
    pub audit: bool,
    /// Whether the client's user can be asked in band.
    #[serde(default)]
    pub asks: bool,
    /// What tells the request from all others of the session.
    #[serde(default)]
    pub id: String,
    /// The protocol's method.
    #[serde(default)]
    pub method: String,
    /// The tool.
    #[serde(default)]
    pub tool: String,
    /// The arguments; of tools that are held back: why, by their names; of an answer: what it is about.
    #[serde(default)]
    pub arguments: Value,
    /// What the request was answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// What the proxy can do with the outcome of a request.
const REQUEST: Abilities =
    Abilities { rejects: true, changes: true, responds: true, approves: true, tells_user: true, ..Abilities::NONE };

/// What it can do with that of a result.
const RESULT: Abilities = Abilities { rejects: true, replaces: true, tells_user: true, ..Abilities::NONE };

/// Rules are only observed: a question is handed over, and nobody is asked.
const AUDIT: Abilities = Abilities { approves: true, asks: true, tells_user: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: NAME,
    title: "the MCP proxy",
    programs: &[],
    versions: ("", ""),
    points: &[
        HookPoint::new("request", EventKind::BeforeToolCall, REQUEST),
        HookPoint::new("result", EventKind::AfterToolCall, RESULT),
        HookPoint::new("held-back", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("answered", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("session-start", EventKind::SessionStart, Abilities::NONE),
        HookPoint::new("session-end", EventKind::SessionEnd, Abilities::NONE),
    ],
    coverage: &[
        Coverage::new("calls of tools, resources read, prompts fetched, and their results", Covered::Gated, ""),
        Coverage::new("what a server asks of the client: sampling and elicitation", Covered::Gated, ""),
        Coverage::new("notifications, and methods that are unknown", Covered::Blind, "they pass as they are"),
    ],
    gaps: &["a client that reaches the server without the proxy is not seen"],
};

/// The adapter of the proxy.
pub static ADAPTER: &dyn Adapter =
    &Functions::new(&AGENT, decode, |_, outcome| proxies::encode(outcome), proxies::fail, install)
        .neutral(proxies::neutral)
        .abilities(abilities);

fn decode(_message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let event: Event = proxies::event(fields)?;
    let point = event.point.name();
    if !event.cwd.is_absolute() {
        return Err(Unreadable::new("`cwd` is no absolute path").at(point));
    }
    let Event { session, cwd, server, asks, id, method, tool, arguments, result, .. } = event;
    let mut session = AgentSession::new(Some(session), cwd);
    session.interactive = asks;
    let call =
        |arguments| ToolUse::new(Some(id), format!("mcp__{server}__{tool}"), arguments).of_server(server.clone());
    let means = match event.point {
        Point::Request => HookEvent::BeforeToolCall(call(arguments)),
        Point::Result => {
            let result = result.ok_or_else(|| Unreadable::new("`result` is missing").at(point))?;
            HookEvent::AfterToolCall { call: call(arguments), result }
        }
        Point::HeldBack => HookEvent::Custom { payload: json!({ "server": server, "tools": arguments }) },
        Point::Answered => HookEvent::Custom {
            payload: json!({ "server": server, "tool": tool, "method": method, "answered": arguments }),
        },
        Point::SessionStart => HookEvent::SessionStart { is_resumed: false },
        Point::SessionEnd => HookEvent::SessionEnd,
    };
    Ok(HookCall::new(point, session, means, fields.to_json()))
}

fn abilities(call: &HookCall) -> Abilities {
    let said: Said = serde_json::from_str(&call.raw).unwrap_or_default();
    if said.audit {
        return AUDIT;
    }
    let can = AGENT.abilities(&call.point);
    Abilities { asks: said.asks && can.changes, ..can }
}

fn install(_: &Context<'_>) -> Result<Plan, NotInstallable> {
    Err(NotInstallable("the proxy is started in the place of a server: `hookhost mcp --help` says how".to_owned()))
}

/// What of an event says what the proxy can do.
#[derive(Default, Deserialize)]
struct Said {
    #[serde(default)]
    audit: bool,
    #[serde(default)]
    asks: bool,
}
