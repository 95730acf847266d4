//! The messages between the ACP proxy and the resident host. The ACP proxy runs between an editor and an agent, which use the Agent
//! Client Protocol. The resident host treats the proxy like an agent, so the proxy has an adapter, [`ADAPTER`]. Unlike an agent,
//! the proxy has no files in which a hook could be installed.

pub mod reading;

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent, Coverage, HookPoint};
use crate::hook_call::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use crate::outcome::{Answer, Outcome};
use crate::plan::{Context, NotInstallable, Plan};
use crate::proxies::{self, ProxyReply};
use crate::reply::Reply;
use hookhost_contract::action::ActionMap;
use hookhost_contract::{EventKind, ToolResult};
use reading::Readings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Name of the proxy in `session.agent`, in the log, and for the resident host.
pub const NAME: &str = "acp-proxy";

/// The hook point of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The agent asks for permission. Each reading of the call ([`reading`]) is an event.
    Permission,
    /// The agent asks the editor to read or write a file, or to run a command.
    Request,
    /// The editor has answered a request of the agent.
    Result,
    /// The user has sent a prompt.
    Prompt,
    /// The agent reports that a call has run.
    Update,
    /// The editor's user has answered a question.
    Answered,
    /// Another message of a session.
    Observed,
    /// The summary of a session. It contains the number of calls for which the agent asked for permission, and the
    /// number of calls that ran although the agent had not asked.
    Summary,
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
}

/// Hook point of a request for permission.
const PERMISSION_POINT: &str = "permission";

/// Hook point of a request that different editors run in different ways.
const AMBIGUOUS: &str = "ambiguous-request";

/// Hook point of a call that ran although the agent had not asked for permission.
const UNGATED: &str = "ungated";

/// An event of the proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// The hook point.
    pub point: Point,
    /// The session.
    pub session: String,
    /// Working directory of the session. The rules for this directory apply.
    pub cwd: PathBuf,
    /// Name of the agent.
    pub agent: String,
    /// Key of the message within the session.
    #[serde(default)]
    pub id: String,
    /// The protocol's method.
    #[serde(default)]
    pub method: String,
    /// The content of the event. Depending on `point`, this is one of the following:
    ///
    /// - the parameters of a request,
    /// - the tool call of a permission or of an update,
    /// - the text of a prompt,
    /// - the data to which an answer of the user belongs.
    #[serde(default)]
    pub arguments: Value,
    /// True if a call ran although the agent had not asked for permission.
    #[serde(default)]
    pub ungated: bool,
    /// The editor's answer to the request, or the result of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// The agent accepts an approval or a denial. The editor can ask its user.
const PERMISSION: Abilities =
    Abilities { rejects: true, asks: true, approves: true, tells_user: true, ..Abilities::NONE };

/// The proxy can change the request. A question goes to a person through hookhost's approval queue.
const REQUEST: Abilities = Abilities { rejects: true, changes: true, tells_user: true, ..Abilities::NONE };

/// Arguments cannot be changed, because a change to one reading of a call would not change its other readings.
const REJECTS: Abilities = Abilities { changes: false, ..REQUEST };

/// The text can be replaced by another text.
const TEXT: Abilities = Abilities { rejects: true, replaces: true, tells_user: true, ..Abilities::NONE };

/// The event has already happened, so a reply can only contain a message for the user.
const TOLD: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: NAME,
    title: "the ACP proxy",
    programs: &[],
    versions: ("", ""),
    points: &[
        HookPoint::new(PERMISSION_POINT, EventKind::BeforeToolCall, PERMISSION),
        HookPoint::new("request", EventKind::BeforeToolCall, REQUEST),
        HookPoint::new(AMBIGUOUS, EventKind::BeforeToolCall, REJECTS),
        HookPoint::new("result", EventKind::AfterToolCall, TEXT),
        HookPoint::new("prompt", EventKind::PromptSubmit, TEXT),
        HookPoint::new("update", EventKind::AfterToolCall, TOLD),
        HookPoint::new(UNGATED, EventKind::CustomEvent, TOLD),
        HookPoint::new("answered", EventKind::CustomEvent, TOLD),
        HookPoint::new("observed", EventKind::CustomEvent, TOLD),
        HookPoint::new("summary", EventKind::CustomEvent, TOLD),
        HookPoint::new("session-start", EventKind::SessionStart, Abilities::NONE),
        HookPoint::new("session-end", EventKind::SessionEnd, Abilities::NONE),
    ],
    coverage: &[
        Coverage::gated("calls about which the agent asks for permission", ""),
        Coverage::gated("files and commands that the agent leaves to the editor", ""),
        Coverage::gated("prompts", ""),
        Coverage::observed("calls about which the agent does not ask", "as far as it reports them"),
    ],
    gaps: &["the proxy cannot stop calls about which the agent does not ask"],
};

/// The adapter of the proxy.
pub static ADAPTER: &Adapter = &Adapter {
    neutral: proxies::neutral,
    encode_all: Some(encode_all),
    ..Adapter::new(&AGENT, decode, encode, proxies::fail, install)
};

