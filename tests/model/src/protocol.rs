//! What the protocol does, choice by choice, so that a test can leave one out.

/// Each choice that the protocol makes; `false` is the mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// An event that arrives holds the door while it looks for its ticket; otherwise two may find the same one.
    pub scans_behind_the_door: bool,
    /// A turn begins when no lower ticket is held; otherwise when the one before it is free.
    pub waits_for_all_below: bool,
    /// One event of a host at a time takes its ticket, since the door does not stop the host that has locked it.
    pub lets_in_one_of_a_host: bool,
    /// A host keeps a list of the tickets that it holds, since it does not see its own locks.
    pub knows_its_own_tickets: bool,
    /// A ticket ends with the process that holds it; otherwise it stays locked.
    pub tickets_end_with_the_process: bool,
    /// A host reuses the ticket that it keeps only if no other host's event came after it; otherwise in any case.
    pub looks_before_it_reuses: bool,
    /// A host gives back a ticket that it keeps, soon; otherwise with its next event.
    pub gives_back_soon: bool,
    /// The row, the rules and the state are read in the turn; otherwise before arriving.
    pub reads_in_the_turn: bool,
    /// A handle notes that it had a turn before it writes; otherwise when it leaves.
    pub notes_its_turn_first: bool,
    /// The record and the effects are one transaction; otherwise the record comes first.
    pub records_with_the_effects: bool,
    /// The call runs after the commit; otherwise before.
    pub runs_after_the_commit: bool,
    /// The effects of an escalated event take hold when it is settled; otherwise also when it is escalated.
    pub holds_effects_back: bool,
    /// The asking process locks its byte before the question can be found; otherwise after.
    pub shows_itself_first: bool,
    /// An answer is written only if there is none; otherwise in any case.
    pub answers_if_unanswered: bool,
    /// An answer is taken up in a turn; otherwise at once.
    pub takes_up_in_a_turn: bool,
    /// A yes is put to the plugins again where rules or state have changed; otherwise it counts as it is.
    pub asks_again: bool,
    /// Before the plugins are asked again, a transaction records the yes and removes the row; otherwise the one that settles the event
    /// does so. Either is right.
    pub records_a_yes_before_it_asks_again: bool,
    /// The plugins are asked again about the value that was shown; otherwise about the one that the event came with.
    pub asks_about_what_was_shown: bool,
    /// After a no, effects that were computed from an older state are dropped; otherwise they are written.
    pub drops_old_effects: bool,
    /// The answer's record and the removal of the row are one transaction; otherwise the removal comes after.
    pub removes_the_row_with_the_record: bool,
    /// A process that gives up the question of a dead one removes the row, or does nothing; otherwise it records an answer in any case.
    pub gives_up_what_is_there: bool,
    /// A question that was dropped is recorded and removed in one transaction; otherwise removed after.
    pub drops_a_question_at_once: bool,
    /// The record of an event that was given up has an identifier of its own; otherwise the number that it had taken, which
    /// another handle takes meanwhile, too.
    pub keeps_given_up_numbers_out: bool,
    /// No answer within the deadline is a no; otherwise it is waited for.
    pub has_a_deadline: bool,
}

impl Protocol {
    /// As the decision says.
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
