//! Reminders of plugins for the model.

use super::handle::Session;
use super::state::{self, Change};
use crate::sandbox::capability::Reminder;

impl Session {
    /// The reminders for the model's next request, to be added after the last user message, in order: as of the last event
    /// that this handle decided.
    #[must_use]
    pub fn reminders(&self) -> Vec<Reminder> {
        self.kept_reminders().into_iter().map(|(_, reminder)| reminder).collect()
    }

    /// The live reminders of loaded plugins, each with the number of model calls before it. An agent keeps them for a session
    /// that may continue with another store.
    #[must_use]
    pub fn kept_reminders(&self) -> Vec<(u32, Reminder)> {
        let (turn, rules) = (self.shared.info().turn, self.shared.config());
        // Reminders of other plugins count under other rules, perhaps of another process.
        let is_loaded = |reminder: &Reminder| rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin);
        let lives = |(born, reminder): &&(u32, Reminder)| state::lives(*born, reminder, turn) && is_loaded(reminder);
        self.shared.state.with(|state| state.reminders.iter().filter(lives).cloned().collect())
    }

    /// Adds the reminders that [`Self::kept_reminders`] returned with an earlier store, if their plugin is loaded, they are
    /// still live at the number of model calls of [`Self::set_turn`], and they are not known.
    pub fn take_up_reminders(&self, kept: Vec<(u32, Reminder)>) {
        let rules = self.shared.config();
        let turn = self.shared.info().turn;
        let is_loaded = |reminder: &Reminder| rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin);
        let known = self.kept_reminders();
        for (born, reminder) in kept {
            let is_new = !known.iter().any(|known| *known == (born, reminder.clone()));
            if is_new && is_loaded(&reminder) && state::lives(born, &reminder, turn) {
                self.shared.state.change(Change::Remind(born, reminder));
            }
        }
    }
}
