//! The state of the model: processes, hosts, events, the file of turns, and the database.

/// Number of events of the session. The first event may be escalated.
pub(crate) const EVENTS: usize = 3;

/// Number of processes. The first event belongs to process 0. Process 1 also answers questions and cleans up after process 0.
pub(crate) const PROCESSES: usize = 2;

/// Number of bytes in the file of turns: byte 0 is the door, and the others are tickets.
pub(crate) const BYTES: usize = 8;

/// Number of handles in process 1 that look for questions of dead processes.
pub(crate) const CLEANERS: usize = 2;

/// A state of the whole model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) world: World,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) hosts: [Host; EVENTS],
    pub(crate) events: [Event; EVENTS],
    /// The host that has locked each byte.
    pub(crate) locks: [Option<u8>; BYTES],
    /// The host that had the last turn, according to the file of turns.
    pub(crate) last_turn: Option<u8>,
    pub(crate) database: Database,
    pub(crate) answerer: Answerer,
    pub(crate) cleaners: [Cleaner; CLEANERS],
    /// Events with a ticket, in order of arrival.
    pub(crate) line: Vec<u8>,
    /// The rules that a step has broken, with one bit per rule.
    pub(crate) broken: u8,
}

/// The arrangement of events, hosts and processes. No step changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The process of each event, 0 or 1. The first event belongs to process 0.
    pub owners: [u8; EVENTS],
    /// True if each event has its own host; otherwise each process has one host.
    pub has_host_for_each_event: bool,
    /// True if the asking process accepts answers from the store.
    pub shares_questions: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) is_dead: bool,
    /// The version of the rules that the process uses.
    pub(crate) rules: u8,
}

/// A host with its handle of the session, and one open file of turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    /// The event of the host that is taking a ticket at present.
    pub(crate) order: Option<u8>,
    /// The byte of a ticket that the host keeps for its next event.
    pub(crate) kept: Option<u8>,
    /// True if the host has locked its byte, which shows other processes that it is alive.
    pub(crate) is_shown: bool,
    /// The host's copy of the session's row, with changes that are not written yet.
    pub(crate) copy: Row,
    /// Number of event numbers that are taken in the copy, but not yet in the row.
    pub(crate) unwritten: u8,
    /// True if the copy has been read.
    pub(crate) has_copy: bool,
}

/// The row of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    /// The events whose effects the row contains, with one bit per event.
    pub(crate) effects: u8,
    /// Number of event numbers that are taken.
    pub(crate) numbers: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Database {
    /// The state of the plugin, a single value. Each event reads the value in its turn, sets its own bit, and writes the whole value.
    pub(crate) state: u8,
    pub(crate) row: Row,
    pub(crate) question: Option<Question>,
    /// The number of times that each event's effects were written.
    pub(crate) written: [u8; EVENTS],
    /// The outcome of each event in the log.
    pub(crate) settled: [Option<Settled>; EVENTS],
    /// The numbers of the events in the log, with one bit per number.
    pub(crate) numbers: u8,
    /// The number of answers in the log to the question of this round.
    pub(crate) answers: u8,
    /// The answer to this round's question whose sender was told that the answer was accepted.
    pub(crate) accepted: Option<bool>,
}

/// The outcome of an event in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Settled {
    /// The call may run with this value. The effects are written.
    Allowed(u8),
    /// The call does not run. True if the effects are written.
    Rejected(bool),
}

/// The row of a question in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) round: u8,
    pub(crate) answer: Option<bool>,
}

/// An event of the session, from its arrival to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) at: At,
    /// The number of the event's questions whose answers it has received.
    pub(crate) round: u8,
    /// The byte of the ticket that the event holds, or that it examines next.
    pub(crate) byte: u8,
    /// The number that the event has taken, if any.
    pub(crate) number: Option<u8>,
    /// The versions that the event read in this turn.
    pub(crate) read: Read,
    /// The versions that were current when the plugins last answered.
    pub(crate) agreed: Read,
    /// The version of the rules of its process when its turn began.
    pub(crate) rules_at_turn: u8,
    /// The value after changes by plugins. 0 is the original value.
    pub(crate) value: u8,
    /// The value that was shown to a person.
    pub(crate) shown: Option<u8>,
    /// The person's answer. The event may still have to write it to the store.
    pub(crate) answer: Option<bool>,
    /// True if the answer is in the log.
    pub(crate) is_answer_recorded: bool,
    /// The content that the event will commit.
    pub(crate) plan: Plan,
    pub(crate) has_run: bool,
}

