//! One call of a guest, in a fresh store and instance, under all limits.

use super::clock::{self, CallTimeout};
use super::guest::{CallReport, Guest, GuestSetup};
use super::trap::{Limit, classify, not_instantiated};
use super::{Sandbox, may_wait as waits, processor_time};
use crate::config::{Entry, Limits};
use crate::contract::{Failure, FailureKind};
use crate::state::{Labels, View};
use crate::wire::Answer;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower};
use wasmtime::{Store, UpdateDeadline};

/// Number of bytes that the host may copy in addition to the strings of an answer. For example, a list of strings also
/// contains pointers.
const COPY_OVERHEAD: usize = 16 * 1024;

/// The budget of `configure` for the plugin of the rules in words. 200 rules with eight examples each need about a quarter of
/// the fuel.
const EXAMPLES_FUEL: u64 = 2_000_000_000;
const EXAMPLES_COMPUTE: Duration = Duration::from_secs(2);
const EXAMPLES_DEADLINE: Duration = Duration::from_secs(10);

/// A function that a component exports. It is looked up once, when the component is loaded.
pub(crate) type Handle = ComponentExportIndex;

/// The budget of a call.
#[derive(Clone, Copy)]
pub(crate) struct CallLimits<'a> {
    /// The limits that do not depend on the grants.
    pub(super) sizes: &'a Limits,
    pub(super) fuel: u64,
    pub(super) compute: Duration,
    pub(super) deadline: Duration,
}

impl<'a> CallLimits<'a> {
    pub(crate) fn of(Entry { limits, grants, .. }: &'a Entry) -> Self {
        Self {
            sizes: limits,
            fuel: limits.fuel.get(),
            compute: limits.compute(grants),
            deadline: limits.deadline(grants),
        }
    }

    /// Returns the budget of `configure`. The plugin of the rules in words tries all examples in that call.
    pub(crate) fn to_configure(entry: &'a Entry) -> Self {
        let limits = Self::of(entry);
        if !entry.judges_rows {
            return limits;
        }
        Self { fuel: EXAMPLES_FUEL, compute: EXAMPLES_COMPUTE, deadline: EXAMPLES_DEADLINE, ..limits }
    }
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome<T> {
    pub(crate) answer: Result<T, Failure>,
    /// Boxed, because an outcome is moved many times.
    pub(crate) did: Box<CallReport>,
}

impl Sandbox {
    /// Calls `handle` in a fresh instance. If `configure` is given, calls that function first.
    pub(crate) async fn call<P, R>(
        &self,
        pre: &InstancePre<Guest>,
        configure: Option<(&Handle, &str)>,
        handle: &Handle,
        params: impl FnOnce() -> P + Send,
        setup: Box<GuestSetup>,
        limits: CallLimits<'_>,
    ) -> CallOutcome<R>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: Answer,
    {
        let began = Instant::now();
        let permits = if waits(&setup.grants) { &self.waiting } else { &self.computing };
        let patience = setup.patience;
        // The setup of `configure` differs from the setup for the event, because the log is its only capability.
        let (first, then) = match configure {
            Some(_) => (GuestSetup::to_configure(Arc::clone(&setup.plugin)), Some(setup)),
            None => (setup, None),
        };
        // The permit is declared before the store, so it is dropped after the store. The slot must be free before
        // another call can get the permit.
        let (_permit, queued) = match permits.try_acquire() {
            Ok(permit) => (permit, Duration::ZERO),
            Err(_) => match place(permits, patience).await {
                Some(permit) => (permit, began.elapsed()),
                None => return CallOutcome::of(Guest::new(first, limits), Err(overloaded(patience)), 0, began),
            },
        };
        let mut store = self.store(first, limits);
        let busy = Arc::clone(&store.data().busy);
        let called = {
            // Pin the future here and pass a reference, because a future that is passed by value takes up its size
            // twice in the future of the callee.
            let work = pin!(async {
                let _ticking = self.ticker.call();
                let instance = pre.instantiate_async(&mut store).await;
                let instance =
                    instance.map_err(|error| not_instantiated(&error, store.data().limiter.denied, limits.sizes))?;
                if let Some((configure, config)) = configure {
                    let (accepted,): (Result<(), String>,) =
                        invoke(&mut store, &instance, configure, (config,), limits.sizes).await?;
                    accepted.map_err(|message| {
                        Failure::new(FailureKind::NotInstantiated, format!("refused its configuration: {message}"))
                    })?;
                }
                if let Some(setup) = then {
                    // Reset the budgets, so the event gets as much as in an instance that starts from an image.
                    store.data_mut().begin(setup, limits.sizes);
                    let _ = store.set_fuel(limits.fuel);
                }
                let wire = invoke::<P, R::Wire>(&mut store, &instance, handle, params(), limits.sizes).await?;
                R::answer(wire).map_err(Failure::invalid)
            });
            clock::within(limits.deadline, patience, began + queued, queued, busy, work).await
        };
        let answer = called.unwrap_or_else(|over| match over {
            CallTimeout::Deadline => Err(deadline_passed(limits)),
            CallTimeout::Overloaded => Err(overloaded(patience)),
        });
        finished(store, answer, limits.sizes, began)
    }

