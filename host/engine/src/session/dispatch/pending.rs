//! Questions that are returned to the sender of an event. The event is recorded as escalated. It gets its outcome when
//! somebody answers the question.

use super::records::{Durability, RecordEffects};
use super::{Consent, Dispatch, EventStart, HeldEffects};
use crate::active_config::ActiveConfig;
use crate::approval::{self, Approval, ApprovalRequest, Approver};
use crate::audit::{ApprovalRecord, AskedAgain, CallRecord, EventRecord, Header, Masking, StateUse, raw};
use crate::config::Digest;
use crate::contract::{self, AnswerKind, Answered, Cause, Decision, FailureKind, Never, OutcomeKind, Rejection};
use crate::event::{GateEvent, Kind};
use crate::locked::locked;
use crate::passkey::InvalidProof;
use crate::plugin::Plugin;
use crate::sandbox::capability::EventFacts;
use crate::session::inner::SessionInner;
use crate::session::not_asked::NotAsked;
use crate::session::notice::{Notice, NoticeKind};
use crate::session::passkeys::QuestionOf;
use crate::session::recorded_outcome::RecordedOutcome;
use crate::session::shared_questions::QuestionGone;
use crate::state::{Found, Labels, Source};
use crate::store::{QuestionChange, StoreError};
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time after the deadline within which an answer still counts that came before the deadline: the process that asked
/// looks for answers at intervals.
const LATEST_ANSWER: Duration = Duration::from_millis(500);

/// The decision about a gate event, as far as it can be made without a person.
pub type OpenDecision<V, R = Never> = Decision<V, R, PendingApproval<V, R>>;

/// The outcome of a gate event, as far as it can be decided without a person. If a person must be asked, the record
/// describes the escalation.
pub type OpenOutcome<V, R = Never> = RecordedOutcome<OpenDecision<V, R>>;

/// A question to a person about a gate event. If the person approves, the agent may run exactly the value that the
/// question shows.
///
/// Other events of the session continue while the question waits. After an approval, the value is checked again if
/// the rules or the state have changed since the question was asked. If the host shares its questions
/// ([`HostBuilder::share_questions`](crate::HostBuilder::share_questions)), another process with the same store may
/// also answer, by [`Host::answer`](crate::Host::answer). The first answer counts.
///
/// The answer is no in three cases: the [`ApprovalRequest::deadline`] passes without an answer, this value is dropped,
/// or this process ends.
///
/// ```
/// # use hookhost::approval::Approval;
/// # use hookhost::contract::{Decision, ToolOrigin};
/// # use hookhost::{Config, Host, SessionSpec};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// # let session = host.open_session(SessionSpec::new("docs", "/".as_ref()))?;
/// # let call = session.tool_call("1", "bash", &serde_json::json!({"command": "ls"}), ToolOrigin::Builtin);
/// let mut decision = session.begin_before_tool_call(call).await.outcome;
/// while let Decision::Escalated(pending) = decision {
///     println!("{}", pending.request().questions[0].escalation.question);
///     decision = pending.resolve(Approval::no()).await.outcome;
/// }
/// if let Decision::Allowed { value } = decision {
///     println!("{} may run", value.name);
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[must_use = "a question that is dropped is answered with no"]
pub struct PendingApproval<V, R = Never> {
    open: Box<dyn PendingQuestion<V, R>>,
}

impl<V, R> std::fmt::Debug for PendingApproval<V, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingApproval").field("id", &self.open.request().id).finish_non_exhaustive()
    }
}

/// A question about any gate event.
trait PendingQuestion<V, R>: Send + Sync {
    fn request(&self) -> &ApprovalRequest;

    fn session(&self) -> &Arc<SessionInner>;

    fn asked_at(&self) -> Instant;

    fn take_up(self: Box<Self>, answered: Answered) -> BoxFuture<'static, OpenOutcome<V, R>>;

    fn hand_over(self: Box<Self>, to: String) -> BoxFuture<'static, Result<ApprovalRecord, QuestionGone>>;
}

impl<V: 'static, R: 'static> PendingApproval<V, R> {
    /// Returns the request that a person is shown.
    #[must_use]
    pub fn request(&self) -> &ApprovalRequest {
        self.open.request()
    }

