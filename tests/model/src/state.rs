//! What there is: processes, hosts, events, the file of turns, the database.

/// Events of the session. The first may be escalated.
pub(crate) const EVENTS: usize = 3;

/// Processes. The first event is one of process 0; process 1 answers and cleans up, too.
pub(crate) const PROCESSES: usize = 2;

/// Bytes of the file of turns: the door, and the tickets.
pub(crate) const BYTES: usize = 8;

/// The other handles in process 1 that look for questions of dead processes.
pub(crate) const CLEANERS: usize = 2;

/// A moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) world: World,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) hosts: [Host; EVENTS],
    pub(crate) events: [Event; EVENTS],
    /// Which host has each byte locked.
    pub(crate) locks: [Option<u8>; BYTES],
    /// The host that had the last turn, as the file of turns has it.
    pub(crate) last_turn: Option<u8>,
    pub(crate) database: Database,
    pub(crate) answerer: Answerer,
    pub(crate) cleaners: [Cleaner; CLEANERS],
    /// Events with a ticket, in order of arrival.
    pub(crate) line: Vec<u8>,
    /// The rules that a step has broken: a bit for each.
    pub(crate) broken: u8,
}

/// What does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The process of each event, 0 or 1; of the first 0.
    pub owners: [u8; EVENTS],
    /// Each event has a host of its own; otherwise each process has one.
    pub has_host_for_each_event: bool,
    /// Answers are taken from the store.
    pub shares_questions: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) is_dead: bool,
    /// The version of the rules that it has taken up.
    pub(crate) rules: u8,
}

/// A host with its handle of the session, and one open file of turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    /// The event of the host that takes its ticket.
    pub(crate) order: Option<u8>,
    /// The byte of a ticket that the host keeps for its next event.
    pub(crate) kept: Option<u8>,
    /// Its byte is locked: it is alive.
    pub(crate) is_shown: bool,
    /// Its copy of the row, with what is not yet written.
    pub(crate) copy: Row,
    /// Numbers in the copy that are not yet in the row.
    pub(crate) unwritten: u8,
    /// The copy was read.
    pub(crate) has_copy: bool,
}

/// The row of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    /// Effects in it: a bit for each event.
    pub(crate) effects: u8,
    /// Numbers of events that are taken.
    pub(crate) numbers: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Database {
    /// The state of the plugin: a value that each event reads at its beginning and writes as a whole, with its bit.
    pub(crate) state: u8,
    pub(crate) row: Row,
    pub(crate) question: Option<Question>,
    /// How often each event's effects were written.
    pub(crate) written: [u8; EVENTS],
    /// What the log says of each event.
    pub(crate) settled: [Option<Settled>; EVENTS],
    /// Numbers of events in the log: a bit for each.
    pub(crate) numbers: u8,
    /// Answers in the log to the question of this round.
    pub(crate) answers: u8,
    /// The answer to this round of which its sender was told that it counts.
    pub(crate) accepted: Option<bool>,
}

/// What the log says of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Settled {
    /// It may run, with this value; its effects hold.
    Allowed(u8),
    /// It does not run; its effects hold, or do not.
    Rejected(bool),
}

/// The row of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) round: u8,
    pub(crate) answer: Option<bool>,
}

/// An event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) at: At,
    /// Questions that it has asked and that are taken up.
    pub(crate) round: u8,
    /// The byte that it holds, or that it looks at.
    pub(crate) byte: u8,
    /// The number that it has taken, if any.
    pub(crate) number: Option<u8>,
    /// What was read in this turn.
    pub(crate) read: Read,
    /// What the plugins last answered about.
    pub(crate) agreed: Read,
    /// The version of the rules of its process when its turn began.
    pub(crate) rules_at_turn: u8,
    /// The value as the plugins have it; 0 as it came.
    pub(crate) value: u8,
    /// The value of which a person was shown the snapshot.
    pub(crate) shown: Option<u8>,
    /// The answer that counts, or that is to count.
    pub(crate) answer: Option<bool>,
    /// The answer is in the log.
    pub(crate) is_answer_recorded: bool,
    /// What is to be committed.
    pub(crate) plan: Plan,
    pub(crate) has_run: bool,
}

/// Rules and state, as they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Read {
    pub(crate) rules: u8,
    pub(crate) state: u8,
}

