//! Dispatches an event in its turn. The event waits until the events before it are decided. Then it is decided as far
//! as possible without a person.

use super::dispatch::{Dispatch, EventStart};
use super::dispatched::Dispatched;
use super::handle::Session;
use super::inner::SessionInner;
use super::not_asked::NotAsked;
use super::options::DispatchOptions;
use super::payload;
use super::recorded_outcome::RecordedOutcome;
use super::replay_inputs::ReplayInputs;
use crate::active_config::ActiveConfig;
use crate::audit::raw;
use crate::callback;
use crate::contract::EventKind;
use crate::facts::FactReader;
use crate::runtime;
use crate::sandbox::capability::EventFacts;
use crate::store::Turn;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tracing::Instrument as _;
use tracing::field::Empty;

impl Session {
    /// Dispatches an event with a JSON payload, and returns the outcome as JSON. The payload is an object with the
    /// parameters of `handle` except `session`, such as `{"call": {…}}` for `before-tool-call`. A tool call may leave
    /// out `origin` (the default is `builtin`) and `action`, which the host's action map derives. By default, a field
    /// that the event does not have is ignored, and neither plugins nor the record nor the outcome contain it. The
    /// options can make such a field an error.
    ///
    /// # Errors
    /// If the payload does not have the event's type.
    pub async fn dispatch_event(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
    ) -> Result<RecordedOutcome<Value>, serde_json::Error> {
        self.settle_kind(event, payload, options, None).await
    }

    /// Dispatches a recorded event again.
    pub(crate) async fn dispatch_again(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
        replay: ReplayInputs,
    ) -> Result<RecordedOutcome<Value>, serde_json::Error> {
        self.settle_kind(event, payload, options, Some(Box::new(replay))).await
    }

    pub(crate) async fn settle_json<E: Dispatched>(
        &self,
        payload: Value,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> Result<RecordedOutcome<Value>, serde_json::Error> {
        let payload = payload::read::<E>(self, payload, options.refuse_unknown_fields)?;
        let open = E::begin(&self.shared, payload, false, options, replay).await;
        let settled = self.shared.settled::<E>(open).await;
        // An outcome consists of texts, numbers and JSON, so it always has a JSON form.
        Ok(settled.map(|outcome| serde_json::to_value(outcome).unwrap_or_default()))
    }

    /// Waits for the outcome of an event. Asks the host's approver if the event is escalated.
    pub(super) fn settled<E: Dispatched>(
        &self,
        open: RecordedOutcome<E::Open>,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        self.shared.settled::<E>(open)
    }

    // These methods are not `async fn`s, because an `async fn` would copy the payload and the outcome once more.
    pub(crate) fn dispatch<E: Dispatched>(
        &self,
        payload: E::Payload,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        self.shared.dispatch::<E>(payload)
    }

    /// Decides an event as far as possible without a person. The payload already contains the data that the host
    /// derives.
    pub(super) fn begin_prepared<E: Dispatched>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
    ) -> impl Future<Output = RecordedOutcome<E::Open>> + Send {
        E::begin(&self.shared, payload, true, options, None)
    }
}

impl SessionInner {
    /// Decides an event. Asks the host's approver if the event is escalated.
    pub(super) async fn dispatch<E: Dispatched>(self: &Arc<Self>, payload: E::Payload) -> RecordedOutcome<E::Outcome> {
        let open = E::begin(self, payload, false, DispatchOptions::default(), None).await;
        self.settled::<E>(open).await
    }

    fn settled<E: Dispatched>(
        &self,
        open: RecordedOutcome<E::Open>,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        E::resolve(open, self.services.approver.as_deref())
    }

