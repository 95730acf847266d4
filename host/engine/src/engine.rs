//! The resources that all rules of a process share: pools of instances with their timers, and compiled code.

use crate::config::{CodeId, Digest, Entry};
use crate::locked::locked;
use crate::plugin::{ConfiguredPlugin, Plugin};
use crate::sandbox::capability::OwnCapabilities;
use crate::sandbox::{PoolSize, Sandbox, SandboxError, SharedSandbox};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// Pools of instances, their timers, and compiled code. An engine is cheap to clone, and all clones are the same
/// engine.
///
/// A pool reserves a terabyte of address space, so a process can have about a hundred pools. Hosts and rule sets that
/// share an engine share its pools. The engine has one pool for each value of `concurrent-calls`. If a plugin's
/// limits are larger than the limits of the existing pools, the engine creates another pool. Equal entries share one
/// compiled plugin. Pools and plugins that are no longer used are freed.
///
/// ```
/// use hookhost::{Config, Engine, Host};
/// use hookhost::config::Settings;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::new();
/// let mut tenants = Vec::new();
/// for _tenant in 0..200 {
///     let config = Config::from_entries(Vec::new(), Settings::default())?;
///     tenants.push(Host::builder(config).engine(&engine).build().await?);
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Engine {
    known: Arc<Mutex<CodeInUse>>,
}

/// A reason why a component cannot be compiled ahead of time.
#[cfg(feature = "compile")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The component cannot be read, does not implement the contract, or takes too long to compile.
    #[error(transparent)]
    Load(#[from] crate::plugin::LoadError),
    /// There is no address space for the sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// The resources in use.
#[derive(Default)]
struct CodeInUse {
    sandboxes: Vec<Weak<Sandbox>>,
    /// The plugins, by the digest of their files.
    plugins: HashMap<Digest, Vec<Weak<ConfiguredPlugin>>>,
}

impl Engine {
    /// Creates an engine without pools. Each pool is created when a configuration needs it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles the component of an entry. [`Entry::from_compiled`](crate::config::Entry::from_compiled) uses the
    /// result, in this process or in a later process on a machine with the same processor architecture.
    ///
    /// # Errors
    /// If the entry names no component, if the component does not implement the contract or takes longer to compile
    /// than the default of `compile-time`, or if there is no address space for a sandbox.
    #[cfg(feature = "compile")]
    pub async fn compile(&self, entry: &Entry) -> Result<crate::config::CompiledComponent, CompileError> {
        use crate::plugin::Compiler;
        let sandbox = self.sandbox(PoolSize::of(&[entry], std::num::NonZeroU32::MIN))?;
        let own = OwnCapabilities::default();
        let within = crate::config::Settings::default().compile_time;
        let compiler = Compiler { sandbox: &sandbox, cache: None, own: &own, within };
        Ok(compiler.ahead(entry).await?)
    }

    /// Returns a sandbox whose pool is at least this large.
    ///
    /// # Errors
    /// If no existing sandbox is large enough, and there is no address space for another sandbox.
    pub(crate) fn sandbox(&self, size: PoolSize) -> Result<SharedSandbox, SandboxError> {
        let mut known = locked(&self.known);
        known.sandboxes.retain(|sandbox| sandbox.strong_count() > 0);
        if let Some(fits) = known.sandboxes.iter().filter_map(Weak::upgrade).find(|some| some.pool_size().holds(size)) {
            return Ok(fits);
        }
        let sandbox = Arc::new(Sandbox::new(size)?);
        known.sandboxes.push(Arc::downgrade(&sandbox));
        Ok(sandbox)
    }

    /// Returns the plugin that was already loaded from an equal entry in this sandbox.
    pub(crate) fn loaded(&self, sandbox: &SharedSandbox, entry: &Entry, own: &OwnCapabilities) -> Option<Plugin> {
        let known = locked(&self.known);
        let loaded = known.plugins.get(&entry.code.digest()?)?.iter().filter_map(Weak::upgrade);
        loaded.map(|shared| Plugin { shared }).find(|plugin| plugin.is_of(sandbox, entry, own))
    }

    /// Registers a plugin. As long as the plugin is in use, `loaded` can find it.
    pub(crate) fn remember(&self, plugin: &Plugin) {
        let CodeId::Component(digest) = plugin.code_id() else { return };
        let mut known = locked(&self.known);
        let known = &mut *known;
        known.plugins.retain(|_, loaded| {
            loaded.retain(|plugin| plugin.strong_count() > 0);
            !loaded.is_empty()
        });
        let same_file = known.plugins.entry(*digest).or_default();
        if !same_file.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(&plugin.shared))) {
            same_file.push(Arc::downgrade(&plugin.shared));
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pools = locked(&self.known).sandboxes.iter().filter(|sandbox| sandbox.strong_count() > 0).count();
        f.debug_struct("Engine").field("pools", &pools).finish_non_exhaustive()
    }
}
