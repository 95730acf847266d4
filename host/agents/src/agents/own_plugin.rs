//! The protocol between the hook program and the small plugins that hookhost installs in some agents. Such a plugin
//! runs in the agent's process. All agents with such a plugin share this protocol.
//!
//! The plugin writes `{"hookhost": {"point", "session", "subagent", "cwd", "workspace", "version", "interactive"},
//! "event": EVENT}`, where EVENT is the agent's data. The reply is always a JSON object, with exit code 0. The file
//! `reply.js` defines the keys of this object.

use super::prelude::*;
use crate::agent::TIMEOUT;

/// Time that a plugin waits for the hook program, in milliseconds.
const TIMEOUT_MS: u32 = TIMEOUT as u32 * 1000;

/// The user sees a notice at every hook point.
pub(super) const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// A text that can be refused and replaced.
pub(super) const PROMPT: Abilities = Abilities { rejects: true, replaces: true, adds_context: true, ..TELLS };

const REPLY: &str = include_str!("plugins/reply.js");
const SPAWN: &str = include_str!("plugins/spawn.js");

/// The modules that an agent's plugin can use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runtime {
    /// Node's modules.
    Node,
    /// No modules. The plugin can use only the functions that the agent passes to it.
    Bare,
}

/// Returns the content of a plugin's file. It consists of `head`, the constants, the shared code, and `plugin`. Paths and names are
/// written as JSON strings, because JavaScript then reads them unchanged, whatever characters they contain.
pub(super) fn file(agent: &Agent, context: &Context<'_>, runtime: Runtime, head: &str, plugin: &str) -> String {
    let denies = context.on_failure == OnFailure::Deny;
    let constants = format!(
        "// Written by hookhost. It asks {} about what happens in this agent.\nconst AGENT = {}\nconst PROGRAM = {}\n\
         const FLAGS = {}\nconst DENIES_ON_FAILURE = {denies}\nconst TIMEOUT_MS = {TIMEOUT_MS}\n",
        crate::plan::PROGRAM,
        json!(agent.name),
        json!(context.program_word()),
        json!(context.flags()),
    );
    let shared = match runtime {
        Runtime::Node => format!("{SPAWN}\n{REPLY}"),
        Runtime::Bare => REPLY.to_owned(),
    };
    format!("{head}{constants}\n{shared}\n{plugin}")
}

/// A message whose event has not been decoded yet.
pub(super) struct PluginMessage {
    /// The hook point.
    pub(super) point: String,
    /// The agent's session.
    pub(super) session: AgentSession,
    /// The agent's data about the event.
    pub(super) event: Fields,
}

impl PluginMessage {
    /// Reads a message of a hookhost plugin, or an agent's event without the data that the plugin adds. In the second
    /// case, the hook point is the `type` of the event, or the hook point on the command line if the event has no
    /// `type`.
    pub(super) fn of(message: &Message<'_>, fields: &Fields) -> Result<Self, Unreadable> {
        let is_ours = fields.get("hookhost").is_some_and(Value::is_object) && fields.has("event");
        let (about, event) = if is_ours {
            (fields.within("hookhost"), fields.within("event"))
        } else {
            (Fields::default(), fields.clone())
        };
        let point = about.some_text("point").or_else(|| event.some_text("type"));
        let point = point.or_else(|| message.point.map(str::to_owned));
        let point = point.ok_or_else(|| Unreadable::new("`hookhost.point` is missing"))?;
        let cwd = about.some_text("cwd").map_or_else(|| message.directory.to_owned(), PathBuf::from);
        let mut session = AgentSession::new(about.id(&["session"])?, cwd);
        if let Some(workspace) = about.some_text("workspace") {
            session.workspace = PathBuf::from(workspace);
        }
        session.subagent = about.id(&["subagent"])?;
        session.version = about.some_text("version");
        session.interactive = about.get("interactive") != Some(&Value::Bool(false));
        Ok(Self { point, session, event })
    }

    /// Returns the call with this event. If `event` is an error, adds the hook point to the error.
    pub(super) fn call(self, event: Result<HookEvent, Unreadable>) -> Result<HookCall, Unreadable> {
        HookCall::decoded(self.point, |_| Ok((self.session, event?)))
    }
}

/// Encodes the reply to a plugin.
pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let mut reply = Map::new();
    let mut say = |key: &str, value: Value| {
        reply.insert(key.to_owned(), value);
    };
    match &outcome.answer {
        Answer::Neutral => {}
        Answer::Approved { .. } => say("decision", json!("allow")),
        Answer::Changed { arguments, .. } => {
            say("decision", json!("allow"));
            say("input", arguments.clone());
        }
        Answer::Responded { result, .. } => {
            say("decision", json!("respond"));
            say("output", json!(result.text));
            say("isError", json!(result.is_error));
        }
        Answer::Rejected(rejection) => {
            // A user gets only the rejection, without the advice that tells the model what to try instead.
            let is_for_user = matches!(call.event, HookEvent::FinalText { .. } | HookEvent::PromptSubmit { .. });
            say("decision", json!("deny"));
            say("reason", json!(if is_for_user { rejection.to_string() } else { reason::rejected(rejection) }));
            if rejection.ends.is_some() {
                say("stop", json!(true));
            }
        }
        Answer::Ask { questions, .. } => {
            say("decision", json!("deny"));
            say("reason", json!(reason::asked(questions)));
        }
        Answer::Replaced(text) => say("output", json!(text)),
        Answer::ReplacedResult(result) => {
            say("output", json!(result.text));
            say("isError", json!(result.is_error));
        }
        Answer::GoOn(tasks) if tasks.is_empty() => {}
        Answer::GoOn(tasks) => {
            say("goOn", tasks.iter().map(|task| json!(task.prompt)).collect());
        }
    }
    if !outcome.context.is_empty() {
        say("context", json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        say("notice", json!(outcome.notices.join("\n")));
    }
    Reply::json(&Value::Object(reply))
}

/// Encodes the reply to a message on which no decision was made. The reply is a denial if the agent accepts a denial,
/// otherwise a notice for the user.
pub(super) fn fail(agent: &Agent, point: Option<&str>, why: &str) -> Reply {
    let known = point.and_then(|name| agent.point(name));
    let denies = match (point, known) {
        (None, _) => true,
        (Some(_), Some(point)) => point.abilities.rejects || point.event == EventKind::BeforeToolCall,
        (Some(_), None) => false,
    };
    Reply::json(&if denies { json!({ "decision": "deny", "reason": why }) } else { json!({ "notice": why }) })
}

/// Encodes the neutral reply.
pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({}))
}
