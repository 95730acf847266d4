//! Random events: a value, a chain of plugins that answer at random, a configuration that asks at random.

use crate::chain::generated::{ENFORCING, VALUES, member, question, refusal};
use crate::chain::{Answer, Asker, Decision, Gate, MAX_PASSES, Member, Objection, OnFailure};
use crate::contract::Escalation;
use proptest::prelude::*;

pub(super) type Said = Answer<u8, u8>;

/// A plugin: what it answers about each value, in each pass. A pristine instance answers as a function of what it is
/// asked, so this is all that a plugin can be.
#[derive(Clone, Debug)]
pub(super) struct Plugin {
    pub(super) member: Member,
    says: Vec<Vec<Said>>,
}

/// A gate event before a chain, under a configuration that asks these questions about each value.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) plugins: Vec<Plugin>,
    pub(super) asks: Vec<Vec<Escalation>>,
    pub(super) value: u8,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) pass: u32,
    pub(super) member: usize,
    pub(super) value: u8,
    /// How often the value had been changed by then: equal values may be different forms.
    pub(super) form: usize,
    pub(super) said: Said,
}

/// All that came of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) heard: Vec<Heard>,
    pub(super) decision: Decision<u8, u8>,
    /// The values that the configuration was consulted about.
    pub(super) consulted: Vec<u8>,
}

impl Plugin {
    /// An enforcing plugin that answers so.
    pub(super) fn of(says: impl Fn(u8, u32) -> Said) -> Self {
        let passes = 1..=MAX_PASSES + 1;
        let says = passes.map(|pass| (0..VALUES).map(|value| says(value, pass)).collect()).collect();
        Self { member: ENFORCING, says }
    }

    pub(super) fn always(said: &Said) -> Self {
        Self::of(|_, _| said.clone())
    }

    pub(super) fn may_approve(mut self) -> Self {
        self.member.may_approve = true;
        self
    }

    pub(super) fn auditing(mut self) -> Self {
        self.member.enforcing = false;
        self
    }

    pub(super) fn answer(&self, value: u8, pass: u32) -> Said {
        self.says[pass as usize - 1][usize::from(value)].clone()
    }
}

impl Event {
    /// An event about the value 0, of which the configuration asks nothing.
    pub(super) fn before(plugins: impl Into<Vec<Plugin>>) -> Self {
        Self { plugins: plugins.into(), asks: vec![Vec::new(); VALUES.into()], value: 0 }
    }

    pub(super) fn run(&self) -> Run {
        let mut gate = Gate::new(self.plugins.iter().map(|plugin| plugin.member).collect(), self.value);
        let mut heard = Vec::new();
        while let Some(ask) = gate.ask() {
            let value = *gate.value();
            let said = self.plugins[ask.member].answer(value, ask.round);
            let form = gate.version() as usize;
            heard.push(Heard { pass: ask.round, member: ask.member, value, form, said: said.clone() });
            gate.answer(said);
        }
        let mut consulted = Vec::new();
        let decision = gate.decide(|&value| {
            consulted.push(value);
            self.asks[usize::from(value)].clone()
        });
        Run { heard, decision, consulted }
    }

    pub(super) fn decide(&self) -> Decision<u8, u8> {
        self.run().decision
    }

    pub(super) fn enforces(&self, member: usize) -> bool {
        self.plugins[member].member.enforcing
    }

    /// The same event, with some answers in place of others: what a plugin says about a value.
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

    /// The same event, with one more plugin at that place.
    pub(super) fn with(&self, plugin: Plugin, at: usize) -> Self {
        let mut event = self.clone();
        event.plugins.insert(at, plugin);
        event
    }
}

impl Run {
    /// What was said by plugins that enforce.
    pub(super) fn binding<'a>(&'a self, event: &'a Event) -> impl DoubleEndedIterator<Item = &'a Heard> {
        self.heard.iter().filter(|heard| event.enforces(heard.member))
    }

    /// How often the value was changed.
    pub(super) fn last_form(&self, event: &Event) -> usize {
        self.binding(event).filter(|heard| heard.changes()).count()
    }

