//! Checks that the thread is in a tokio runtime that a host can use.

use std::cell::Cell;
use std::panic::catch_unwind;
use std::time::Duration;
use tokio::runtime::{Handle, Id};

/// The missing part of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The thread is in no runtime.
    Runtime,
    /// The runtime has no timer, so it would panic at the first wait with a time limit.
    Timer,
}

/// Checks that this thread is within a runtime that has a timer.
pub(crate) fn check() -> Result<(), Missing> {
    thread_local! {
        /// The runtime that was checked last on this thread. No other runtime of the process gets the same
        /// identifier.
        static CHECKED: Cell<Option<Id>> = const { Cell::new(None) };
    }
    let runtime = Handle::try_current().map_err(|_| Missing::Runtime)?.id();
    if CHECKED.get() == Some(runtime) {
        return Ok(());
    }
    // Tokio has no function that tells whether a runtime has a timer. When a `Sleep` is created, tokio looks for the
    // timer, and panics if the runtime has no timer.
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).map_err(|_| Missing::Timer)?;
    CHECKED.set(Some(runtime));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn each_runtime_of_a_thread_is_judged_by_itself() {
        assert_eq!(check(), Err(Missing::Runtime));
        let with = Builder::new_current_thread().enable_time().build().unwrap();
        let without = Builder::new_current_thread().build().unwrap();
        for _ in 0..2 {
            assert_eq!(with.block_on(async { check() }), Ok(()));
            assert_eq!(without.block_on(async { check() }), Err(Missing::Timer));
        }
        assert_eq!(check(), Err(Missing::Runtime));
    }
}
