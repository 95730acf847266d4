//! Limits the steps that the parsers of a thread may take. A grammar that tries several readings of nested text needs exponential time in
//! the depth. With a limit on its steps, it always ends.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Sets the number of steps that the parsers of this thread may still take. One step is one look at a position.
pub fn allow(steps: u32) {
    LEFT.set(steps);
}

/// Returns the number of steps left.
#[must_use]
pub fn left() -> u32 {
    LEFT.get()
}

/// Takes a step. Returns `None` if none is left; each rule then fails, so that the parser ends.
#[inline]
pub(crate) fn take() -> Option<()> {
    LEFT.set(LEFT.get().checked_sub(1)?);
    Some(())
}
