//! Lists the steps that are possible in a state.

use crate::state::{Action, Answerer, At, BYTES, Cleaner, EVENTS, Event, State, Verdict, number};
use crate::{Sessions, properties};
use stateright::{Model, Property};

impl Model for Sessions {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.worlds.iter().map(|world| State::new(*world)).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let alone = (0..EVENTS).find(|event| self.is_alone_in_what_it_does(&state.events[*event]));
        if let Some(event) = alone.filter(|_| self.is_reduced) {
            self.actions_of(state, event, actions);
            actions.retain(|action| !matches!(action, Action::GiveUp(_)));
            return;
        }
        for event in 0..EVENTS {
            self.actions_of(state, event, actions);
        }
        let gives_back = |host: &usize| self.protocol.gives_back_soon && self.gives_back(state, *host);
        actions.extend((0..EVENTS).filter(gives_back).map(|host| Action::GiveBack(number(host))));
        let [_, other] = &state.processes;
        if !other.is_dead {
            self.actions_of_the_other(state, actions);
        }
        // At most one process is killed. With both dead, no further step is possible.
        let all_live = state.processes.iter().all(|process| !process.is_dead);
        for (number, process) in (0..).zip(&state.processes) {
            if all_live {
                actions.push(Action::Kill(number));
            }
            let has_events =
                (0..EVENTS).any(|event| state.world.owners[event] == number && state.events[event].at != At::Ended);
            if !process.is_dead && process.rules == 0 && has_events {
                actions.push(Action::TakeUpRules(number));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        self.act(&mut state, action);
        if self.is_reduced {
            state.forget();
        }
        assert!(state.rank() > before.rank(), "{action:?} goes back: {before:?}");
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

/// Returns true if a step is certain to be taken at some time, even if no person acts and something fails.
pub(crate) fn is_taken_sooner_or_later(action: Action) -> bool {
    match action {
        Action::Step(_)
        | Action::SawLocked(..)
        | Action::Answered(..)
        | Action::Deadline
        | Action::Poll
        | Action::Clean(_)
        | Action::GiveBack(_) => true,
        Action::Come(_)
        | Action::Approver(_)
        | Action::GiveUp(_)
        | Action::List
        | Action::AnswerElsewhere(_)
        | Action::TakeUpRules(_)
        | Action::Kill(_) => false,
    }
}

impl Sessions {
    /// Returns true if the order of the event's next step and of the steps of others makes no difference. In a reduced model, such a step
    /// is taken at once, because the other orders lead to the same states.
    fn is_alone_in_what_it_does(&self, event: &Event) -> bool {
        match event.at {
            // Any event that locks the door has to wait for this step anyway.
            At::Open => self.protocol.scans_behind_the_door,
            // Nobody else sees the verdict before the event commits.
            At::Ask => true,
            // The question is not in the database yet, so nobody can find it.
            At::Show => true,
            // No later step changes whether the event has a record.
            At::Run => true,
            _ => false,
        }
    }

    /// Returns true if a host can give back the ticket that it keeps. In a reduced model, it does so only if an event of another host
    /// waits. Otherwise the step leads to no new states, because the next event then arrives in the same way as the first one.
    fn gives_back(&self, state: &State, host: usize) -> bool {
        let waits = |event: usize| state.events[event].at == At::Wait && state.world.host(event) != host;
        state.hosts[host].kept.is_some() && (!self.is_reduced || (0..EVENTS).any(waits))
    }

    fn actions_of(&self, state: &State, event: usize, actions: &mut Vec<Action>) {
        let (index, host) = (number(event), state.world.host(event));
        let now = &state.events[event];
        let is_ready = match now.at {
            At::Away => {
                // Events 1 and 2 are interchangeable if they belong to the same process. So event 2 arrives only after event 1.
                let is_like_one_before =
                    self.is_reduced && event == 2 && state.world.owners[1] == state.world.owners[2] && now.round == 0;
                if is_like_one_before && state.events[1].at == At::Away {
                    return;
                }
                let is_free = !self.protocol.lets_in_one_of_a_host || state.hosts[host].order.is_none();
                if is_free {
                    actions.push(if now.round == 0 { Action::Come(index) } else { Action::Step(index) });
                }
                false
            }
            At::Door => state.is_unlocked_for(host, 0),
            At::Scan => {
                let told = (usize::from(now.byte)..BYTES).filter(|byte| !state.is_unlocked_for(host, *byte));
                let before = actions.len();
                actions.extend(told.map(|byte| Action::SawLocked(index, number(byte))));
                actions.len() == before
            }
            At::Wait => {
                let first =
                    if self.protocol.waits_for_all_below { 1 } else { usize::from(now.byte).saturating_sub(1).max(1) };
                let is_before = |ticket: u8| (first..usize::from(now.byte)).contains(&usize::from(ticket));
                let waits_for_own = self.protocol.knows_its_own_tickets && state.tickets_of(host).any(is_before);
                !waits_for_own && (first..usize::from(now.byte)).all(|byte| state.is_unlocked_for(host, byte))
            }
            At::Ask => {
                actions.push(Action::Answered(index, Verdict::Allow));
                // A rejection is tried for the first event only. It differs from an allowed event only because the call does not run.
                if event == 0 {
                    actions.push(Action::Answered(index, Verdict::Reject));
                }
                if event == 0 && now.round < self.questions {
                    actions.push(Action::Answered(index, Verdict::Escalate));
                }
                false
            }
            At::Pending => {
                actions.extend([Action::Approver(true), Action::Approver(false)]);
                if self.protocol.has_a_deadline {
                    actions.push(Action::Deadline);
                }
                let is_there = state.database.question.filter(|question| question.round == now.round);
                if state.world.shares_questions && is_there.is_none_or(|question| question.answer.is_some()) {
                    actions.push(Action::Poll);
                }
                false
            }
            At::Ended => return,
            _ => true,
        };
        if is_ready {
            actions.push(Action::Step(index));
        }
        // The agent can give up an event wherever the event waits for something. Giving up an event before it has a ticket is the same as
        // giving it up with a ticket.
        if matches!(now.at, At::Wait | At::Yes | At::Commit | At::Pending | At::Answer) {
            actions.push(Action::GiveUp(index));
        }
    }

    fn actions_of_the_other(&self, state: &State, actions: &mut Vec<Action>) {
        let round = state.database.question.map(|question| question.round);
        if let Some(question) = state.database.question {
            let is_new = match state.answerer {
                Answerer::Idle => true,
                Answerer::Listed(seen) | Answerer::Answered(seen) => seen < question.round,
            };
            if is_new && state.world.shares_questions && question.answer.is_none() && !state.is_asker_gone() {
                actions.push(Action::List);
            }
        }
        // If the question no longer exists, the answer is not accepted, so this step is left out.
        if let Answerer::Listed(seen) = state.answerer
            && round == Some(seen)
        {
            actions.extend([Action::AnswerElsewhere(true), Action::AnswerElsewhere(false)]);
        }
        for (index, cleaner) in (0..).zip(&state.cleaners) {
            let is_ready = match cleaner {
                Cleaner::Idle => round.is_some(),
                Cleaner::Listed(seen) => state.is_asker_gone() || round.is_some_and(|round| round > *seen),
                Cleaner::FoundDead(_) => true,
                Cleaner::Done(seen) => round.is_some_and(|round| round > *seen),
            };
            // The first cleaner can read the question at any time. The second one reads it only after the asking process has ended.
            if is_ready && (index == 0 || state.is_asker_gone()) {
                actions.push(Action::Clean(index));
            }
        }
    }
}
