//! How an event of each shape is settled.

use super::{Dispatch, DispatchOptions, Recall, Session, Settled};
use crate::contract::{EventKind, GateOutcome, Task, TransformOutcome};
use crate::event::*;
use serde::Serialize;
use serde::de::Error as _;
use serde_json::Value;
use std::future::Future;

/// An event, and how it is settled; implemented for each event by its shape.
pub(crate) trait Dispatched: Kind {
    type Outcome: Serialize + Send;
    fn settle(dispatch: &mut Dispatch<'_>, payload: Self::Payload) -> impl Future<Output = Self::Outcome> + Send;
}

macro_rules! dispatched {
    ($($shape:ident $event:ident;)*) => {
        $(impl Dispatched for $event {
            type Outcome = dispatched!(@outcome $shape $event);
            async fn settle(dispatch: &mut Dispatch<'_>, payload: Self::Payload) -> Self::Outcome {
                dispatch.$shape::<Self>(payload).await
            }
        })*

        impl Session {
            /// Settles the event of this kind, whose payload is JSON.
            pub(super) async fn dispatch_kind(
                &self,
                event: EventKind,
                payload: Value,
                options: DispatchOptions,
                recall: Option<Recall>,
            ) -> Result<Settled<Value>, serde_json::Error> {
                match event {
                    $(EventKind::$event => self.dispatch_json::<$event>(payload, options, recall).await,)*
                    // `every_event` is tested to have all of them.
                    other => Err(serde_json::Error::custom(format!("this host has no event `{other}`"))),
                }
            }
        }
    };
    (@outcome gate $event:ty) => { GateOutcome<<$event as Event>::Payload, <$event as GateEvent>::Response> };
    (@outcome transform $event:ty) => { TransformOutcome<<$event as TransformEvent>::Value> };
    (@outcome collect $event:ty) => { Vec<Task> };
    (@outcome observe $event:ty) => { () };
}

every_event!(dispatched);
