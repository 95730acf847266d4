//! The processor time that a guest has used since it last resumed on its thread.
//!
//! Compiled code checks the time in loops and at function calls. A guest that only calls host functions would never
//! reach such a check, so the host functions check the time, too.
//!
//! `limits.compute` limits the CPU time of the thread. So a guest does not fail if only other work keeps the machine
//! busy. Reading the CPU clock costs a system call, so it is first read when a guest has run for one tick.

use super::ticker::TICK;
use super::trap::Limit;
use crate::contract::{Failure, FailureKind};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// Time at which this thread last resumed a guest.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The CPU time of this thread when it last resumed a guest; `None` while the guest has not run for a tick.
    static OWN_TIME: Cell<Option<Duration>> = const { Cell::new(None) };
    /// True if the guest yielded the thread only because of an epoch, and could resume at once.
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Starts the CPU clock for the guest that resumes on this thread now. `long` is true if the guest has already run for
/// a tick.
pub(super) fn start(now: Instant, long: bool) {
    BEGAN.set(Some(now));
    OWN_TIME.set(long.then(thread_time));
    YIELDED.set(false);
}

/// Returns the thread's CPU time since the guest resumed. In the guest's first tick, the result is zero.
pub(super) fn computed() -> Duration {
    OWN_TIME.get().map_or(Duration::ZERO, |began| thread_time().saturating_sub(began))
}

/// Returns the CPU time of this thread.
#[cfg(unix)]
pub(super) fn thread_time() -> Duration {
    // rustix is not used, because it reads the vDSO directly. valgrind hides the vDSO, so rustix would crash under
    // valgrind.
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map(Duration::from).unwrap_or_default()
}

/// Returns wall time, on systems where the CPU time of a thread cannot be read.
#[cfg(not(unix))]
pub(super) fn thread_time() -> Duration {
    static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

/// Records that the guest yields the thread because of an epoch and can resume at once.
pub(super) fn note_yield() {
    YIELDED.set(true);
}

/// Returns true if the guest that this thread last resumed has yielded because of an epoch. Resets the flag.
pub(super) fn take_yielded() -> bool {
    YIELDED.take()
}

/// Checks that the guest on this thread may continue.
///
/// # Errors
/// Fails if the guest has computed for longer than `compute` since it resumed.
pub(super) fn check(compute: Duration) -> wasmtime::Result<()> {
    let wall = BEGAN.get().map_or(Duration::ZERO, |began| began.elapsed());
    if wall < TICK.min(compute) {
        return Ok(());
    }
    // Use the CPU clock, because the thread may have been without a processor. If the CPU clock was not read before,
    // the time is counted from this moment.
    if OWN_TIME.get().is_none() {
        OWN_TIME.set(Some(thread_time()));
    }
    if wall > compute && computed() > compute { Err(over(compute)) } else { Ok(()) }
}

/// Returns the error of a guest that computed for longer than `compute`.
pub(super) fn over(compute: Duration) -> wasmtime::Error {
    let detail = format!("computed for longer than {compute:?} (limits.compute)");
    Limit(Failure::new(FailureKind::Compute, detail)).into()
}
