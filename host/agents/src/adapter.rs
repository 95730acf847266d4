//! The adapter of one agent. It contains data about the agent, and the functions that read the agent's messages, write replies and plan the
//! agent's files.

use crate::agent::{Abilities, Agent};
use crate::checks;
use crate::hook_call::HookCall;
use crate::json::Fields;
use crate::mcp_servers::ServersFile;
use crate::message::{Message, Unreadable};
use crate::outcome::{Answer, Outcome};
use crate::plan::{Context, JsonDialect, NotInstallable, Plan, Scope};
use crate::reply::Reply;
use hookhost_contract::EventKind;
use serde_json::Value;
use std::path::Path;

/// Placeholder for the prompt in a headless command line.
pub(crate) const PROMPT_WORD: &str = "PROMPT";

/// The adapter of one agent. Each agent has its own file below `agents/`, and a line in the list of all agents. The
/// contract's table (`hookhost_contract::action`) maps the agent's tools to actions.
#[derive(Clone, Copy, Debug)]
pub struct Adapter {
    /// Data about the agent.
    pub(crate) agent: &'static Agent,
    /// Decodes a message whose fields have been read.
    pub(crate) decode: fn(&Message<'_>, &Fields) -> Result<HookCall, Unreadable>,
    /// Encodes the reply for an outcome.
    pub(crate) encode: fn(&HookCall, &Outcome) -> Reply,
    /// Encodes the reply to an unreadable message.
    pub(crate) fail: fn(Option<&str>, &str) -> Reply,
    /// Plans the agent's files.
    pub(crate) install: fn(&Context<'_>) -> Result<Plan, NotInstallable>,
    /// Encodes the neutral reply.
    pub(crate) neutral: fn(Option<&str>) -> Reply,
    /// Encodes the reply to a call that was read but got no decision. If this is `None`, `fail` is used instead.
    pub(crate) unsettled: Option<fn(&HookCall, &str) -> Reply>,
    /// Encodes the reply to a message with several events. If this is `None`, the reply is the first denial, or the first reply if no event
    /// is denied.
    pub(crate) encode_all: Option<fn(&HookCall, &[Outcome]) -> Reply>,
    /// Returns abilities that depend on the call. If this is `None`, the abilities depend only on the hook point.
    pub(crate) abilities: Option<fn(&HookCall) -> Abilities>,
    /// The functions for canary calls, the test calls of `hookhost doctor --prove`. `None` if the hook is not a command.
    pub(crate) canary: Option<Canary>,
    /// Words of the command line that runs the agent without a person. One word is [`PROMPT_WORD`]. Empty if no such
    /// command line is known.
    pub(crate) headless: &'static [&'static str],
    /// JSON dialect of the agent's files.
    pub(crate) json_dialect: JsonDialect,
    /// Returns the file that names MCP servers.
    pub(crate) mcp_servers: fn(&Context<'_>) -> Option<ServersFile>,
}

/// The data and functions for canary calls:
///
/// - the hook point before a tool call,
/// - a function that returns the agent's message at this hook point, for a shell command and a directory,
/// - a function that returns true if the agent treats a reply at a hook point as a denial.
type Canary = (&'static str, fn(&str, &Path) -> Value, fn(&str, &Reply) -> bool);

impl Adapter {
    /// Creates an adapter from the functions that differ for each agent. The other fields have their most common value:
    /// an empty neutral reply, strict JSON, no canary and no headless command.
    pub(crate) const fn new(
        agent: &'static Agent,
        decode: fn(&Message<'_>, &Fields) -> Result<HookCall, Unreadable>,
        encode: fn(&HookCall, &Outcome) -> Reply,
        fail: fn(Option<&str>, &str) -> Reply,
        install: fn(&Context<'_>) -> Result<Plan, NotInstallable>,
    ) -> Self {
        Self {
            agent,
            decode,
            encode,
            fail,
            install,
            neutral: |_| Reply::empty(),
            unsettled: None,
            encode_all: None,
            abilities: None,
            canary: None,
            headless: &[],
            json_dialect: JsonDialect::Strict,
            mcp_servers: |_| None,
        }
    }

    /// Returns the data about the agent.
    pub fn agent(&self) -> &'static Agent {
        self.agent
    }

    /// Decodes a message. An unknown hook point becomes [`Custom`](crate::HookEvent::Custom).
    ///
    /// # Errors
    /// If the message does not come from this agent, if the message lacks a field that its hook point needs, or if the agent and the rules
    /// could read the message differently.
    pub fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        let fields = Fields::of(message.bytes)?;
        let mut call = (self.decode)(message, &fields)?;
        call.raw = fields.to_json();
        checks::check(self.agent, message, &fields, call)
    }

    /// Encodes the reply that makes the agent carry out `outcome`. The caller must already have used [`degrade`](crate::degrade()) to
    /// replace an outcome that the agent cannot carry out.
    pub fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        (self.encode)(call, outcome)
    }

    /// Encodes one reply to a message with several events ([`HookCall::parts`]). `outcomes` has one outcome per event,
    /// in order.
    pub fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply {
        if let Some(encode_all) = self.encode_all {
            return encode_all(call, outcomes);
        }
        // Most agents report one event per message. A message with several events is rejected completely if one of its events is rejected.
        let rejected = outcomes.iter().find(|outcome| matches!(outcome.answer, Answer::Rejected(_)));
        match rejected.or(outcomes.first()) {
            Some(outcome) => self.encode(call, outcome),
            None => self.fail(Some(&call.point), "hookhost decided on no part of this message"),
        }
    }

    /// Encodes the reply to a call that got no decision in time. The reply has the same meaning as the reply of
    /// [`fail`](Self::fail), but the format of this call's hook point. Some agents accept a denial only in that format.
    pub fn unsettled(&self, call: &HookCall, why: &str) -> Reply {
        match self.unsettled {
            Some(unsettled) => unsettled(call, why),
            None => self.fail(Some(&call.point), why),
        }
    }

    /// Encodes the reply to a message that could not be read. The reply is a denial if the agent accepts a denial, otherwise the neutral
    /// reply. `point` is `None` if the hook point is unknown. In that case, the strictest reply is used.
    pub fn fail(&self, point: Option<&str>, why: &str) -> Reply {
        (self.fail)(point, why)
    }

    /// Returns a reply as a response body, for a transport that has no exit codes. A reply that has only an exit code becomes the denial of
    /// a tool call. It cannot become an error response, because an agent that gets an error response continues.
    ///
    /// # Errors
    /// The reason of the denial, if the agent understands a denial only as an exit code.
    pub fn body(&self, mut reply: Reply) -> Result<String, String> {
        let is_bare = |reply: &Reply| reply.exit != 0 && reply.stdout.is_empty();
        let mut points = self.agent.points.iter();
        if is_bare(&reply)
            && let Some(gate) = points.find(|point| point.event == EventKind::BeforeToolCall)
        {
            reply = self.fail(Some(gate.name), reply.stderr.trim_end());
        }
        if is_bare(&reply) { Err(reply.stderr) } else { Ok(reply.stdout) }
    }

    /// Encodes the neutral reply, which makes the agent continue as if it had no hook.
    pub fn neutral(&self, point: Option<&str>) -> Reply {
        (self.neutral)(point)
    }

    /// Returns the abilities of the agent for this call.
    pub fn abilities(&self, call: &HookCall) -> Abilities {
        self.abilities.map_or_else(|| self.agent.abilities(&call.point), |abilities| abilities(call))
    }

    /// Returns true if the files of the project are the user's own, because the project is the home directory.
    pub fn shares_files(&self, context: &Context<'_>) -> bool {
        let files = |scope| {
            let plan = self.install(&Context { scope, ..*context }).map(|plan| plan.files).unwrap_or_default();
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            plan.iter().map(|file| real(file.path())).collect::<Vec<_>>()
        };
        let users = files(Scope::User);
        files(Scope::Project).iter().any(|file| users.contains(file))
    }

    /// Returns the files that the agent needs, and their contents.
    ///
    /// # Errors
    /// If the hook cannot be installed in this scope.
    pub fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        (self.install)(context)
    }

    /// Returns the file in which the agent names MCP servers in this scope, or `None` if no such file is known.
    pub fn mcp_servers(&self, context: &Context<'_>) -> Option<ServersFile> {
        (self.mcp_servers)(context)
    }

    /// Returns the JSON dialect of the agent's files.
    pub fn json_dialect(&self) -> JsonDialect {
        self.json_dialect
    }

    /// Returns the hook point before a tool call, and a test message for that hook point. The agent would send such a message if
    /// its model wanted to run this shell command in this directory. `hookhost doctor --prove` passes the message to the hook in
    /// the agent's file. The message names the session [`canary::SESSION`](crate::canary::SESSION). Returns `None` if the agent
    /// starts no process for its hook. In that case, only running the agent itself can prove that the agent calls the hook.
    pub fn canary(&self, command: &str, directory: &Path) -> Option<(&'static str, Vec<u8>)> {
        let (point, message, _) = self.canary?;
        Some((point, message(command, directory).to_string().into_bytes()))
    }

    /// Returns true if the agent treats this reply as a denial, so that the call does not run. Returns false if the agent treats the reply
    /// as a failed hook. This function is called only for agents that have a [`canary`](Self::canary).
    pub fn denies(&self, point: &str, reply: &Reply) -> bool {
        self.canary.is_some_and(|(_, _, denies)| denies(point, reply))
    }

    /// Returns a command line that makes the agent carry out `prompt` without a person. The first word is the program. The command line
    /// allows the agent to use its shell tool. Returns `None` if no such command line is known.
    pub fn headless(&self, prompt: &str) -> Option<Vec<String>> {
        let word = |word: &&str| if *word == PROMPT_WORD { prompt.to_owned() } else { (*word).to_owned() };
        (!self.headless.is_empty()).then(|| self.headless.iter().map(word).collect())
    }
}
