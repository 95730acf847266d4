//! The processor time that a guest has used since it last yielded the thread.
//!
//! Compiled code checks the clock where it loops and where it calls a function. A guest that only
//! calls the host, again and again, would pass no such check, so the host functions check the
//! clock, too.
//!
//! `limits.compute` is the thread's CPU time: a machine that is busy with other things must not
//! make a guest fail. Reading it costs a system call, so it is first read when a guest has run for
//! a tick.

use super::ticker::TICK;
use super::trap::Limit;
use crate::contract::{Failure, FailureKind};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// Time at which this thread last resumed a guest.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The same by the thread's CPU clock; `None` for a guest that has not run for a tick yet.
    static OWN_TIME: Cell<Option<Duration>> = const { Cell::new(None) };
    /// True if that guest yielded the thread because of an epoch, and waits for nothing.
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Starts the CPU clock for the guest that resumes on this thread now. `long`: it has already run for a tick.
pub(super) fn start(now: Instant, long: bool) {
    BEGAN.set(Some(now));
    OWN_TIME.set(long.then(thread_time));
    YIELDED.set(false);
}

/// The thread's CPU time since it resumed this guest; zero in the guest's first tick.
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

/// Records that the guest yields the thread, to resume at its next turn.
pub(super) fn note_yield() {
    YIELDED.set(true);
}

/// Returns true if the guest that this thread last resumed has yielded, and waits for nothing.
pub(super) fn take_yielded() -> bool {
    YIELDED.take()
}

/// Checks that the guest on this thread may continue.
///
/// # Errors
/// If it has computed for longer than `compute` since it resumed.
pub(super) fn check(compute: Duration) -> wasmtime::Result<()> {
    let wall = BEGAN.get().map_or(Duration::ZERO, |began| began.elapsed());
    if wall < TICK.min(compute) {
        return Ok(());
    }
    // By the CPU clock, since the thread may have been without a processor. It counts from here, if
    // it was not read before.
    if OWN_TIME.get().is_none() {
        OWN_TIME.set(Some(thread_time()));
    }
    if wall > compute && computed() > compute { Err(over(compute)) } else { Ok(()) }
}

/// The error of a guest that computed for longer than `compute`.
pub(super) fn over(compute: Duration) -> wasmtime::Error {
    let detail = format!("computed for longer than {compute:?} (limits.compute)");
    Limit(Failure::new(FailureKind::Compute, detail)).into()
}
