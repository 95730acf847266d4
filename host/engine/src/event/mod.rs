//! The typed events: one file each, one row each in the table below.
//!
//! An event says what its interface's `handle` takes and returns, and what the returned verdict
//! means. Everything else (subscription, the call, composition, the record, `hookhost dispatch`) is
//! the same for all of them. Adding an event is: its interface in `wit/events.wit`, its file and
//! row here, its row in `session/typed.rs`, its method in `session/events.rs`, its method in the guest SDK.

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

use crate::compose::{Layer, Passage, Verdict};
use crate::contract::action::ActionMap;
use crate::contract::{Escalation, EventKind, Session, Task, ToolCall};
use crate::wire::{Answer, Answered};
use serde::{Serialize, de::DeserializeOwned};
use wasmtime::component::{ComponentNamedList, Lower};

/// Hands every event to a macro: how its answers compose, and its name.
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

        /// Compares the type of a component's `handle` with the contract's.
        pub(crate) fn typecheck(event: EventKind, handle: &HandleType<'_>) -> wasmtime::Result<()> {
            match event {
                $(EventKind::$event => handle.matches::<$event>(),)*
                // An event that the contract has and this host does not: `every_event` misses it.
                _ => Err(wasmtime::Error::msg("this host has no such event")),
            }
        }
    };
}

every_event!(kinds);

/// What `handle` of one event takes and returns.
pub(crate) trait Event: Sized + Send + 'static {
    /// What the event carries beside the session.
    type Payload: Clone + Serialize + DeserializeOwned + Send + Sync;
    /// `handle`'s parameters.
    type Params<'a>: ComponentNamedList + Lower + Send + Sync;
    /// `handle`'s results.
    type Return: Answer + Send + Sync + 'static;
    /// The parameter's name if the payload is one parameter; otherwise the payload is an object of parameters.
    const PARAMETER: Option<&'static str>;

    fn params<'a>(session: &'a Session, payload: &'a Self::Payload) -> Self::Params<'a>;

    /// The payload as it is asked about and as it may run: what the host can work out itself it does not take on trust.
    fn prepared(payload: Self::Payload, _validator: &CallValidator<'_>) -> Self::Payload {
        payload
    }

    /// Whether plugins can be asked about it.
    ///
    /// # Errors
    /// One sentence on what is wrong with the payload.
    fn check(_payload: &Self::Payload, _actions: &ActionMap) -> Result<(), String> {
        Ok(())
    }

    /// What the configuration asks a person about it, and in which layer, unless a plugin that may approves.
    fn asks(_payload: &Self::Payload, _validator: &CallValidator<'_>) -> Vec<(Layer, Escalation)> {
        Vec::new()
    }

    /// The payload without binary data, and that data; nothing where it has none. The arguments of a tool call keep theirs.
    fn without_binary(_payload: &Self::Payload) -> Option<(Self::Payload, Binary)> {
        None
    }

    /// The tool calls that it is about, which an entry's `actions` and `tools` narrow.
    fn calls(_payload: &Self::Payload) -> Option<&[ToolCall]> {
        None
    }
}

/// Which event it is; implemented by the table.
pub(crate) trait Kind: Event {
    const KIND: EventKind;
}

/// What its verdict means for a gate.
pub(crate) trait GateEvent: Event<Payload: PartialEq, Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    type Response: Clone + Serialize + Send + Sync;

    /// Puts binary data back into what the verdict has in place of the payload.
    fn put_back(_verdict: &mut Self::Verdict, _binary: &mut Binary) {}

    /// # Errors
    /// What is wrong with a verdict that cannot be taken as it is: the plugin failed.
    fn answer(
        verdict: Self::Verdict,
        payload: &Self::Payload,
        validator: &CallValidator<'_>,
    ) -> Result<Verdict<Self::Payload, Self::Response>, String>;
}

/// What its verdict means for a value on its way.
pub(crate) trait TransformEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    /// The part of the payload that plugins replace.
    type Value: Clone + PartialEq + Serialize + Send + Sync;

    fn value(payload: &Self::Payload) -> &Self::Value;
    fn replace(payload: &mut Self::Payload, value: Self::Value);
    /// As [`GateEvent::put_back`].
    fn put_back(_verdict: &mut Self::Verdict, _binary: &mut Binary) {}
    /// # Errors
    /// As [`GateEvent::answer`].
    fn passage(verdict: Self::Verdict, payload: &Self::Payload) -> Result<Passage<Self::Value>, String>;
}

/// Which tasks its verdict adds.
pub(crate) trait CollectEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: Answered + Serialize + Send + Sync + 'static;
    fn tasks(verdict: Self::Verdict) -> Vec<Task>;
}

/// The type of a component's `handle`, to compare with the contract's.
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
