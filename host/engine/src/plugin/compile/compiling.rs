//! Compiles plugins on separate threads, because events must not wait for a compilation. Each compilation has a time
//! limit.
//!
//! The host stops waiting for a compilation that takes too long. It cannot end the compilation, because wasmtime cannot
//! do this. The checks of [`compile_bounds`](super::compile_bounds) limit the cost of a compilation that continues. The
//! time limit counts processor time, because a plugin must not be refused only because the machine is busy. A second,
//! larger limit counts wall time.

use super::functions::{self, CompiledFunctions};
use crate::locked::locked;
use crate::plugin::ContractError;
use crate::plugin::contract_check::compile;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use wasmtime::Engine;
use wasmtime::component::Component;

/// The limit on wall time, as a multiple of the limit on processor time. On systems on which a thread cannot read the
/// processor time of other threads, the limit on wall time is the only limit.
const WALL: u32 = 10;

/// Interval at which the clocks are read.
const LOOK: Duration = Duration::from_millis(100);

/// Time after which the user gets a message about a running compilation.
const TOLD_AFTER: Duration = Duration::from_millis(500);

type CompileResult = Result<Component, ContractError>;

/// Compiles a component, in at most the processor time `within`, and reuses `functions`. Other tasks can run meanwhile.
/// `name` is the plugin's name for the notice that the compilation takes long.
///
/// # Errors
/// If the bytes are not a component, or if the compilation takes longer.
pub(super) async fn compile_within(
    engine: &Engine,
    name: &str,
    bytes: &[u8],
    functions: &Arc<CompiledFunctions>,
    within: Duration,
) -> CompileResult {
    let (send, mut receive) = oneshot::channel();
    let mut watch = Watch::new(name, within);
    start(engine, bytes, functions, &watch.clocks, move |compiled| drop(send.send(compiled)))?;
    loop {
        match tokio::time::timeout(LOOK.min(within), &mut receive).await {
            Ok(compiled) => return compiled.unwrap_or_else(|_| Err(gave_up())),
            Err(_) => watch.look()?,
        }
    }
}

/// Compiles like [`compile_within`], but blocks the calling thread.
///
/// # Errors
/// If the bytes are not a component, or if the compilation takes longer.
pub(super) fn compile_here(engine: &Engine, name: &str, bytes: &[u8], within: Duration) -> CompileResult {
    let (send, receive) = mpsc::sync_channel(1);
    let mut watch = Watch::new(name, within);
    start(engine, bytes, &Arc::default(), &watch.clocks, move |compiled| drop(send.send(compiled)))?;
    loop {
        match receive.recv_timeout(LOOK.min(within)) {
            Ok(compiled) => return compiled,
            Err(mpsc::RecvTimeoutError::Timeout) => watch.look()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(gave_up()),
        }
    }
}

/// Checks from time to time how long a compilation has taken.
struct Watch<'a> {
    name: &'a str,
    within: Duration,
    begun: Instant,
    clocks: Arc<Clocks>,
    told: bool,
}

impl<'a> Watch<'a> {
    fn new(name: &'a str, within: Duration) -> Self {
        Self { name, within, begun: Instant::now(), clocks: Arc::default(), told: false }
    }

    fn look(&mut self) -> Result<(), ContractError> {
        let elapsed = self.begun.elapsed();
        if elapsed >= TOLD_AFTER && !self.told {
            self.told = true;
            tracing::info!(target: "hookhost::compiling", plugin = self.name, "is being compiled, which takes some seconds; the result is kept for the next time");
        }
        if self.clocks.total() > self.within {
            return Err(ContractError::TooSlow(self.within));
        }
        let wall = self.within.saturating_mul(WALL);
        if elapsed > wall { Err(ContractError::StillCompiling(wall)) } else { Ok(()) }
    }
}

/// The processor clocks of the threads that compile.
#[derive(Default)]
struct Clocks(Mutex<Vec<Clock>>);

impl Clocks {
    /// Adds the clock of the calling thread, on systems on which other threads can read it.
    fn add_mine(&self) {
        let mut clocks = locked(&self.0);
        clocks.extend(Clock::mine());
    }

    /// Returns the sum of the processor times of all threads. The sum does not include threads that have ended.
    fn total(&self) -> Duration {
        let clocks = locked(&self.0);
        clocks.iter().map(Clock::now).sum()
    }
}

