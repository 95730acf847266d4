//! How the terminal treats what is typed: which modes it is in while the agent works, and while a question waits.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The modes before the first change that is still in force, for a process that ends without dropping anything.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A change of the terminal's modes, taken back when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct ModeChange {
    before: Termios,
    is_first: bool,
}

/// Shows nothing of what is typed: it waits for the next prompt, and does not end up within the output.
pub(crate) fn hide_typing() -> Option<ModeChange> {
    change(LocalModes::ECHO | LocalModes::ECHONL)
}

/// Passes on each key as it is pressed, and does not show it.
pub(crate) fn take_keys() -> Option<ModeChange> {
    change(LocalModes::ECHO | LocalModes::ICANON)
}

/// Takes back all changes.
pub(crate) fn restore() {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // Nothing else could be done where the terminal does not do it.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Switches modes off; `None` where the standard input is no terminal.
fn change(off: LocalModes) -> Option<ModeChange> {
    let before = tcgetattr(io::stdin()).ok()?;
    let mut modes = before.clone();
    modes.local_modes -= off;
    tcsetattr(io::stdin(), OptionalActions::Now, &modes).ok()?;
    let mut first = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = first.is_none();
    first.get_or_insert_with(|| before.clone());
    Some(ModeChange { before, is_first })
}

impl Drop for ModeChange {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        if self.is_first {
            BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}
