//! An event in its turn: it waits for the events before it, and is settled as far as that can be done without a person.

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
    /// Settles an event whose payload is JSON: an object of `handle`'s parameters, `session` left out, as
    /// `{"call": {…}}` for `before-tool-call`. A tool call needs no `origin` (then it is `builtin`) and no `action`, which the
    /// host's action map works out. The outcome is JSON, too. A field that the event does not have is read past, unless
    /// the options refuse it; plugins, the record and the outcome do not have it then.
    ///
    /// # Errors
    /// If the payload is not of the event's type.
    pub async fn dispatch_event(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
    ) -> Result<RecordedOutcome<Value>, serde_json::Error> {
        self.settle_kind(event, payload, options, None).await
    }

    /// Settles an event again, as it was recorded.
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
        // An outcome is made of texts, numbers and JSON, and so is JSON.
        Ok(settled.map(|outcome| serde_json::to_value(outcome).unwrap_or_default()))
    }

    /// Waits for the outcome of an event; asks the host's approver if it is escalated.
    pub(super) fn settled<E: Dispatched>(
        &self,
        open: RecordedOutcome<E::Open>,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        self.shared.settled::<E>(open)
    }

    // Not `async fn`s, which would copy payload and outcome once more.
    pub(crate) fn dispatch<E: Dispatched>(
        &self,
        payload: E::Payload,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        self.shared.dispatch::<E>(payload)
    }

    /// Settles an event whose payload contains what the host derives, as far as that can be done without a person.
    pub(super) fn begin_prepared<E: Dispatched>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
    ) -> impl Future<Output = RecordedOutcome<E::Open>> + Send {
        E::begin(&self.shared, payload, true, options, None)
    }
}

impl SessionInner {
    /// Settles an event; the host's approver is asked if it is escalated.
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

    /// Settles an event as far as that can be done without a person; `is_prepared` says that the payload contains what the
    /// host derives.
    pub(super) async fn begin<E: Dispatched>(
        self: &Arc<Self>,
        payload: E::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> RecordedOutcome<E::Open> {
        // What is replayed was recorded of all handles of the session.
        let turn = match self.refuses::<E>(&payload, replay.is_some()) {
            Some(why) => Err(why),
            None => self.turn().await.map_err(NotAsked::Store),
        };
        // The event is settled under these rules, even if others become active meanwhile.
        let rules = self.config();
        let (dispatch, payload) =
            self.dispatch_of::<E>(&rules, payload, is_prepared, options, replay, turn.as_ref().ok());
        let begun = match turn {
            // Held to the end. Answering a question later takes another turn.
            Ok(_turn) if tracing::dispatcher::has_been_set() => self.traced::<E>(dispatch, payload).await,
            Ok(_turn) => E::settle(dispatch, payload).await,
            Err(why) => E::not_asked(dispatch, &why),
        };
        if E::KIND == EventKind::SessionEnd {
            self.is_ended.store(true, Ordering::Release);
        }
        begun
    }

    /// The event, once it is its turn, and its value.
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
            false => E::prepared(payload, &self.validator(rules, &info)),
        };
        let DispatchOptions { raw: own_message, await_observers, .. } = options;
        let (id, time) = match &replay {
            Some(replay) => (replay.id.clone(), replay.time),
            None => (self.event_id(turn), self.services.now()),
        };
        let parent_session = self.spec.parent.clone();
        let facts = Arc::new(EventFacts { id, time, parent_session, raw: own_message });
        let start = EventStart { info, facts, replay, await_observers };
        (Dispatch::new(self, rules, E::KIND, start, raw(&payload)), payload)
    }

    /// Settles an event within a span of its own. Without a subscriber a span would cost as much as the rest of an event that
    /// concerns nobody.
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

    /// The reason why no plugin is asked about an event, whatever the store says.
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

    /// The reason why an event that is sent by the code on this thread would wait for itself.
    fn waits_for_itself(&self) -> Option<&'static str> {
        if self.services.store.is_in_sink() {
            return Some("an audit sink sent it, and events wait for the sink: send it from a task of its own");
        }
        let waits = callback::waits(self.turn_queue.waiting());
        waits.then_some("it was sent from within an event of its session, which waits for it: use another session")
    }

    /// The identifier of an event; one whose session cannot have its turn has an identifier of its own.
    fn event_id(&self, turn: Option<&Turn>) -> String {
        match turn {
            Some(_) => self.next_event_id(),
            None => self.ids.next_call(),
        }
    }

    /// True if the agent has told the end of the session, or has dropped its handle.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended.load(Ordering::Acquire) || self.is_closed.load(Ordering::Acquire)
    }
}
