//! The sandbox in which a guest runs: the interfaces that the guest can use, and the limits that stop it.
//!
//! Every call runs in a fresh instance and a fresh store, so nothing that a guest leaves in its memory reaches the next
//! call. The instances usually come from a pool. Four limits apply at the same time. Fuel limits computation. An epoch
//! deadline limits the wall time of computation. A timer around the whole call limits the time of waiting. Hostcall
//! fuel limits how much data the host copies for a guest.

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

pub use inputs::{
    FactRead, Inputs, ModelAnswer, ModelReply, SecretsUse, StateRead, StateUse, TextWithSecrets, TranscriptRead,
};

pub(crate) use fresh_instance::{CallLimits, CallOutcome, Handle, with_deadline};
pub(crate) use guest::{CallReport, Guest, GuestSetup};
pub(crate) use native::NativeCalls;
pub(crate) use preopens::{PreopenError, Preopens};

use crate::config::{Entry, Grants};
use crate::contract::FactName;
use crate::locked::locked;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use ticker::Ticker;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Maximum number of linear memories of one component. A Rust component has 1. The number is the same for all plugins,
/// because each memory reserves 4 GiB of address space in every slot.
const MEMORIES: u32 = 2;
/// Number of bytes of linear memory and of stack that a slot keeps mapped. After a call, these bytes are reset by
/// copying. If they were returned to the operating system instead, the next call would cause page faults, which cost
/// more. `cargo run -p bench -- budgets` counts the page faults of an event of shell-guard. The option `pagemap_scan`
/// would reset only written pages. But wasmtime 48 then misses a written page that was swapped out
/// (<https://github.com/bytecodealliance/wasmtime/pull/14357>).
const KEEP_MEMORY: usize = 2 * 1024 * 1024;
const KEEP_STACK: usize = 64 * 1024;
/// Size of the stack for the guest's compiled code, and size of the whole stack of a fiber, in bytes. The fiber runs
/// the compiled code and the host functions that it calls. The sizes are the same for all plugins, because they are
/// settings of wasmtime's engine. With one engine per plugin, each plugin would need a separate pool and a separate
/// clock.
const WASM_STACK: usize = 512 * 1024;
const FIBER_STACK: usize = WASM_STACK + 512 * 1024;

/// A pool for at least `DIVIDED_CALLS` concurrent calls gets at least `DIVIDED_SLOTS` slots, because wasmtime divides a
/// pool of this size among the threads. A thread then reuses slots whose memory is still in the cache of its processor.
/// An unused slot costs only address space.
const DIVIDED_CALLS: u32 = 32;
const DIVIDED_SLOTS: u32 = 128;

/// The size of the pool. Each field is the maximum that the limits of any plugin allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSize {
    /// Size of the largest linear memory of any guest, in bytes.
    memory: usize,
    /// The maximum numbers for any guest: elements in a table, tables, and core instances.
    table_elements: u32,
    tables: u32,
    instances: u32,
    /// Maximum number of concurrent calls of plugins that only compute.
    computing: u32,
    /// Maximum number of concurrent calls of plugins that may wait in a capability.
    waiting: u32,
}

impl PoolSize {
    /// Returns the size of a pool for `concurrent` calls of these entries' plugins. If any of these plugins may wait in
    /// a capability, the pool has slots for the same number of waiting calls in addition.
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

    /// Returns true if a pool of this size can be used in place of a pool of size `other`. The number of computing
    /// calls must be the same, because the configuration limits it. All other numbers may be larger.
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
    /// Permits for plugins that only compute, and for plugins that may wait in a capability. The permits are separate,
    /// because a waiting plugin must not block plugins that only compute.
    computing: Semaphore,
    waiting: Semaphore,
    /// One linker for all plugins with the same grants and the same imports.
    linkers: Mutex<Vec<(Parts, Arc<Linker<Guest>>)>>,
}

/// The parts of a linker in addition to the WASI interfaces that are always linked.
type Parts = (capability::LinkedCapabilities, OptionalWasi);

/// The optional parts of WASI that a component imports. These parts are linked only if they are imported, because they
/// are the larger part of WASI and few plugins import them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionalWasi {
    filesystem: bool,
    sockets: bool,
    http: bool,
}

impl OptionalWasi {
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

/// The reason why the sandbox could not be set up.
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
    /// Creates a sandbox with a pool of that size.
    ///
    /// # Errors
    /// Fails if the machine has no address space for the pool, or cannot start the clock's thread.
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

    /// Returns a linker with the parts of base WASI that a component imports, and the capabilities of the contract that
    /// `grants` contains.
    pub(crate) fn linker(&self, grants: &Grants, imported: OptionalWasi) -> wasmtime::Result<Arc<Linker<Guest>>> {
        let linked = capability::LinkedCapabilities::by(grants);
        let parts = (linked, imported);
        let mut linkers = locked(&self.linkers);
        if let Some((_, linker)) = linkers.iter().find(|(other, _)| *other == parts) {
            return Ok(Arc::clone(linker));
        }
        let mut linker = Linker::new(&self.engine);
        virtual_wasi::link(&mut linker, imported)?;
        capability::link(&mut linker, linked)?;
        if imported.http {
            // The interfaces are linked even if the entry does not grant `http`. The list of allowed servers is then
            // empty, so each request is denied.
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

/// Returns true if a WASI import is part of base WASI.
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
        // All slots stay warm, because giving a slot the image of another plugin costs more than handling an event.
        .max_unused_warm_slots(slots * MEMORIES)
        .linear_memory_keep_resident(KEEP_MEMORY)
        .async_stack_keep_resident(KEEP_STACK)
        .table_keep_resident(64 * 1024);
    pool
}

/// Returns the settings of an engine. The settings are the same with and without a pool, because one engine must be
/// able to run code that another engine compiled.
fn config(instances: InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        // The contract does not use component-model async, which would cost every call a microsecond.
        .concurrency_support(false)
        // SIMD results must have the same bits on every machine. Otherwise a verdict could not be replayed on another
        // machine.
        .relaxed_simd_deterministic(true)
        // Nothing uses backtraces. With backtraces, the host would walk the stack of a plugin at each trap.
        .wasm_backtrace_max_frames(None)
        // Without stack walks, the compiled code needs no tables for them. It is therefore smaller, and can be read and
        // hashed faster.
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows))
        .allocation_strategy(instances);
    #[cfg(feature = "compile")]
    // NaN values must be the same on every machine. Otherwise a verdict could not be replayed on another machine.
    config.cranelift_nan_canonicalization(true);
    #[cfg(feature = "compile")]
    config
        .enable_incremental_compilation(Arc::new(crate::plugin::FunctionsOfThread))
        .expect("the compiler is not disabled");
    config
}

/// Returns true if a plugin with these grants may wait in a capability: for a model, for a server, for the embedding
/// program, or for a disk, which may be on a network.
pub(crate) fn may_wait(grants: &Grants) -> bool {
    use FactName::{AgentVersion, SessionMode, ToolDestructive, ToolOpenWorld, ToolReadOnly};
    // The sender of an event knows these facts.
    let is_known =
        |name: &FactName| matches!(name, AgentVersion | SessionMode | ToolDestructive | ToolOpenWorld | ToolReadOnly);
    let reads_files = grants.secrets.is_some() || !grants.facts.iter().all(is_known);
    grants.waits_for_others() || grants.has_directories() || reads_files
}

/// The sandbox, shared by everything that calls guests.
pub(crate) type SharedSandbox = Arc<Sandbox>;