    /// Answers the question, unless somebody else has answered before. After an approval, the plugins may be asked
    /// again. If they have a new question, this method returns that question.
    pub async fn resolve(self, approval: Approval) -> OpenOutcome<V, R> {
        let answered = std::future::ready(approval::answered(approval));
        let answered = self.until_expired(answered).await;
        self.take_up(answered).await
    }

    /// Returns true if a yes needs the signature of a passkey, or if this cannot be found out. Then the question cannot
    /// be handed over.
    pub async fn needs_passkey(&self) -> bool {
        self.open.session().services.passkeys().await.map_or(true, |passkeys| passkeys.is_required())
    }

    /// Leaves the question to the agent's own prompt. `to` is the name of this prompt in the log. Call this only if the
    /// agent does not continue without the approval of its user. The host then treats the event as complete, and
    /// applies its effects. The agent may run the value of [`Self::request`] as soon as the user approves it.
    ///
    /// # Errors
    /// If the handover cannot be recorded, or if another process has answered the question. In both cases, the event
    /// must not continue.
    pub async fn hand_over(self, to: &str) -> Result<ApprovalRecord, QuestionGone> {
        self.open.hand_over(to.to_owned()).await
    }

    /// Asks `approver` until the event has its outcome. If another process answers first, that answer counts.
    pub async fn ask(self, approver: &dyn Approver) -> RecordedOutcome<Decision<V, R>> {
        self.settle(Some(approver)).await
    }

    /// Answers the question with no, because the program that sends the event has nobody to ask.
    pub async fn reject_unattended(self) -> RecordedOutcome<Decision<V, R>> {
        self.settle(None).await
    }

    /// Waits until another process has answered, or the deadline has passed.
    pub async fn wait(self) -> OpenOutcome<V, R> {
        self.wait_at_most(Duration::MAX).await
    }

    /// Like [`Self::wait`], but the question expires after `limit` from now, unless its deadline is earlier. Use this
    /// in a program whose own caller waits no longer than `limit`.
    pub async fn wait_at_most(self, limit: Duration) -> OpenOutcome<V, R> {
        let (left, deadline) = (self.time_left().min(limit), self.open.request().deadline.min(limit));
        let answered = approval::until_expired(left, deadline, self.elsewhere()).await;
        self.take_up(answered).await
    }

    /// Asks `approver` until the event has its outcome. Without an approver, the event is rejected.
    pub(in crate::session) async fn settle(self, approver: Option<&dyn Approver>) -> RecordedOutcome<Decision<V, R>> {
        let mut pending = self;
        loop {
            let needs_passkey = pending.needs_passkey().await;
            let request = ApprovalRequest { needs_passkey, ..pending.open.request().clone() };
            let left = pending.time_left();
            let answered = approval::resolve(approver, request, left, pending.elsewhere()).await;
            match pending.take_up(answered).await.into_final() {
                Ok(settled) => return settled,
                Err(next) => pending = next,
            }
        }
    }

    fn take_up(self, answered: Answered) -> BoxFuture<'static, OpenOutcome<V, R>> {
        self.open.take_up(answered)
    }

    async fn elsewhere(&self) -> Answered {
        self.open.session().services.answered_elsewhere(&self.open.request().id).await
    }

    async fn until_expired(&self, answer: impl Future<Output = Answered>) -> Answered {
        approval::until_expired(self.time_left(), self.open.request().deadline, answer).await
    }

    fn time_left(&self) -> Duration {
        self.open.request().deadline.saturating_sub(self.open.asked_at().elapsed())
    }
}

/// A question about one event, with the data that is needed to handle the answer.
pub(super) struct EventQuestion<E: GateEvent + Kind> {
    pub(super) session: Arc<SessionInner>,
    /// The rules under which the question was asked.
    pub(super) rules: Arc<ActiveConfig>,
    pub(super) info: Arc<contract::Session>,
    pub(super) facts: Arc<EventFacts>,
    pub(super) record: Box<EventRecord>,
    pub(super) request: ApprovalRequest,
    /// The value that the agent may run after an approval. If `response` is present, the agent uses the response
    /// instead.
    pub(super) value: E::Payload,
    pub(super) response: Option<(String, E::Response)>,
    pub(super) consent: Consent,
    pub(super) held: HeldEffects,
    /// The earlier dispatches of the event, each with the approval that it got.
    pub(super) earlier: Vec<(EventRecord, ApprovalRecord)>,
    pub(super) await_observers: bool,
    pub(super) began: Instant,
    pub(super) answered: Option<Answered>,
    /// True if the answer is in the log.
    pub(super) is_recorded: bool,
}

