//! Calls code of the embedding program. This module catches the panics of this code. It also detects when the code
//! sends an event while an earlier event waits for the code to return.

use futures_util::future::BoxFuture;
use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The code panicked. The program's panic hook has reported the message.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Work that waits until code of the program returns. The work is identified by the address of an object that it uses:
/// the sink or the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// An event waits until this sink has stored its record. If the sink sent a further event, the sink would get that
    /// event's record, too, and so on without end.
    Sink(usize),
    /// An event has its turn in this queue, so other events of the same session wait.
    Turn(usize),
}

/// All work that waits for the code of the program that is running on a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters {
    last: Option<Waiting>,
    /// Further work that waits for the same code because it waits for `last`. For example, the code may be a sink of a
    /// second host, which a sink of the first host uses.
    others: Option<Arc<Self>>,
}

thread_local! {
    static WAITERS: RefCell<Waiters> = const { RefCell::new(Waiters { last: None, others: None }) };
}

impl Waiters {
    /// Returns the work that waits for the code that runs on this thread.
    pub(crate) fn here() -> Self {
        WAITERS.with_borrow(Clone::clone)
    }

    /// Returns these waiters with a further waiter.
    pub(crate) fn and(self, last: Waiting) -> Self {
        let others = self.last.is_some().then(|| Arc::new(self));
        Self { last: Some(last), others }
    }

    fn has(&self, waiting: Waiting) -> bool {
        self.last == Some(waiting) || self.others.as_ref().is_some_and(|others| others.has(waiting))
    }
}

/// Returns true if this work waits for the code that runs on this thread.
pub(crate) fn waits(waiting: Waiting) -> bool {
    WAITERS.with_borrow(|waiters| waiters.has(waiting))
}

/// Runs code for which `waiters` wait. Catches a panic of the code.
pub(crate) fn run<T>(waiters: &Waiters, code: impl FnOnce() -> T) -> Result<T, Panicked> {
    let _before = Before(WAITERS.replace(waiters.clone()));
    caught(code)
}

/// Runs code, and catches its panic. Unlike `run`, this does not change the waiters of the thread.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        discard(panic);
        Panicked
    })
}

/// The previous waiters of the thread, which are restored when this value is dropped.
struct Before(Waiters);

impl Drop for Before {
    fn drop(&mut self) {
        WAITERS.set(std::mem::take(&mut self.0));
    }
}

/// Drops the payload of a panic. This may panic, too.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // Dropping the second payload could panic again, and so on without end.
        std::mem::forget(again);
    }
}

/// Creates a future of the program, polls it and drops it, and catches the panic of each step.
pub(crate) async fn polled<'a, T>(waiters: Waiters, make: impl FnOnce() -> BoxFuture<'a, T>) -> Result<T, Panicked> {
    let future = run(&waiters, make)?;
    Guarded { future: Some(future), waiters }.await
}

struct Guarded<'a, T> {
    future: Option<BoxFuture<'a, T>>,
    waiters: Waiters,
}

impl<T> Future for Guarded<'_, T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { future, waiters } = &mut *self;
        let Some(pending) = future else { return Poll::Ready(Err(Panicked)) };
        let polled = match run(waiters, || pending.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        let dropped = run(waiters, || drop(future.take()));
        Poll::Ready(polled.and_then(|output| dropped.map(|()| output)))
    }
}

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        let Self { future, waiters } = self;
        let _ = run(waiters, || drop(future.take()));
    }
}

/// Wraps a future that a different thread polls on behalf of this thread. The waiters of this thread then also wait for
/// the future.
pub(crate) fn continued<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let waiters = Waiters::here();
    async move {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            let _before = Before(WAITERS.replace(waiters.clone()));
            future.as_mut().poll(context)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_known_within_and_not_afterwards() {
        let of = |waiting| Waiters::here().and(waiting);
        let (turn, sink) = (Waiting::Turn(1), Waiting::Sink(1));
        assert_eq!(
            run(&of(turn), || (waits(turn), waits(sink), waits(Waiting::Turn(2)))).unwrap(),
            (true, false, false)
        );
        assert!(run(&of(turn), || panic!("a bug of the program")).is_err());
        assert!(!waits(turn), "also after a panic");
        let nested = run(&of(turn), || run(&of(sink), || waits(turn) && waits(sink)).unwrap() && !waits(sink));
        assert!(nested.unwrap());
    }
}
