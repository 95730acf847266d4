//! Calls of native rules. These calls run on separate threads, under the deadline, with the same capabilities as a
//! guest.
//!
//! Native code cannot be interrupted. The host therefore gives up a call that takes too long or whose event was
//! cancelled. The event continues without the rule, and none of the rule's effects is applied. The thread of the call
//! stays blocked until the rule returns.

#[cfg(feature = "native")]
mod capabilities;
mod starved;
mod threads;

use super::clock::SHARE;
use super::fresh_instance::{CallLimits, CallOutcome, deadline_passed, overloaded};
use super::guest::{CallReport, Guest, GuestSetup};
use crate::callback;
use crate::contract::{Failure, FailureKind};
use crate::locked::locked;
use crate::native::{Configuration, Configure};
use starved::Start;
use std::any::Any;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use threads::Threads;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The reason why no call of a native rule can be replayed.
const UNREPEATABLE: &str = "a native rule can read anything outside of the event";

/// Maximum length of the message of a panic that is reported, in characters.
const MAX_MESSAGE: usize = 500;

/// The threads for the calls of one native rule.
pub(crate) struct NativeCalls {
    threads: Threads,
    /// One permit for each concurrent call.
    places: Arc<Semaphore>,
    most: usize,
    /// Number of calls that were given up and have not returned. Each of them keeps its permit and its thread.
    stuck: Arc<AtomicUsize>,
}

/// The state of a call, shared by the call's thread and the event that waits for the call.
struct RunningCall {
    state: AtomicU8,
    guest: Mutex<Option<Guest>>,
    /// The first failure of a capability during the call. This failure ends the call, and it is reported even if the
    /// rule catches the panic.
    failed: Mutex<Option<Failure>>,
    stuck: Arc<AtomicUsize>,
    /// The start of the call on its thread.
    start: OnceLock<Start>,
}

const UNDER_WAY: u8 = 0;
const RETURNED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The panic payload that unwinds a rule after its call was given up.
struct UnwindSignal;

impl NativeCalls {
    /// Prepares the calls of a rule, of which at most `most` can run concurrently.
    pub(crate) fn new(most: NonZeroU32) -> Self {
        let most = most.get() as usize;
        Self { threads: Threads::default(), places: Arc::new(Semaphore::new(most)), most, stuck: Arc::default() }
    }

    /// Calls a rule.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        configuration: &Configuration,
        setup: Box<GuestSetup>,
        limits: CallLimits<'_>,
        rule: impl FnOnce() -> R + Send + 'static,
    ) -> CallOutcome<R> {
        let configuration = configuration.clone();
        self.run(setup, limits, move |running| with_capabilities(&configuration, running, rule)).await
    }

    /// Passes a rule its configuration. The only capability in this call is the log.
    pub(crate) async fn configure(
        &self,
        plugin: Arc<str>,
        limits: CallLimits<'_>,
        configure: Arc<Configure>,
        config: String,
    ) -> CallOutcome<Result<Configuration, String>> {
        let setup = GuestSetup::to_configure(plugin);
        self.run(setup, limits, move |running| configure(&config, log(running))).await
    }

    async fn run<R: Send + 'static>(
        &self,
        setup: Box<GuestSetup>,
        limits: CallLimits<'_>,
        rule: impl FnOnce(&Arc<RunningCall>) -> R + Send + 'static,
    ) -> CallOutcome<R> {
        let began = Instant::now();
        let patience = setup.patience;
        let waiters = setup.waiters.clone();
        let mut guest = Guest::new(setup, limits);
        guest.did.unrepeatable.insert(UNREPEATABLE);
        let place = match self.place(patience).await {
            Ok(place) => place,
            Err(failure) => return CallOutcome::of(guest, Err(failure), 0, began),
        };
        let stuck = Arc::clone(&self.stuck);
        let (state, guest) = (AtomicU8::new(UNDER_WAY), Mutex::new(Some(guest)));
        let running = Arc::new(RunningCall { state, guest, failed: Mutex::default(), stuck, start: OnceLock::new() });
        let (returned, mut answer) = oneshot::channel();
        let waiting = AwaitedCall(Arc::clone(&running));
        self.threads.start(Box::new(move || {
            // The permit is returned when the rule returns, not when the call is given up.
            let _place = place;
            let _ = running.start.set(Start::now());
            let caught = || catch_unwind(AssertUnwindSafe(|| rule(&running))).map_err(panicked);
            let answer = callback::run(&waiters, caught).unwrap_or_else(|_| Err(panicked(Box::new(()))));
            if running.end(RETURNED) {
                let _ = returned.send(running.fault().map_or(answer, Err));
            } else {
                running.stuck.fetch_sub(1, Ordering::Relaxed);
            }
        }));
        let mut left = limits.deadline;
        let answer = loop {
            match tokio::time::timeout(left, &mut answer).await {
                Ok(Ok(answer)) => break answer,
                Ok(Err(_)) => {
                    // The machine could not start a thread, so no call can be stuck.
                    waiting.0.end(RETURNED);
                    break Err(overloaded(patience));
                }
                Err(_) => {}
            }
            left = match waiting.0.start.get().map(Start::spent) {
                // The time in which the call waits for its thread does not count as the rule's time.
                None if began.elapsed() > patience => break Err(overloaded(patience)),
                None => limits.deadline,
                Some((own, starved)) if starved > patience.max(own.saturating_mul(SHARE)) => {
                    break Err(overloaded(patience));
                }
                Some((own, _)) if own >= limits.deadline => break Err(deadline_passed(limits)),
                Some((own, _)) => limits.deadline - own,
            };
        };
        waiting.finish(answer, began)
    }

    /// Waits for a permit. The call keeps the permit until the rule returns.
    async fn place(&self, patience: Duration) -> Result<OwnedSemaphorePermit, Failure> {
        if self.stuck.load(Ordering::Relaxed) >= self.most {
            let detail = format!("has not returned from {} earlier calls, so it is not called again yet", self.most);
            return Err(Failure::new(FailureKind::Deadline, detail));
        }
        let places = Arc::clone(&self.places);
        let place = tokio::time::timeout(patience, places.acquire_owned()).await;
        // The semaphore is never closed.
        place.ok().and_then(Result::ok).ok_or_else(|| overloaded(patience))
    }
}

