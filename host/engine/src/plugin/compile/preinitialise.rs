//! Creates the image of a plugin: `setup.configure` runs once, and every instance starts with the memory after that
//! call.
//!
//! wasmtime's pre-initialiser adds functions to the component that read its memories and globals. After `configure`, it
//! writes their content back into the component. If the pre-initialiser does not support the structure of a component,
//! `configure` runs in each instance instead. The result is the same, but each call is slower. The driver of
//! `wasmtime-wizer` is not used, because it needs wasmtime's features `cache`, `gc`, `threads` and `wave`.
//!
//! The image contains the random numbers that the guest requested during `configure`. A replay in another process needs
//! the same numbers.

use super::functions::CompiledFunctions;
use crate::config::Entry;
use crate::contract::VERSION;
use crate::plugin::configure::{configured, try_out};
use crate::plugin::contract_check::interface;
use crate::plugin::link::CheckedComponent;
use crate::plugin::{Compiler, ContractError, LoadError};
use crate::sandbox::Guest;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use wasmparser::{Parser, Payload};
use wasmtime::Store;
use wasmtime::component::{Instance, Lift, WasmList};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

/// Returns the component with its memory after `configure`, or `None` if the component does not export `setup` or if no
/// image can be created.
///
/// # Errors
/// Fails if `configure` rejects the configuration or fails.
pub(super) async fn image(
    compiler: &Compiler<'_>,
    entry: &Entry,
    bytes: &[u8],
    functions: &Arc<CompiledFunctions>,
) -> Result<Option<Vec<u8>>, LoadError> {
    if !exports_setup(bytes) {
        return Ok(None);
    }
    // If the pre-initialiser does not support the structure of a component, it returns an error or panics. The
    // component is untrusted, so both can happen. The component is then loaded without an image.
    let image =
        AssertUnwindSafe(snapshot(compiler, entry, bytes, functions)).catch_unwind().await.unwrap_or(Ok(None))?;
    if image.is_none() {
        tracing::info!(plugin = entry.name, "cannot be pre-initialised: `configure` runs in each instance");
    }
    Ok(image)
}

async fn snapshot(
    compiler: &Compiler<'_>,
    entry: &Entry,
    bytes: &[u8],
    functions: &Arc<CompiledFunctions>,
) -> Result<Option<Vec<u8>>, LoadError> {
    let wizer = Wizer::new();
    let Ok((context, instrumented)) = wizer.instrument_component(bytes) else { return Ok(None) };
    // Errors of the plugin itself are ignored here, because the load without an image reports them. The instrumented
    // code is the same for every configuration, so the cache speeds up the next configuration.
    let prepared = match compiler.compiled(entry, &instrumented, functions).await {
        // Do not compile the component without the instrumentation, because this would take just as long.
        Err(slow @ LoadError::Unfit { problem: ContractError::TooSlow(_) | ContractError::StillCompiling(_), .. }) => {
            return Err(slow);
        }
        prepared => prepared,
    };
    let linked =
        prepared.and_then(|component| CheckedComponent::new(compiler.sandbox, entry, &component, compiler.own)?.link());
    let Ok(mut linked) = linked else { return Ok(None) };
    if let Some(config) = entry.config_without_examples() {
        // The examples are tried in an instance of their own. They leave much behind in its memory, and after each event the memory of an
        // instance is overwritten with the image.
        try_out(&linked).await?;
        linked.config = config;
    }
    let (mut store, instance) = configured(&linked).await?;
    if store.data().holds_resources() {
        // The memory may contain a handle, for example of a stream, which would be invalid in another instance.
        return Ok(None);
    }
    // The instrumented guest reads its memory itself, which needs additional fuel and time.
    let _ = store.set_fuel(u64::MAX);
    store.epoch_deadline_callback(|_| Ok(wasmtime::UpdateDeadline::Yield(1)));
    store.set_hostcall_fuel(usize::MAX);
    Ok(wizer.snapshot_component(&context, &mut Reader { store, instance }).await.ok())
}

/// Returns true if the component exports `setup`. Stops at the first invalid byte.
fn exports_setup(bytes: &[u8]) -> bool {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::ComponentExportSection(exports)) if depth == 0 => {
                let setup = |name: &str| interface(name, &[VERSION]) == Some(Ok(("setup", VERSION)));
                if exports.into_iter().flatten().any(|export| setup(export.name.name)) {
                    return true;
                }
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
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
        // The instrumentation exports exactly the functions that are called here. If a function were missing, the
        // caller would catch the panic and continue without an image.
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
