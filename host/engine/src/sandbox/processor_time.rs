//! How long a guest has had the thread without giving it back.
//!
//! Compiled code looks at the clock where it loops and where it calls a function, so a guest that calls the host over and
//! over without either would keep the thread as long as its code is. What the host does for it looks at the clock, too.
//!
//! `limits.compute` is the thread's own time: a machine that is busy with other things must not make a guest fail. It costs a
//! system call to read, so a guest is first asked for it when it has computed for a tick.

use super::failure::Limit;
use super::ticker::TICK;
use crate::contract::{Failure, FailureKind};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// When this thread last went on with a guest.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The same by the thread's own clock; none for a guest that has not computed for a tick yet.
    static OWN_TIME: Cell<Option<Duration>> = const { Cell::new(None) };
    /// Whether that guest has given the thread back because of an epoch, and waits for nothing.
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread goes on with a guest, now, which has computed for `long` or not.
pub(super) fn start(long: bool) {
    BEGAN.set(Some(Instant::now()));
    OWN_TIME.set(long.then(thread_time));
    YIELDED.set(false);
}

/// The thread's own time since it went on with this guest; nothing in the guest's first tick.
pub(super) fn computed() -> Duration {
    OWN_TIME.get().map_or(Duration::ZERO, |began| thread_time().saturating_sub(began))
}

/// Time for which this thread has had a processor.
#[cfg(unix)]
pub(super) fn thread_time() -> Duration {
    // Not by rustix, which reads the vDSO itself and crashes under valgrind, where it is hidden.
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map(Duration::from).unwrap_or_default()
}

/// Wall time, where a thread's own is not to be had.
#[cfg(not(unix))]
pub(super) fn thread_time() -> Duration {
    static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

/// Notes that the guest gives the thread back, to go on at once when it is its turn again.
pub(super) fn note_yield() {
    YIELDED.set(true);
}

/// Whether the guest that this thread went on with last did so, and waits for nothing.
pub(super) fn take_yielded() -> bool {
    YIELDED.take()
}

/// Whether the guest that this thread runs may go on.
///
/// # Errors
/// If it has computed for longer than `compute` since it was given the thread.
pub(super) fn check(compute: Duration) -> wasmtime::Result<()> {
    let wall = BEGAN.get().map_or(Duration::ZERO, |began| began.elapsed());
    if wall < TICK.min(compute) {
        return Ok(());
    }
    // By its own clock, since the thread may have been without a processor. From here on, where that was not read before.
    if OWN_TIME.get().is_none() {
        OWN_TIME.set(Some(thread_time()));
    }
    if wall > compute && computed() > compute { Err(over(compute)) } else { Ok(()) }
}

/// It computed for longer than it may.
pub(super) fn over(compute: Duration) -> wasmtime::Error {
    let detail = format!("computed for longer than {compute:?} (limits.compute)");
    Limit(Failure::new(FailureKind::Compute, detail)).into()
}