    /// Decides an event as far as possible without a person. `is_prepared` is true if the payload already contains
    /// the data that the host derives.
    pub(super) async fn begin<E: Dispatched>(
        self: &Arc<Self>,
        payload: E::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> RecordedOutcome<E::Open> {
        // A replayed event is accepted after this handle has ended the session, because the log contains events of
        // all handles.
        let turn = match self.refuses::<E>(&payload, replay.is_some()) {
            Some(why) => Err(why),
            None => self.turn().await.map_err(NotAsked::Store),
        };
        // The event is decided under these rules, even if other rules become active meanwhile.
        let rules = self.config();
        let (dispatch, payload) =
            self.dispatch_of::<E>(&rules, payload, is_prepared, options, replay, turn.as_ref().ok());
        let begun = match turn {
            // The turn is held until this call returns. If a question is answered later, the answer takes another
            // turn.
            Ok(_turn) if tracing::dispatcher::has_been_set() => self.traced::<E>(dispatch, payload).await,
            Ok(_turn) => E::settle(dispatch, payload).await,
            Err(why) => E::not_asked(dispatch, &why),
        };
        if E::KIND == EventKind::SessionEnd {
            self.is_ended.store(true, Ordering::Release);
        }
        begun
    }

    /// Returns the dispatch of an event, with the event's payload.
    fn dispatch_of<'a, E: Dispatched>(
        self: &'a Arc<Self>,
        rules: &'a Arc<ActiveConfig>,
        payload: E::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
        turn: Option<&Turn>,
    ) -> (Box<Dispatch<'a>>, E::Payload) {
        let info = self.info();
        let payload = match is_prepared {
            true => payload,
            false => E::prepared(payload, &self.validator(&info)),
        };
        let DispatchOptions { raw: own_message, await_observers, agent, .. } = options;
        let (id, time) = match &replay {
            Some(replay) => (replay.id.clone(), replay.time),
            None => (self.event_id(turn), self.services.now()),
        };
        let parent_session = self.spec.parent.clone();
        let world = FactReader::new(Arc::clone(&info), agent);
        let facts = Arc::new(EventFacts { id, time, parent_session, raw: own_message, world });
        let start = EventStart { info, facts, replay, await_observers };
        (Dispatch::new(self, rules, E::KIND, start, raw(&payload)), payload)
    }

    /// Dispatches an event within its own tracing span. Used only if there is a tracing subscriber, because a span
    /// costs as much as the rest of an event without plugins.
    fn traced<'a, E: Dispatched>(
        self: &'a Arc<Self>,
        dispatch: Box<Dispatch<'a>>,
        payload: E::Payload,
    ) -> BoxFuture<'a, RecordedOutcome<E::Open>> {
        let span = tracing::info_span!("event", session = &*self.id, event = E::KIND.name(), outcome = Empty);
        let recorded = span.clone();
        let settled = async move {
            let begun = E::settle(dispatch, payload).await;
            let outcome = begun.kind();
            recorded.record("outcome", outcome.name());
            begun
        };
        Box::pin(settled.instrument(span))
    }

    /// If no plugin may be asked about an event, returns the reason. Does not access the store.
    fn refuses<E: Dispatched>(&self, payload: &E::Payload, is_replayed: bool) -> Option<NotAsked> {
        if !is_replayed && self.is_over() {
            return Some(NotAsked::Ended);
        }
        if let Err(missing) = runtime::check() {
            return Some(NotAsked::NoRuntime(missing));
        }
        let waits = self.waits_for_itself().map(str::to_owned);
        waits.or_else(|| E::check(payload, &self.services.actions).err()).map(NotAsked::Invalid)
    }

    /// Returns a reason if an event that this thread sends would wait for itself.
    fn waits_for_itself(&self) -> Option<&'static str> {
        if self.services.store.is_in_sink() {
            return Some("an audit sink sent it, but events wait for the sink: send it from a separate task");
        }
        let waits = callback::waits(self.turn_queue.waiting());
        waits.then_some("it was sent from within an event of its session, which waits for it: use another session")
    }

    /// Returns the identifier of an event. An event that could not get its turn has an identifier without a number.
    fn event_id(&self, turn: Option<&Turn>) -> String {
        match turn {
            Some(_) => self.next_event_id(),
            None => self.ids.next_call(),
        }
    }

    /// Returns true if the agent has ended the session, or has dropped its handle.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended.load(Ordering::Acquire) || self.is_closed.load(Ordering::Acquire)
    }
}
