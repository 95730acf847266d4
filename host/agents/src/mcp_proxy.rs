//! The messages between the MCP proxy, which runs in front of MCP servers, and the resident host. Each event is one message, which
//! gets one reply. The resident host treats the proxy like an agent, so the proxy has an adapter, [`ADAPTER`]. Unlike an agent, the
//! proxy has no files in which a hook could be installed.

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent, Coverage, HookPoint};
use crate::hook_call::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use crate::plan::{Context, NotInstallable, Plan};
use crate::proxies;
use hookhost_contract::{EventKind, ToolHints, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Name of the proxy in `session.agent`, in the log, and for the resident host.
pub const NAME: &str = "mcp-proxy";

/// The hook point of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The proxy is about to pass on a request.
    Request,
    /// The server has answered a request.
    Result,
    /// The proxy hid tools from the client, or the client called a hidden tool.
    HeldBack,
    /// The client reports how its user answered a question.
    Answered,
    /// A proxy starts.
    SessionStart,
    /// A proxy ends.
    SessionEnd,
}

/// An event of the proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// The hook point.
    pub point: Point,
    /// The proxy's session.
    pub session: String,
    /// The directory whose rules apply.
    pub cwd: PathBuf,
    /// Name of the server.
    pub server: String,
    /// True in observe mode. In this mode, outcomes are only recorded, and the proxy passes on a call even if it was
    /// rejected.
    #[serde(default)]
    pub observe: bool,
    /// True if the proxy can ask the client's user through the client.
    #[serde(default)]
    pub asks: bool,
    /// Key of the request within the session.
    #[serde(default)]
    pub id: String,
    /// Method of the protocol.
    #[serde(default)]
    pub method: String,
    /// Name of the tool.
    #[serde(default)]
    pub tool: String,
    /// The content of the event. Depending on `point`, this is one of the following:
    ///
    /// - the arguments of the request,
    /// - for hidden tools, an object with the reason for each tool name,
    /// - for a user's answer, the data about which the user was asked.
    #[serde(default)]
    pub arguments: Value,
    /// The approved annotations of the tool.
    #[serde(default)]
    pub hints: ToolHints,
    /// The server's answer to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// Abilities of the proxy for a request.
const REQUEST: Abilities =
    Abilities { rejects: true, changes: true, responds: true, approves: true, tells_user: true, ..Abilities::NONE };

/// Abilities of the proxy for a result.
const RESULT: Abilities = Abilities { rejects: true, replaces: true, tells_user: true, ..Abilities::NONE };

/// Abilities in observe mode. A question is passed to the proxy, but the proxy does not ask a person.
const OBSERVE: Abilities = Abilities { approves: true, asks: true, tells_user: true, ..Abilities::NONE };

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
        Coverage::gated("calls of tools, resources read, prompts fetched, and their results", ""),
        Coverage::gated("what a server asks of the client: sampling and elicitation", ""),
        Coverage::blind("notifications, and methods that are unknown", "they pass as they are"),
    ],
    gaps: &["a client that reaches the server without the proxy is not seen"],
};

/// The adapter of the proxy.
pub static ADAPTER: &Adapter = &Adapter {
    neutral: proxies::neutral,
    abilities: Some(abilities),
    ..Adapter::new(&AGENT, decode, |_, outcome| proxies::encode(outcome), proxies::fail, install)
};

fn decode(_message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let Event { point: kind, session, cwd, server, asks, id, method, tool, arguments, hints, result, .. } =
        proxies::event(fields)?;
    HookCall::decoded(fields.text("point")?, |_| {
        if !cwd.is_absolute() {
            return Err(Unreadable::new("`cwd` is not an absolute path"));
        }
        let mut session = AgentSession::new(Some(session), cwd);
        session.interactive = asks;
        let call = |arguments| {
            let call = ToolUse::new(Some(id), format!("mcp__{server}__{tool}"), arguments).of_server(server.clone());
            ToolUse { hints, ..call }
        };
        let event = match kind {
            Point::Request => HookEvent::BeforeToolCall(call(arguments)),
            Point::Result => {
                let result = result.ok_or_else(|| Unreadable::new("`result` is missing"))?;
                HookEvent::AfterToolCall { call: call(arguments), result }
            }
            Point::HeldBack => HookEvent::Custom { payload: json!({ "server": server, "tools": arguments }) },
            Point::Answered => HookEvent::Custom {
                payload: json!({ "server": server, "tool": tool, "method": method, "answered": arguments }),
            },
            Point::SessionStart => HookEvent::SessionStart { is_resumed: false },
            Point::SessionEnd => HookEvent::SessionEnd,
        };
        Ok((session, event))
    })
}

fn abilities(call: &HookCall) -> Abilities {
    let said: EventAbilities = serde_json::from_str(&call.raw).unwrap_or_default();
    if said.observe {
        return OBSERVE;
    }
    let can = AGENT.abilities(&call.point);
    Abilities { asks: said.asks && can.changes, ..can }
}

fn install(_: &Context<'_>) -> Result<Plan, NotInstallable> {
    Err(NotInstallable("the proxy is started in the place of a server: `hookhost mcp --help` says how".to_owned()))
}

/// The fields of an event that determine the proxy's abilities.
#[derive(Default, Deserialize)]
struct EventAbilities {
    #[serde(default)]
    observe: bool,
    #[serde(default)]
    asks: bool,
}
