//! Checks that the messages of all agents have to pass. An agent and the rules could read an ambiguous message differently. An
//! ambiguous message about a tool call that has not run yet is refused. If the tool has already run, its result is withheld, or one
//! of the possible results is used.

use crate::agent::Agent;
use crate::hook_call::{HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::EventKind;
use hookhost_contract::action::ActionMap;
use serde_json::{Map, Value};

/// Keys that occur in the messages of agents about a tool call. The list contains the keys of all agents.
const CALL_KEYS: &[&str] = &[
    "tool_name",
    "toolName",
    "tool_input",
    "toolInput",
    "toolArgs",
    "toolCall",
    "tool_call",
    "tool_info",
    "preToolUse",
];

/// Returns true if a message contains a tool call in the format of any agent.
pub(crate) fn has_call(fields: &Fields) -> bool {
    CALL_KEYS.iter().any(|key| fields.get(key).is_some_and(|value| !value.is_null()))
}

/// Returns the error for a message that contains a tool call although its hook point is not about a tool call. The error names the
/// agent's hook point before a tool call, because the reply must have the format of that hook point.
pub(crate) fn misplaced_call(agent: &Agent, point: &str) -> Unreadable {
    let is_gate = |event: EventKind, rejects: bool| event == EventKind::BeforeToolCall && rejects;
    let gate = agent.points.iter().find(|point| is_gate(point.event, point.abilities.rejects));
    let why =
        format!("the message has a tool call, and {point:?} has none: is it a message of another hook point or agent?");
    Unreadable::new(why).at(gate.map_or(point, |gate| gate.name))
}

/// Returns the decoded call, after checking that the agent and the rules read the message in the same way.
///
/// # Errors
/// If the agent and the rules could read different actions.
pub(crate) fn check(
    agent: &Agent,
    message: &Message<'_>,
    fields: &Fields,
    mut call: HookCall,
) -> Result<HookCall, Unreadable> {
    let is_of_a_call = matches!(call.event.kind(), EventKind::BeforeToolCall | EventKind::AfterToolCall);
    if !is_of_a_call && message.point.is_some() && has_call(fields) && !is_named(fields, &call.point) {
        return Err(misplaced_call(agent, &call.point));
    }
    let point = call.point.clone();
    let at = |unreadable: Unreadable| unreadable.at(&point);
    let ambiguities = fields.ambiguities();
    let is_one_result = matches!(call.event, HookEvent::AfterToolCall { .. }) && call.further.is_empty();
    if let Some(why) = &ambiguities.unclear {
        if !is_one_result {
            return Err(at(Unreadable::new(why)));
        }
        call.unclear = Some(why.clone());
    }
    for event in std::iter::once(&mut call.event).chain(call.further.iter_mut().map(|further| &mut further.event)) {
        match event {
            HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => {
                if let Some(why) = &ambiguities.invalid_character {
                    return Err(at(Unreadable::new(why)));
                }
                complete(agent, tool).map_err(at)?;
                if let Some(why) = ActionMap::default().ambiguity(&tool.arguments) {
                    return Err(at(Unreadable::new(format!("the call {why}"))));
                }
            }
            HookEvent::AfterToolCall { call: tool, .. } => {
                let is_told_so = message.point.is_none() || is_named(fields, &point);
                if tool.arguments.is_null() && !is_told_so {
                    return Err(misplaced_call(agent, &point));
                }
                if complete(agent, tool).is_err() {
                    tool.arguments = Value::Object(Map::new());
                }
                if is_one_result {
                    let why = ActionMap::default().ambiguity(&tool.arguments);
                    call.unclear = call.unclear.take().or_else(|| why.map(|why| format!("its call {why}")));
                }
            }
            _ => {}
        }
    }
    Ok(call)
}

/// Converts the arguments into an object if the agent wrote them in another form.
///
/// # Errors
/// If the tool needs arguments and the message has no arguments. Also if the arguments are a string, and it is not clear to which
/// argument of the tool the string belongs.
fn complete(agent: &Agent, tool: &mut ToolUse) -> Result<(), Unreadable> {
    let actions = ActionMap::default();
    let actions = actions.of(agent.name);
    tool.arguments = match &tool.arguments {
        Value::Object(_) => return Ok(()),
        Value::Null if !actions.needs_arguments(&tool.name) => Value::Object(Map::new()),
        Value::Null => return Err(Unreadable::new(format!("the arguments of `{}` are missing", tool.name))),
        Value::String(text) => actions.arguments_of_text(&tool.name, text).ok_or_else(|| {
            Unreadable::new(format!(
                "the arguments of `{}` are a text, and it is not clear which of them it is",
                tool.name
            ))
        })?,
        _ => return Err(Unreadable::new(format!("the arguments of `{}` are not an object", tool.name))),
    };
    Ok(())
}

/// Returns true if the message itself names this hook point.
fn is_named(fields: &Fields, point: &str) -> bool {
    let folded = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let point = folded(point);
    let is_named = |fields: &Fields| fields.texts().any(|text| folded(text) == point);
    is_named(fields) || is_named(&fields.within("hookhost"))
}
