//! The sandbox: what a guest gets, and what stops it.
//!
//! Every call is made in a fresh instance, in a fresh store, mostly from a pool; nothing that a guest leaves in its memory
//! reaches the next call. Four limits hold at once: fuel stops computation, an epoch deadline stops wall time spent
//! computing, a timer around the whole call stops time spent waiting, and hostcall fuel bounds what a guest makes the
//! host copy.

pub(crate) mod capability;
mod clock;
mod fresh_instance;
mod guest;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
pub(crate) mod http;
mod inputs;
mod native;
mod output;
mod preopens;
mod processor_time;
mod ticker;
mod trap;
mod virtual_wasi;

pub use inputs::{Inputs, ModelAnswer, ModelReply, StateRead, StateUse, TranscriptRead};

pub(crate) use fresh_instance::{CallLimits, CallOutcome, Handle, with_deadline};
pub(crate) use guest::{CallReport, Guest, GuestSetup};
pub(crate) use native::NativeCalls;
pub(crate) use preopens::{PreopenError, Preopens};

use crate::config::{Entry, Grants};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use ticker::Ticker;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Linear memories of one component. A Rust component has 1. The same for all plugins: each reserves 4 GiB of address
/// space in every slot.
const MEMORIES: u32 = 2;
/// Bytes of linear memory, and of stack, that a slot keeps mapped and resets by copying, rather than giving them back to the
/// system: to copy it costs less than the page faults would. `cargo run -p bench -- budgets` counts those of an event of shell-guard. With
/// `pagemap_scan`, which resets only written pages, wasmtime 48 misses a written page that was swapped out
/// (<https://github.com/bytecodealliance/wasmtime/pull/14357>).
const KEEP_MEMORY: usize = 2 * 1024 * 1024;
const KEEP_STACK: usize = 64 * 1024;
/// Stack of the guest's compiled code, and of the fiber that it and the host functions it calls run
/// on, in bytes. The same for all plugins: it is a setting of wasmtime's engine, and an engine per
/// plugin would cost each a pool and a clock.
const WASM_STACK: usize = 512 * 1024;
const FIBER_STACK: usize = WASM_STACK + 512 * 1024;

/// A pool of at least this many calls at once is divided among threads, and has as many slots as
/// wasmtime divides. A thread then takes slots that it has used before, whose memory is still in
/// its processor's cache. A slot that nobody uses costs address space alone.
const DIVIDED_CALLS: u32 = 32;
const DIVIDED_SLOTS: u32 = 128;

/// The size of the pool: the maximum that any plugin's limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSize {
    /// Bytes of the largest linear memory of a guest.
    memory: usize,
    /// Elements of the largest table, tables and core instances of any guest.
    table_elements: u32,
    tables: u32,
    instances: u32,
    /// Calls at once of plugins that only compute.
    computing: u32,
    /// Calls at once of plugins that may wait in a capability.
    waiting: u32,
}

impl PoolSize {
    /// The size for `concurrent` calls at once of these entries' plugins, and as many again of plugins that may wait.
    pub(crate) fn of(entries: &[&Entry], concurrent: NonZeroU32) -> Self {
        let any_waits = entries.iter().any(|entry| may_wait(&entry.grants));
        let computing = concurrent.get();
        let none = Self {
            memory: 0,
            table_elements: 0,
            tables: 0,
            instances: 0,
            computing,
            waiting: if any_waits { computing } else { 0 },
        };
        entries.iter().map(|entry| &entry.limits).fold(none, |pool_size, limits| Self {
            memory: pool_size.memory.max(limits.memory.get()),
            table_elements: pool_size.table_elements.max(limits.table_elements.get()),
            tables: pool_size.tables.max(limits.tables.get()),
            instances: pool_size.instances.max(limits.instances.get()),
            ..pool_size
        })
    }

    /// Whether calls of that size have room in a pool of this one. As many at once as were asked for, no more.
    pub(crate) fn holds(self, other: Self) -> bool {
        self.computing == other.computing
            && self.waiting >= other.waiting
            && self.memory >= other.memory
            && self.table_elements >= other.table_elements
            && self.tables >= other.tables
            && self.instances >= other.instances
    }

    fn slots(self) -> u32 {
        let calls = self.computing + self.waiting;
        if calls < DIVIDED_CALLS { calls } else { calls.max(DIVIDED_SLOTS) }
    }
}

/// The engine, its pool of instances and its clock.
pub(crate) struct Sandbox {
    pool_size: PoolSize,
    engine: Engine,
    ticker: Ticker,
    /// Slots for plugins that only compute, and for those that may wait in a capability: the latter starve nobody.
    computing: Semaphore,
    waiting: Semaphore,
    /// Made once for all plugins that are granted the same and import the same.
    linkers: Mutex<Vec<(Parts, Arc<Linker<Guest>>)>>,
}

