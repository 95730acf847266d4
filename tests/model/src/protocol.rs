//! The choices of the protocol, so that a test can reverse each of them and check that the model finds a broken rule.

/// The choices of the protocol. Each field is true in the right protocol; with `false`, the protocol makes the mistake that the text
/// after "otherwise" describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// An arriving event locks the door while it looks for its ticket; otherwise two events may find the same ticket.
    pub scans_behind_the_door: bool,
    /// A turn begins when no lower ticket is held; otherwise it begins when the ticket directly before is free.
    pub waits_for_all_below: bool,
    /// Only one event of a host at a time takes a ticket; otherwise several do so, because the lock on the door does not stop other events
    /// of the same host.
    pub lets_in_one_of_a_host: bool,
    /// A host keeps a list of the tickets that it holds; otherwise it does not see them, because the kernel does not report the host's own
    /// locks to it.
    pub knows_its_own_tickets: bool,
    /// A ticket is unlocked when the process that holds it ends; otherwise it stays locked.
    pub tickets_end_with_the_process: bool,
    /// A host reuses a ticket from its last event only if no event of another host has taken a later ticket; otherwise it always reuses
    /// the ticket.
    pub looks_before_it_reuses: bool,
    /// A host gives back an unused ticket soon; otherwise it gives the ticket back only at its next event.
    pub gives_back_soon: bool,
    /// The row, the rules and the state are read in the turn; otherwise they are read before the event arrives.
    pub reads_in_the_turn: bool,
    /// A handle notes its turn in the file before it writes to the database; otherwise it does so at the end of the turn.
    pub notes_its_turn_first: bool,
    /// The record and the effects are one transaction; otherwise the record comes first.
    pub records_with_the_effects: bool,
    /// The call runs after the commit; otherwise it runs before.
    pub runs_after_the_commit: bool,
    /// The effects of an escalated event are written when it is settled; otherwise they are also written when it is escalated.
    pub holds_effects_back: bool,
    /// The asking process locks its byte before others can find the question; otherwise it locks the byte afterwards.
    pub shows_itself_first: bool,
    /// An answer is written only if the question has none; otherwise it replaces an earlier answer.
    pub answers_if_unanswered: bool,
    /// The event processes its answer in a turn; otherwise it does so at once.
    pub takes_up_in_a_turn: bool,
    /// If rules or state have changed, a yes leads to another question to the plugins; otherwise the yes is final.
    pub asks_again: bool,
    /// Before the plugins are asked again, a transaction records the yes and removes the row; otherwise the transaction that settles the
    /// event does so. This is an exception: both values are right.
    pub records_a_yes_before_it_asks_again: bool,
    /// The plugins are asked again about the value that was shown to the person; otherwise about the original value of the event.
    pub asks_about_what_was_shown: bool,
    /// After a no, effects that were computed from an older state are dropped; otherwise they are written.
    pub drops_old_effects: bool,
    /// The answer's record and the removal of the row are one transaction; otherwise the removal comes after.
    pub removes_the_row_with_the_record: bool,
    /// A process that gives up the question of a dead process records an answer only if the row still exists; otherwise it always does.
    pub gives_up_what_is_there: bool,
    /// The record of a dropped question and the removal of its row are one transaction; otherwise the removal comes after.
    pub drops_a_question_at_once: bool,
    /// The record of an event that was given up has a new identifier; otherwise it has the number that the event had taken, which another
    /// handle may take as well.
    pub keeps_given_up_numbers_out: bool,
    /// If no answer arrives before the deadline, the answer is no; otherwise the event waits without a limit.
    pub has_a_deadline: bool,
}

impl Protocol {
    /// The protocol of `docs/decisions/0025-shared-sessions.md`.
    pub const DECIDED: Self = Self {
        scans_behind_the_door: true,
        waits_for_all_below: true,
        lets_in_one_of_a_host: true,
        knows_its_own_tickets: true,
        tickets_end_with_the_process: true,
        looks_before_it_reuses: true,
        gives_back_soon: true,
        reads_in_the_turn: true,
        notes_its_turn_first: true,
        records_with_the_effects: true,
        runs_after_the_commit: true,
        holds_effects_back: true,
        shows_itself_first: true,
        answers_if_unanswered: true,
        takes_up_in_a_turn: true,
        asks_again: true,
        records_a_yes_before_it_asks_again: true,
        asks_about_what_was_shown: true,
        drops_old_effects: true,
        removes_the_row_with_the_record: true,
        gives_up_what_is_there: true,
        drops_a_question_at_once: true,
        keeps_given_up_numbers_out: true,
        has_a_deadline: true,
    };
}
