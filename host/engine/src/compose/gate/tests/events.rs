//! Random events. An event has a value, a chain of plugins with random answers, and a configuration with random
//! questions.

use crate::compose::generated::{ENFORCING, VALUES, layer, member, question, refusal};
use crate::compose::{Gate, GateResult, Layer, MAX_ROUNDS, Member, Objection, OnFailure, QuestionOrigin, Verdict};
use crate::contract::Escalation;
use proptest::prelude::*;

pub(super) type Said = Verdict<u8, u8>;

/// A plugin, represented by its answer to each value in each round. This can represent any plugin, because each call
/// gets a fresh instance, whose answer depends only on its input.
#[derive(Clone, Debug)]
pub(super) struct Plugin {
    pub(super) member: Member,
    says: Vec<Vec<Said>>,
}

/// A gate event for a chain of plugins. `asks` contains the question that the configuration asks about each value, if any.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) plugins: Vec<Plugin>,
    pub(super) asks: Vec<Option<(Layer, Escalation)>>,
    pub(super) value: u8,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) round: u32,
    pub(super) member: usize,
    pub(super) value: u8,
    /// Number of changes of the value before this answer. Equal values with different numbers are different forms.
    pub(super) form: usize,
    pub(super) said: Said,
}

/// The course of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) replies: Vec<Reply>,
    pub(super) decision: GateResult<u8, u8>,
}

impl Plugin {
    /// Creates an enforcing plugin whose answer about a value in a round is `says(value, round)`.
    pub(super) fn of(says: impl Fn(u8, u32) -> Said) -> Self {
        let rounds = 1..=MAX_ROUNDS + 1;
        let says = rounds.map(|round| (0..VALUES).map(|value| says(value, round)).collect()).collect();
        Self { member: ENFORCING, says }
    }

    pub(super) fn always(said: &Said) -> Self {
        Self::of(|_, _| said.clone())
    }

    pub(super) fn may_approve(self) -> Self {
        self.of_layer(Layer::User)
    }

    /// Puts the plugin's entry into this layer, and gives it the grant `approve`.
    pub(super) fn of_layer(mut self, layer: Layer) -> Self {
        self.member.may_approve = Some(layer);
        self
    }

    pub(super) fn auditing(mut self) -> Self {
        self.member.enforcing = false;
        self
    }

    pub(super) fn answer(&self, value: u8, round: u32) -> Said {
        self.says[round as usize - 1][usize::from(value)].clone()
    }
}

impl Event {
    /// Creates an event about the value 0. The configuration asks no questions.
    pub(super) fn before(plugins: impl Into<Vec<Plugin>>) -> Self {
        Self { plugins: plugins.into(), asks: vec![None; VALUES.into()], value: 0 }
    }

    pub(super) fn run(&self) -> Run {
        let mut gate = Gate::new(self.plugins.iter().map(|plugin| plugin.member), self.value);
        let mut replies = Vec::new();
        while let Some(ask) = gate.ask() {
            assert!(replies.len() < self.plugins.len() * (MAX_ROUNDS as usize + 1), "the asking does not end");
            let value = *gate.value();
            let said = self.plugins[ask.member].answer(value, ask.round);
            let form = gate.version() as usize;
            replies.push(Reply { round: ask.round, member: ask.member, value, form, said: said.clone() });
            gate.answer(said);
        }
        let asked = self.asks[usize::from(*gate.value())].clone();
        Run { replies, decision: gate.decide(asked) }
    }

    pub(super) fn decide(&self) -> GateResult<u8, u8> {
        self.run().decision
    }

    pub(super) fn enforces(&self, member: usize) -> bool {
        self.plugins[member].member.enforcing
    }

    /// Returns the same event with other answers of the plugins. `instead` gets each answer and returns the answer that
    /// replaces it.
    pub(super) fn saying(&self, instead: impl Fn(Member, u8, &Said) -> Said) -> Self {
        let mut event = self.clone();
        for plugin in &mut event.plugins {
            for says in &mut plugin.says {
                for (value, said) in (0..).zip(says) {
                    *said = instead(plugin.member, value, said);
                }
            }
        }
        event
    }

    /// Returns the same event with a further plugin at index `at`.
    pub(super) fn with(&self, plugin: Plugin, at: usize) -> Self {
        let mut event = self.clone();
        event.plugins.insert(at, plugin);
        event
    }
}

impl Run {
    /// Returns the answers of enforcing plugins.
    pub(super) fn binding<'a>(&'a self, event: &'a Event) -> impl DoubleEndedIterator<Item = &'a Reply> {
        self.replies.iter().filter(|reply| event.enforces(reply.member))
    }

    /// Returns the number of changes of the value.
    pub(super) fn last_form(&self, event: &Event) -> usize {
        self.binding(event).filter(|reply| reply.changes()).count()
    }

