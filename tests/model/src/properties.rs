//! The properties that must hold in every state.

use crate::state::{At, Settled, State};
use crate::{Sessions, actions};
use stateright::{Model, Property};

/// A promise of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The database has the effects of each event that is settled in the log, and no other effects.
    NoEffectIsLost,
    /// The effects of an event are written at most once.
    NoEffectTwice,
    /// An event is settled only with a decision of the plugins under the rules and the state of the event's own turn.
    NoStaleYes,
    /// A call runs at most once, after its record in the log, and with the value that was shown to the person.
    OnlyWhatIsRecordedRuns,
    /// The log has at most one answer to a question. At most one sender learns that its answer was accepted, and this is the answer in
    /// the log.
    OneAnswer,
    /// Only one event at a time has a turn. It is the event that arrived first.
    InOrderOfArrival,
    /// No two events of the log have one number.
    NoNumberTwice,
    /// If the only possible steps are those of people, failures and new events, then every event of a live process has ended, and the
    /// database has no question of a dead process.
    NobodyIsStuck,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 8] = [
        Self::NoEffectIsLost,
        Self::NoEffectTwice,
        Self::NoStaleYes,
        Self::OnlyWhatIsRecordedRuns,
        Self::OneAnswer,
        Self::InOrderOfArrival,
        Self::NoNumberTwice,
        Self::NobodyIsStuck,
    ];

    /// Returns the rule's bit in `State::broken`.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the name of the rule's property in the model.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoEffectIsLost => "no effect is lost",
            Self::NoEffectTwice => "no effect is written twice",
            Self::NoStaleYes => "no call runs under a stale yes",
            Self::OnlyWhatIsRecordedRuns => "only what is recorded runs",
            Self::OneAnswer => "a question is answered once",
            Self::InOrderOfArrival => "events are settled in order of arrival",
            Self::NoNumberTwice => "no number is given twice",
            Self::NobodyIsStuck => "nobody is stuck",
        }
    }
}

type Holds = fn(&Sessions, &State) -> bool;

/// Returns a property for each rule, and properties which check that the interesting states are reached at all.
pub(crate) fn all() -> Vec<Property<Sessions>> {
    let rule = |rule: Rule, holds: Holds| Property::always(rule.name(), holds);
    let reached = |name, is_there: Holds| Property::sometimes(name, is_there);
    vec![
        rule(Rule::NoEffectIsLost, |_, state| effects_are_those_of_the_log(state)),
        rule(Rule::NoEffectTwice, |_, state| state.database.written.iter().all(|times| *times <= 1)),
        rule(Rule::NoStaleYes, |_, state| state.broken & Rule::NoStaleYes.bit() == 0),
        rule(Rule::OnlyWhatIsRecordedRuns, |_, state| state.broken & Rule::OnlyWhatIsRecordedRuns.bit() == 0),
        rule(Rule::OneAnswer, |_, state| state.broken & Rule::OneAnswer.bit() == 0),
        rule(Rule::InOrderOfArrival, |_, state| state.broken & Rule::InOrderOfArrival.bit() == 0),
        rule(Rule::NoNumberTwice, |_, state| state.broken & Rule::NoNumberTwice.bit() == 0),
        rule(Rule::NobodyIsStuck, |model, state| has_steps_of_its_own(model, state) || has_ended(state)),
        reached("a call runs after a yes that was asked about again", |_, state| {
            let event = &state.events[0];
            event.has_run && event.shown.is_some() && event.agreed.rules == 1 && event.agreed.state != 0
        }),
        reached("an old effect is dropped", |_, state| state.database.settled[0] == Some(Settled::Rejected(false))),
        reached("all events run while both processes live", |_, state| {
            state.events.iter().all(|event| event.has_run) && state.processes.iter().all(|process| !process.is_dead)
        }),
        reached("another process gives up the question of a dead one", |_, state| {
            let database = &state.database;
            state.processes[0].is_dead
                && database.question.is_none()
                && database.answers == 1
                && state.cleaners[0] != state.cleaners[1]
        }),
    ]
}

fn effects_are_those_of_the_log(state: &State) -> bool {
    let database = &state.database;
    database.settled.iter().enumerate().all(|(event, settled)| {
        let holds = matches!(settled, Some(Settled::Allowed(_) | Settled::Rejected(true)));
        let is_there = |effects: u8| effects >> event & 1 == 1;
        is_there(database.state) == holds && is_there(database.row.effects) == holds
    })
}

/// Returns true if a step is possible that needs no person, no failure and no new event.
fn has_steps_of_its_own(model: &Sessions, state: &State) -> bool {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.into_iter().any(actions::is_taken_sooner_or_later)
}

fn has_ended(state: &State) -> bool {
    let is_over = |event: &crate::state::Event| match event.at {
        At::Ended => true,
        At::Away => event.round == 0,
        _ => false,
    };
    state.events.iter().all(is_over) && (state.processes[1].is_dead || state.database.question.is_none())
}
