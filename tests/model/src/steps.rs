//! Applies a step to a state.

use crate::state::{
    Action, Answerer, At, Cleaner, EVENTS, Event, PROCESSES, Plan, Question, Read, Row, Settled, State, Verdict, number,
};
use crate::{Rule, Sessions};

impl Sessions {
    pub(crate) fn act(&self, state: &mut State, action: Action) {
        match action {
            Action::Come(event) | Action::Step(event) => self.step(state, usize::from(event)),
            Action::SawLocked(event, byte) => state.events[usize::from(event)].byte = byte + 1,
            Action::Answered(event, verdict) => self.answered(state, usize::from(event), verdict),
            Action::Approver(answer) => state.answers(answer),
            Action::Deadline => state.answers(false),
            Action::Poll => {
                let answer = state.question(state.events[0].round).and_then(|question| question.answer);
                state.answers(answer.unwrap_or(false));
            }
            Action::GiveUp(event) => self.give_up(state, usize::from(event)),
            Action::List => {
                state.answerer = Answerer::Listed(state.database.question.map_or(0, |question| question.round));
            }
            Action::AnswerElsewhere(answer) => {
                if let Answerer::Listed(round) = state.answerer {
                    self.write_answer(state, round, answer);
                    state.answerer = Answerer::Answered(round);
                }
            }
            Action::Clean(cleaner) => self.clean(state, usize::from(cleaner)),
            Action::GiveBack(host) => state.give_back(usize::from(host)),
            Action::TakeUpRules(process) => state.processes[usize::from(process)].rules = 1,
            Action::Kill(process) => self.kill(state, usize::from(process)),
        }
    }

    /// Takes the next step of an event.
    fn step(&self, state: &mut State, event: usize) {
        let (host, process) = (state.world.host(event), usize::from(state.world.owners[event]));
        match state.events[event].at {
            At::Away => {
                if !self.protocol.reads_in_the_turn {
                    self.read_row(state, event);
                    state.events[event].read =
                        Read { rules: state.processes[process].rules, state: state.database.state };
                }
                let returns = state.events[event].round > 0;
                if returns && !self.protocol.takes_up_in_a_turn {
                    state.go(event, At::Note);
                    return;
                }
                state.hosts[host].order = Some(number(event));
                match state.hosts[host].kept {
                    Some(_) => state.go(event, At::Look),
                    None => self.look_for_a_ticket(state, event),
                }
            }
            At::Look => match state.hosts[host].kept {
                Some(byte) if !self.protocol.looks_before_it_reuses || state.is_last(host, byte) => {
                    state.hosts[host].kept = None;
                    state.hosts[host].order = None;
                    state.events[event].byte = byte;
                    state.line.push(number(event));
                    state.go(event, At::Wait);
                }
                _ => {
                    state.give_back(host);
                    self.look_for_a_ticket(state, event);
                }
            },
            At::Door => {
                state.locks[0] = Some(number(host));
                state.go(event, At::Scan);
            }
            At::Scan => state.go(event, At::Take),
            At::Take => {
                // Another event of the host may have left its ticket to the host meanwhile.
                state.give_back(host);
                let byte = usize::from(state.events[event].byte);
                if state.is_unlocked_for(host, byte) {
                    state.locks[byte] = Some(number(host));
                    state.line.push(number(event));
                    state.go(event, At::Open);
                } else {
                    // The event cannot get its ticket, so it fails and counts as rejected.
                    state.events[event].byte = 0;
                    self.unlock_door(state, host);
                    self.give_up(state, event);
                }
            }
            At::Open => {
                self.unlock_door(state, host);
                state.hosts[host].order = None;
                state.go(event, At::Wait);
            }
            At::Wait => {
                let has_turn = |other: &Event| (At::Note..=At::Leave).contains(&other.at);
                let is_alone = !state.events.iter().any(has_turn);
                if !is_alone || state.line.first() != Some(&number(event)) {
                    state.breaks(Rule::InOrderOfArrival);
                }
                state.events[event].rules_at_turn = state.processes[process].rules;
                state.go(event, At::Note);
            }
            At::Note => {
                if state.last_turn != Some(number(host)) {
                    state.hosts[host].has_copy = false;
                }
                if self.protocol.notes_its_turn_first {
                    state.last_turn = Some(number(host));
                }
                let next = if self.protocol.reads_in_the_turn { At::Row } else { self.after_reading(state, event) };
                state.go(event, next);
            }
            At::Row => {
                self.read_row(state, event);
                state.go(event, At::Rules);
            }
            At::Rules => {
                state.events[event].read.rules = state.processes[process].rules;
                state.go(event, At::State);
            }
            At::State => {
                state.events[event].read.state = state.database.state;
                let next = self.after_reading(state, event);
                state.go(event, next);
            }
            At::Yes => {
                self.record_answer(state, event, true);
                state.database.question = None;
                state.go(event, At::Ask);
            }
            // Other actions continue from these states, such as `Action::Answered`.
            At::Ask | At::Pending | At::Ended => {}
            At::Show => {
                state.hosts[host].is_shown = true;
                state.go(event, At::Commit);
            }
            At::RunFirst => {
                state.run(event);
                state.go(event, At::Commit);
            }
            At::Commit => self.commit(state, event),
            At::Rest => {
                if self.protocol.records_with_the_effects {
                    state.database.question = None;
                } else {
                    state.write_effects(event);
                }
                state.go(event, At::Leave);
            }
            At::ShowLate => {
                state.hosts[host].is_shown = true;
                state.go(event, At::Leave);
            }
            At::Leave => {
                if !self.protocol.notes_its_turn_first {
                    state.last_turn = Some(number(host));
                }
                state.keep_or_leave(event);
                let next = match state.database.settled[event] {
                    Some(Settled::Allowed(_)) if !state.events[event].has_run => At::Run,
                    None if state.events[event].plan == Plan::Escalate => At::Pending,
                    _ => At::Ended,
                };
                state.go(event, next);
            }
            At::Run => {
                state.run(event);
                state.go(event, At::Ended);
            }
            At::Answer => {
                let (round, wanted) = (state.events[event].round, state.events[event].answer);
                let wanted = wanted.unwrap_or(false);
                let counts =
                    if state.world.shares_questions { self.write_answer(state, round, wanted) } else { Some(wanted) };
                let event = &mut state.events[event];
                // If there is no question, another process has treated this one as dead and removed the row.
                event.answer = Some(counts.unwrap_or(false));
                (event.round, event.at, event.plan) = (event.round + 1, At::Away, Plan::Nothing);
            }
            At::Late => {
                let now = state.events[event];
                let is_question = now.shown.is_some() && !now.is_answer_recorded;
                state.write_row(host);
                if is_question {
                    self.record_answer(state, event, false);
                    if !self.protocol.drops_a_question_at_once {
                        state.go(event, At::LateRest);
                        return;
                    }
                    state.database.question = None;
                } else if let Some(number) = now.number.filter(|_| !self.protocol.keeps_given_up_numbers_out) {
                    state.record_number(number);
                }
                state.go(event, At::Ended);
            }
            At::LateRest => {
                state.database.question = None;
                state.go(event, At::Ended);
            }
        }
    }

