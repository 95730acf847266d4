//! The types of the configuration. The crate's documentation describes them.

use crate::answer::{self, Shape};
use crate::facts::Facts;
use hookhost_guest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The behaviours for each event, by the event's name.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Config {
    #[serde(default)]
    tools: Vec<ToolEntry>,
    #[serde(flatten)]
    events: BTreeMap<String, Behaviours>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ToolEntry {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Behaviours {
    Many(Vec<Behaviour>),
    One(Box<Behaviour>),
}

/// One behaviour: what the plugin does on an event, and under which condition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Behaviour {
    pub(crate) when: When,
    #[serde(rename = "do")]
    pub(crate) steps: Vec<Value>,
    pub(crate) misbehave: Option<Misbehaviour>,
    pub(crate) verdict: Option<String>,
    pub(crate) value: Option<Value>,
    pub(crate) reason: String,
    pub(crate) question: String,
    pub(crate) code: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) stop: bool,
    pub(crate) error: Option<String>,
}

/// The condition of a behaviour. All members that are present must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct When {
    contains: Option<String>,
    lacks: Option<String>,
    round: Option<u32>,
    session: Option<String>,
    parent: Option<String>,
}

/// A way in which the plugin can misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Misbehaviour {
    Loop,
    Recurse,
    Allocate,
    BigAnswer,
    Trap,
    Exit,
    Sleep,
    Flood,
    InvalidJson,
    InvalidText,
}

/// The keys that a configuration may have, with the form of each answer.
const EVENTS: [(&str, Shape); 31] = [
    ("configure", Shape::Nothing),
    ("session-start", Shape::Tasks),
    ("session-end", Shape::Nothing),
    ("prompt-submit", Shape::Text),
    ("turn-start", Shape::Plain),
    ("turn-end", Shape::Nothing),
    ("provider-resolve", Shape::Resolution),
    ("before-inference", Shape::Inference),
    ("request-send", Shape::Custom),
    ("response-receive", Shape::RawResponse),
    ("stream-delta", Shape::Text),
    ("stream-end", Shape::Nothing),
    ("after-inference", Shape::Nothing),
    ("token-usage", Shape::Plain),
    ("finalize-content", Shape::Text),
    ("before-tools", Shape::Plain),
    ("before-tool-call", Shape::ToolCall),
    ("after-tool-call", Shape::ToolResult),
    ("subagent-start", Shape::Subagent),
    ("subagent-end", Shape::Nothing),
    ("before-compaction", Shape::Compaction),
    ("after-compaction", Shape::Text),
    ("task-start", Shape::Task),
    ("plan-submit", Shape::Plain),
    ("task-complete", Shape::Completion),
    ("plan-complete", Shape::Nothing),
    ("queue-empty", Shape::Completion),
    ("agent-error", Shape::Completion),
    ("custom-event", Shape::Custom),
    ("audit-record", Shape::Nothing),
    ("call-tool", Shape::CallTool),
];

impl Config {
    /// Returns the behaviours for an event. If the event has no key, these are the behaviours of `any`.
    pub(crate) fn behaviours(&self, event: &str) -> &[Behaviour] {
        let any = || if event == "configure" { None } else { self.events.get("any") };
        match self.events.get(event).or_else(any) {
            Some(Behaviours::Many(behaviours)) => behaviours,
            Some(Behaviours::One(behaviour)) => std::slice::from_ref(behaviour),
            None => &[],
        }
    }

    /// Returns true if the configuration has a key for this event.
    pub(crate) fn names(&self, event: &str) -> bool {
        self.events.contains_key(event)
    }

    /// # Errors
    /// If a key is not the name of an event, or if a verdict does not fit its event.
    pub(crate) fn check(&self) -> Result<(), String> {
        // The behaviours of `any` cannot be checked here, because they are used for events of different kinds.
        for name in self.events.keys().filter(|name| *name != "any") {
            let Some((_, shape)) = EVENTS.iter().find(|(event, _)| event == name) else {
                return Err(format!("all-events: `{name}` is no event"));
            };
            for behaviour in self.behaviours(name) {
                check(behaviour, *shape).map_err(|error| format!("all-events: `{name}`: {error}"))?;
            }
        }
        Ok(())
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        let tool = |tool: &ToolEntry| Tool::new(&tool.name, &tool.description, tool.input_schema.clone());
        self.tools.iter().map(tool).collect()
    }
}

fn check(behaviour: &Behaviour, shape: Shape) -> Result<(), String> {
    let facts = &Facts::without_event();
    match shape {
        Shape::Nothing if behaviour.verdict.is_some() => Err("there is no verdict here".into()),
        Shape::Nothing => Ok(()),
        Shape::Tasks => answer::build::<Vec<Task>>(behaviour, facts, shape).map(drop),
        Shape::Text => answer::build::<TextVerdict>(behaviour, facts, shape).map(drop),
        Shape::Inference => answer::build::<InferenceVerdict>(behaviour, facts, shape).map(drop),
        Shape::ToolCall => answer::build::<ToolCallVerdict>(behaviour, facts, shape).map(drop),
        Shape::ToolResult => answer::build::<ToolResultVerdict>(behaviour, facts, shape).map(drop),
        Shape::Completion => answer::build::<CompletionVerdict>(behaviour, facts, shape).map(drop),
        Shape::Custom => answer::build::<CustomVerdict>(behaviour, facts, shape).map(drop),
        Shape::RawResponse => answer::build::<ResponseVerdict>(behaviour, facts, shape).map(drop),
        Shape::Resolution => answer::build::<ResolutionVerdict>(behaviour, facts, shape).map(drop),
        Shape::Task => answer::build::<TaskVerdict>(behaviour, facts, shape).map(drop),
        Shape::Subagent => answer::build::<SubagentVerdict>(behaviour, facts, shape).map(drop),
        Shape::Compaction => answer::build::<CompactionVerdict>(behaviour, facts, shape).map(drop),
        Shape::CallTool => answer::build::<ToolResult>(behaviour, facts, shape).map(drop),
        // For plans, turns, batches and usage, the plan's verdict is enough, because it has all cases of the others.
        Shape::Plain => answer::build::<PlanVerdict>(behaviour, facts, shape).map(drop),
    }
}

impl When {
    pub(crate) fn holds(&self, facts: &Facts) -> bool {
        self.contains.as_ref().is_none_or(|text| facts.value.contains(text))
            && self.lacks.as_ref().is_none_or(|text| !facts.value.contains(text))
            && self.round.is_none_or(|round| round == facts.round)
            && self.session.as_ref().is_none_or(|session| *session == facts.session)
            && self.parent.as_ref().is_none_or(|parent| event::parent_session().as_ref() == Some(parent))
    }
}
