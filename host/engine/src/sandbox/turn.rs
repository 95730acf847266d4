//! How long a guest has had the thread without giving it back.
//!
//! Compiled code looks at the clock where it loops and where it calls a function, so a guest that calls the host over and
//! over without either would keep the thread as long as its code is. What the host does for it looks at the clock, too.

use super::failure::{Failure, FailureKind, Limit};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// When this thread last went on with a guest.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether that guest has given the thread back because of an epoch, and waits for nothing.
    static GIVEN_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread goes on with a guest, now.
pub(super) fn begins() {
    BEGAN.set(Some(Instant::now()));
    GIVEN_BACK.set(false);
}

/// Notes that the guest gives the thread back, to go on at once when it is its turn again.
pub(super) fn give_back() {
    GIVEN_BACK.set(true);
}

/// Whether the guest that this thread went on with last did so, and waits for nothing.
pub(super) fn was_given_back() -> bool {
    GIVEN_BACK.take()
}

/// Whether the guest that this thread runs may go on.
///
/// # Errors
/// If it has had the thread for longer than `compute`.
pub(super) fn check(compute: Duration) -> wasmtime::Result<()> {
    match BEGAN.get() {
        Some(began) if began.elapsed() > compute => Err(over(compute)),
        _ => Ok(()),
    }
}

/// It computed for longer than it may.
pub(super) fn over(compute: Duration) -> wasmtime::Error {
    let detail = format!("computed for longer than {compute:?} (limits.compute)");
    Limit(Failure::new(FailureKind::Compute, detail)).into()
}
