//! Asking a loaded plugin.

use super::{Code, Linkable, Plugin};
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
        let component = match &loaded.code {
            Code::Component(component) => component,
            Code::Native(rule) => {
                let deadline = loaded.entry.limits.deadline(&loaded.entry.grants);
                return Box::pin(rule.call::<E>(deadline, session, payload, &setup)).await;
            }
        };
        let Some(handle) = component.subscriptions.get(&E::KIND) else {
            let detail = format!("does not subscribe to {}", E::KIND);
            return Called::of(Err(Failure::new(FailureKind::NotInstantiated, detail)));
        };
        let params = E::params(session, payload);
        let limits = CallLimits::of(&loaded.entry);
        let sandbox = &component.sandbox;
        let configure = component.configure.as_ref().map(|configure| (configure, loaded.config.as_str()));
        // On the heap: every future above would else be as large, and be copied while it is put together.
        Box::pin(sandbox.call(&component.pre, configure, handle, params, setup, limits)).await
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
        let Code::Component(component @ Linkable { tool_functions: Some(functions), .. }) = &loaded.code else {
            return Called::of(Err(Failure::new(FailureKind::NotInstantiated, "brings no tools")));
        };
        let configure = component.configure.as_ref().map(|configure| (configure, loaded.config.as_str()));
        let params = (session, tool, arguments);
        let limits = CallLimits::of(&loaded.entry);
        Box::pin(component.sandbox.call(&component.pre, configure, &functions.call, params, setup, limits)).await
    }
}

impl<T> Called<T> {
    /// An answer without effects.
    pub(super) fn of(answer: Result<T, Failure>) -> Self {
        Self {
            answer,
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
