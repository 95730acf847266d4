//! An adapter that consists of the functions in its agent's directory.

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent};
use crate::checks;
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use crate::outcome::{Answer, Outcome};
use crate::plan::{Context, NotInstallable, Plan};
use crate::reply::Reply;
use serde_json::Value;
use std::path::Path;

/// Decodes a message whose fields have been read.
type Decode = fn(&Message<'_>, &Fields) -> Result<HookCall, Unreadable>;
type Encode = fn(&HookCall, &Outcome) -> Reply;
type EncodeAll = fn(&HookCall, &[Outcome]) -> Reply;
type Fail = fn(Option<&str>, &str) -> Reply;
type Neutral = fn(Option<&str>) -> Reply;
type Unsettled = fn(&HookCall, &str) -> Reply;
type Install = fn(&Context<'_>) -> Result<Plan, NotInstallable>;
type Canary = fn(&str, &Path) -> (&'static str, Value);
type Denies = fn(&str, &Reply) -> bool;

/// Placeholder for the prompt in a headless command line.
pub(crate) const TASK: &str = "TASK";

/// An adapter made of functions. The defaults fit most agents.
pub(crate) struct Functions {
    agent: &'static Agent,
    decode: Decode,
    encode: Encode,
    fail: Fail,
    install: Install,
    neutral: Neutral,
    unsettled: Option<Unsettled>,
    encode_all: Option<EncodeAll>,
    abilities: Option<fn(&HookCall) -> Abilities>,
    canary: Option<(Canary, Denies)>,
    headless: &'static [&'static str],
}

impl Functions {
    /// Creates an adapter with the functions that each agent has. The default neutral reply is empty.
    pub(crate) const fn new(
        agent: &'static Agent,
        decode: Decode,
        encode: Encode,
        fail: Fail,
        install: Install,
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
        }
    }

    /// Sets the neutral reply.
    pub(crate) const fn neutral(self, neutral: Neutral) -> Self {
        Self { neutral, ..self }
    }

    /// Sets the reply for calls that were read but not settled. Default: the `fail` reply.
    pub(crate) const fn unsettled(self, unsettled: Unsettled) -> Self {
        Self { unsettled: Some(unsettled), ..self }
    }

    /// Sets the encoder for messages with several events.
    pub(crate) const fn encode_all(self, encode_all: EncodeAll) -> Self {
        Self { encode_all: Some(encode_all), ..self }
    }

    /// Makes the abilities depend on the call. Default: those of its hook point.
    pub(crate) const fn abilities(self, abilities: fn(&HookCall) -> Abilities) -> Self {
        Self { abilities: Some(abilities), ..self }
    }

    /// Sets the canary message for a shell command, and the function that recognises a denial. For agents whose hook is
    /// a command.
    pub(crate) const fn canary(self, message: Canary, denies: Denies) -> Self {
        Self { canary: Some((message, denies)), ..self }
    }

    /// Sets the headless command line. One of its words is [`TASK`].
    pub(crate) const fn headless(self, words: &'static [&'static str]) -> Self {
        Self { headless: words, ..self }
    }
}

impl Adapter for Functions {
    fn agent(&self) -> &'static Agent {
        self.agent
    }

    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        let fields = Fields::of(message.bytes)?;
        let call = (self.decode)(message, &fields)?;
        checks::checked(self.agent, message, &fields, call)
    }

    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        (self.encode)(call, outcome)
    }

    fn unsettled(&self, call: &HookCall, why: &str) -> Reply {
        match self.unsettled {
            Some(unsettled) => unsettled(call, why),
            None => self.fail(Some(&call.point), why),
        }
    }

    fn abilities(&self, call: &HookCall) -> Abilities {
        self.abilities.map_or_else(|| self.agent.abilities(&call.point), |abilities| abilities(call))
    }

    fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply {
        if let Some(encode_all) = self.encode_all {
            return encode_all(call, outcomes);
        }
        // Most agents report one event per message. For any other message, one rejection rejects the whole message.
        let rejected = outcomes.iter().find(|outcome| matches!(outcome.answer, Answer::Rejected(_)));
        match rejected.or(outcomes.first()) {
            Some(outcome) => self.encode(call, outcome),
            None => self.fail(Some(&call.point), "hookhost settled nothing of this message"),
        }
    }

    fn fail(&self, point: Option<&str>, why: &str) -> Reply {
        (self.fail)(point, why)
    }

    fn neutral(&self, point: Option<&str>) -> Reply {
        (self.neutral)(point)
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        (self.install)(context)
    }

    fn canary(&self, command: &str, directory: &Path) -> Option<(&'static str, Vec<u8>)> {
        let (message, _) = self.canary?;
        let (point, message) = message(command, directory);
        Some((point, message.to_string().into_bytes()))
    }

    fn denies(&self, point: &str, reply: &Reply) -> bool {
        self.canary.is_some_and(|(_, denies)| denies(point, reply))
    }

    fn headless(&self, prompt: &str) -> Option<Vec<String>> {
        let word = |word: &&str| if *word == TASK { prompt.to_owned() } else { (*word).to_owned() };
        (!self.headless.is_empty()).then(|| self.headless.iter().map(word).collect())
    }
}
