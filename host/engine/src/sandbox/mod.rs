//! The sandbox: what a guest gets, and what stops it.
//!
//! Every call is made in a fresh instance, in a fresh store, from a pool; nothing that a guest leaves in its memory
//! reaches the next call. Four limits hold at once: fuel stops computation, an epoch deadline stops wall time spent
//! computing, a timer around the whole call stops time spent waiting, and hostcall fuel bounds what a guest makes the
//! host copy.

mod call;
pub(crate) mod capability;
mod failure;
mod guest;
mod output;
mod ticker;
mod turn;
mod virtual_wasi;

pub use failure::{Failure, FailureKind};

pub(crate) use call::{Called, Handle, with_deadline};
pub(crate) use guest::{Guest, GuestSetup};

use crate::allowlist::{Grants, Limits};
use std::num::NonZeroU32;
use std::sync::Arc;
use ticker::Ticker;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Linear memories of one component. A Rust component has 1. The same for all plugins: each reserves 4 GiB of address
/// space in every slot.
const MEMORIES: u32 = 2;
/// Bytes of linear memory, and of stack, that a slot keeps mapped and zeroes itself rather than giving them back: a
/// guest linked with a 64 KiB stack touches less.
const KEEP_MEMORY: usize = 256 * 1024;
const KEEP_STACK: usize = 64 * 1024;
/// Stack of the guest's compiled code, and of the fiber that it and the host functions it calls run on, in bytes. The same
/// for all plugins: it is a setting of wasmtime's engine, and an engine per plugin would cost each a pool and a clock.
const WASM_STACK: usize = 512 * 1024;
const FIBER_STACK: usize = WASM_STACK + 512 * 1024;

/// The engine, its pool of instances and its clock.
pub(crate) struct Sandbox {
    engine: Engine,
    ticker: Ticker,
    /// Slots for plugins that only compute, and for those that may wait for a model: the latter starve nobody.
    computing: Semaphore,
    waiting: Semaphore,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[error(
    "the sandbox could not be set up: {problem}. Each of its {slots} instances reserves address space (see `ulimit -v`); set \
     fewer `concurrent-calls` in `[settings]`"
)]
pub struct SandboxError {
    problem: String,
    slots: u32,
}

impl Sandbox {
    /// A sandbox whose pool has room for `concurrent` calls at once of guests with these limits, and where `any_waits`, for
    /// as many of plugins that wait for a model.
    ///
    /// # Errors
    /// If the machine gives no address space for the pool, or no thread for the clock.
    pub(crate) fn new(room: Room, any_waits: bool, concurrent: NonZeroU32) -> Result<Self, SandboxError> {
        let slots = if any_waits { 2 * concurrent.get() } else { concurrent.get() };
        let fail = |problem| SandboxError { problem, slots };
        let engine = Engine::new(&config(room, slots)).map_err(|error| fail(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine).map_err(|error| fail(error.to_string()))?;
        let permits = || Semaphore::new(concurrent.get() as usize);
        Ok(Self { engine, ticker, computing: permits(), waiting: permits() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A linker with base WASI, what every plugin has, and what `grants` gives.
    pub(crate) fn linker(&self, grants: &Grants) -> wasmtime::Result<Linker<Guest>> {
        let mut linker = Linker::new(&self.engine);
        virtual_wasi::link(&mut linker)?;
        capability::link(&mut linker, grants)?;
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

/// What one slot of the pool has room for: the most that any plugin's limits allow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    memory: usize,
    table_elements: u32,
    tables: u32,
    instances: u32,
}

impl Room {
    /// The room that guests with any of these limits need.
    pub(crate) fn for_all<'a>(limits: impl Iterator<Item = &'a Limits>) -> Self {
        limits.fold(Self::default(), |room, limits| Self {
            memory: room.memory.max(limits.memory.get()),
            table_elements: room.table_elements.max(limits.table_elements.get()),
            tables: room.tables.max(limits.tables.get()),
            instances: room.instances.max(limits.instances.get()),
        })
    }
}

fn config(room: Room, slots: u32) -> Config {
    // A host without plugins has a pool, too.
    let (tables, instances) = (room.tables.max(1), room.instances.max(1));
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
        .max_memory_size(room.memory.max(1).next_multiple_of(64 * 1024))
        .table_elements(room.table_elements.max(1) as usize)
        .linear_memory_keep_resident(KEEP_MEMORY)
        .async_stack_keep_resident(KEEP_STACK)
        .table_keep_resident(64 * 1024);
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        // Component-model async is not part of the contract, and costs every call a microsecond.
        .concurrency_support(false)
        // The same bits on every machine, so that a verdict can be replayed.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // Nobody reads them, and a plugin that traps over and over would make the host walk its stack each time.
        .wasm_backtrace_max_frames(None)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Whether a plugin with these grants may wait in a capability, rather than compute.
pub(crate) fn may_wait(grants: &Grants) -> bool {
    grants.model.is_some()
}

/// The epochs that `limits.compute` is worth; one more, since the first may come at once.
fn ticks(limits: &Limits) -> u64 {
    u64::try_from(limits.compute.as_nanos().div_ceil(ticker::TICK.as_nanos())).unwrap_or(u64::MAX).saturating_add(1)
}

/// Shared by everything that calls guests.
pub(crate) type SharedSandbox = Arc<Sandbox>;