    /// Removes the plugin at `index` from the run. The indices of later plugins become smaller by one, as in a chain
    /// without this plugin.
    pub(super) fn without(mut self, index: usize) -> Self {
        let down = |member: usize| member - usize::from(member > index);
        self.replies.retain(|reply| reply.member != index);
        self.replies.iter_mut().for_each(|reply| reply.member = down(reply.member));
        self.decision = match self.decision {
            GateResult::Accepted { value, changed_by, response, questions, approved_by } => GateResult::Accepted {
                value,
                changed_by: changed_by.into_iter().map(down).collect(),
                response: response.map(|(member, response)| (down(member), response)),
                questions: questions
                    .into_iter()
                    .map(|(asker, question)| match asker {
                        QuestionOrigin::Member(member) => (QuestionOrigin::Member(down(member)), question),
                        QuestionOrigin::Configuration => (asker, question),
                    })
                    .collect(),
                approved_by: approved_by.map(down),
            },
            GateResult::Rejected(objection) => GateResult::Rejected(match objection {
                Objection::Verdict { by, refusal } => Objection::Verdict { by: down(by), refusal },
                Objection::Failure { by } => Objection::Failure { by: down(by) },
                Objection::Disagreement { by } => Objection::Disagreement { by: by.into_iter().map(down).collect() },
            }),
        };
        self
    }
}

impl Reply {
    /// Returns true if this answer of an enforcing plugin changes the value.
    pub(super) fn changes(&self) -> bool {
        matches!(self.said, Verdict::Change(to) if to != self.value)
    }

    /// Returns true if the answer is `allow`, or has the same effect as `allow`.
    pub(super) fn allows(&self) -> bool {
        match self.said {
            Verdict::Allow | Verdict::Approve => true,
            Verdict::Change(to) => to == self.value,
            _ => false,
        }
    }

    /// Returns true if the plugin gave no answer and the event continues.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self.said, Verdict::NotMatched | Verdict::Failed(OnFailure::Skip) | Verdict::Unanswered(_))
    }

    /// Returns true if this answer of an enforcing plugin rejects the event.
    pub(super) fn is_no(&self) -> bool {
        matches!(self.said, Verdict::Reject(_) | Verdict::Failed(OnFailure::Reject | OnFailure::Ask))
    }
}

/// The frequency of each kind of answer of a plugin, in the order of the kinds in [`said`]. The frequencies add up to
/// 64.
type Mood = [u8; 10];

const CALM: Mood = [20, 12, 4, 3, 8, 6, 5, 3, 1, 2];
/// A plugin that changes the value more often than it agrees.
const RESTLESS: Mood = [8, 39, 8, 4, 2, 1, 1, 0, 0, 1];
/// A plugin that mostly gives no answer.
const TIRED: Mood = [10, 18, 18, 8, 2, 1, 1, 0, 0, 6];

fn said(mood: Mood, code: u8) -> Said {
    let number = code % VALUES;
    let kinds = [
        Verdict::Allow,
        Verdict::Change(number),
        Verdict::Failed(OnFailure::Skip),
        Verdict::NotMatched,
        Verdict::Approve,
        Verdict::Escalate(question(number)),
        Verdict::Respond(number),
        Verdict::Reject(refusal(number)),
        Verdict::Failed(OnFailure::Reject),
        Verdict::Unanswered(question(number)),
    ];
    let mut kind = code / VALUES;
    for (times, said) in mood.into_iter().zip(kinds) {
        match kind.checked_sub(times) {
            Some(rest) => kind = rest,
            None => return said,
        }
    }
    unreachable!("the times add up to 64")
}

/// How a plugin behaves from round to round.
#[derive(Clone, Copy, Debug)]
enum Temper {
    /// The answers are the same in each round, as for most real plugins.
    Steady,
    /// The answers differ from round to round.
    Fickle,
    /// The plugin is restless in the first rounds, so that the last rounds are reached, and then tired.
    Quarrelsome,
}

fn plugin_of(temper: Temper) -> impl Strategy<Value = Plugin> {
    let rounds = MAX_ROUNDS as usize + 1;
    let given = if matches!(temper, Temper::Steady) { 1 } else { rounds };
    let codes = prop::collection::vec(any::<u8>(), given * usize::from(VALUES));
    (member(), codes).prop_map(move |(member, codes)| {
        let says = |(round, codes): (usize, &[u8])| {
            let mood = match (temper, round) {
                (Temper::Steady | Temper::Fickle, _) | (_, 4..) => CALM,
                (Temper::Quarrelsome, ..3) => RESTLESS,
                (Temper::Quarrelsome, 3) => TIRED,
            };
            codes.iter().map(|&code| said(mood, code)).collect::<Vec<_>>()
        };
        let says: Vec<_> = codes.chunks(VALUES.into()).enumerate().map(says).collect();
        Plugin { member, says: says.iter().cycle().take(rounds).cloned().collect() }
    })
}

pub(super) fn plugin() -> impl Strategy<Value = Plugin> {
    prop_oneof![plugin_of(Temper::Steady), plugin_of(Temper::Fickle)]
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let plugins = prop_oneof![
        prop::collection::vec(plugin(), 0..6).boxed(),
        prop::collection::vec(plugin_of(Temper::Quarrelsome), 2..6).boxed(),
    ];
    // The configuration asks about half of the values.
    let asks = prop::collection::vec(prop::option::of((layer(), (0..2_u8).prop_map(question))), VALUES as usize);
    (plugins, asks, 0..VALUES).prop_map(|(plugins, asks, value)| Event { plugins, asks, value })
}

/// Returns an index for a further plugin in a chain that [`event`] makes. An index beyond the end of the chain means
/// the end.
pub(super) fn place() -> impl Strategy<Value = usize> {
    0..6_usize
}
