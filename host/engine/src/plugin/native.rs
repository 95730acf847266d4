//! A native rule as a plugin. Its configuration and its calls run on the threads of the rule, not on the threads of the
//! runtime.

use super::{ConfiguredPlugin, LoadError, Plugin, PluginTool, Runs, link, tools};
use crate::config::{CodeId, Digest, Entry};
use crate::contract::EventKind;
use crate::native::{Configuration, Rule};
use crate::sandbox::{CallLimits, CallOutcome, GuestSetup, NativeCalls};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The version of a rule for which the program gives no version.
const UNKNOWN: &str = "unknown";

/// A rule and its configuration.
#[derive(Clone)]
pub(super) struct Native {
    pub(super) rule: Rule,
    configuration: Configuration,
    calls: Arc<NativeCalls>,
}

impl Native {
    pub(super) async fn call<R: Send + 'static>(
        &self,
        setup: Box<GuestSetup>,
        limits: CallLimits<'_>,
        rule: impl FnOnce() -> R + Send + 'static,
    ) -> CallOutcome<R> {
        self.calls.call(&self.configuration, setup, limits, rule).await
    }
}

impl Plugin {
    /// Loads a rule of the program. `version` is the version of the program, and `most` is the maximum number of
    /// concurrent calls of the rule.
    ///
    /// # Errors
    /// Fails if the rule rejects its configuration, or has tools that cannot be offered.
    pub(crate) async fn load_native(
        entry: &Entry,
        rule: &Rule,
        version: Option<&Arc<str>>,
        most: NonZeroU32,
    ) -> Result<Self, LoadError> {
        let name: Arc<str> = entry.name.as_str().into();
        let config = serde_json::Value::Object(entry.config.clone()).to_string();
        let config_digest = Digest::of_bytes(config.as_bytes());
        let calls = NativeCalls::new(most);
        let limits = CallLimits::of(entry);
        let refused = |message| LoadError::Refused { name: entry.name.clone(), message };
        let failed = |failure| LoadError::Failed { name: entry.name.clone(), failure };
        let configuration = match &rule.configure {
            Some(configure) => {
                let called = calls.configure(Arc::clone(&name), limits, Arc::clone(configure), config).await;
                called.answer.map_err(failed)?.map_err(refused)?
            }
            None if entry.config.is_empty() => Configuration::default(),
            None => return Err(refused("it takes no configuration: leave it empty".to_owned())),
        };
        let mut native = Native { rule: rule.clone(), configuration, calls: Arc::new(calls) };
        let tools: Arc<[PluginTool]> = match &rule.tools {
            Some(brought) => {
                let list = brought.list;
                let called = native.call(GuestSetup::to_configure(Arc::clone(&name)), limits, list).await;
                let listed = called.answer.map_err(failed)?.into_iter().map(tools::ToolDeclaration::from).collect();
                let problem = |problem| LoadError::Tools { name: entry.name.clone(), problem };
                tools::offered(&name, listed).map_err(problem)?.into()
            }
            None => Arc::default(),
        };
        link::check_observing(entry, rule.events().any(|event| event == EventKind::AuditRecord))?;
        let events = link::subscribed(entry, rule.events())?;
        if events.is_empty() && tools.is_empty() {
            return Err(LoadError::NativeWithoutEvents { name: entry.name.clone() });
        }
        native.rule.configure = None;
        let id = CodeId::native(rule.own_version().or(version).map_or_else(|| UNKNOWN.into(), Arc::clone));
        let (grants, runs) = (Arc::new(entry.grants.clone()), Runs::Native(native));
        let shared = ConfiguredPlugin { name, entry: entry.clone(), id, grants, events, runs, tools, config_digest };
        Ok(Self { shared: Arc::new(shared) })
    }
}