/// What an event does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum At {
    /// It has not come; or it comes back with an answer.
    #[default]
    Away,
    /// Looks whether another host's event came after the ticket that its host keeps.
    Look,
    /// Locks the door.
    Door,
    /// Looks for a locked byte from its own on.
    Scan,
    /// Locks its byte.
    Take,
    /// Unlocks the door.
    Open,
    /// Waits until nobody is before it.
    Wait,
    /// Looks who had the last turn, and notes that it has one.
    Note,
    /// Reads the row, if somebody else had a turn.
    Row,
    /// Reads the rules.
    Rules,
    /// Reads the state.
    State,
    /// Writes that the answer was yes, and that the question is settled, before it asks the plugins again.
    Yes,
    /// Asks the plugins.
    Ask,
    /// Locks the byte by which its host shows that it is alive.
    Show,
    /// Runs before the commit: a mistake.
    RunFirst,
    /// Commits.
    Commit,
    /// Commits what was left out: a mistake.
    Rest,
    /// The same for showing that its host is alive.
    ShowLate,
    /// Unlocks its byte.
    Leave,
    /// Runs.
    Run,
    /// Waits for an answer.
    Pending,
    /// Writes an answer, unless there is one.
    Answer,
    /// Waits until its process writes what is left of it.
    Late,
    /// Waits until its process removes the question: a mistake.
    LateRest,
    /// Nothing any more; or its process was killed.
    Ended,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Plan {
    #[default]
    Nothing,
    /// Allowed by the plugins.
    Allow,
    /// Rejected by the plugins.
    Reject,
    /// A person is to be asked.
    Escalate,
    /// The person said yes, and nothing has changed.
    Yes,
    /// The person said no.
    No,
}

/// What answers in process 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answerer {
    #[default]
    Idle,
    /// It has read the question of this round, and has not answered.
    Listed(u8),
    /// It has answered that question.
    Answered(u8),
}

/// What looks in process 1 for questions of dead processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cleaner {
    #[default]
    Idle,
    /// It has read the question of this round.
    Listed(u8),
    /// And has found that its process is gone.
    FoundDead(u8),
    /// It has given the question up, or found it given up.
    Done(u8),
}

/// What plugins answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not.
    Reject,
    /// A person is to be asked.
    Escalate,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// An event comes.
    Come(u8),
    /// An event does what is next, of which there is one outcome.
    Step(u8),
    /// An event looks for a locked byte, and gets this one.
    SawLocked(u8, u8),
    /// The plugins answer an event.
    Answered(u8, Verdict),
    /// The approver of the asking process answers.
    Approver(bool),
    /// The deadline of the question passes.
    Deadline,
    /// The asking process looks for an answer in the store, and finds one, or no question.
    Poll,
    /// The agent does not wait for the event any more.
    GiveUp(u8),
    /// The other process reads the questions.
    List,
    /// The other process writes an answer.
    AnswerElsewhere(bool),
    /// One who looks for questions of dead processes does what is next.
    Clean(u8),
    /// A host gives back the ticket that it keeps.
    GiveBack(u8),
    /// A process takes up the rules that the operator has changed.
    TakeUpRules(u8),
    /// A process is killed.
    Kill(u8),
}

impl World {
    /// The host of an event.
    pub(crate) fn host(&self, event: usize) -> usize {
        if self.has_host_for_each_event { event } else { usize::from(self.owners[event]) }
    }

    /// The process of a host; a host that no event has is of its own number's.
    pub(crate) fn process(&self, host: usize) -> usize {
        if self.has_host_for_each_event { usize::from(self.owners[host]) } else { host % PROCESSES }
    }
}

impl State {
    pub(crate) fn new(world: World) -> Self {
        Self {
            world,
            processes: Default::default(),
            hosts: Default::default(),
            events: Default::default(),
            locks: [None; BYTES],
            last_turn: None,
            database: Database::default(),
            answerer: Answerer::default(),
            cleaners: Default::default(),
            line: Vec::new(),
            broken: 0,
        }
    }

    /// What a step from here does, for people.
    #[must_use]
    pub fn describe(&self, action: Action) -> String {
        match action {
            Action::Step(event) => format!("event {event}: {:?}", self.events[usize::from(event)].at),
            Action::SawLocked(event, byte) => format!("event {event}: is told that byte {byte} is locked"),
            action => format!("{action:?}"),
        }
    }

    /// Grows with each step, so that no state comes twice on one way.
    pub(crate) fn rank(&self) -> u32 {
        let event = |event: &Event| match event.at {
            At::Late => 8_000,
            At::LateRest => 8_001,
            At::Ended => 9_000,
            At::Scan => at(event) + u32::from(event.byte),
            _ => at(event),
        };
        fn at(event: &Event) -> u32 {
            u32::from(event.round) * 1_000 + event.at as u32 * 16
        }
        let cleaner = |cleaner: &Cleaner| match cleaner {
            Cleaner::Idle => 0,
            Cleaner::Listed(round) => u32::from(*round) * 3 + 1,
            Cleaner::FoundDead(round) => u32::from(*round) * 3 + 2,
            Cleaner::Done(round) => u32::from(*round) * 3 + 3,
        };
        let answerer = match self.answerer {
            Answerer::Idle => 0,
            Answerer::Listed(round) => u32::from(round) * 2 + 1,
            Answerer::Answered(round) => u32::from(round) * 2 + 2,
        };
        let keeps_none = |host: &&Host| host.kept.is_none();
        self.events.iter().map(event).sum::<u32>()
            + self.hosts.iter().filter(keeps_none).count() as u32
            + self.cleaners.iter().map(cleaner).sum::<u32>() * 10
            + answerer
            + self
                .processes
                .iter()
                .map(|process| u32::from(process.rules) + 100 * u32::from(process.is_dead))
                .sum::<u32>()
    }
}

/// The number of an event, a host or a byte.
pub(crate) fn number(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
