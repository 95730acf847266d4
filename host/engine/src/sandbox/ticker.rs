//! The epoch ticker: a thread that advances the engine's epoch every millisecond while calls run. At each epoch, a
//! guest that computes either yields the thread or, if it has exceeded its limit, is stopped. While there are no calls,
//! the ticker's thread sleeps, because an idle host should use no processor time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wasmtime::Engine;

/// Wall time between two epochs. It is also the resolution of `limits.compute`.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Number of ticks without a call after which the thread goes to sleep. Waking the thread costs a system call, so it
/// stays awake during a steady stream of events.
const IDLE_TICKS: u32 = 100;

#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct TickerState {
    calls: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// A running call. The epoch advances while a value of this type exists.
#[derive(Debug)]
pub(crate) struct RunningEpoch<'a>(&'a TickerState);

impl Ticker {
    /// # Errors
    /// Fails if the operating system cannot start a thread.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState::default());
        let engine = engine.weak();
        let thread = std::thread::Builder::new().name("hookhost-epoch".into()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let mut idle = 0;
                let mut next = Instant::now();
                while !shared.stop.load(Ordering::Acquire) {
                    // Sleep until a fixed time instead of for a tick, because every sleep ends a little late.
                    next = (next + TICK).max(Instant::now());
                    // Sleep with a timeout that a stop can interrupt, so the thread notices a stop before the next
                    // tick.
                    while let Some(rest) = next.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
                        && !shared.stop.load(Ordering::Acquire)
                    {
                        std::thread::park_timeout(rest);
                    }
                    let Some(engine) = engine.upgrade() else { return };
                    engine.increment_epoch();
                    idle = if shared.calls.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
                    if idle >= IDLE_TICKS {
                        idle = 0;
                        shared.asleep.store(true, Ordering::SeqCst);
                        // A call that began before `asleep` was set did not wake this thread, so check the number of
                        // calls once more.
                        if shared.calls.load(Ordering::SeqCst) == 0 && !shared.stop.load(Ordering::SeqCst) {
                            std::thread::park();
                        }
                        shared.asleep.store(false, Ordering::SeqCst);
                    }
                }
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn call(&self) -> RunningEpoch<'_> {
        self.shared.calls.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        RunningEpoch(&self.shared)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for RunningEpoch<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // `join` fails only if the thread panicked, which never happens.
            let _ = thread.join();
        }
    }
}
