//! The pristine image: `setup.configure` runs once, and the memory it leaves is what every instance starts from.
//!
//! wasmtime's pre-initialiser instruments the component so that its memories and globals can be read, and writes what
//! they hold after `configure` back into it. A component of a shape that it does not know has `configure` run in each
//! instance instead: the same meaning, merely slower. The driver of `wasmtime-wizer` is not used, because it needs wasmtime's
//! features `cache`, `gc`, `threads` and `wave`.
//!
//! Random numbers that the guest drew during `configure` are part of the image, which a replay needs.

use crate::config::Entry;
use crate::plugin::configure::configured;
use crate::plugin::link::CheckedComponent;
use crate::plugin::{Compiler, ContractError, LoadError};
use crate::sandbox::Guest;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use wasmparser::{Parser, Payload};
use wasmtime::Store;
use wasmtime::component::{Instance, Lift, WasmList};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

/// The component with what `configure` left in its memory. `None` where it exports no `setup`, or is of a shape that no
/// image can be taken of.
///
/// # Errors
/// If `configure` refuses the configuration, or fails.
pub(super) async fn image(compiler: &Compiler<'_>, entry: &Entry, bytes: &[u8]) -> Result<Option<Vec<u8>>, LoadError> {
    if !exports_setup(bytes) {
        return Ok(None);
    }
    // The pre-initialiser gives up on shapes it does not know by an error, on some by a panic; the component is a
    // stranger's. Either way it is then loaded as it is.
    let image = AssertUnwindSafe(snapshot(compiler, entry, bytes)).catch_unwind().await.unwrap_or(Ok(None))?;
    if image.is_none() {
        tracing::info!(plugin = entry.name, "cannot be pre-initialised: `configure` runs in each instance");
    }
    Ok(image)
}

async fn snapshot(compiler: &Compiler<'_>, entry: &Entry, bytes: &[u8]) -> Result<Option<Vec<u8>>, LoadError> {
    let wizer = Wizer::new();
    let Ok((context, instrumented)) = wizer.instrument_component(bytes) else { return Ok(None) };
    // What is wrong with the plugin itself is found again, and said, when it is loaded as it is.
    // Instrumented it is the same for every configuration, so another one is soon tried.
    let prepared = match compiler.compiled(entry, &instrumented).await {
        // Compiled without the instrumentation, it would take as long again.
        Err(slow @ LoadError::Unfit { problem: ContractError::TooSlow(_) | ContractError::StillCompiling(_), .. }) => {
            return Err(slow);
        }
        prepared => prepared,
    };
    let linked =
        prepared.and_then(|component| CheckedComponent::new(compiler.sandbox, entry, &component, compiler.own)?.link());
    let Ok(linked) = linked else { return Ok(None) };
    let (mut store, instance) = configured(&linked).await?;
    if store.data().holds_resources() {
        // A handle in its memory, to a stream say, would mean nothing in another instance.
        return Ok(None);
    }
    // Reading the memory costs the instrumented guest fuel and time of its own.
    let _ = store.set_fuel(u64::MAX);
    store.epoch_deadline_callback(|_| Ok(wasmtime::UpdateDeadline::Yield(1)));
    store.set_hostcall_fuel(usize::MAX);
    Ok(wizer.snapshot_component(&context, &mut Reader { store, instance }).await.ok())
}

/// Returns true if the component exports `setup`, as far as its bytes can be read.
fn exports_setup(bytes: &[u8]) -> bool {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::ComponentExportSection(exports)) if depth == 0 => {
                let setup = |name: &str| crate::plugin::contract_check::interface(name) == Some(Ok("setup"));
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
        // The instrumentation exports exactly what it then asks for; otherwise the caller catches
        // the panic and continues without an image.
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