impl RunningCall {
    /// Ends the call. Returns false if the call had already ended.
    fn end(&self, how: u8) -> bool {
        self.state.compare_exchange(UNDER_WAY, how, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn is_given_up(&self) -> bool {
        self.state.load(Ordering::Acquire) == GIVEN_UP
    }

    fn fault(&self) -> Option<Failure> {
        locked(&self.failed).take()
    }
}

/// The event's side of a call. When this value is dropped, the call is given up.
struct AwaitedCall(Arc<RunningCall>);

impl AwaitedCall {
    /// Ends the call, and returns its outcome.
    fn finish<R>(self, answer: Result<R, Failure>, began: Instant) -> CallOutcome<R> {
        self.give_up();
        // Do not wait for the lock, because a rule that was given up may hold it for long, for example while a
        // capability waits for a disk.
        let guest = self.0.guest.try_lock().ok().and_then(|mut guest| guest.take());
        match guest {
            Some(guest) => CallOutcome::of(guest, answer, 0, began),
            None => {
                let mut did = Box::new(CallReport { time: began.elapsed(), ..CallReport::default() });
                did.unrepeatable.insert(UNREPEATABLE);
                CallOutcome { answer, did }
            }
        }
    }

    fn give_up(&self) {
        // Count the call before its thread can see that it was given up, because that thread decrements the count
        // again.
        self.0.stuck.fetch_add(1, Ordering::Relaxed);
        if !self.0.end(GIVEN_UP) {
            self.0.stuck.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for AwaitedCall {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Returns the failure of a rule that panicked.
fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let detail = match message {
        Some(message) => format!("panicked: {}", message.chars().take(MAX_MESSAGE).collect::<String>()),
        None => "panicked".to_owned(),
    };
    callback::discard(panic);
    Failure::new(FailureKind::Panic, detail)
}

#[cfg(feature = "native")]
fn with_capabilities<R>(configuration: &Configuration, running: &Arc<RunningCall>, rule: impl FnOnce() -> R) -> R {
    hookhost_guest::native::call(configuration, log(running), rule)
}

#[cfg(feature = "native")]
fn log(running: &Arc<RunningCall>) -> crate::native::Log {
    std::rc::Rc::new(capabilities::OfTheHost::new(running))
}

#[cfg(not(feature = "native"))]
fn with_capabilities<R>(Configuration: &Configuration, _: &Arc<RunningCall>, rule: impl FnOnce() -> R) -> R {
    rule()
}

#[cfg(not(feature = "native"))]
fn log(_: &Arc<RunningCall>) -> crate::native::Log {}

impl std::fmt::Debug for NativeCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeCalls").field("most", &self.most).field("stuck", &self.stuck).finish_non_exhaustive()
    }
}
