//! Reminders of plugins for the model.

use super::handle::Session;
use super::state::{self, Change};
use crate::sandbox::capability::Reminder;

impl Session {
    /// Returns the reminders for the model's next request, in order, as of the last event that this handle decided.
    /// Add them after the last user message.
    #[must_use]
    pub fn reminders(&self) -> Vec<Reminder> {
        self.kept_reminders().into_iter().map(|(_, reminder)| reminder).collect()
    }

    /// Returns the live reminders of loaded plugins, each with the number of model calls before it. If the session
    /// may continue with another store, the agent can save these reminders itself.
    #[must_use]
    pub fn kept_reminders(&self) -> Vec<(u32, Reminder)> {
        let (turn, rules) = (self.shared.info().turn, self.shared.config());
        // Leave out reminders of plugins that are not loaded. These belong to other rules, perhaps of another process.
        let is_loaded = |reminder: &Reminder| rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin);
        let lives = |(born, reminder): &&(u32, Reminder)| state::lives(*born, reminder, turn) && is_loaded(reminder);
        self.shared.state.with(|state| state.reminders.iter().filter(lives).cloned().collect())
    }

    /// Adds reminders that [`Self::kept_reminders`] returned when the session had an earlier store. A reminder is
    /// added if its plugin is loaded, if it is still live at the current number of model calls ([`Self::set_turn`]),
    /// and if it is not known yet.
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