/// If the question is dropped, the sender of the event no longer waits, so the agent runs nothing. A rejection is
/// recorded, even if a person has approved the event, because the approval was not recorded in time.
impl<E: GateEvent + Kind> Drop for EventQuestion<E> {
    fn drop(&mut self) {
        self.session.services.release(&self.session.id);
        if self.is_recorded {
            return;
        }
        let answered = self.answered.take().unwrap_or_else(|| {
            let reason = "the sender of the event no longer waits".to_owned();
            let mut answered = Answered::new(AnswerKind::Cancelled, Some(reason));
            answered.micros = elapsed(self.began);
            answered
        });
        let record = self.answer(answered, OutcomeKind::Rejected, false);
        self.session.settle_soon(&self.rules, &self.info, &record, Some(self.request.id.clone()));
    }
}

impl<E: GateEvent + Kind> EventQuestion<E> {
    /// Returns the outcome for an event that a person has to decide.
    pub(super) fn into_outcome(self) -> OpenOutcome<E::Payload, E::Response> {
        let record = self.record.clone();
        let pending = PendingApproval { open: Box::new(self) };
        let outcome = Decision::Escalated(pending);
        RecordedOutcome { outcome, record, answer: None, earlier: Vec::new(), code: None }
    }

    fn answer(&self, answer: Answered, outcome: OutcomeKind, effects_hold: bool) -> ApprovalRecord {
        let header = Header::new(&*self.request.session, self.session.services.now());
        let record = ApprovalRecord::new(&self.request.id, header, self.request.event, outcome, answer);
        ApprovalRecord { call: self.request.call_id(), effects_hold, ..record }
    }

    /// Returns the outcome of the event after this answer, or a further question.
    async fn take_up_answer(mut self, mut answered: Answered) -> OpenOutcome<E::Payload, E::Response> {
        answered.micros = elapsed(self.began);
        // Needed if this future is dropped before the answer is recorded.
        self.answered = Some(answered.clone());
        let answered = match self.first_answer(&answered).await {
            Ok(mut counts) => {
                counts.micros = answered.micros;
                // An answer that came after the deadline, before the end of the question was written.
                let is_late = self.began.elapsed() > self.request.deadline.saturating_add(LATEST_ANSWER);
                if counts.is_approved() && is_late { approval::too_late(self.request.deadline) } else { counts }
            }
            Err(error) if answered.is_approved() => return self.not_recorded(answered, &error),
            // A rejection counts even if it cannot be written.
            Err(_) => answered,
        };
        let mut answered = answered;
        match self.unproven(&mut answered).await {
            Ok(None) => {}
            Ok(Some(why)) => {
                let why = format!("your yes to {} does not count: {why}", self.request.event);
                self.session.notice(Notice::new(NoticeKind::YesDidNotCount, why.clone()));
                return self.void(answered, Cause::NotApproved, why).await;
            }
            Err(error) => return self.not_recorded(answered, &error),
        }
        self.answered = Some(answered.clone());
        let session = Arc::clone(&self.session);
        let _turn = match session.turn().await {
            Ok(turn) => turn,
            Err(error) => return self.not_recorded(answered, &error),
        };
        if !answered.is_approved() {
            return self.refuse(answered).await;
        }
        if session.is_ended.load(Ordering::Acquire) {
            return self.void(answered, Cause::Ended, NotAsked::Ended.to_string()).await;
        }
        if let Err(why) = session.rules.refresh().await {
            let why = format!("your yes to {} did not count: {why}", self.request.event);
            return self.void(answered, Cause::NotApproved, why).await;
        }
        let rules_now = session.config();
        let are_same_rules = Arc::ptr_eq(&rules_now, &self.rules);
        // An approval for the rest of the session is remembered only if the rules are still the same.
        let keeps = answered.for_session && are_same_rules;
        if are_same_rules && self.would_answer_the_same() {
            return self.settle(answered, keeps).await;
        }
        self.ask_again(answered, keeps, &rules_now).await
    }