    /// The run without the plugin at `index`, which others then counted past: how the chain would be without it.
    pub(super) fn as_if_without(mut self, index: usize) -> Self {
        let down = |member: usize| member - usize::from(member > index);
        self.heard.retain(|heard| heard.member != index);
        self.heard.iter_mut().for_each(|heard| heard.member = down(heard.member));
        self.decision = match self.decision {
            Decision::Stands { value, changed_by, response, questions, approved_by } => Decision::Stands {
                value,
                changed_by: changed_by.into_iter().map(down).collect(),
                response: response.map(|(member, response)| (down(member), response)),
                questions: questions
                    .into_iter()
                    .map(|(asker, question)| match asker {
                        Asker::Member(member) => (Asker::Member(down(member)), question),
                        Asker::Configuration => (asker, question),
                    })
                    .collect(),
                approved_by: approved_by.map(down),
            },
            Decision::Rejected(objection) => Decision::Rejected(match objection {
                Objection::Verdict { by, refusal } => Objection::Verdict { by: down(by), refusal },
                Objection::Failure { by } => Objection::Failure { by: down(by) },
                Objection::Disagreement { by } => Objection::Disagreement { by: by.into_iter().map(down).collect() },
            }),
        };
        self
    }
}

impl Heard {
    /// Whether it changes the value, coming from a plugin that enforces.
    pub(super) fn changes(&self) -> bool {
        matches!(self.said, Answer::Change(to) if to != self.value)
    }

    /// Whether it is no objection to the value: `allow`, or what counts as that.
    pub(super) fn allows(&self) -> bool {
        match self.said {
            Answer::Allow | Answer::Approve => true,
            Answer::Change(to) => to == self.value,
            _ => false,
        }
    }

    /// Whether it is no answer, and nothing comes of that.
    pub(super) fn is_silence(&self) -> bool {
        matches!(self.said, Answer::Unconcerned | Answer::Failed(OnFailure::Skip))
    }

    /// Whether it ends the asking, coming from a plugin that enforces.
    pub(super) fn is_no(&self) -> bool {
        matches!(self.said, Answer::Reject(_) | Answer::Failed(OnFailure::Reject))
    }
}

/// What a plugin can say, and how often of 64 it does. Restless plugins change the value more than they agree, so that
/// it is asked about in many passes.
fn said(restless: bool, code: u8) -> Said {
    let number = code % VALUES;
    let kinds: [(u8, Said); 9] = [
        (if restless { 16 } else { 20 }, Answer::Allow),
        (if restless { 30 } else { 12 }, Answer::Change(number)),
        (if restless { 10 } else { 4 }, Answer::Failed(OnFailure::Skip)),
        (if restless { 4 } else { 3 }, Answer::Unconcerned),
        (if restless { 2 } else { 8 }, Answer::Approve),
        (if restless { 1 } else { 6 }, Answer::Escalate(question(number))),
        (if restless { 1 } else { 5 }, Answer::Respond(number)),
        (if restless { 0 } else { 3 }, Answer::Reject(refusal(number))),
        (if restless { 0 } else { 3 }, Answer::Failed(OnFailure::Reject)),
    ];
    let mut kind = code / VALUES;
    for (times, said) in kinds {
        match kind.checked_sub(times) {
            Some(rest) => kind = rest,
            None => return said,
        }
    }
    unreachable!("the times add up to 64")
}

/// Half of the calm plugins answer the same in each pass, as most do.
fn plugin_of(restless: bool) -> impl Strategy<Value = Plugin> {
    let passes = MAX_PASSES as usize + 1;
    let moods = if restless { passes..=passes } else { 1..=2 };
    let passes = moods.prop_map(move |moods| if moods == 1 { 1 } else { passes });
    let codes = passes.prop_flat_map(|passes| prop::collection::vec(any::<u8>(), passes * usize::from(VALUES)));
    (member(), codes).prop_map(move |(member, codes)| {
        let say = |codes: &[u8]| codes.iter().map(|&code| said(restless, code)).collect();
        let says: Vec<Vec<Said>> = codes.chunks(VALUES.into()).map(say).collect();
        Plugin { member, says: says.iter().cycle().take(MAX_PASSES as usize + 1).cloned().collect() }
    })
}

pub(super) fn plugin() -> impl Strategy<Value = Plugin> {
    plugin_of(false)
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let plugins = prop::bool::weighted(0.4).prop_flat_map(|restless| prop::collection::vec(plugin_of(restless), 0..6));
    // Of half of the values the configuration asks nothing, of the others one or two questions.
    let asks = |code: u8| (code / 2..code).take(2).map(question).collect();
    let asks = prop::collection::vec((0..4_u8).prop_map(asks), VALUES as usize);
    (plugins, asks, 0..VALUES).prop_map(|(plugins, asks, value)| Event { plugins, asks, value })
}

/// A place for one more plugin in a chain that [`event`] makes; too large a one stands for the end.
pub(super) fn place() -> impl Strategy<Value = usize> {
    0..6_usize
}
