//! The component that answers as a script says.

use anyhow::{Context as _, Result};
use hookhost::Engine;
use hookhost::config::{Entry, Mode, StateGrant};
use std::path::Path;

/// The component, and the engine that compiles it once.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    bytes: Vec<u8>,
    pub(crate) engine: Engine,
}

impl Component {
    /// # Errors
    /// If it has not been built.
    pub(crate) fn of(plugins: &Path) -> Result<Self> {
        let file = plugins.join("scripted_interceptor.wasm");
        let missing = || format!("{} is missing: run `cargo xtask plugins`", file.display());
        let bytes = std::fs::read(&file).with_context(missing)?;
        Ok(Self { bytes, engine: Engine::new() })
    }

    /// The entry of the interceptor at this place.
    pub(crate) fn entry(&self, place: usize, mode: Mode) -> Entry {
        let mut entry = Entry::from_bytes(name(place), self.bytes.clone());
        entry.mode = mode;
        entry.grants.state = Some(StateGrant::default());
        entry.grants.capabilities.insert("emission".into());
        entry
    }
}

/// The plugin's name: the chain orders plugins of one priority by it.
pub(crate) fn name(place: usize) -> String {
    format!("interceptor-{place}")
}

/// The place of the interceptor of this name.
pub(crate) fn place(name: &str) -> Option<usize> {
    name.strip_prefix("interceptor-")?.parse().ok()
}