/// The processor clock of one thread, which other threads of the process can read.
struct Clock(#[cfg(target_os = "linux")] nix::time::ClockId);

#[cfg(target_os = "linux")]
impl Clock {
    fn mine() -> Option<Self> {
        // `PID/task/TID`
        let thread = std::fs::read_link("/proc/thread-self").ok()?;
        let id: i32 = thread.file_name()?.to_str()?.parse().ok()?;
        // Computes the kernel's id of the processor clock of this thread, as `pthread_getcpuclockid` does.
        const PER_THREAD: i32 = 4;
        const SCHEDULED: i32 = 2;
        Some(Self(nix::time::ClockId::from_raw((!id << 3) | PER_THREAD | SCHEDULED)))
    }

    fn now(&self) -> Duration {
        self.0.now().map(Duration::from).unwrap_or_default()
    }
}

#[cfg(not(target_os = "linux"))]
impl Clock {
    fn mine() -> Option<Self> {
        None
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// Starts the compilation on a new thread with a separate thread pool. The compilation does not use the threads of the
/// async runtime, because a process waits for them before it ends. It does not use the global pool of rayon, because
/// the processor time of that pool would include other compilations.
fn start(
    engine: &Engine,
    bytes: &[u8],
    functions: &Arc<CompiledFunctions>,
    clocks: &Arc<Clocks>,
    done: impl FnOnce(CompileResult) + Send + 'static,
) -> Result<(), ContractError> {
    let (engine, bytes) = (engine.clone(), bytes.to_vec());
    let (functions, clocks) = (Arc::clone(functions), Arc::clone(clocks));
    let name = "hookhost-compile";
    let prepare_thread = move || {
        clocks.add_mine();
        functions::use_in_thread(Arc::clone(&functions));
    };
    let compile = move || {
        prepare_thread();
        let workers = rayon::ThreadPoolBuilder::new()
            .thread_name(move |_| name.into())
            .start_handler(move |_| prepare_thread())
            .build();
        let compile = || match workers {
            Ok(workers) => workers.install(|| compile(&engine, &bytes)),
            Err(_) => compile(&engine, &bytes),
        };
        // The host must continue even if untrusted bytes make the compiler panic.
        done(catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| Err(gave_up())));
    };
    match std::thread::Builder::new().name(name.into()).spawn(compile) {
        Ok(_) => Ok(()),
        Err(error) => Err(ContractError::NotCompiled(format!("there is no thread to compile it on: {error}"))),
    }
}

fn gave_up() -> ContractError {
    ContractError::NotCompiled("the compiler gave up on it".into())
}

#[cfg(test)]
mod tests {
    use super::{ContractError, Watch, compile_within};
    use std::sync::Arc;
    use std::time::Duration;
    use wasmtime::Engine;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Returns a component with many functions, so that its compilation still runs at the first check.
    fn large(functions: usize) -> Vec<u8> {
        let functions = "(func (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))".repeat(functions);
        wat::parse_str(format!("(component (core module {functions}))")).unwrap()
    }

    #[tokio::test]
    async fn a_compilation_that_takes_too_long_is_given_up_with_a_sentence() {
        let component = wat::parse_str("(component)").unwrap();
        assert!(compile_within(&Engine::default(), "p", &component, &Arc::default(), MINUTE).await.is_ok());
        let refused =
            compile_within(&Engine::default(), "p", &large(4_000), &Arc::default(), Duration::from_millis(1)).await;
        // On a busy machine, the limit on wall time ends the compilation.
        let Err(ContractError::TooSlow(_) | ContractError::StillCompiling(_)) = refused else {
            panic!("it was compiled")
        };
        let said = ContractError::TooSlow(Duration::from_millis(1)).to_string();
        assert!(
            said.starts_with("is not loaded, since it takes more than 1ms") && said.contains("compile-time"),
            "{said}"
        );
        assert_eq!(said.contains("without optimisation"), cfg!(debug_assertions), "{said}");
    }

    /// Counts the traced events.
    struct Counts(std::sync::atomic::AtomicU32);

    impl tracing::Subscriber for Counts {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            metadata.target() == "hookhost::compiling"
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn people_are_told_once_that_something_is_compiled_and_only_when_it_takes_a_while() {
        let counts = Arc::new(Counts(0.into()));
        let told = || counts.0.load(std::sync::atomic::Ordering::Relaxed);
        tracing::subscriber::with_default(Arc::clone(&counts), || {
            let mut watch = Watch::new("p", MINUTE);
            watch.begun += MINUTE;
            assert_eq!((watch.look(), told()), (Ok(()), 0));
            watch.begun = std::time::Instant::now() - super::TOLD_AFTER;
            assert_eq!((watch.look(), told()), (Ok(()), 1));
            assert_eq!((watch.look(), told()), (Ok(()), 1));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_processor_time_of_the_compilation_itself_counts_until_the_wide_bound_on_wall_time() {
        let second = Duration::from_secs(1);
        let mut watch = Watch::new("p", second);
        watch.clocks.add_mine();
        let before = watch.clocks.total();
        // Another thread uses processor time, and this thread waits for it.
        std::thread::spawn(|| {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(200) {}
        })
        .join()
        .unwrap();
        assert!(watch.clocks.total() - before < Duration::from_millis(150));
        watch.begun -= second * 5;
        assert_eq!(watch.look(), Ok(()));
        watch.begun -= second * 6;
        assert_eq!(watch.look(), Err(ContractError::StillCompiling(second * 10)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_processor_time_of_another_thread_is_read() {
        let clocks = Arc::<super::Clocks>::default();
        let (ready, resume) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                clocks.add_mine();
                let begun = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
                let used = || nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap() - begun;
                while Duration::from(used()) < Duration::from_millis(20) {}
                ready.wait();
                resume.wait();
            });
            ready.wait();
            assert!(clocks.total() >= Duration::from_millis(20));
            resume.wait();
        });
    }

    #[tokio::test]
    async fn others_run_while_one_is_compiled() {
        let component = large(500);
        let (engine, functions) = (Engine::default(), Arc::default());
        let turns = async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        // The test runtime has one thread. If the compilation ran on that thread, the future would be ready at the
        // first poll.
        tokio::select! {
            biased;
            _ = compile_within(&engine, "p", &component, &functions, MINUTE) => panic!("nobody else had a turn"),
            () = turns => {}
        }
    }
}