    /// Begins the search for the ticket after the highest ticket that is held.
    fn look_for_a_ticket(&self, state: &mut State, event: usize) {
        let own = state.tickets_of(state.world.host(event)).max().filter(|_| self.protocol.knows_its_own_tickets);
        state.events[event].byte = own.unwrap_or(0) + 1;
        state.go(event, if self.protocol.scans_behind_the_door { At::Door } else { At::Scan });
    }

    /// Reads the row, unless the host's copy is current. A new event also takes a number.
    fn read_row(&self, state: &mut State, event: usize) {
        let row = state.database.row;
        let host = &mut state.hosts[state.world.host(event)];
        if !host.has_copy {
            host.copy = Row { numbers: row.numbers + host.unwritten, ..row };
            host.has_copy = true;
        }
        if state.events[event].round == 0 {
            state.take_number(event);
        }
    }

    /// Returns the next step after everything is read. Without an answer, the plugins are asked. Otherwise the step depends on the answer.
    fn after_reading(&self, state: &mut State, event: usize) -> At {
        let changes = state.events[event].read != state.events[event].agreed;
        let next = match state.events[event].answer {
            None => return At::Ask,
            Some(false) => Plan::No,
            Some(true) if changes && self.protocol.asks_again => {
                state.take_number(event);
                return if self.protocol.records_a_yes_before_it_asks_again { At::Yes } else { At::Ask };
            }
            Some(true) => Plan::Yes,
        };
        state.events[event].plan = next;
        At::Commit
    }

    /// Applies the verdict of the plugins on an event.
    fn answered(&self, state: &mut State, event: usize, verdict: Verdict) {
        let now = &mut state.events[event];
        now.agreed = now.read;
        // A value that was shown to a person stays unchanged. Any other value depends on the version of the rules.
        if now.shown.is_none() || !self.protocol.asks_about_what_was_shown {
            now.value = 1 + now.read.rules;
        }
        now.plan = match verdict {
            Verdict::Allow => Plan::Allow,
            Verdict::Reject => Plan::Reject,
            Verdict::Escalate => Plan::Escalate,
        };
        let next = match verdict {
            Verdict::Escalate if self.protocol.shows_itself_first => At::Show,
            Verdict::Allow if !self.protocol.runs_after_the_commit => At::RunFirst,
            _ => At::Commit,
        };
        state.go(event, next);
    }

