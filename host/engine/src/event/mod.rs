//! The typed events. Each event has a row in the macro `every_event` and an implementation in a file of this module.
//!
//! The implementation of an event defines the parameters and the result of its interface's `handle`, and the meaning of
//! the verdict. Everything else is the same for all events: subscription, the call, composition, the record and
//! `hookhost dispatch`. To add an event, add its interface in `wit/0.1/events.wit`, its implementation and row here, its
//! row in `session/typed.rs`, its method in `session/events.rs`, and its method in the guest SDK.

mod binary;
mod call_validator;
pub(crate) mod compaction;
pub(crate) mod custom;
mod declare;
pub(crate) mod inference;
pub(crate) mod provider;
pub(crate) mod session;
pub(crate) mod subagent;
pub(crate) mod task;
pub(crate) mod tools;
pub(crate) mod turn;

pub(crate) use binary::{Binary, MIN_LENGTH as MIN_BINARY};
pub(crate) use call_validator::{CallValidator, Schemas};
pub(crate) use compaction::*;
pub(crate) use custom::*;
pub(crate) use inference::*;
pub(crate) use provider::*;
pub(crate) use session::*;
pub(crate) use subagent::*;
pub(crate) use task::*;
pub(crate) use tools::*;
pub(crate) use turn::*;

use crate::compose::{Passage, Verdict};
use crate::contract::action::ActionMap;
use crate::contract::{EventKind, Session, Task, ToolCall};
use crate::wire::{Answer, Answered};
use serde::{Serialize, de::DeserializeOwned};
use wasmtime::component::{ComponentNamedList, Lower};

/// Calls the macro `$then` with the shape and the name of every event.
macro_rules! every_event {
    ($then:ident) => {
        $then! {
            collect SessionStart;
            observe SessionEnd;
            transform PromptSubmit;
            gate TurnStart;
            observe TurnEnd;
            gate ProviderResolve;
            gate BeforeInference;
            gate RequestSend;
            transform ResponseReceive;
            transform StreamDelta;
            observe StreamEnd;
            observe AfterInference;
            gate TokenUsage;
            transform FinalizeContent;
            gate BeforeTools;
            gate BeforeToolCall;
            transform AfterToolCall;
            gate SubagentStart;
            observe SubagentEnd;
            gate BeforeCompaction;
            transform AfterCompaction;
            gate TaskStart;
            gate PlanSubmit;
            collect TaskComplete;
            observe PlanComplete;
            collect QueueEmpty;
            collect AgentError;
            gate CustomEvent;
            observe AuditRecord;
        }
    };
}

pub(crate) use every_event;

macro_rules! kinds {
    ($($shape:ident $event:ident;)*) => {
        $(impl Kind for $event {
            const KIND: EventKind = EventKind::$event;
        })*

        /// Checks that the type of a component's `handle` is the type that the contract defines for `event`.
        pub(crate) fn typecheck(event: EventKind, handle: &HandleType<'_>) -> wasmtime::Result<()> {
            match event {
                $(EventKind::$event => handle.matches::<$event>(),)*
                // The contract has an event that is not listed in `every_event`.
                _ => Err(wasmtime::Error::msg("this host has no such event")),
            }
        }
    };
}

every_event!(kinds);

