//! Locks mutexes whose data is valid after each statement. So the data stays usable if a thread panics while it holds
//! the lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if an earlier holder panicked.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
