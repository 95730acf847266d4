//! The data in the store of one call: everything that the guest can access, and how much of its limits it has used.

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
use crate::secrets::KnownSecrets;
use crate::state::{Labels, Reads, View, Writes};
use std::collections::BTreeSet;
use std::sync::{Arc, atomic::AtomicU32};
use std::time::Duration;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::{WasiFilesystemCtxView, WasiFilesystemView as _};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The data of a guest. It is created for each call and moved into the store, so it must be small and cheap to create.
/// Parts that few guests use are created at their first use.
pub(crate) struct Guest {
    pub(super) given: Box<GuestSetup>,
    pub(super) did: Box<CallReport>,
    /// Size of the recorded messages of the conversation, in bytes.
    pub(super) recorded_bytes: usize,
    /// Size of the recorded requests to the model and the embedding program, with the answers, in bytes.
    pub(super) asked_bytes: usize,
    /// Size of the recorded facts, in bytes.
    pub(super) fact_bytes: usize,
    /// The secrets of the project, after their first use.
    pub(super) secrets: Option<Arc<KnownSecrets>>,
    pub(super) log: Log,
    pub(super) limiter: MemoryLimiter,
    /// Time for which the guest has computed.
    pub(super) computed: Duration,
    compute: Duration,
    calls_left: u32,
    calls_allowed: u32,
    wasi: Option<Box<WasiCtx>>,
    looked_for_directories: bool,
    http: Option<Box<Http>>,
    /// Maximum size of an HTTP body, in bytes.
    http_body: usize,
    /// The time for which the connections of the guest's HTTP requests keep threads busy. This field exists even before
    /// the first request, because the call's clock reads it.
    pub(super) busy: Arc<Busy>,
    output: Option<Output>,
    table: ResourceTable,
}

/// The memory and tables that the guest may still allocate, and the resource that the guest was denied.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    /// Bytes that are left for all memories together.
    memory: usize,
    /// Elements that are left for all tables together.
    elements: usize,
    tables: usize,
    instances: usize,
    pub(super) denied: Option<DeniedResource>,
}

/// A resource of which a guest can request more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeniedResource {
    Memory,
    Tables,
}

/// The data that the host gives to one call.
pub(crate) struct GuestSetup {
    pub(crate) plugin: Arc<str>,
    pub(crate) event: Arc<EventFacts>,
    /// The round of the event, from 1. While the plugin is loaded, there is no event and the round is 0.
    pub(crate) round: u32,
    pub(crate) grants: Arc<Grants>,
    pub(crate) preopens: Arc<Preopens>,
    pub(crate) servers: Arc<[Server]>,
    pub(crate) network: Arc<Network>,
    pub(crate) state: Option<View>,
    pub(crate) labels: Option<Labels>,
    /// True if the event has a record that can contain the effects. Events `audit-record` have no record.
    pub(crate) is_recorded: bool,
    pub(crate) transcript: Arc<dyn Transcript>,
    pub(crate) model: Option<Arc<dyn Model>>,
    /// Number of the plugin's model calls in this session, if the plugin has the grant `model`.
    pub(crate) model_calls: Option<Arc<AtomicU32>>,
    /// The capabilities of the embedding program, if the plugin is granted any.
    pub(crate) own: Option<OwnCall>,
    /// The code that waits for the call, and therefore also for each callback into the embedding program that the call
    /// makes.
    pub(crate) waiters: Waiters,
    /// The recorded inputs, if the call is a replay. These inputs replace the agent's model and transcript.
    pub(crate) replayed: Option<ReplayedInputs>,
    /// Maximum time for which the call waits for a free instance and for a processor.
    pub(crate) patience: Duration,
}