    /// Runs the transaction that settles an event or stores a question for a person.
    fn commit(&self, state: &mut State, event: usize) {
        let host = state.world.host(event);
        let now = state.events[event];
        let answer = now.answer.filter(|_| !now.is_answer_recorded);
        if let Some(answer) = answer {
            self.record_answer(state, event, answer);
        }
        if let Some(number) = now.number {
            state.record_number(number);
        }
        state.write_row(host);
        if now.plan == Plan::Escalate {
            self.commit_question(state, event);
            return;
        }
        let is_of_now = now.agreed.rules >= now.rules_at_turn && now.agreed.state == state.database.state;
        if now.plan != Plan::No && !is_of_now {
            state.breaks(Rule::NoStaleYes);
        }
        let holds = now.plan != Plan::No || now.agreed.state == now.read.state || !self.protocol.drops_old_effects;
        let is_allowed = matches!(now.plan, Plan::Allow | Plan::Yes);
        state.database.settled[event] =
            Some(if is_allowed { Settled::Allowed(now.value) } else { Settled::Rejected(holds) });
        let mut next = At::Leave;
        if holds && self.protocol.records_with_the_effects {
            state.write_effects(event);
        } else if holds {
            next = At::Rest;
        }
        if answer.is_some() && self.protocol.removes_the_row_with_the_record {
            state.database.question = None;
        } else if answer.is_some() {
            next = At::Rest;
        }
        state.go(event, next);
    }

    fn commit_question(&self, state: &mut State, event: usize) {
        if !self.protocol.holds_effects_back {
            state.write_effects(event);
        }
        let event = &mut state.events[event];
        let database = &mut state.database;
        database.question = Some(Question { round: event.round, answer: None });
        (database.answers, database.accepted) = (0, None);
        (event.shown, event.answer, event.is_answer_recorded, event.number) = (Some(event.value), None, false, None);
        event.at = if self.protocol.shows_itself_first { At::Leave } else { At::ShowLate };
    }

    /// Writes an answer to the question of this round. Returns the answer that decides, or `None` if there is no such question.
    fn write_answer(&self, state: &mut State, round: u8, answer: bool) -> Option<bool> {
        let question = state.database.question.as_mut().filter(|question| question.round == round)?;
        if question.answer.is_none() || !self.protocol.answers_if_unanswered {
            question.answer = Some(answer);
            let counts = question.answer;
            if state.database.accepted.is_some() {
                state.breaks(Rule::OneAnswer);
            }
            state.database.accepted = counts;
        }
        state.database.question.and_then(|question| question.answer)
    }

    /// Writes the answer to an event's question to the log.
    fn record_answer(&self, state: &mut State, event: usize, answer: bool) {
        state.count_answer();
        let is_of_sender = state.database.accepted.is_none_or(|accepted| accepted == answer);
        // If the agent has given up the event, this takes precedence over the person's answer.
        if !is_of_sender && state.events[event].at != At::Late {
            state.breaks(Rule::OneAnswer);
        }
        state.events[event].is_answer_recorded = true;
    }

    fn clean(&self, state: &mut State, cleaner: usize) {
        let there = state.database.question.map_or(0, |question| question.round);
        let is_gone = state.is_asker_gone();
        state.cleaners[cleaner] = match state.cleaners[cleaner] {
            Cleaner::Listed(round) if is_gone => Cleaner::FoundDead(round),
            Cleaner::Idle | Cleaner::Listed(_) | Cleaner::Done(_) => Cleaner::Listed(there),
            Cleaner::FoundDead(round) => {
                if state.question(round).is_some() || !self.protocol.gives_up_what_is_there {
                    state.count_answer();
                    state.database.question = None;
                }
                Cleaner::Done(round)
            }
        };
    }

    /// Gives up an event because the agent no longer waits for it. Its ticket is released at once, and its record is written later.
    fn give_up(&self, state: &mut State, event: usize) {
        let now = state.events[event];
        state.leave(event);
        let is_question = now.shown.is_some() && !now.is_answer_recorded;
        let has_begun = now.at >= At::Row && now.number.is_some() && now.at != At::Pending;
        state.go(event, if is_question || has_begun { At::Late } else { At::Ended });
    }

    fn unlock_door(&self, state: &mut State, host: usize) {
        if self.protocol.scans_behind_the_door {
            state.unlock(host, 0);
        }
    }

    fn kill(&self, state: &mut State, process: usize) {
        state.processes[process].is_dead = true;
        for host in 0..EVENTS {
            if state.world.process(host) == process {
                state.hosts[host] = Default::default();
                if self.protocol.tickets_end_with_the_process {
                    state.locks.iter_mut().filter(|lock| **lock == Some(number(host))).for_each(|lock| *lock = None);
                }
            }
        }
        for event in 0..EVENTS {
            if usize::from(state.world.owners[event]) == process && state.events[event].at != At::Ended {
                state.line.retain(|other| *other != number(event));
                state.events[event] = Event { at: At::Ended, ..Event::default() };
            }
        }
        if process == PROCESSES - 1 {
            state.answerer = Answerer::Idle;
            state.cleaners = Default::default();
        }
    }
}