    /// Returns the first answer to the question: this answer, or an earlier answer of another process.
    async fn first_answer(&self, answered: &Answered) -> Result<Answered, StoreError> {
        // If questions are not shared, an answer in the store is ignored.
        if !self.session.services.shares_questions {
            return Ok(answered.clone());
        }
        let first = self.session.services.store.answer(&self.request.id, &approval::written(answered)).await?;
        Ok(first.map_or_else(approval::taken_for_gone, |first| approval::read(&first.answer)))
    }

    /// Returns the reason why a yes does not count for lack of a passkey. The proof must be about the question in this
    /// process's memory, whatever the store contains.
    async fn unproven(&self, answered: &mut Answered) -> Result<Option<InvalidProof>, StoreError> {
        let stored = self.request.stored(&Masking::new(&self.rules.settings().audit));
        let ApprovalRequest { id, session, event, .. } = &self.request;
        let about = QuestionOf { id, session, event: *event };
        self.session.services.refuse_unproven(Digest::of_bytes(stored.as_bytes()), about, answered).await
    }

    /// Records the approval together with the effects of the plugin calls. The approval counts only if this succeeds.
    async fn settle(mut self, answered: Answered, keeps: bool) -> OpenOutcome<E::Payload, E::Response> {
        let accepted = if self.response.is_some() { OutcomeKind::Responded } else { OutcomeKind::Allowed };
        let answer = self.answer(answered.clone(), accepted, true);
        let held = std::mem::take(&mut self.held);
        if let Err(error) = self.record_answer(&answer, held, Durability::Now).await {
            return self.not_recorded(answered, &error);
        }
        if keeps {
            self.keep_yes();
        }
        let outcome = match self.response.take() {
            Some((by, response)) => Decision::Responded { value: self.value.clone(), response, by },
            None => Decision::Allowed { value: self.value.clone() },
        };
        self.finish(outcome, answer)
    }

    /// Records that the agent asks its own user, together with the effects of the plugin calls.
    async fn leave_to(mut self, to: String) -> Result<ApprovalRecord, QuestionGone> {
        if self.session.services.passkeys().await?.is_required() {
            return Err(QuestionGone::NeedsPasskey(self.request.id.clone()));
        }
        let mut answered = Answered::new(AnswerKind::HandedOver, None);
        (answered.micros, answered.via) = (elapsed(self.began), Some(to));
        let first = self.first_answer(&answered).await?;
        if first.kind != AnswerKind::HandedOver {
            return Err(QuestionGone::Answered { id: self.request.id.clone(), first: approval::who(&first) });
        }
        let session = Arc::clone(&self.session);
        let _turn = session.turn().await?;
        let answer = self.answer(answered, OutcomeKind::Escalated, true);
        let held = std::mem::take(&mut self.held);
        self.record_answer(&answer, held, Durability::Now).await?;
        Ok(answer)
    }

    /// Records the rejection together with the effects of the plugin calls. If other events have changed the state on
    /// which these effects depend, the effects are dropped. The rejection counts even if it cannot be written.
    async fn refuse(mut self, answered: Answered) -> OpenOutcome<E::Payload, E::Response> {
        let first = self.request.questions.first().map(|question| question.escalation.question.clone());
        let reason = answered.reason.clone().unwrap_or_default();
        let reason = format!("{} ({reason})", first.unwrap_or_default());
        let rejection = Rejection::host(self.record.by.clone(), Cause::NotApproved, reason);
        // Writes that depend on an older state would overwrite later writes.
        let effects_hold = self.state_is_as_it_was();
        let held = if effects_hold { std::mem::take(&mut self.held) } else { HeldEffects::default() };
        // The call did not happen, so it labels nothing.
        let held = held.without_labels();
        let answer = self.answer(answered.clone(), OutcomeKind::Rejected, effects_hold);
        let answer = match self.record_answer(&answer, held, Durability::Now).await {
            Ok(()) => answer,
            // When the question is dropped, the record is written later.
            Err(_) => self.answer(answered, OutcomeKind::Rejected, false),
        };
        self.finish(Decision::Rejected(rejection), answer)
    }