/// What a linker has beside the WASI that is always linked.
type Parts = (capability::Linked, Imported);

/// Which of the parts of WASI a component imports that are linked only then: they are most of WASI, and few plugins have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    filesystem: bool,
    sockets: bool,
    http: bool,
}

impl Imported {
    pub(crate) fn of<'a>(imports: impl Iterator<Item = &'a str>) -> Self {
        let mut imported = Self { filesystem: false, sockets: false, http: false };
        for import in imports {
            imported.filesystem |= import.starts_with("wasi:filesystem/");
            imported.sockets |= import.starts_with("wasi:sockets/");
            imported.http |= http::is_http(import);
        }
        imported
    }
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[error(
    "the sandbox could not be set up: {problem}. Each of its {slots} instances reserves address space (see `ulimit -v`); set \
     fewer `concurrent-calls` in `[settings]`"
)]
#[non_exhaustive]
pub struct SandboxError {
    problem: String,
    slots: u32,
}

impl Sandbox {
    /// A sandbox with a pool of that size.
    ///
    /// # Errors
    /// If the machine gives no address space for the pool, or no thread for the clock.
    pub(crate) fn new(pool_size: PoolSize) -> Result<Self, SandboxError> {
        let instances = InstanceAllocationStrategy::Pooling(pool(pool_size));
        let fail = |problem| SandboxError { problem, slots: pool_size.slots() };
        let engine = Engine::new(&config(instances)).map_err(|error| fail(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine).map_err(|error| fail(error.to_string()))?;
        let permits = |calls| Semaphore::new(calls as usize);
        let (computing, waiting) = (permits(pool_size.computing), permits(pool_size.waiting));
        Ok(Self { pool_size, engine, ticker, computing, waiting, linkers: Mutex::default() })
    }

    pub(crate) fn pool_size(&self) -> PoolSize {
        self.pool_size
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A linker with what a component imports of base WASI, and what `grants` gives of the contract.
    pub(crate) fn linker(&self, grants: &Grants, imported: Imported) -> wasmtime::Result<Arc<Linker<Guest>>> {
        let linked = capability::Linked::by(grants);
        let parts = (linked, imported);
        let mut linkers = self.linkers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, linker)) = linkers.iter().find(|(other, _)| *other == parts) {
            return Ok(Arc::clone(linker));
        }
        let mut linker = Linker::new(&self.engine);
        virtual_wasi::link(&mut linker, imported)?;
        capability::link(&mut linker, linked)?;
        if imported.http {
            // Without the grant it has no servers, and each request is denied.
            http::link(&mut linker)?;
        }
        let linker = Arc::new(linker);
        linkers.push((parts, Arc::clone(&linker)));
        Ok(linker)
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

/// Whether a WASI import is part of base WASI.
pub(crate) fn is_base_wasi(import: &str) -> bool {
    virtual_wasi::PACKAGES.iter().any(|package| import.starts_with(package))
}

fn pool(pool_size: PoolSize) -> PoolingAllocationConfig {
    let slots = pool_size.slots();
    let (tables, instances) = (pool_size.tables, pool_size.instances);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots * instances)
        .total_memories(slots * MEMORIES)
        .total_tables(slots * tables)
        .total_stacks(slots)
        .max_core_instances_per_component(instances)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(tables)
        .max_tables_per_module(tables)
        .max_memories_per_module(MEMORIES)
        .max_memory_size(pool_size.memory.max(1).next_multiple_of(64 * 1024))
        .table_elements(pool_size.table_elements.max(1) as usize)
        // All: a slot that has to take another plugin's image costs an event more than its own work.
        .max_unused_warm_slots(slots * MEMORIES)
        .linear_memory_keep_resident(KEEP_MEMORY)
        .async_stack_keep_resident(KEEP_STACK)
        .table_keep_resident(64 * 1024);
    pool
}

/// The same with a pool and without: what one engine has compiled, another one runs.
fn config(instances: InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        // Component-model async is not part of the contract, and costs every call a microsecond.
        .concurrency_support(false)
        // The same bits on every machine, so that a verdict can be replayed.
        .relaxed_simd_deterministic(true)
        // Nobody reads backtraces, and a plugin that traps again and again would make the host walk
        // its stack each time.
        .wasm_backtrace_max_frames(None)
        // Without stack walks, the compiled code needs no tables for them, and is read and hashed faster.
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows))
        .allocation_strategy(instances);
    #[cfg(feature = "compile")]
    // For the same reason.
    config.cranelift_nan_canonicalization(true);
    config
}

/// Whether a plugin with these grants may wait in a capability, rather than compute: for a model,
/// for a server, for the embedding program, or for a disk, which may be on a network.
pub(crate) fn may_wait(grants: &Grants) -> bool {
    grants.waits_for_others() || grants.has_directories()
}

/// The sandbox, shared by everything that calls guests.
pub(crate) type SharedSandbox = Arc<Sandbox>;
