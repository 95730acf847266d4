//! The data in the store of one call: everything that the guest can reach, and its use of limits.

use super::capability::{
    Effects, EventFacts, Level, Log, LogLine, Model, NoTranscript, OwnCall, ReplayedInputs, Transcript,
};
use super::clock::Busy;
use super::fresh_instance::CallLimits;
use super::http::{Http, Network};
use super::output::Output;
use super::preopens::Preopens;
use super::trap::Limit;
use super::{MEMORIES, processor_time, virtual_wasi};
use crate::callback::Waiters;
use crate::config::{Grants, Limits, Server};
use crate::contract::{Failure, FailureKind};
use crate::sandbox::Inputs;
use crate::state::{Reads, View, Writes};
use std::collections::BTreeSet;
use std::sync::{Arc, atomic::AtomicU32};
use std::time::Duration;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::{WasiFilesystemCtxView, WasiFilesystemView as _};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// A guest's data. Created for each call and moved into its store, so it must be cheap and small: what few guests use is made
/// when first used.
pub(crate) struct Guest {
    pub(super) given: Box<GuestSetup>,
    pub(super) did: Box<CallReport>,
    /// Bytes of the conversation in its inputs.
    pub(super) recorded_bytes: usize,
    /// Bytes of questions to the model and the embedding program, and of their answers, in its inputs.
    pub(super) asked_bytes: usize,
    pub(super) log: Log,
    pub(super) limiter: MemoryLimiter,
    /// The time that it has computed.
    pub(super) computed: Duration,
    compute: Duration,
    calls_left: u32,
    calls_allowed: u32,
    wasi: Option<Box<WasiCtx>>,
    looked_for_directories: bool,
    http: Option<Box<Http>>,
    /// Bytes of a body over HTTP.
    http_body: usize,
    /// The time of its HTTP requests. It exists before the first one, since the call's clock reads it.
    pub(super) busy: Arc<Busy>,
    output: Option<Output>,
    table: ResourceTable,
}

/// The memory and tables that the guest may still grow by, and what was denied.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    /// Bytes that are left, of all memories together.
    memory: usize,
    /// Elements that are left, of all tables together.
    elements: usize,
    tables: usize,
    instances: usize,
    pub(super) denied: Option<DeniedResource>,
}

/// A resource that a guest can ask for more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeniedResource {
    Memory,
    Tables,
}

/// The things that the host gives to one call.
pub(crate) struct GuestSetup {
    pub(crate) plugin: Arc<str>,
    pub(crate) event: Arc<EventFacts>,
    /// Number of the asking about the event, from 1; 0 while the plugin is loaded, when there is no event.
    pub(crate) round: u32,
    pub(crate) grants: Arc<Grants>,
    pub(crate) preopens: Arc<Preopens>,
    pub(crate) servers: Arc<[Server]>,
    pub(crate) network: Arc<Network>,
    pub(crate) state: Option<View>,
    /// True if the event has a record, so that effects can be kept with it: `audit-record` has none.
    pub(crate) is_recorded: bool,
    pub(crate) transcript: Arc<dyn Transcript>,
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Number of the plugin's model calls in this session, if it has the grant.
    pub(crate) model_calls: Option<Arc<AtomicU32>>,
    /// The capabilities of the embedding program, if the plugin is granted any.
    pub(crate) own: Option<OwnCall>,
    /// Work that waits for the call, and so for the code of the program that answers it.
    pub(crate) waiters: Waiters,
    /// In place of the agent's model and transcript, where the call is replayed.
    pub(crate) replayed: Option<ReplayedInputs>,
    /// Maximum time that the call waits for a place and for a processor.
    pub(crate) patience: Duration,
}

/// The effects of a call, and its use of limits.
#[derive(Debug, Default)]
pub(crate) struct CallReport {
    /// Units of fuel used.
    pub(crate) fuel: u64,
    /// Wall time, waiting included.
    pub(crate) time: Duration,
    /// Held only where the call returned.
    pub(crate) effects: Effects,
    /// State writes; none where the call did not return.
    pub(crate) writes: Option<Writes>,
    /// Its reads of its state.
    pub(crate) reads: Reads,
    /// Its other inputs from outside the event.
    pub(crate) inputs: Inputs,
    /// Reasons why the call cannot be repeated from its record.
    pub(crate) unrepeatable: BTreeSet<&'static str>,
    /// True if, in a replay, it asked for something that was not recorded.
    pub(crate) missed: bool,
    /// Its log lines, also if it failed.
    pub(crate) log: Vec<LogLine>,
    /// Log lines that found no room.
    pub(crate) log_dropped: u64,
}

impl CallReport {
    /// The result of a call without a valid answer: nothing that could be applied.
    pub(super) fn without_effects(&mut self) {
        (self.effects, self.writes) = (Effects::default(), None);
    }
}

impl GuestSetup {
    /// The setup of a guest while it is configured: it has the log, and nothing of any event.
    pub(crate) fn to_configure(plugin: Arc<str>) -> Box<Self> {
        Box::new(Self {
            plugin,
            event: Arc::default(),
            round: 0,
            grants: Arc::default(),
            preopens: Arc::default(),
            servers: Arc::default(),
            network: Arc::default(),
            state: None,
            is_recorded: true,
            transcript: Arc::new(NoTranscript),
            model: None,
            model_calls: None,
            own: None,
            waiters: Waiters::here(),
            replayed: None,
            patience: Duration::MAX,
        })
    }
}

