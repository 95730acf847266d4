//! Calls a loaded plugin, which is a component or a native rule.

use super::{Plugin, Runs};
use crate::boxed::boxed;
use crate::contract::{Failure, FailureKind, Session, ToolResult};
use crate::event::Kind;
use crate::sandbox::{CallLimits, CallOutcome, GuestSetup};
use crate::wire::Given as _;

impl Plugin {
    /// Calls the plugin for one event. A component runs in a fresh instance.
    pub(crate) async fn call<E: Kind>(
        &self,
        session: &Session,
        payload: &E::Payload,
        setup: Box<GuestSetup>,
    ) -> CallOutcome<E::Return> {
        let loaded = &*self.shared;
        let limits = CallLimits::of(&loaded.entry);
        let unsubscribed = || Failure::new(FailureKind::NotInstantiated, format!("does not subscribe to {}", E::KIND));
        match &loaded.runs {
            Runs::Component(component) => {
                let Some(handle) = component.handles.get(&E::KIND) else { return CallOutcome::failed(unsubscribed()) };
                let params = || E::params(session, payload);
                // Box the future. Otherwise, every future that contains this future would be at least as large, and
                // would be copied while it is built.
                let call =
                    || component.sandbox.call(&component.pre, component.configuring(), handle, params, setup, limits);
                boxed(call).await
            }
            Runs::Native(native) => {
                let Some(handler) = native.rule.handler::<E::Payload, E::Return>(E::KIND) else {
                    return CallOutcome::failed(unsubscribed());
                };
                let (session, payload) = (session.clone(), payload.clone());
                Box::pin(native.call(setup, limits, move || handler(&session, &payload))).await.checked()
            }
        }
    }

    /// Calls one of the plugin's tools. A component runs in a fresh instance. `arguments` is a JSON object.
    pub(crate) async fn call_tool(
        &self,
        session: &Session,
        tool: &str,
        arguments: &str,
        setup: Box<GuestSetup>,
    ) -> CallOutcome<(ToolResult,)> {
        let loaded = &*self.shared;
        let limits = CallLimits::of(&loaded.entry);
        let brings_none = || Failure::new(FailureKind::NotInstantiated, "brings no tools");
        match &loaded.runs {
            Runs::Component(component) => {
                let Some(functions) = &component.tool_functions else { return CallOutcome::failed(brings_none()) };
                let params = || (session.given(), tool, arguments);
                let call = component.sandbox.call(
                    &component.pre,
                    component.configuring(),
                    &functions.call,
                    params,
                    setup,
                    limits,
                );
                Box::pin(call).await
            }
            Runs::Native(native) => {
                let Some(tools) = &native.rule.tools else { return CallOutcome::failed(brings_none()) };
                let (call, session) = (tools.call, session.clone());
                let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
                let called = move || call(&session, &tool, &arguments).map(|result| (result,));
                Box::pin(native.call(setup, limits, called)).await.checked()
            }
        }
    }
}
