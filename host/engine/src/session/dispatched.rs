//! Dispatches events according to their shape.

use super::dispatch::{Dispatch, OpenDecision};
use super::handle::Session;
use super::inner::SessionInner;
use super::not_asked::NotAsked;
use super::options::DispatchOptions;
use super::recorded_outcome::RecordedOutcome;
use super::replay_inputs::ReplayInputs;
use crate::approval::Approver;
use crate::boxed::boxed;
use crate::contract::{Decision, EventKind, Task, TransformOutcome};
use crate::event::*;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::Error as _;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// An event that can be dispatched. Implemented for each event according to its shape.
pub(crate) trait Dispatched: Kind {
    /// The outcome.
    type Outcome: Serialize + Send + 'static;

    /// The outcome, as far as it can be decided without a person.
    type Open: Send + 'static;

    /// Waits for the turn and decides the event, as far as this is possible without a person. The future is boxed. So
    /// its code is compiled once, with this crate, and not again with each crate that sends events.
    fn begin<'a>(
        session: &'a Arc<SessionInner>,
        payload: Self::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> BoxFuture<'a, RecordedOutcome<Self::Open>>;

    /// Like `begin`, but the event already has its turn.
    fn settle(
        dispatch: Box<Dispatch<'_>>,
        payload: Self::Payload,
    ) -> impl Future<Output = RecordedOutcome<Self::Open>> + Send;

    /// Waits for the outcome. Asks `approver` if the event is escalated. Without an approver, the answer is no.
    fn resolve(
        open: RecordedOutcome<Self::Open>,
        approver: Option<&dyn Approver>,
    ) -> impl Future<Output = RecordedOutcome<Self::Outcome>> + Send;

    /// Returns the outcome if no plugin is asked.
    fn not_asked(dispatch: Box<Dispatch<'_>>, why: &NotAsked) -> RecordedOutcome<Self::Open>;
}

macro_rules! dispatched {
    ($($shape:ident $event:ident;)*) => {
        $(impl Dispatched for $event {
            type Outcome = dispatched!(@outcome $shape $event);
            type Open = dispatched!(@open $shape $event);

            fn begin<'a>(
                session: &'a Arc<SessionInner>,
                payload: Self::Payload,
                is_prepared: bool,
                options: DispatchOptions,
                replay: Option<Box<ReplayInputs>>,
            ) -> BoxFuture<'a, RecordedOutcome<Self::Open>> {
                boxed(|| session.begin::<Self>(payload, is_prepared, options, replay))
            }

            fn settle(
                dispatch: Box<Dispatch<'_>>,
                payload: Self::Payload,
            ) -> impl Future<Output = RecordedOutcome<Self::Open>> + Send {
                dispatched!(@settle $shape dispatch payload)
            }

            fn resolve(
                open: RecordedOutcome<Self::Open>,
                approver: Option<&dyn Approver>,
            ) -> impl Future<Output = RecordedOutcome<Self::Outcome>> + Send {
                dispatched!(@resolve $shape open approver)
            }

            fn not_asked(mut dispatch: Box<Dispatch<'_>>, why: &NotAsked) -> RecordedOutcome<Self::Open> {
                let outcome = dispatched!(@not_asked $shape dispatch why);
                dispatch.finish(outcome)
            }
        })*

        impl Session {
            /// Dispatches an event of this kind with a JSON payload.
            // Not an `async fn`, because its future would be as large as the future of the largest event.
            pub(super) fn settle_kind(
                &self,
                event: EventKind,
                payload: Value,
                options: DispatchOptions,
                replay: Option<Box<ReplayInputs>>,
            ) -> BoxFuture<'_, Result<RecordedOutcome<Value>, serde_json::Error>> {
                match event {
                    $(EventKind::$event => Box::pin(self.settle_json::<$event>(payload, options, replay)),)*
                    // A test checks that `every_event` contains all events.
                    other => Box::pin(async move {
                        Err(serde_json::Error::custom(format!("this host has no event `{other}`")))
                    }),
                }
            }
        }
    };
    (@outcome gate $event:ty) => { Decision<<$event as Event>::Payload, <$event as GateEvent>::Response> };
    (@outcome transform $event:ty) => { TransformOutcome<<$event as TransformEvent>::Value> };
    (@outcome collect $event:ty) => { Vec<Task> };
    (@outcome observe $event:ty) => { () };
    (@open gate $event:ty) => { OpenDecision<<$event as Event>::Payload, <$event as GateEvent>::Response> };
    (@open $shape:ident $event:ty) => { dispatched!(@outcome $shape $event) };
    (@settle gate $dispatch:ident $payload:ident) => { $dispatch.gate::<Self>($payload) };
    (@settle $shape:ident $dispatch:ident $payload:ident) => {
        async move {
            let mut dispatch = $dispatch;
            let outcome = dispatch.$shape::<Self>($payload).await;
            dispatch.finish(outcome)
        }
    };
    (@resolve gate $open:ident $approver:ident) => {
        async move {
            match $open.into_final() {
                Ok(settled) => settled,
                // This future is rarely needed, so it is boxed: see the module `boxed`.
                Err(pending) => Box::pin(pending.settle($approver)).await,
            }
        }
    };
    (@resolve $shape:ident $open:ident $approver:ident) => {{
        let _ = $approver;
        std::future::ready($open)
    }};
    (@not_asked gate $dispatch:ident $why:ident) => { Decision::Rejected($dispatch.not_asked($why)) };
    (@not_asked transform $dispatch:ident $why:ident) => {
        TransformOutcome::Withheld($dispatch.not_asked($why))
    };
    (@not_asked collect $dispatch:ident $why:ident) => {{
        $dispatch.leave_out($why);
        Vec::new()
    }};
    (@not_asked observe $dispatch:ident $why:ident) => { $dispatch.leave_out($why) };
}

every_event!(dispatched);