    /// Records an approval that does not count, and rejects the event.
    async fn void(mut self, answered: Answered, cause: Cause, why: String) -> OpenOutcome<E::Payload, E::Response> {
        let answer = self.answer(answered.clone(), OutcomeKind::Rejected, false);
        if let Err(error) = self.record_answer(&answer, HeldEffects::default(), Durability::Now).await {
            return self.not_recorded(answered, &error);
        }
        let rejection = Rejection::host(Vec::new(), cause, why);
        self.finish(Decision::Rejected(rejection), answer)
    }

    /// Rejects an event whose answer cannot be recorded. When the question is dropped, the record is written later.
    fn not_recorded(self, answered: Answered, error: &StoreError) -> OpenOutcome<E::Payload, E::Response> {
        let rejection = Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string());
        let answer = self.answer(answered, OutcomeKind::Rejected, false);
        self.finish(Decision::Rejected(rejection), answer)
    }

    /// Records the approval, and asks the chain of the current rules about exactly the value that a person approved.
    async fn ask_again(
        mut self,
        answered: Answered,
        keeps: bool,
        rules: &Arc<ActiveConfig>,
    ) -> OpenOutcome<E::Payload, E::Response> {
        let yes = self.answer(answered.clone(), OutcomeKind::Escalated, false);
        if let Err(error) = self.record_answer(&yes, HeldEffects::default(), Durability::Soon).await {
            return self.not_recorded(answered, &error);
        }
        if keeps {
            self.keep_yes();
        }
        let mut consent = std::mem::take(&mut self.consent);
        consent.give(self.shown(), self.shown_response(), self.record.questions.clone());
        let (id, time) = (self.session.next_event_id(), self.session.services.now());
        let world = self.facts.world.renewed();
        let facts = Arc::new(EventFacts { id, time, world, ..EventFacts::clone(&self.facts) });
        let (info, await_observers) = (self.info.clone(), self.await_observers);
        let start = EventStart { info, facts, replay: None, await_observers };
        let session = Arc::clone(&self.session);
        let mut again = Dispatch::new(&session, rules, E::KIND, start, raw(&self.value));
        let (of, round) = match &self.record.asked_again {
            Some(before) => (before.of.clone(), before.round + 1),
            None => (self.record.id.clone(), 1),
        };
        again.follow(AskedAgain { of, round, answered: Vec::new() }, std::mem::take(&mut self.held));
        let mut earlier = std::mem::take(&mut self.earlier);
        earlier.push((*self.take_record(), yes));
        again.come_after(earlier);
        let are_same_rules = Arc::ptr_eq(rules, &self.rules);
        let begun = again.gate_with::<E>(self.value.clone(), consent).await;
        if let Decision::Rejected(rejection) = &begun.outcome
            && rejection.cause != Cause::NotApproved
        {
            // If a person has rejected the event, no notice is needed.
            let changed = if are_same_rules { "what the plugins know" } else { "the rules" };
            let event = self.request.event;
            session.notice(Notice::new(
                NoticeKind::YesDidNotCount,
                format!(
                    "your yes to {event} did not count: {changed} had changed by then, and it was rejected: {rejection}"
                ),
            ));
        }
        begun
    }

    /// Records an answer with the effects that are applied, and closes the question.
    async fn record_answer(
        &mut self,
        answer: &ApprovalRecord,
        mut held: HeldEffects,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let writes = std::mem::take(&mut held.writes);
        let reminders = held.reminders(!answer.outcome.is_no());
        let question = Some(QuestionChange::Settle(self.request.id.clone()));
        let with = RecordEffects { writes, reminders, question };
        self.session.record(&self.rules, &self.info, answer, with, durability).await?;
        self.is_recorded = true;
        Ok(())
    }

    fn take_record(&mut self) -> Box<EventRecord> {
        let blank = Box::new(EventRecord::new(self.record.event, RawValue::NULL.to_owned()));
        std::mem::replace(&mut self.record, blank)
    }

    fn finish(
        mut self,
        outcome: OpenDecision<E::Payload, E::Response>,
        answer: ApprovalRecord,
    ) -> OpenOutcome<E::Payload, E::Response> {
        let (record, earlier) = (self.take_record(), std::mem::take(&mut self.earlier));
        RecordedOutcome { outcome, record, answer: Some(Box::new(answer)), earlier, code: None }
    }

    /// Remembers a recorded approval for the rest of the session.
    fn keep_yes(&self) {
        if let Some([call]) = E::calls(&self.value) {
            let (questions, id) = (&self.request.questions, &self.request.id);
            locked(&self.session.kept_answers).keep(&self.rules, call, questions, id);
        }
    }

    /// Returns true if the plugins would give the same answers again. A verdict depends only on the event, the rules
    /// and the inputs from outside. If all of these are unchanged, the plugins need not be asked again.
    fn would_answer_the_same(&self) -> bool {
        // A plugin that was tripped when it was to be called may be called now, and its answer is unknown.
        let was_tripped =
            |call: &CallRecord| call.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Tripped);
        // A plugin that read the conversation may answer differently now, because the conversation has continued
        // since then.
        let depends = |call: &CallRecord| was_tripped(call) || call.inputs.transcript.is_some();
        let is_repeatable = self.record.not_replayable.is_empty() && !self.record.calls.iter().any(depends);
        is_repeatable && self.state_is_as_it_was() && self.labels_are_as_they_were()
    }

    /// Returns true if the labels that the plugins have read are unchanged.
    fn labels_are_as_they_were(&self) -> bool {
        let mut now = Labels::new(self.session.labels(self.session.services.now()), None, 0);
        let mut read = self.record.calls.iter().filter_map(|call| call.inputs.labels.as_ref());
        read.all(|then| now.before().is_ok_and(|now| now == then))
    }

    /// Returns true if the state that the plugins have read is unchanged.
    fn state_is_as_it_was(&self) -> bool {
        let chain = self.rules.chain(self.record.event);
        let called = |call: &CallRecord| chain.iter().find(|plugin| plugin.name() == call.plugin);
        let mut states = HashMap::new();
        self.record.calls.iter().all(|call| match (&call.inputs.state, called(call)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(learnt), Some(plugin)) => {
                let state = states.entry(plugin.name()).or_insert_with(|| self.state_now(plugin));
                would_learn_the_same(&**state, learnt)
            }
        })
    }

    fn state_now(&self, plugin: &Plugin) -> Arc<dyn Source> {
        let services = &self.session.services;
        services.store.snapshot(&plugin.shared.name, self.session.lineage(), services.now())
    }

    /// Returns the value that was shown, as JSON.
    fn shown(&self) -> String {
        self.record.last.as_ref().unwrap_or(&self.record.original).get().to_owned()
    }

    /// Returns the response that was shown, as JSON.
    fn shown_response(&self) -> Option<String> {
        self.record.response.as_ref().map(|response| response.get().to_owned())
    }
}

impl<E: GateEvent + Kind> PendingQuestion<E::Payload, E::Response> for EventQuestion<E> {
    fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    fn session(&self) -> &Arc<SessionInner> {
        &self.session
    }

    fn asked_at(&self) -> Instant {
        self.began
    }

    fn take_up(self: Box<Self>, answered: Answered) -> BoxFuture<'static, OpenOutcome<E::Payload, E::Response>> {
        Box::pin(self.take_up_answer(answered))
    }

    fn hand_over(self: Box<Self>, to: String) -> BoxFuture<'static, Result<ApprovalRecord, QuestionGone>> {
        Box::pin(self.leave_to(to))
    }
}

/// Returns true if a plugin that reads the same keys now gets the values that it got before.
fn would_learn_the_same(state: &dyn Source, learnt: &StateUse) -> bool {
    let reads = learnt.read.iter().all(|read| match &read.value {
        Some(value) => state.value(read.scope, &read.key) == Ok(Found::Value(Some(value.0.clone()))),
        None => state.size(read.scope, &read.key) == Ok(read.size),
    });
    let usage = learnt.used.is_none_or(|used| state.usage().is_ok_and(|usage| usage.map(|usage| usage.bytes) == used));
    reads && usage
}

fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
