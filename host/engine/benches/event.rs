//! What one event costs: through the host, and bare through wasmtime, with the same component and the same limits, in
//! one run. The ratio of the two is what the host adds.
//!
//! `cargo bench --package hookhost --bench event`, after `cargo xtask plugins`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use criterion::{Criterion, criterion_group, criterion_main};
use hookhost::allowlist::{Digest, Entry, Settings};
use hookhost::contract::{Session, ToolCall, ToolCallVerdict, ToolOrigin};
use hookhost::{Config, GateOutcome, Host, SessionSpec};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, ResourceTable};
use wasmtime::{Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The benchmark's subject, and an event of about 200 bytes.
const COMPONENT: &str = "no_force_push.wasm";
const COMMAND: &str = "cargo test --workspace --all-targets && git status";

fn component() -> PathBuf {
    let built = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from);
    let path = built.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../plugins")).join(COMPONENT);
    assert!(path.exists(), "{} is missing: run `cargo xtask plugins`", path.display());
    path
}

fn entry(name: &str) -> Entry {
    Entry::new(name, component(), Digest::of_file(&component()).unwrap())
}

/// A session of one plugin, which keeps its log there.
async fn session(log: Option<&Path>) -> hookhost::Session {
    let config = Config::from_entries(vec![entry("no-force-push")], Settings::default()).unwrap();
    let mut builder = Host::builder(config);
    if let Some(log) = log {
        builder = builder.store(log);
    }
    let host = builder.build().await.unwrap();
    host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
}

fn call(session: &hookhost::Session) -> ToolCall {
    session.tool_call("call-1", "bash", &serde_json::json!({ "command": COMMAND }), ToolOrigin::Builtin)
}

/// wasmtime with the host's settings and nothing around it.
struct Bare {
    engine: Engine,
    pre: InstancePre<Data>,
    handle: ComponentExportIndex,
}

struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Data {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    fn new() -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.max_memory_size(16 << 20)
            .linear_memory_keep_resident(256 << 10)
            .async_stack_keep_resident(64 << 10)
            .table_keep_resident(64 << 10);
        let mut config = wasmtime::Config::new();
        config
            .consume_fuel(true)
            .epoch_interruption(true)
            .concurrency_support(false)
            .cranelift_nan_canonicalization(true)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).unwrap();
        let component = Component::from_file(&engine, component()).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let interface = component.get_export_index(None, "hookhost:hooks/before-tool-call@0.1.0").unwrap();
        let handle = component.get_export_index(Some(&interface), "handle").unwrap();
        Self { engine, pre, handle }
    }

    async fn call(&self, session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let wasi = WasiCtx::builder().build();
        let mut store = Store::new(&self.engine, Data { wasi, table: ResourceTable::new() });
        store.set_fuel(100_000_000).unwrap();
        store.set_epoch_deadline(100);
        store.set_hostcall_fuel(2 << 20);
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let handle =
            instance.get_typed_func::<(&Session, &ToolCall), (ToolCallVerdict,)>(&mut store, &self.handle).unwrap();
        handle.call_async(&mut store, (session, call)).await.unwrap().0
    }
}

fn one_event(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("one event, one pristine plugin");

    let event = call(&runtime.block_on(session(None)));

    for (name, log) in [
        ("hookhost, log off", None),
        ("hookhost, log on (a commit before each outcome)", Some(folder.path().join("hookhost.db"))),
    ] {
        let session = runtime.block_on(session(log.as_deref()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let outcome = runtime.block_on(session.before_tool_call(event.clone())).outcome;
                assert!(matches!(outcome, GateOutcome::Allowed { .. }));
            });
        });
    }

    let bare = Bare::new();
    let info = Session {
        id: "0198a000-0000-7000-8000-000000000000".into(),
        agent: "bench".into(),
        turn: 0,
        depth: 0,
        cwd: "/work".into(),
        workspace: "/work".into(),
        interactive: false,
    };
    group.bench_function("bare wasmtime: store + instance + call", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(bare.call(&info, &event)), ToolCallVerdict::Allow));
    });
    group.finish();
}

fn nobody_asked(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("an event that nobody hears");
    for (name, log) in [("log off", None), ("log on (batched)", Some(folder.path().join("hookhost.db")))] {
        let session = runtime.block_on(session(log.as_deref()));
        group.bench_function(name, |bencher| bencher.iter(|| runtime.block_on(session.stream_end("text".into()))));
    }
    group.finish();
}

/// What the disk itself takes: the bytes of one such record, appended to a file with one write.
fn one_append(criterion: &mut Criterion) {
    use std::io::Write as _;
    let mut file = tempfile::tempfile().unwrap();
    let record = vec![b'x'; 1200];
    criterion.bench_function("1.2 KB appended to a file", |bencher| bencher.iter(|| file.write_all(&record).unwrap()));
}

criterion_group!(benches, one_event, nobody_asked, one_append);
criterion_main!(benches);
