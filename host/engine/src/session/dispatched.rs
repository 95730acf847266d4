//! How an event of each shape is settled.

use super::dispatch::{Begun, Dispatch};
use super::handle::Session;
use super::inner::SessionInner;
use super::not_asked::NotAsked;
use super::options::DispatchOptions;
use super::replay_inputs::ReplayInputs;
use super::settled::Settled;
use crate::boxed::boxed;
use crate::contract::{EventKind, GateOutcome, Task, TransformOutcome};
use crate::event::*;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::Error as _;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// An event, and how it is settled; implemented for each event by its shape.
pub(crate) trait Dispatched: Kind {
    type Outcome: Serialize + Send + 'static;

    /// Settles the event from its turn on, as far as that can be done without a person. It is in a box so that all of it is
    /// compiled once, with this crate, and not with each that sends events.
    fn begin<'a>(
        session: &'a Arc<SessionInner>,
        payload: Self::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> BoxFuture<'a, Begun<Self::Outcome>>;

    /// Settles the event in its turn, as far as that can be done without a person.
    fn settle(dispatch: Box<Dispatch<'_>>, payload: Self::Payload)
    -> impl Future<Output = Begun<Self::Outcome>> + Send;

    /// The outcome if no plugin is asked.
    fn not_asked(dispatch: Box<Dispatch<'_>>, why: &NotAsked) -> Settled<Self::Outcome>;
}

macro_rules! dispatched {
    ($($shape:ident $event:ident;)*) => {
        $(impl Dispatched for $event {
            type Outcome = dispatched!(@outcome $shape $event);

            fn begin<'a>(
                session: &'a Arc<SessionInner>,
                payload: Self::Payload,
                is_prepared: bool,
                options: DispatchOptions,
                replay: Option<Box<ReplayInputs>>,
            ) -> BoxFuture<'a, Begun<Self::Outcome>> {
                boxed(|| session.begin::<Self>(payload, is_prepared, options, replay))
            }

            fn settle(
                dispatch: Box<Dispatch<'_>>,
                payload: Self::Payload,
            ) -> impl Future<Output = Begun<Self::Outcome>> + Send {
                dispatched!(@settle $shape dispatch payload)
            }

            fn not_asked(mut dispatch: Box<Dispatch<'_>>, why: &NotAsked) -> Settled<Self::Outcome> {
                let outcome = dispatched!(@not_asked $shape dispatch why);
                dispatch.finish(outcome)
            }
        })*

        impl Session {
            /// Settles the event of this kind, whose payload is JSON, as far as that can be done without a person.
            // Not an `async fn`, which would be as large as that of the largest event.
            pub(super) fn begin_kind(
                &self,
                event: EventKind,
                payload: Value,
                options: DispatchOptions,
                replay: Option<Box<ReplayInputs>>,
            ) -> BoxFuture<'_, Result<Begun<Value>, serde_json::Error>> {
                match event {
                    $(EventKind::$event => Box::pin(self.begin_json::<$event>(payload, options, replay)),)*
                    // `every_event` is tested to have all of them.
                    other => Box::pin(async move {
                        Err(serde_json::Error::custom(format!("this host has no event `{other}`")))
                    }),
                }
            }
        }
    };
    (@outcome gate $event:ty) => { GateOutcome<<$event as Event>::Payload, <$event as GateEvent>::Response> };
    (@outcome transform $event:ty) => { TransformOutcome<<$event as TransformEvent>::Value> };
    (@outcome collect $event:ty) => { Vec<Task> };
    (@outcome observe $event:ty) => { () };
    (@settle gate $dispatch:ident $payload:ident) => { $dispatch.gate::<Self>($payload) };
    (@settle $shape:ident $dispatch:ident $payload:ident) => {
        async move {
            let mut dispatch = $dispatch;
            let outcome = dispatch.$shape::<Self>($payload).await;
            Begun::Settled(dispatch.finish(outcome))
        }
    };
    (@not_asked gate $dispatch:ident $why:ident) => { GateOutcome::Rejected($dispatch.not_asked($why)) };
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