impl Guest {
    pub(super) fn new(given: Box<GuestSetup>, limits: CallLimits<'_>) -> Self {
        let CallLimits { sizes: limits, compute, .. } = limits;
        Self {
            given,
            did: Box::default(),
            recorded_bytes: 0,
            asked_bytes: 0,
            log: Log::with_capacity(limits.log.get()),
            limiter: MemoryLimiter {
                memory: limits.memory.get(),
                elements: limits.table_elements.get() as usize,
                tables: limits.tables.get() as usize,
                instances: limits.instances.get() as usize,
                denied: None,
            },
            computed: Duration::ZERO,
            compute,
            calls_left: limits.capability_calls.get(),
            calls_allowed: limits.capability_calls.get(),
            wasi: None,
            looked_for_directories: false,
            http: None,
            http_body: limits.http_body.get(),
            busy: Arc::default(),
            output: None,
            table: {
                let mut table = ResourceTable::new();
                table.set_max_capacity(limits.handles.get() as usize);
                table
            },
        }
    }

    /// Turns a configured guest into one that handles an event: it gets the event, its capabilities and fresh budgets.
    pub(super) fn begin(&mut self, given: Box<GuestSetup>, limits: &Limits) {
        self.given = given;
        self.did.effects = Effects::default();
        self.log = Log::with_capacity(limits.log.get());
        self.computed = Duration::ZERO;
        self.calls_left = self.calls_allowed;
        self.wasi = None;
        self.http = None;
    }

    /// For how long it may compute.
    pub(super) fn compute(&self) -> Duration {
        self.compute
    }

    /// Counts a call of a capability.
    pub(super) fn count_call(&mut self) -> wasmtime::Result<()> {
        processor_time::check(self.compute)?;
        match self.calls_left.checked_sub(1) {
            Some(left) => {
                self.calls_left = left;
                Ok(())
            }
            None => Err(Limit(Failure::new(
                FailureKind::CapabilityCalls,
                format!("called capabilities more than {} times (limits.capability-calls)", self.calls_allowed),
            ))
            .into()),
        }
    }

    /// Marks the call as not replayable if WASI exposed real time, randomness or environment.
    pub(super) fn note_what_wasi_showed(&mut self) {
        if self.wasi.is_none() {
            return;
        }
        let grants = &self.given.grants;
        let shown = [
            (grants.clock, "it has the real time"),
            (grants.random, "it has real random numbers"),
            (grants.env.iter().any(|name| std::env::var_os(name).is_some()), "it has environment variables"),
        ];
        self.did.unrepeatable.extend(shown.into_iter().filter_map(|(shown, why)| shown.then_some(why)));
    }

    /// Its files, for an operation on one. The content is not recorded, so the call cannot be replayed.
    pub(super) fn files(&mut self) -> WasiFilesystemCtxView<'_> {
        if !self.given.preopens.is_empty() {
            self.did.unrepeatable.insert("it used files");
        }
        self.filesystem()
    }

    /// The state of its requests, and its handles.
    #[cfg(feature = "http")]
    pub(super) fn http_and_table(&mut self) -> (&mut Http, &mut ResourceTable) {
        let http = self.http.get_or_insert_with(|| {
            let replayed = self.given.replayed.is_some();
            Box::new(Http::new(&self.given.servers, &self.given.network, self.http_body, replayed, &self.busy))
        });
        (http, &mut self.table)
    }

    /// Its preopened directories, for listing them.
    pub(super) fn directories(&mut self) -> WasiFilesystemCtxView<'_> {
        self.looked_for_directories = true;
        self.filesystem()
    }

    /// Returns true if it has asked for its directories. C libraries ask once and remember them.
    pub(crate) fn has_looked_for_directories(&self) -> bool {
        self.looked_for_directories
    }

    /// Returns true if it holds handles to anything of the host.
    pub(crate) fn holds_resources(&self) -> bool {
        !self.table.is_empty()
    }

    /// The lines that it wrote by `log`, then those of its standard output and error.
    pub(super) fn take_log(&mut self) -> Log {
        let mut log = std::mem::take(&mut self.log);
        if let Some(output) = &self.output {
            let (text, dropped) = output.take();
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                log.write(Level::Info, line.to_owned());
            }
            log.dropped += dropped;
        }
        log
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let output = self.output.get_or_insert_with(|| Output::with_capacity(self.log.capacity, self.compute));
        let ctx = self.wasi.get_or_insert_with(|| {
            let files = self.given.preopens.given(self.given.replayed.is_some());
            Box::new(virtual_wasi::context(&self.given.event, &self.given.grants, files, output))
        });
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl MemoryLimiter {
    /// Takes the growth from `left`, or records that it was denied.
    fn grow(
        left: &mut usize,
        denied: &mut Option<DeniedResource>,
        of: DeniedResource,
        current: usize,
        desired: usize,
    ) -> bool {
        match left.checked_sub(desired.saturating_sub(current)) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => {
                *denied = Some(of);
                false
            }
        }
    }
}

impl wasmtime::ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(Self::grow(&mut self.memory, &mut self.denied, DeniedResource::Memory, current, desired))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(Self::grow(&mut self.elements, &mut self.denied, DeniedResource::Tables, current, desired))
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.tables
    }

    // A pool has no more; without one nothing else says so.
    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}