/// The parameters and the result of one event's `handle`.
pub(crate) trait Event: Sized + Send + 'static {
    /// The event's data that plugins get, without the session.
    type Payload: Clone + Serialize + DeserializeOwned + Send + Sync;
    /// The parameters of `handle`, as wasmtime passes them.
    type Params<'a>: ComponentNamedList + Lower + Send + Sync;
    /// The results of `handle`, as wasmtime returns them.
    type Return: Answer + Send + Sync + 'static;
    /// The name of the parameter, if the payload consists of one parameter. Otherwise this is `None`, and the payload
    /// is an object with a member for each parameter.
    const PARAMETER: Option<&'static str>;

    fn params<'a>(session: &'a Session, payload: &'a Self::Payload) -> Self::Params<'a>;

    /// Returns the payload in the form that plugins get and that the agent executes. If a part can be derived from
    /// other parts, the host computes it and ignores the agent's value.
    fn prepared(payload: Self::Payload, _validator: &CallValidator<'_>) -> Self::Payload {
        payload
    }

    /// Checks that the payload can be sent to plugins.
    ///
    /// # Errors
    /// Returns one sentence about the mistake in the payload.
    fn check(_payload: &Self::Payload, _actions: &ActionMap) -> Result<(), String> {
        Ok(())
    }

    /// Returns the payload without its binary data, and the removed data. Returns `None` if the payload contains no
    /// binary data. Such data in the arguments of a tool call is not removed.
    fn without_binary(_payload: &Self::Payload) -> Option<(Self::Payload, Binary)> {
        None
    }

    /// Returns the tool calls in the payload, which are compared with an entry's `actions` and `tools`.
    fn calls(_payload: &Self::Payload) -> Option<&[ToolCall]> {
        None
    }
}

/// The kind of an event. A macro implements this trait for every row of `every_event`.
pub(crate) trait Kind: Event {
    const KIND: EventKind;
}

/// An event that is a gate, with the meaning of its verdicts.
pub(crate) trait GateEvent: Event<Payload: PartialEq, Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    type Response: Clone + Serialize + Send + Sync;

    /// Restores binary data in the verdict's new value.
    fn put_back(_verdict: &mut Self::Verdict, _binary: &mut Binary) {}

    /// # Errors
    /// Returns the mistake if the verdict is invalid. In this case the plugin has failed.
    fn answer(
        verdict: Self::Verdict,
        payload: &Self::Payload,
        validator: &CallValidator<'_>,
    ) -> Result<Verdict<Self::Payload, Self::Response>, String>;
}

/// An event that is a transform, with the meaning of its verdicts.
pub(crate) trait TransformEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    /// The part of the payload that plugins can replace.
    type Value: Clone + PartialEq + Serialize + Send + Sync;

    fn value(payload: &Self::Payload) -> &Self::Value;
    fn replace(payload: &mut Self::Payload, value: Self::Value);
    /// Like [`GateEvent::put_back`].
    fn put_back(_verdict: &mut Self::Verdict, _binary: &mut Binary) {}
    /// # Errors
    /// Like [`GateEvent::answer`].
    fn passage(verdict: Self::Verdict, payload: &Self::Payload) -> Result<Passage<Self::Value>, String>;
}

/// An event whose verdicts contain tasks.
pub(crate) trait CollectEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    fn tasks(verdict: Self::Verdict) -> Vec<Task>;
}

/// The type of a component's `handle`, for comparison with the type that the contract defines.
pub(crate) struct HandleType<'a> {
    pub(crate) function: &'a wasmtime::component::types::ComponentFunc,
    pub(crate) types: &'a wasmtime::component::__internal::InstanceType<'a>,
}

impl HandleType<'_> {
    fn matches<E: Event>(&self) -> wasmtime::Result<()> {
        self.function.typecheck::<E::Params<'_>, <E::Return as Answer>::Wire>(self.types)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! listed {
        ($($shape:ident $event:ident;)*) => {
            const LISTED: &[(EventKind, &str)] = &[$((EventKind::$event, stringify!($shape)),)*];
        };
    }

    every_event!(listed);

    #[test]
    fn every_event_of_the_contract_is_in_the_table_with_its_shape() {
        let listed: Vec<(EventKind, String)> =
            LISTED.iter().map(|(event, shape)| (*event, (*shape).to_owned())).collect();
        let contract: Vec<(EventKind, String)> =
            EventKind::ALL.iter().map(|event| (*event, format!("{:?}", event.shape()).to_lowercase())).collect();
        assert_eq!(listed, contract);
    }
}
