//! The two clocks of a call: the plugin's own time, and the time for which the machine made the call wait.
//!
//! `limits.deadline` limits the plugin's own time: the time in which the plugin computes, and the time in which it
//! waits for something that it requested. The machine's time is the time in which the plugin could run but no thread or
//! processor is free. The machine's time has its own limit. A call that exceeds this limit fails as overloaded, because
//! a busy machine is not the plugin's fault. If the call's own connections keep the thread busy, this time counts as
//! the plugin's time, because the plugin requested the data that the connections read.

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

/// If a timer fires at least this late, the runtime had no thread or no processor for the timer. The value is well
/// above the resolution of tokio's timers, which is one millisecond.
const LATE_AFTER: Duration = Duration::from_millis(5);

/// A call may wait for a processor for up to its own time multiplied by this number. So a long call can finish even if
/// it gets only a share of the processors, because the machine is busy with other work.
pub(super) const SHARE: u32 = 10;

/// The reason why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallTimeout {
    /// The plugin took longer than its deadline.
    Deadline,
    /// The machine made the call wait for too long.
    Overloaded,
}

/// The time that a call has taken so far.
#[derive(Debug)]
struct CallTime {
    /// The plugin's own time.
    own: Duration,
    /// Time of waiting for a free instance, a thread or a processor.
    starved: Duration,
}

/// The state in which a call yielded the thread.
#[derive(Clone, Copy, Debug)]
enum YieldState {
    /// The call could resume at once.
    Runnable(Instant),
    /// The call waits for something.
    Waiting(Instant),
}

/// Records when the result that a call waits for is ready, which may be long before a thread is free to resume the call.
struct Bell {
    task: AtomicWaker,
    rang: Mutex<Option<Instant>>,
    busy: Arc<Busy>,
}

/// Time for which a call's own connections have kept threads busy while the call could have resumed.
#[derive(Debug, Default)]
pub(super) struct Busy(Mutex<WaitingTime>);

#[derive(Debug, Default)]
struct WaitingTime {
    /// The time since which the call could have resumed.
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

    /// Returns the time at which the bell rang, if it rang since the last call of this method.
    fn take(&self) -> Option<Instant> {
        locked(&self.rang).take()
    }
}

impl Busy {
    /// Returns a future that also counts the time for which `future`, a connection of the call, keeps a thread busy.
    pub(super) fn noting<F: Future>(self: Arc<Self>, future: F) -> impl Future<Output = F::Output> {
        let mut future = Box::pin(future);
        poll_fn(move |context| {
            let (began, computed) = (Instant::now(), processor_time::thread_time());
            let polled = future.as_mut().poll(context);
            self.ran(began, Instant::now(), processor_time::thread_time().saturating_sub(computed));
            polled
        })
    }

    /// Records that the call could have resumed since `from`.
    fn count_from(&self, from: Instant) {
        let mut kept = self.lock();
        kept.from = Some(kept.from.map_or(from, |earlier| earlier.min(from)));
    }

    /// Records that a connection ran on a thread from `began` to `ended`, and used a processor for the duration
    /// `computed`.
    fn ran(&self, began: Instant, ended: Instant, computed: Duration) {
        let mut kept = self.lock();
        if let Some(from) = kept.from {
            kept.time += ended.saturating_duration_since(began.max(from)).min(computed);
        }
    }

    /// Returns the time for which connections were busy, and resets this time, because the call resumes now.
    fn take(&self) -> Duration {
        std::mem::take(&mut *self.lock()).time
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTime> {
        locked(&self.0)
    }
}

/// Returns the output of `future`, which is a guest's call. Fails if the call takes more than `deadline` of its own
/// time, or if the machine makes it wait for longer than `patience`. The call begins at `first`, after it has waited in
/// the queue for the duration `queued`. `busy` counts the time of the call's connections.
///
/// A call that never waits uses no timer, which saves the system calls of a timer. Epochs stop a guest that computes
/// for too long.
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
            // This is the first wait of the call. From now on, the bell records when the result is ready.
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
    /// Returns the limit that the call has exceeded, if any.
    fn over(&self, deadline: Duration, patience: Duration) -> Option<CallTimeout> {
        match () {
            () if self.starved > patience.max(self.own.saturating_mul(SHARE)) => Some(CallTimeout::Overloaded),
            () if self.own >= deadline => Some(CallTimeout::Deadline),
            () => None,
        }
    }

    /// Counts a period of `wall` time in which the call has just run on its thread.
    fn ran(&mut self, wall: Duration, long: bool) {
        // The CPU clock is not read during the first tick of a call. For this tick, the wall time is counted instead,
        // up to one tick.
        let computed = if long { processor_time::computed().min(wall) } else { wall.min(TICK) };
        self.own += computed;
        if long {
            self.starved += wall - computed;
        }
    }

    /// Counts a wait of the call, which resumes now. `rang` is the time at which the result was ready. `busy` is the
    /// time for which the call's own connections have kept threads busy since the call could have resumed.
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
                // The time of the call is over. If the timer was late, the result may have been late for the same
                // reason. So the call gets as much time again as the timer was late.
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