    /// Creates an instance that the caller keeps for more than one call. This is done only while a plugin is loaded,
    /// and never for events.
    ///
    /// # Errors
    /// Fails if the instance cannot be created within the limits.
    pub(crate) async fn instantiate(
        &self,
        pre: &InstancePre<Guest>,
        setup: Box<GuestSetup>,
        limits: CallLimits<'_>,
    ) -> Result<(Store<Guest>, Instance), Failure> {
        let mut store = self.store(setup, limits);
        let _ticking = self.ticker.call();
        let instance = with_deadline(limits.deadline, pre.instantiate_async(&mut store))
            .await
            .unwrap_or_else(|| Err(Limit(deadline_passed(limits)).into()))
            .map_err(|error| not_instantiated(&error, store.data().limiter.denied, limits.sizes))?;
        Ok((store, instance))
    }

    /// Calls a function of an instance that `instantiate` has created. This is done only while a plugin is loaded, and
    /// never for events.
    pub(crate) async fn call_kept<P, R>(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        handle: &Handle,
        params: P,
        limits: CallLimits<'_>,
    ) -> Result<R, Failure>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let _ticking = self.ticker.call();
        let called = with_deadline(limits.deadline, invoke(store, instance, handle, params, limits.sizes)).await;
        called.unwrap_or_else(|| Err(deadline_passed(limits)))
    }

    fn store(&self, setup: Box<GuestSetup>, limits: CallLimits<'_>) -> Store<Guest> {
        let mut store = Store::new(&self.engine, Guest::new(setup, limits));
        store.limiter(|guest| &mut guest.limiter);
        store.set_max_component_handles(limits.sizes.handles.get() as usize);
        store.set_hostcall_fuel(limits.sizes.output.get().saturating_add(COPY_OVERHEAD));
        // This fails only for an engine without fuel.
        let _ = store.set_fuel(limits.fuel);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| {
            let guest = context.data_mut();
            guest.computed += processor_time::computed();
            if guest.computed <= guest.compute() {
                processor_time::note_yield();
                return Ok(UpdateDeadline::Yield(1));
            }
            Err(processor_time::over(guest.compute()))
        });
        store
    }
}

async fn invoke<P, R>(
    store: &mut Store<Guest>,
    instance: &Instance,
    handle: &Handle,
    params: P,
    limits: &Limits,
) -> Result<R, Failure>
where
    P: ComponentNamedList + Lower + Send + Sync,
    R: ComponentNamedList + Lift + Send + Sync + 'static,
{
    let function = instance.get_typed_func::<P, R>(&mut *store, handle);
    let function = function.map_err(|error| Failure::new(FailureKind::NotInstantiated, error.to_string()))?;
    let answer = function.call_async(&mut *store, params).await;
    answer.map_err(|error| classify(&error, store.data().limiter.denied, limits))
}

