//! Runs the same event in wasmtime alone, with the host's settings.

use crate::subject::component;
use crate::wire::{Answered as _, Given as _, In, Out};
use hookhost::contract::{Session, ToolCall, ToolCallVerdict};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, ResourceTable};
use wasmtime::{Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The parameters of `handle` of `before-tool-call`.
type Params<'a> = (In<'a, Session>, In<'a, ToolCall>);

/// The component in wasmtime, ready to be called.
pub(crate) struct Bare {
    engine: Engine,
    pre: InstancePre<Data>,
    handle: ComponentExportIndex,
}

pub(crate) struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Data {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Creates an engine with a pool for this number of concurrent calls.
pub(crate) fn engine(slots: u32) -> Engine {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(20 * slots)
        .total_memories(2 * slots)
        .total_tables(10 * slots)
        .total_stacks(slots)
        .max_memory_size(16 << 20)
        .linear_memory_keep_resident(2 << 20)
        .async_stack_keep_resident(64 << 10)
        .table_keep_resident(64 << 10);
    let mut config = wasmtime::Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .concurrency_support(false)
        .cranelift_nan_canonicalization(true)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .native_unwind_info(cfg!(windows))
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config).unwrap()
}

/// Creates a linker with WASI.
pub(crate) fn linker(engine: &Engine) -> Linker<Data> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    linker
}

impl Bare {
    pub(crate) fn new() -> Self {
        Self::with_slots(4)
    }

    /// Prepares the component for this number of concurrent calls.
    pub(crate) fn with_slots(slots: u32) -> Self {
        let engine = engine(slots);
        let component = Component::from_file(&engine, component()).unwrap();
        let mut linker = linker(&engine);
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let interface = component.get_export_index(None, "hookhost:hooks/before-tool-call@0.1.0").unwrap();
        let handle = component.get_export_index(Some(&interface), "handle").unwrap();
        Self { engine, pre, handle }
    }

    pub(crate) async fn call(&self, session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let wasi = WasiCtx::builder().build();
        let mut store = Store::new(&self.engine, Data { wasi, table: ResourceTable::new() });
        store.set_fuel(100_000_000).unwrap();
        store.set_epoch_deadline(100);
        store.set_hostcall_fuel(2 << 20);
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let handle = instance.get_typed_func::<Params<'_>, (Out<ToolCallVerdict>,)>(&mut store, &self.handle).unwrap();
        ToolCallVerdict::answered(handle.call_async(&mut store, (session.given(), call.given())).await.unwrap().0)
            .unwrap()
    }
}

/// Returns the session of the bare call.
pub(crate) fn info() -> Session {
    Session {
        id: "0198a000-0000-7000-8000-000000000000".into(),
        agent: "bench".into(),
        turn: 0,
        depth: 0,
        cwd: "/work".into(),
        workspace: "/work".into(),
        interactive: false,
    }
}