/// The effects of a call, and its use of limits.
#[derive(Debug, Default)]
pub(crate) struct CallReport {
    /// Units of fuel used.
    pub(crate) fuel: u64,
    /// Wall time, waiting included.
    pub(crate) time: Duration,
    /// Findings, reminders and labels; none if the call did not return.
    pub(crate) effects: Effects,
    /// State writes; none if the call did not return.
    pub(crate) writes: Option<Writes>,
    /// State that the guest has read.
    pub(crate) reads: Reads,
    /// Other data that the guest got from outside the event.
    pub(crate) inputs: Inputs,
    /// Reasons why the call cannot be repeated from its record.
    pub(crate) unrepeatable: BTreeSet<&'static str>,
    /// True if the guest, in a replay, asked for something that was not recorded.
    pub(crate) missed: bool,
    /// Log lines. A failed call has log lines, too.
    pub(crate) log: Vec<LogLine>,
    /// Number of log lines that were dropped because of the limit.
    pub(crate) log_dropped: u64,
}

impl CallReport {
    /// Removes the effects and state writes, because a call without a valid answer has none.
    pub(super) fn without_effects(&mut self) {
        (self.effects, self.writes) = (Effects::default(), None);
    }
}

impl GuestSetup {
    /// Returns the setup of a guest during `configure`. The guest has no event, and its only capability is the log.
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
            labels: None,
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
            fact_bytes: 0,
            secrets: None,
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

    /// Prepares a configured guest for an event: gives it the event, its capabilities and fresh budgets.
    pub(super) fn begin(&mut self, given: Box<GuestSetup>, limits: &Limits) {
        self.given = given;
        self.did.effects = Effects::default();
        self.log = Log::with_capacity(limits.log.get());
        self.computed = Duration::ZERO;
        self.calls_left = self.calls_allowed;
        self.wasi = None;
        self.http = None;
    }

    /// Returns the maximum time for which the guest may compute.
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

    /// Marks the call as not replayable if WASI has given the guest the real time, real random numbers or environment
    /// variables.
    pub(super) fn note_what_wasi_showed(&mut self) {
        if self.wasi.is_none() {
            return;
        }
        let grants = &self.given.grants;
        let shown = [
            (grants.clock, "the plugin has the real time"),
            (grants.random, "the plugin has real random numbers"),
            (grants.env.iter().any(|name| std::env::var_os(name).is_some()), "the plugin has environment variables"),
        ];
        self.did.unrepeatable.extend(shown.into_iter().filter_map(|(shown, why)| shown.then_some(why)));
    }

    /// Returns the guest's files for an operation. The call then cannot be replayed, because the content of files is
    /// not recorded.
    pub(super) fn files(&mut self) -> WasiFilesystemCtxView<'_> {
        if !self.given.preopens.is_empty() {
            self.did.unrepeatable.insert("the plugin used files");
        }
        self.filesystem()
    }

    /// Returns the state of the guest's HTTP requests, and the table of its handles.
    #[cfg(feature = "http")]
    pub(super) fn http_and_table(&mut self) -> (&mut Http, &mut ResourceTable) {
        let http = self.http.get_or_insert_with(|| {
            let replayed = self.given.replayed.is_some();
            Box::new(Http::new(&self.given.servers, &self.given.network, self.http_body, replayed, &self.busy))
        });
        (http, &mut self.table)
    }

    /// Returns the guest's preopened directories, for the function that lists them.
    pub(super) fn directories(&mut self) -> WasiFilesystemCtxView<'_> {
        self.looked_for_directories = true;
        self.filesystem()
    }

    /// Returns true if the guest has asked for its directories. C libraries ask once and store the answer.
    pub(crate) fn has_looked_for_directories(&self) -> bool {
        self.looked_for_directories
    }

    /// Returns true if the guest has handles to resources of the host.
    pub(crate) fn holds_resources(&self) -> bool {
        !self.table.is_empty()
    }

    /// Returns the lines that the guest wrote with `log`, and then the lines of its standard output and error.
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
    /// Subtracts the growth from `left`, or records that it was denied.
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

    // The maximum is checked here, because only a pool enforces it by itself.
    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}