fn finished<R>(store: Store<Guest>, answer: Result<R, Failure>, limits: &Limits, began: Instant) -> CallOutcome<R> {
    let fuel = limits.fuel.get() - store.get_fuel().unwrap_or(0);
    CallOutcome::of(store.into_data(), answer, fuel, began)
}

impl<R> CallOutcome<Result<R, String>> {
    /// If the answer is `Err`, the plugin's answer is invalid, and the `Err` contains the reason. This method turns it
    /// into a failure and removes the effects of the call.
    pub(crate) fn checked(self) -> CallOutcome<R> {
        let Self { answer, mut did } = self;
        let answer = answer.and_then(|answer| answer.map_err(Failure::invalid));
        if answer.is_err() {
            did.without_effects();
        }
        CallOutcome { answer, did }
    }
}

impl<R> CallOutcome<R> {
    /// Returns the outcome of a call, with the log and report of its guest.
    pub(super) fn of(mut guest: Guest, answer: Result<R, Failure>, fuel: u64, began: Instant) -> Self {
        let log = guest.take_log();
        guest.note_what_wasi_showed();
        let Guest { mut given, mut did, .. } = guest;
        let (writes, reads) = given.state.take().map(View::into_parts).unzip();
        if let Some((before, added)) = given.labels.take().map(Labels::into_parts) {
            (did.inputs.labels, did.effects.labels) = (before, added);
        }
        (did.log, did.log_dropped) = (log.lines, log.dropped);
        (did.writes, did.reads) = (writes, reads.unwrap_or_default());
        did.missed = given.replayed.as_ref().is_some_and(super::capability::ReplayedInputs::missed);
        if answer.is_err() {
            did.without_effects();
        }
        (did.fuel, did.time) = (fuel, began.elapsed());
        Self { answer, did }
    }

    /// Returns the outcome of a call that could not be made.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self { answer: Err(failure), did: Box::default() }
    }
}

/// Waits for a permit of the pool, which has one slot per permit. Returns `None` if there is no permit within
/// `patience`.
async fn place(permits: &Semaphore, patience: Duration) -> Option<SemaphorePermit<'_>> {
    // The semaphore is never closed.
    tokio::time::timeout(patience, permits.acquire()).await.ok()?.ok()
}

pub(super) fn overloaded(patience: Duration) -> Failure {
    Failure::new(
        FailureKind::Overloaded,
        format!("had no place or no processor for {patience:?} (settings.overload-deadline); try again"),
    )
}

pub(super) fn deadline_passed(limits: CallLimits<'_>) -> Failure {
    Failure::new(FailureKind::Deadline, format!("did not answer within {:?} (limits.deadline)", limits.deadline))
}

/// Returns the output of `future`, or `None` if it takes longer than `limit`. A future that never waits uses no timer,
/// which saves the system calls of a timer. Epochs stop a guest that computes for too long.
pub(crate) async fn with_deadline<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let deadline = tokio::time::Instant::now() + limit;
    let mut future = pin!(future);
    let mut timer: Option<Pin<Box<tokio::time::Sleep>>> = None;
    let mut long = false;
    poll_fn(|context| {
        // After the first wait, check the deadline before the future is polled. Otherwise a guest could compute for
        // another tick and answer too late. The clock is read here, because a busy runtime checks its timers only from
        // time to time.
        if timer.is_some() && tokio::time::Instant::now() >= deadline {
            return Poll::Ready(None);
        }
        processor_time::start(Instant::now(), long);
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let yielded = processor_time::take_yielded();
        long |= yielded;
        if timer.is_none() && !yielded {
            let timer = timer.insert(Box::pin(tokio::time::sleep_until(deadline)));
            return timer.as_mut().poll(context).map(|()| None);
        }
        Poll::Pending
    })
    .await
}
