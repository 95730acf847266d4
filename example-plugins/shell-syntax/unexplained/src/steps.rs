//! How many steps the parsers of a thread may still take. A grammar that tries several readings of what it nests takes a time that is
//! exponential in the depth; with its steps counted it ends, whatever the text is.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Lets the parsers of this thread take so many steps from here on: each asks once what is at a place.
pub fn allow(steps: u32) {
    LEFT.set(steps);
}

/// How many are left.
#[must_use]
pub fn left() -> u32 {
    LEFT.get()
}

/// Takes a step. Nothing where none is left: each rule then fails, so that the parser ends.
#[inline]
pub(crate) fn take() -> Option<()> {
    LEFT.set(LEFT.get().checked_sub(1)?);
    Some(())
}