impl State {
    fn go(&mut self, event: usize, at: At) {
        self.events[event].at = at;
    }

    fn breaks(&mut self, rule: Rule) {
        self.broken |= rule.bit();
    }

    /// Returns true if no other host has locked a byte. A host cannot detect its own locks.
    pub(crate) fn is_unlocked_for(&self, host: usize, byte: usize) -> bool {
        self.locks[byte].is_none_or(|by| usize::from(by) == host)
    }

    /// Returns the tickets that a host holds for its events.
    pub(crate) fn tickets_of(&self, host: usize) -> impl Iterator<Item = u8> {
        let of_host = self.line.iter().filter(move |event| self.world.host(usize::from(**event)) == host);
        of_host.map(|event| self.events[usize::from(*event)].byte)
    }

    fn unlock(&mut self, host: usize, byte: usize) {
        if self.locks[byte] == Some(number(host)) {
            self.locks[byte] = None;
        }
    }

    /// Returns true if no other host holds a later ticket than this one.
    fn is_last(&self, host: usize, byte: u8) -> bool {
        (usize::from(byte) + 1..self.locks.len()).all(|byte| self.is_unlocked_for(host, byte))
    }

    /// Gives back the ticket that a host keeps.
    fn give_back(&mut self, host: usize) {
        if let Some(byte) = self.hosts[host].kept.take() {
            self.unlock(host, usize::from(byte));
        }
    }

    /// Ends an event's turn. The event's host keeps the ticket, unless another event of the host has a ticket.
    fn keep_or_leave(&mut self, event: usize) {
        let (host, byte) = (self.world.host(event), self.events[event].byte);
        let is_only_one = self.line.contains(&number(event)) && self.tickets_of(host).count() == 1;
        if !is_only_one {
            self.leave(event);
            return;
        }
        self.line.retain(|other| *other != number(event));
        self.hosts[host].kept = Some(byte);
        self.events[event].byte = 0;
    }

    /// Gives an event's ticket back.
    fn leave(&mut self, event: usize) {
        let host = self.world.host(event);
        if self.line.contains(&number(event)) {
            self.unlock(host, usize::from(self.events[event].byte));
            self.line.retain(|other| *other != number(event));
        }
        if self.hosts[host].order == Some(number(event)) {
            self.hosts[host].order = None;
        }
        self.events[event].byte = 0;
    }

    pub(crate) fn is_asker_gone(&self) -> bool {
        !self.hosts[self.world.host(0)].is_shown
    }

    fn question(&self, round: u8) -> Option<Question> {
        self.database.question.filter(|question| question.round == round)
    }

    /// Passes an answer to the asking process.
    fn answers(&mut self, answer: bool) {
        self.events[0].answer = Some(answer);
        self.go(0, At::Answer);
    }

    fn take_number(&mut self, event: usize) {
        let host = &mut self.hosts[self.world.host(event)];
        self.events[event].number = Some(host.copy.numbers);
        host.copy.numbers += 1;
        host.unwritten += 1;
    }

    fn record_number(&mut self, number: u8) {
        if self.database.numbers >> number & 1 == 1 {
            self.breaks(Rule::NoNumberTwice);
        }
        self.database.numbers |= 1 << number;
    }

    fn count_answer(&mut self) {
        self.database.answers += 1;
        if self.database.answers > 1 {
            self.breaks(Rule::OneAnswer);
        }
    }

    /// Writes a host's new event numbers to the row.
    fn write_row(&mut self, host: usize) {
        self.database.row.numbers += std::mem::take(&mut self.hosts[host].unwritten);
    }

    /// Writes an event's effects: the state that the plugins computed, and the row from the host's copy.
    fn write_effects(&mut self, event: usize) {
        let host = &mut self.hosts[self.world.host(event)];
        self.database.state = self.events[event].agreed.state | 1 << event;
        host.copy.effects |= 1 << event;
        self.database.row.effects = host.copy.effects;
        self.database.written[event] += 1;
    }

    /// Runs the call of an event, and checks that this is permitted.
    fn run(&mut self, event: usize) {
        let now = self.events[event];
        let is_recorded = self.database.settled[event] == Some(Settled::Allowed(now.value));
        let is_as_shown = now.shown.is_none_or(|shown| shown == now.value);
        if !is_recorded || !is_as_shown || now.has_run {
            self.breaks(Rule::OnlyWhatIsRecordedRuns);
        }
        self.events[event].has_run = true;
    }
}
