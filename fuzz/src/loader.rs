//! Files that may be plugins. Each is described and loaded, and gets events if it loads.

use crate::guest::Contract;
use crate::lab::{self, Lab};
use arbitrary::Unstructured;
use wasm_smith::{Component, Config, Module};

/// Loads bytes as a plugin's file.
pub fn loader(bytes: &[u8]) {
    let _ = loads(bytes);
}

/// Loads bytes as a plugin's file. Returns true if they could be loaded.
pub fn loads(bytes: &[u8]) -> bool {
    lab::with(|lab| load(lab, bytes))
}

/// Loads components that `wasm-smith` makes of the bytes: any component, or one with the whole contract and arbitrary code.
pub fn components(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut bytes = Unstructured::new(bytes);
    let component = if kind % 2 == 0 {
        Component::new(small(), &mut bytes).map(|component| component.to_bytes())
    } else {
        let contract = Contract::by(*kind);
        let config = Config { module_shape: Some(contract.shape.clone()), disallow_traps: kind % 4 == 1, ..small() };
        Module::new(config, &mut bytes).map(|module| contract.component(module.to_bytes()))
    };
    if let Ok(component) = component {
        let _ = loads(&component);
    }
}

/// Returns the settings for components that wasmtime compiles as plugins, small enough to compile fast.
fn small() -> Config {
    Config {
        custom_page_sizes_enabled: false,
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        max_memory32_bytes: 1 << 22,
        reference_types_enabled: false,
        relaxed_simd_enabled: false,
        tail_call_enabled: false,
        threads_enabled: false,
        ..Config::default()
    }
}

fn load(lab: &Lab, component: &[u8]) -> bool {
    let described = hookhost::command::inspect(component);
    let taken = lab.take_up(&[lab.entry("stranger", component)]);
    match &taken {
        Ok(()) => assert!(described.is_ok(), "what loads can be described"),
        Err(why) => assert!(!why.is_empty()),
    }
    if taken.is_ok() {
        lab.dispatch_all(&lab.session());
    }
    taken.is_ok()
}
