//! Clears data that no later step reads, so that states that differ only in such data become one state.

use crate::state::{Answerer, At, EVENTS, Event, Host, Plan, Read, Settled, State};

impl State {
    /// Resets all fields that no later step and no property reads.
    pub(crate) fn forget(&mut self) {
        for event in &mut self.events {
            let before = *event;
            match event.at {
                At::Ended => {
                    *event = Event {
                        at: At::Ended,
                        has_run: before.has_run,
                        shown: before.shown,
                        agreed: before.agreed,
                        ..Event::default()
                    }
                }
                At::Pending => {
                    event.read = Read::default();
                    event.rules_at_turn = 0;
                    event.plan = Plan::Escalate;
                }
                At::Away if event.round == 0 => *event = Event::default(),
                At::Late | At::LateRest => {
                    *event = Event {
                        at: before.at,
                        shown: before.shown,
                        number: before.number,
                        is_answer_recorded: before.is_answer_recorded,
                        ..Event::default()
                    };
                }
                _ => {}
            }
            if event.at == At::Ended && !(event.has_run && event.shown.is_some()) {
                event.agreed = Read::default();
                event.shown = None;
            }
        }
        for (settled, event) in self.database.settled.iter_mut().zip(&self.events) {
            if let (Some(Settled::Allowed(value)), At::Ended) = (settled, event.at) {
                *value = 0;
            }
        }
        for host in 0..EVENTS {
            if (0..EVENTS).all(|event| self.world.host(event) != host || self.events[event].at == At::Ended) {
                let Host { is_shown, kept, .. } = self.hosts[host];
                self.hosts[host] = Host { is_shown, kept, ..Host::default() };
            }
        }
        if self.database.question.is_none() {
            self.answerer = Answerer::Idle;
            self.database.accepted = None;
        }
    }
}
