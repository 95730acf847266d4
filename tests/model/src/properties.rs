//! What must hold.

use crate::state::{At, Settled, State};
use crate::{Sessions, actions};
use stateright::{Model, Property};

/// A promise of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// An event that the log has as settled has its effects in the database, and no others are there.
    NoEffectIsLost,
    /// The effects of an event are written at most once.
    NoEffectTwice,
    /// What is settled was agreed to under the rules and the state of its turn.
    NoStaleYes,
    /// A call runs after the log says so, once, and what was shown.
    OnlyWhatIsRecordedRuns,
    /// One answer is in the log, and one sender is told that it counts: the same.
    OneAnswer,
    /// One event at a time has a turn, the one that came first.
    InOrderOfArrival,
    /// No two events of the log have one number.
    NoNumberTwice,
    /// If no step is left but those of people, failures and new events, every event of a live process has ended, and no question of a dead one is left.
    NobodyIsStuck,
}

impl Rule {
    /// All of them.
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

    /// Its bit among the rules that a step has broken.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Its name among the model's properties.
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

/// The rules, and that what is to be explored is reached at all.
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

/// Whether a step is left that needs no person, no failure and no new event.
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
