//! Asking a loaded plugin.

use super::Plugin;
use crate::contract::{Failure, FailureKind, Session, ToolResult};
use crate::event::Kind;
use crate::sandbox::{CallLimits, Called, GuestSetup};
use std::time::Duration;

impl Plugin {
    /// Asks about one event, in a fresh instance.
    pub(crate) async fn call<E: Kind>(
        &self,
        session: &Session,
        payload: &E::Payload,
        setup: GuestSetup,
    ) -> Called<E::Return> {
        let loaded = &*self.shared;
        let Some(handle) = loaded.subscriptions.get(&E::KIND) else {
            return Called::failed(Failure::new(
                FailureKind::NotInstantiated,
                format!("does not subscribe to {}", E::KIND),
            ));
        };
        let params = E::params(session, payload);
        let limits = CallLimits::of(&loaded.entry);
        let sandbox = &loaded.sandbox;
        let configure = loaded.configure.as_ref().map(|configure| (configure, loaded.config.as_str()));
        // On the heap: every future above would else be as large, and be copied while it is put together.
        Box::pin(sandbox.call(&loaded.pre, configure, handle, params, setup, limits)).await
    }
}

impl Plugin {
    /// Calls one of its tools, in a fresh instance. `arguments` is a JSON object.
    pub(crate) async fn call_tool(
        &self,
        session: &Session,
        tool: &str,
        arguments: &str,
        setup: GuestSetup,
    ) -> Called<(ToolResult,)> {
        let loaded = &*self.shared;
        let Some(functions) = &loaded.tool_functions else {
            return Called::failed(Failure::new(FailureKind::NotInstantiated, "brings no tools"));
        };
        let configure = loaded.configure.as_ref().map(|configure| (configure, loaded.config.as_str()));
        let params = (session, tool, arguments);
        let limits = CallLimits::of(&loaded.entry);
        Box::pin(loaded.sandbox.call(&loaded.pre, configure, &functions.call, params, setup, limits)).await
    }
}

impl<T> Called<T> {
    fn failed(failure: Failure) -> Self {
        Self {
            answer: Err(failure),
            fuel: 0,
            time: Duration::ZERO,
            effects: crate::sandbox::capability::Effects::default(),
            writes: None,
            reads: crate::state::Reads::default(),
            inputs: crate::sandbox::Inputs::default(),
            unrepeatable: std::collections::BTreeSet::new(),
            missed: false,
            log: Vec::new(),
            log_dropped: 0,
        }
    }
}
