//! Sets the terminal's input modes while the agent works, and while a question waits.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The terminal's original modes while a change is in force. A process that ends without dropping its [`ModeChange`] restores the modes
/// from here.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A change of the terminal's modes. Dropping this value restores the original modes.
#[derive(Debug)]
#[must_use]
pub(crate) struct ModeChange {
    before: Termios,
    is_first: bool,
}

/// Turns echo off, so that typed text waits for the next prompt and does not appear within the output.
pub(crate) fn hide_typing() -> Option<ModeChange> {
    change(LocalModes::ECHO | LocalModes::ECHONL)
}

/// Makes each pressed key available at once, without echo.
pub(crate) fn take_keys() -> Option<ModeChange> {
    change(LocalModes::ECHO | LocalModes::ICANON)
}

/// Restores the original modes.
pub(crate) fn restore() {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // Nothing else can be done if the terminal refuses.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Switches modes off. Returns `None` if the standard input is not a terminal.
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
