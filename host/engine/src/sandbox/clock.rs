//! The two clocks of a call: its plugin's own time, and the time for which the machine made it wait.
//!
//! `limits.deadline` includes the time that the plugin computes, and that it waits by its own choice.
//! If it could run and no thread or processor is free, the time is the machine's: that time has a
//! bound of its own, beyond which the call fails as overloaded, since a busy machine is not the
//! plugin's fault. If the call's own connections keep the thread busy, the time is the plugin's: it
//! has asked for what they read.

use super::processor_time;
use super::ticker::TICK;
use crate::locked::locked;
use futures_util::task::AtomicWaker;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that rings this much too late was held up: the runtime had no thread or no processor for
/// it. tokio's timers have a grain of a millisecond.
const LATE_AFTER: Duration = Duration::from_millis(5);

/// A call that computes for long may starve for up to this many times its own time: a machine with
/// other work still gives it a share.
pub(super) const SHARE: u32 = 10;

/// The reason why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallTimeout {
    /// The plugin took longer than its deadline.
    Deadline,
    /// The machine made it wait longer than it may.
    Overloaded,
}

/// The time that a call has taken so far.
#[derive(Debug)]
struct CallTime {
    /// Of the plugin's own time.
    own: Duration,
    /// Of waiting for a place, a thread or a processor.
    starved: Duration,
}

/// The state in which a call yielded the thread.
#[derive(Clone, Copy, Debug)]
enum YieldState {
    /// It could resume at once.
    Runnable(Instant),
    /// It waits for something.
    Waiting(Instant),
}

/// Records when the result that a call waits for is ready, which may be long before a thread is free to resume the call.
struct Bell {
    task: AtomicWaker,
    rang: Mutex<Option<Instant>>,
    busy: Arc<Busy>,
}

/// For how long a call's own connections have kept threads busy while the call could have resumed.
#[derive(Debug, Default)]
pub(super) struct Busy(Mutex<WaitingTime>);

#[derive(Debug, Default)]
struct WaitingTime {
    /// The time from which the call could have resumed.
    from: Option<Instant>,
    time: Duration,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let rang = *locked(&self.rang).get_or_insert_with(Instant::now);
        self.busy.count_from(rang);
        self.task.wake();
    }
}

impl Bell {
    fn new(busy: Arc<Busy>) -> Self {
        Self { task: AtomicWaker::new(), rang: Mutex::new(None), busy }
    }

    /// Returns the time at which it rang since the last call of this method.
    fn take(&self) -> Option<Instant> {
        locked(&self.rang).take()
    }
}

impl Busy {
    /// Counts the time of `future` as a connection's.
    pub(super) fn noting<F: Future>(self: Arc<Self>, future: F) -> impl Future<Output = F::Output> {
        let mut future = Box::pin(future);
        poll_fn(move |context| {
            let (began, computed) = (Instant::now(), processor_time::thread_time());
            let polled = future.as_mut().poll(context);
            self.ran(began, Instant::now(), processor_time::thread_time().saturating_sub(computed));
            polled
        })
    }

    /// The call could have resumed since `from`.
    fn count_from(&self, from: Instant) {
        let mut kept = self.lock();
        kept.from = Some(kept.from.map_or(from, |earlier| earlier.min(from)));
    }

    /// A connection was given a thread, and had a processor for `computed` of that time.
    fn ran(&self, began: Instant, ended: Instant, computed: Duration) {
        let mut kept = self.lock();
        if let Some(from) = kept.from {
            kept.time += ended.saturating_duration_since(began.max(from)).min(computed);
        }
    }