/// The versions of the rules and of the state that an event read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Read {
    pub(crate) rules: u8,
    pub(crate) state: u8,
}

/// What an event does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum At {
    /// Has not arrived yet, or is about to return with an answer.
    #[default]
    Away,
    /// Checks whether an event of another host has a later ticket than the one that its own host keeps.
    Look,
    /// Locks the door.
    Door,
    /// Searches for a locked byte, beginning with `byte`.
    Scan,
    /// Locks the byte that becomes its ticket.
    Take,
    /// Unlocks the door.
    Open,
    /// Waits until no lower ticket is held.
    Wait,
    /// Reads from the file which host had the last turn, and writes its own host there.
    Note,
    /// Reads the session's row if another host had the last turn.
    Row,
    /// Reads the rules.
    Rules,
    /// Reads the state.
    State,
    /// Records the yes and removes the question's row, before it asks the plugins again.
    Yes,
    /// Asks the plugins.
    Ask,
    /// Locks the byte by which its host shows that it is alive.
    Show,
    /// Runs the call before the commit, which is a mistake.
    RunFirst,
    /// Commits.
    Commit,
    /// Commits in a second transaction what the first one left out, which is a mistake.
    Rest,
    /// Locks the host's byte only after the commit, which is a mistake too.
    ShowLate,
    /// Unlocks its ticket, or leaves the ticket to its host.
    Leave,
    /// Runs the call.
    Run,
    /// Waits for an answer.
    Pending,
    /// Writes its answer to the store, unless the question has an answer already.
    Answer,
    /// Was given up. Waits until its process records this.
    Late,
    /// Was given up and recorded. Its process removes the question in a second transaction, which is a mistake.
    LateRest,
    /// Has ended, or its process was killed.
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
    /// A person must be asked.
    Escalate,
    /// The person said yes, and nothing has changed.
    Yes,
    /// The person said no.
    No,
}

/// The part of process 1 that answers questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answerer {
    #[default]
    Idle,
    /// It has read the question of this round, and has not answered yet.
    Listed(u8),
    /// It has answered the question of this round.
    Answered(u8),
}

/// A handle in process 1 that looks for questions of dead processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cleaner {
    #[default]
    Idle,
    /// It has read the question of this round.
    Listed(u8),
    /// It has read the question of this round, and found that the asking process has ended.
    FoundDead(u8),
    /// It has given up the question of this round, or found that the question was given up already.
    Done(u8),
}

/// The verdict of the plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call must not run.
    Reject,
    /// A person must be asked.
    Escalate,
}

/// A step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// An event arrives.
    Come(u8),
    /// An event takes its next step, which has only one possible outcome.
    Step(u8),
    /// An event searches for a locked byte, and finds this one.
    SawLocked(u8, u8),
    /// The plugins answer an event.
    Answered(u8, Verdict),
    /// The approver of the asking process answers.
    Approver(bool),
    /// The deadline of the question passes.
    Deadline,
    /// The asking process looks for an answer in the store, and finds one, or no question.
    Poll,
    /// The agent stops waiting for the event.
    GiveUp(u8),
    /// The other process reads the list of questions.
    List,
    /// The other process writes an answer.
    AnswerElsewhere(bool),
    /// A cleaner takes its next step.
    Clean(u8),
    /// A host gives back the ticket that it keeps.
    GiveBack(u8),
    /// A process begins to use the rules that the operator has changed.
    TakeUpRules(u8),
    /// A process is killed.
    Kill(u8),
}

impl World {
    /// Returns the host of an event.
    pub(crate) fn host(&self, event: usize) -> usize {
        if self.has_host_for_each_event { event } else { usize::from(self.owners[event]) }
    }

    /// Returns the process of a host. If every process has one host, the host's number is that of the process.
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

    /// Describes a step from this state for people.
    #[must_use]
    pub fn describe(&self, action: Action) -> String {
        match action {
            Action::Step(event) => format!("event {event}: {:?}", self.events[usize::from(event)].at),
            Action::SawLocked(event, byte) => format!("event {event}: is told that byte {byte} is locked"),
            action => format!("{action:?}"),
        }
    }

    /// Returns a number that grows with each step, so no path reaches a state twice.
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

/// Converts the index of an event, a host or a byte to a `u8`.
pub(crate) fn number(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
