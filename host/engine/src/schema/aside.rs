//! Runs the work of a schema on a separate thread with a large stack. The caller waits for the result until a deadline.
//!
//! A thread cannot be ended from outside. So a thread that misses its deadline continues, and counts against
//! [`MAX_THREADS`] until it ends. It ends eventually, because the size of its work is bounded. While `MAX_THREADS`
//! threads are running, other callers wait for a free slot until their deadline.

use crate::locked::locked;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of concurrent threads.
const MAX_THREADS: usize = 8;

/// Size of a thread's stack, in bytes. It is large enough for [`super::MAX_CHAIN`] nested schemas at
/// [`super::MAX_NESTING`] levels of a value. The operating system provides memory only for the used part of the stack.
const STACK: usize = 256 * 1024 * 1024;

/// A reason why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkFailure {
    /// The work took too long. The thread continues.
    Deadline,
    /// All threads were busy until the deadline.
    Full,
    /// The work panicked, or the system could not start a thread.
    Died,
}

static BUSY: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// One of the [`MAX_THREADS`] slots for threads. Dropping it frees the slot.
struct Place;

impl Place {
    fn take(until: Instant) -> Option<Self> {
        let mut busy = locked(&BUSY);
        while *busy >= MAX_THREADS {
            let left = until.checked_duration_since(Instant::now())?;
            busy = FREED.wait_timeout(busy, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *busy += 1;
        Some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *locked(&BUSY) -= 1;
        FREED.notify_one();
    }
}

/// Returns the result of `work` if the work ends in time.
pub(super) fn run<T: Send + 'static>(
    within: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkFailure> {
    let until = Instant::now() + within;
    let place = Place::take(until).ok_or(WorkFailure::Full)?;
    let (done, waiting) = mpsc::sync_channel(1);
    let working = move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        drop(place);
        // Sending fails if the caller no longer waits.
        let _ = done.send(result);
    };
    thread::Builder::new().name("schema".into()).stack_size(STACK).spawn(working).map_err(|_| WorkFailure::Died)?;
    match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(result) => result.map_err(|_| WorkFailure::Died),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(WorkFailure::Deadline),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(WorkFailure::Died),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misses_its_deadline_is_not_waited_for_and_its_place_is_bounded() {
        let (go, wait) = mpsc::channel::<()>();
        let missed = run(Duration::from_millis(1), move || wait.recv().is_ok());
        assert_eq!(missed, Err(WorkFailure::Deadline));
        assert!(*BUSY.lock().unwrap() <= MAX_THREADS);
        go.send(()).unwrap();
        assert_eq!(run(Duration::from_secs(60), || 7), Ok(7));
    }

    #[test]
    fn a_panic_is_not_the_hosts() {
        assert_eq!(run(Duration::from_secs(60), || -> u8 { panic!("as a test") }), Err(WorkFailure::Died));
    }
}