    /// Takes the time since the call could have resumed; it resumes now.
    fn take(&self) -> Duration {
        std::mem::take(&mut *self.lock()).time
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTime> {
        locked(&self.0)
    }
}

/// The output of `future`, a guest's call, unless it takes more than `deadline` of its own time, or starves for longer than
/// `patience`. It begins at `first`, and has waited for `queued` before. Its connections are `busy`. A call that waits for
/// nothing touches no timer, so that the usual event costs no system call: a guest that computes is stopped by its epochs.
pub(super) async fn within<F: Future>(
    deadline: Duration,
    patience: Duration,
    first: std::time::Instant,
    queued: Duration,
    busy: Arc<Busy>,
    mut future: Pin<&mut F>,
) -> Result<F::Output, CallTimeout> {
    let mut spent = CallTime { own: Duration::ZERO, starved: queued };
    let mut left = None;
    let mut long = false;
    let mut bell: Option<(Arc<Bell>, Waker)> = None;
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|context| {
        let began = match left.take() {
            None => Instant::from_std(first),
            Some(left) => {
                let now = Instant::now();
                spent.away(left, now, bell.as_ref().and_then(|(bell, _)| bell.take()), busy.take(), deadline);
                now
            }
        };
        if let Some(over) = spent.over(deadline, patience) {
            return Poll::Ready(Err(over));
        }
        processor_time::start(began.into_std(), long);
        let mut polled = poll(future.as_mut(), context, bell.as_ref());
        let mut yielded = processor_time::take_yielded();
        if polled.is_pending() && !yielded && bell.is_none() {
            // Its first wait: from now on, the bell records when the thing that it waits for is there.
            let new = Arc::new(Bell::new(Arc::clone(&busy)));
            bell = Some((Arc::clone(&new), Waker::from(new)));
            polled = poll(future.as_mut(), context, bell.as_ref());
            yielded = processor_time::take_yielded();
        }
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Ok(output));
        }
        let now = Instant::now();
        spent.ran(now - began, long);
        long |= yielded;
        if yielded {
            left = Some(YieldState::Runnable(now));
            busy.count_from(now);
            return Poll::Pending;
        }
        left = Some(YieldState::Waiting(now));
        let ends = now + deadline.saturating_sub(spent.own);
        busy.count_from(ends);
        let timer = match &mut timer {
            Some(timer) => {
                timer.as_mut().reset(ends);
                timer
            }
            none => none.insert(Box::pin(sleep_until(ends))),
        };
        timer.as_mut().poll(context).map(|()| Err(CallTimeout::Deadline))
    })
    .await
}

fn poll<F: Future>(
    future: Pin<&mut F>,
    context: &mut Context<'_>,
    bell: Option<&(Arc<Bell>, Waker)>,
) -> Poll<F::Output> {
    let Some((bell, waker)) = bell else { return future.poll(context) };
    bell.task.register(context.waker());
    future.poll(&mut Context::from_waker(waker))
}

impl CallTime {
    /// Returns true if it is too much.
    fn over(&self, deadline: Duration, patience: Duration) -> Option<CallTimeout> {
        match () {
            () if self.starved > patience.max(self.own.saturating_mul(SHARE)) => Some(CallTimeout::Overloaded),
            () if self.own >= deadline => Some(CallTimeout::Deadline),
            () => None,
        }
    }

    /// The call has had the thread for `wall`.
    fn ran(&mut self, wall: Duration, long: bool) {
        // The CPU clock does not measure the first tick, so at most a tick counts.
        let computed = if long { processor_time::computed().min(wall) } else { wall.min(TICK) };
        self.own += computed;
        if long {
            self.starved += wall - computed;
        }
    }

    /// The call resumes now; what it waited for was there when the bell `rang`. Its own connections
    /// have kept threads `busy` since it could have resumed.
    fn away(&mut self, left: YieldState, now: Instant, rang: Option<Instant>, busy: Duration, deadline: Duration) {
        let could_since = match (left, rang) {
            (YieldState::Runnable(since), _) => since,
            (YieldState::Waiting(since), Some(rang)) => {
                let rang = rang.clamp(since, now);
                self.own += rang - since;
                rang
            }
            (YieldState::Waiting(since), None) => {
                self.own += now - since;
                // Its time is over. If the timer was held up, the thing that the call waits for may have been, too: the
                // call gets the same time again.
                let late = self.own.saturating_sub(deadline).saturating_sub(busy);
                if late >= LATE_AFTER {
                    self.starved += late;
                    self.own = deadline.saturating_sub(late);
                }
                return;
            }
        };
        let busy = busy.min(now - could_since);
        self.own += busy;
        self.starved += now - could_since - busy;
    }
}

#[cfg(test)]
mod tests;
