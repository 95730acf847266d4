//! The pristine image: `setup.configure` runs once, and the memory it leaves is what every instance starts from.
//!
//! wasmtime's pre-initialiser instruments the component so that its memories and globals can be read, and writes what
//! they hold after `configure` back into it. A component of a shape that it does not know has `configure` run in each
//! instance instead: the same meaning, merely slower.

use super::contract_check::{compile, surface};
use super::{LoadError, Loaded};
use crate::sandbox::{Failure, Guest};
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use wasmtime::Store;
use wasmtime::component::{Instance, Lift, WasmList};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

/// What a plugin's instances start from.
pub(super) enum Preinitialised {
    /// This component, whose memory is what `configure` left.
    Component(Vec<u8>),
    /// The plugin as it is: `configure` has to run in each instance.
    EachTime,
}

/// Runs `configure` once and takes the image of what it left.
///
/// # Errors
/// If `configure` refuses the configuration, or fails.
pub(super) async fn run(loaded: &Loaded, bytes: &[u8]) -> Result<Preinitialised, LoadError> {
    // The pre-initialiser gives up on shapes it does not know by an error, on some by a panic; the component is a
    // stranger's. Either way the plugin itself decides, in a plain instance.
    let attempt = AssertUnwindSafe(snapshot(loaded, bytes)).catch_unwind().await;
    match attempt {
        Ok(Ok(Some(image))) => Ok(Preinitialised::Component(image)),
        Ok(Err(refusal)) => Err(refusal),
        Ok(Ok(None)) | Err(_) => {
            tracing::info!(plugin = %loaded.name, "cannot be pre-initialised: `configure` runs in each instance");
            plain(loaded).await.map(|()| Preinitialised::EachTime)
        }
    }
}

/// `None` where the component is not of a shape that can be taken an image of.
async fn snapshot(loaded: &Loaded, bytes: &[u8]) -> Result<Option<Vec<u8>>, LoadError> {
    let wizer = Wizer::new();
    let Ok((context, instrumented)) = wizer.instrument_component(bytes) else { return Ok(None) };
    let engine = loaded.sandbox.engine();
    let Ok(component) = compile(engine, &instrumented) else { return Ok(None) };
    let Some(configure) = surface(engine, &component).ok().and_then(|surface| surface.configure) else {
        return Ok(None);
    };
    let Ok(linker) = loaded.sandbox.linker(&loaded.entry.grants) else { return Ok(None) };
    let Ok(pre) = linker.instantiate_pre(&component) else { return Ok(None) };

    let limits = &loaded.entry.limits;
    let failed = |failure| failed(loaded, failure);
    let (mut store, instance) =
        loaded.sandbox.instantiate(&pre, loaded.guest_for_setup(), limits).await.map_err(failed)?;
    let called: Result<(Result<(), String>,), Failure> =
        loaded.sandbox.call_kept(&mut store, &instance, &configure, (loaded.config.as_str(),), limits).await;
    accept(loaded, called)?;

    // Reading the memory costs the instrumented guest fuel and time of its own.
    let _ = store.set_fuel(u64::MAX);
    store.epoch_deadline_callback(|_| Ok(wasmtime::UpdateDeadline::Yield(1)));
    store.set_hostcall_fuel(usize::MAX);
    Ok(wizer.snapshot_component(&context, &mut Reader { store, instance }).await.ok())
}

/// Runs `configure` in an instance that is thrown away, to know whether the plugin takes its configuration.
async fn plain(loaded: &Loaded) -> Result<(), LoadError> {
    let Some(configure) = &loaded.configure else { return Ok(()) };
    let limits = &loaded.entry.limits;
    let instance = loaded.sandbox.instantiate(&loaded.pre, loaded.guest_for_setup(), limits).await;
    let (mut store, instance) = instance.map_err(|failure| failed(loaded, failure))?;
    let called = loaded.sandbox.call_kept(&mut store, &instance, configure, (loaded.config.as_str(),), limits).await;
    accept(loaded, called)
}

fn accept(loaded: &Loaded, called: Result<(Result<(), String>,), Failure>) -> Result<(), LoadError> {
    let (answer,) = called.map_err(|failure| failed(loaded, failure))?;
    answer.map_err(|message| LoadError::Refused { name: loaded.entry.name.clone(), message })
}

fn failed(loaded: &Loaded, failure: Failure) -> LoadError {
    LoadError::Failed { name: loaded.entry.name.clone(), failure }
}

/// Reads memories and globals through the functions that the instrumentation exports.
struct Reader {
    store: Store<Guest>,
    instance: Instance,
}

impl Reader {
    async fn read<R: Lift + Send + Sync + 'static, T>(
        &mut self,
        interface: &str,
        function: &str,
        take: impl FnOnce(&Store<Guest>, R) -> T,
    ) -> T {
        // The instrumentation exports exactly what it then asks for; were it not so, the caller catches the panic and
        // goes on without an image.
        #[expect(clippy::expect_used, clippy::unwrap_in_result, reason = "the trait has no way to return an error")]
        let value = {
            let interface = self.instance.get_export_index(&mut self.store, None, interface).expect("the accessors");
            let function =
                self.instance.get_export_index(&mut self.store, Some(&interface), function).expect("the accessor");
            let function = self.instance.get_typed_func::<(), (R,)>(&mut self.store, function).expect("its type");
            function.call_async(&mut self.store, ()).await.expect("an accessor cannot fail").0
        };
        take(&self.store, value)
    }
}

impl ComponentInstanceState for Reader {
    async fn call_func_ret_list_u8(&mut self, instance: &str, function: &str, contents: impl FnOnce(&[u8]) + Send) {
        self.read(instance, function, |store, list: WasmList<u8>| contents(list.as_le_slice(store))).await;
    }

    async fn call_func_ret_s32(&mut self, instance: &str, function: &str) -> i32 {
        self.read(instance, function, |_, value| value).await
    }

    async fn call_func_ret_s64(&mut self, instance: &str, function: &str) -> i64 {
        self.read(instance, function, |_, value| value).await
    }

    async fn call_func_ret_f32(&mut self, instance: &str, function: &str) -> u32 {
        self.read(instance, function, |_, value: f32| value.to_bits()).await
    }

    async fn call_func_ret_f64(&mut self, instance: &str, function: &str) -> u64 {
        self.read(instance, function, |_, value: f64| value.to_bits()).await
    }
}