/// Turns an allowed permission request into a question if the agent's message does not say what the call does.
fn permitted(call: &HookCall, settled: ProxyReply) -> ProxyReply {
    let is_permission = call.point == PERMISSION_POINT;
    let says_what_it_does =
        || call.raw.read::<Event>().is_ok_and(|event| Readings::of_tool_call(&event.arguments).is_stated);
    match settled {
        // The rules had nothing to check, so a person has to decide on the call.
        ProxyReply::Allowed { .. } if is_permission && !says_what_it_does() => {
            ProxyReply::Ask { questions: Vec::new(), arguments: None, rules: String::new() }
        }
        settled => settled,
    }
}

/// Returns one call for each reading. The message is allowed only if all of these calls are allowed.
fn calls(
    point: &str,
    event: &Event,
    readings: Readings,
    of: fn(ToolUse) -> HookEvent,
) -> (HookEvent, Vec<FurtherEvent>) {
    let mut calls = readings.all.into_iter().enumerate().map(|(index, reading)| {
        let id = if index == 0 { event.id.clone() } else { format!("{}/{}", event.id, index + 1) };
        of(ToolUse::new(Some(id), reading.name, reading.arguments))
    });
    let first = calls.next().unwrap_or_else(|| HookEvent::Custom { payload: event.arguments.clone() });
    (first, calls.map(|call| FurtherEvent::new(point, call)).collect())
}

/// Returns the event of a call that has run. The event contains only the first reading of the call.
fn has_run(event: &Event, readings: Readings) -> Result<HookEvent, Unreadable> {
    let result = event.result.clone().ok_or_else(|| Unreadable::new("`result` is missing"))?;
    let reading = readings.all.into_iter().next().ok_or_else(|| Unreadable::new("the call cannot be interpreted"))?;
    Ok(HookEvent::AfterToolCall { call: ToolUse::new(Some(event.id.clone()), reading.name, reading.arguments), result })
}

fn decode(_message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let event = proxies::event::<Event>(fields)?;
    let mut point = fields.text("point")?;
    let read = events(&event, &mut point);
    let (first, further) = read.map_err(|unreadable| unreadable.at(&point))?;
    let call = HookCall::new(point, AgentSession::new(Some(event.session), event.cwd), first);
    Ok(HookCall { further, ..call })
}

/// Returns the events of a message. If different editors run a request in different ways, sets `point` to
/// [`AMBIGUOUS`].
fn events(event: &Event, point: &mut String) -> Result<(HookEvent, Vec<FurtherEvent>), Unreadable> {
    if !event.cwd.is_absolute() {
        return Err(Unreadable::new("`cwd` is not an absolute path"));
    }
    if matches!(event.point, Point::Permission | Point::Request)
        && let Some(why) = ActionMap::default().ambiguity(&event.arguments)
    {
        return Err(Unreadable::new(format!("the call {why}")));
    }
    let request = || {
        let readings = Readings::of_request(&event.method, &event.arguments);
        readings.ok_or_else(|| Unreadable::new("this request raises no event"))
    };
    let first = match event.point {
        Point::Permission => {
            return Ok(calls(point, event, Readings::of_tool_call(&event.arguments), HookEvent::PermissionRequest));
        }
        Point::Request => {
            let readings = request()?;
            if readings.all.len() > 1 {
                AMBIGUOUS.clone_into(point);
            }
            return Ok(calls(point, event, readings, HookEvent::BeforeToolCall));
        }
        Point::Result => has_run(event, request()?)?,
        Point::Update => {
            let payload = || json!({ "agent": event.agent, "call": event.arguments });
            let ungated = || FurtherEvent::new(UNGATED, HookEvent::Custom { payload: payload() });
            let call = has_run(event, Readings::of_tool_call(&event.arguments))?;
            return Ok((call, event.ungated.then(ungated).into_iter().collect()));
        }
        Point::Prompt => {
            let prompt = event.arguments.as_str().ok_or_else(|| Unreadable::new("the prompt is no text"))?;
            HookEvent::PromptSubmit { prompt: prompt.to_owned() }
        }
        Point::Answered | Point::Observed | Point::Summary => {
            let payload = json!({ "agent": event.agent, "method": event.method, "said": event.arguments });
            HookEvent::Custom { payload }
        }
        Point::SessionStart => HookEvent::SessionStart { is_resumed: false },
        Point::SessionEnd => HookEvent::SessionEnd,
    };
    Ok((first, Vec::new()))
}

/// Encodes the strictest of all outcomes.
fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    let (mut questions, mut notices) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match &outcome.answer {
            Answer::Rejected(_) => return proxies::encode(outcome),
            Answer::Ask { questions: asked, .. } => questions.extend(asked.iter().cloned()),
            Answer::Neutral | Answer::Approved { .. } => {}
            _ => return proxies::fail(None, "only one part of what the call does was changed"),
        }
        notices.extend(outcome.notices.iter().cloned());
    }
    if questions.is_empty() {
        return proxies::reply(&permitted(call, ProxyReply::Allowed { notices }));
    }
    let rules = outcomes.iter().map(|outcome| outcome.rules.clone()).next().unwrap_or_default();
    proxies::reply(&ProxyReply::Ask { questions, arguments: None, rules })
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let settled = proxies::settled(outcome);
    let is_approved = matches!(outcome.answer, Answer::Approved { .. });
    proxies::reply(&if is_approved { settled } else { permitted(call, settled) })
}

fn install(_: &Context<'_>) -> Result<Plan, NotInstallable> {
    Err(NotInstallable(
        "an editor starts the proxy in the place of an agent: `hookhost acp --help` says how".to_owned(),
    ))
}
