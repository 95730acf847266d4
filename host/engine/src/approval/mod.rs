//! Questions to a person. The engine never reads from a terminal. Instead, the embedding program provides an
//! [`Approver`], which asks the person.
//!
//! A request is answered at most once. The answer is no if there is no approver, if the approver does not answer in
//! time, and if it panics.

mod answered;
mod expiry;
mod pending;

#[cfg(test)]
mod tests;

pub(crate) use answered::{answered, read, resolve, shortened, taken_for_gone, who, written};
pub(crate) use expiry::{too_late, until_expired};
pub use pending::{NotPending, PendingApprovals, QuestionChanges};

use crate::audit::{Masking, raw};
use crate::config::Digest;
use crate::contract::{Asker, EventKind, PasskeyProof, Question, ToolCall};
use crate::passkey::Challenge;
use crate::store::OpenQuestion;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::time::Duration;

/// Digits of [`ApprovalRequest::code`].
const CODE_LENGTH: usize = 8;

/// Asks a person about an escalation.
///
/// A question does not delay other events of its session. So an approver may, before it answers, send events of the
/// same session and wait for their outcomes. If such an event is escalated, the host asks the same approver about it,
/// too. Therefore an approver must not send such an event each time it is asked. Otherwise it would never answer. An
/// approver should not block its thread either, because on a runtime with one thread, every other task would wait.
///
/// Every function that takes a request and returns a future of an [`Approval`] is an approver. The future cannot borrow
/// from the closure. If it has to borrow from the approver, implement the trait instead.
///
/// ```
/// use hookhost::approval::{Approval, ApprovalRequest};
/// use hookhost::contract::{Escalation, ToolCall};
/// use hookhost::{Config, Host};
/// use std::sync::Arc;
///
/// /// Says yes to what is about staging.
/// async fn careful(request: ApprovalRequest) -> Approval {
///     match request.tool_call() {
///         Some(call) if call.arguments.contains("staging") => Approval::yes().by("careful"),
///         _ => Approval::no().because("only staging"),
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let asks = |call: &ToolCall| (call.name == "deploy").then(|| Escalation::new("deploy?"));
/// let host = Host::builder(Config::empty()).rule("asks", asks).approver(Arc::new(careful)).build().await?;
/// let session = host.session("my-agent", "/work")?;
/// let outcome = session.check_tool("deploy", &serde_json::json!({ "to": "production" })).await.outcome;
/// assert_eq!(outcome.to_string(), "Rejected: not approved (asked by asks): deploy? (only staging)");
/// assert!(session.check_tool("deploy", &serde_json::json!({ "to": "staging" })).await.outcome.is_allowed());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub trait Approver: Send + Sync {
    /// Asks a person. The answer applies to this request only. The future is dropped when [`ApprovalRequest::deadline`]
    /// has passed or the event was cancelled. If the answer is yes, the agent runs exactly the value that the request
    /// shows.
    ///
    /// Other events of the session continue meanwhile, and the approver may send events itself. The approver must not
    /// block the thread, because this would block the other tasks of the runtime. An answer that comes after the
    /// deadline is treated as no.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval>;
}

impl<F, A> Approver for F
where
    F: Fn(ApprovalRequest) -> A + Send + Sync,
    A: Future<Output = Approval> + Send + 'static,
{
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(self(request))
    }
}

/// A question to a person, with an immutable copy of the value that would run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// Identifier of the event that is escalated.
    pub id: String,
    /// Short code of this request: the first eight hexadecimal digits of a SHA-256 digest of the request and a random
    /// salt. A person may read the question in one program and answer in another program. In this case the person
    /// repeats the code, which proves that the answer is about the request that the person has read. Because of the
    /// salt, an agent cannot make two requests with the same code.
    #[serde(default)]
    pub code: String,
    /// Identifier of the event's session.
    pub session: String,
    /// The agent that sent the event.
    pub agent: AskingAgent,
    /// The event.
    pub event: EventKind,
    /// The value before any plugin changed it, as JSON. For `before-tool-call`, this is a [`ToolCall`]. For any other
    /// event, it is the input of `handle` without the session.
    pub original: Box<RawValue>,
    /// The value that would run, as JSON.
    pub value: Box<RawValue>,
    /// The plugins that changed the value, in order.
    pub changed_by: Vec<String>,
    /// The result that a plugin gave, if any. In this case, the agent uses the result and does not run the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ProposedResponse>,
    /// The questions. The configuration's questions come first, followed by the plugins' questions in chain order. The
    /// list is never empty.
    pub questions: Vec<Question>,
    /// Time to wait for the answer, from the moment of asking. After this time the answer is no. The field is
    /// serialised as `deadline-ms`, in milliseconds.
    #[serde(rename = "deadline-ms", serialize_with = "milliseconds", deserialize_with = "from_milliseconds")]
    pub deadline: Duration,
    /// Digest of exactly the call and the rules for which an approval is valid, if the call was rejected and a person
    /// can let it pass once. `None` if the event waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Digest>,
    /// Time of the rejection, in milliseconds since the Unix epoch, if the call was rejected. An approval is not valid
    /// long after this time, even if something puts the question back into the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
    /// True if a yes needs the signature of a passkey ([`Approval::proof`]). An [`Approver`] that cannot give one should
    /// say where a person can, and wait. The field is not serialised.
    #[serde(skip)]
    pub needs_passkey: bool,
    /// Digest of the question as it is stored, which the signature of a passkey covers. Present in the list of open
    /// questions ([`Host::questions`](crate::Host::questions)). The field is not serialised.
    #[serde(skip)]
    pub digest: Option<Digest>,
}

impl ApprovalRequest {
    /// Returns what a passkey signs to answer this question with yes, for this time or for the rest of the session.
    /// Returns `None` if the question is not from the list of open questions.
    #[must_use]
    pub fn challenge(&self, for_session: bool) -> Option<Challenge> {
        Some(Challenge::to_answer(self.digest?, for_session))
    }

    /// Reads a stored question. Returns `None` if another program has put a different question into its row.
    pub(crate) fn of_row(question: &OpenQuestion) -> Option<Self> {
        let request: Self = serde_json::from_str(&question.request).ok()?;
        let digest = Some(Digest::of_bytes(question.request.as_bytes()));
        (request.id == question.id).then_some(Self { digest, ..request })
    }

    /// Sets the code. Call this last, because the code depends on all other fields.
    pub(crate) fn with_code(mut self) -> Self {
        let mut content = serde_json::to_vec(&self).unwrap_or_default();
        content.extend(rand::random::<[u8; 32]>());
        self.code = Digest::of_bytes(&content).to_string();
        self.code.truncate(CODE_LENGTH);
        self
    }

    /// Returns true if the call was rejected, and an approval lets the same call pass once when it is made again.
    #[must_use]
    pub fn is_overridable(&self) -> bool {
        self.terms.is_some()
    }

    /// Returns the tool call that would run; `None` if the request is about another event.
    #[must_use]
    pub fn tool_call(&self) -> Option<ToolCall> {
        (self.event == EventKind::BeforeToolCall).then(|| serde_json::from_str(self.value.get()).ok()).flatten()
    }

    /// Returns the identifier of the tool call, as the agent names it; `None` if the request is about no call.
    pub(crate) fn call_id(&self) -> Option<String> {
        self.tool_call().map(|call| call.id).filter(|id| !id.is_empty())
    }

    /// Returns true if [`Approval::yes_for_session`] can be offered, because all questions come from the configuration.
    #[must_use]
    pub fn can_be_kept(&self) -> bool {
        self.questions.iter().all(|question| question.by == Asker::Configuration)
    }

    /// Returns the request without the values that the configuration masks.
    pub(crate) fn masked(&self, masking: &Masking) -> Self {
        let mut request = self.clone();
        masking.value(&mut request.original);
        masking.value(&mut request.value);
        if let Some(response) = &mut request.response {
            masking.value(&mut response.result);
        }
        for question in &mut request.questions {
            masking.text(&mut question.escalation.question);
        }
        if let Some(task) = &mut request.agent.task {
            masking.text(task);
        }
        request
    }

    /// Returns the request as it is stored, which is the text that a person is shown.
    pub(crate) fn stored(&self, masking: &Masking) -> String {
        raw(&self.masked(masking)).get().to_owned()
    }

    /// Returns true if `shown`, which a person has allowed, is about the same call as this request. The identifier of
    /// the call, of the event and the agent's task may differ, because the call is made again.
    pub(crate) fn is_same_call(&self, shown: &Self) -> bool {
        let content = |request: &Self| {
            let without_id = |value: &RawValue| {
                let mut value = serde_json::from_str(value.get()).unwrap_or(serde_json::Value::Null);
                if let Some(call) = value.as_object_mut() {
                    call.remove("id");
                }
                value
            };
            let response = request.response.as_ref().map(|response| (&*response.by, response.result.get()));
            serde_json::json!([
                request.session,
                request.event,
                without_id(&request.original),
                without_id(&request.value),
                request.changed_by,
                response,
                request.questions,
            ])
        };
        content(self) == content(shown)
    }

    /// Returns the request without its values. The result says only that there is a question.
    pub(crate) fn without_values(&self) -> Self {
        Self {
            id: self.id.clone(),
            code: self.code.clone(),
            session: self.session.clone(),
            agent: AskingAgent::default(),
            event: self.event,
            original: RawValue::NULL.to_owned(),
            value: RawValue::NULL.to_owned(),
            changed_by: Vec::new(),
            response: None,
            questions: Vec::new(),
            deadline: self.deadline,
            terms: None,
            rejected: None,
            needs_passkey: self.needs_passkey,
            digest: self.digest,
        }
    }
}

/// The agent that sent the event. This shows a person which of several sub-agents the question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct AskingAgent {
    /// Depth: 0 for the agent to which the user talks, n for a sub-agent n levels down.
    pub depth: u32,
    /// Identifier of the session that started the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The first 80 characters of the prompt that the agent is working on. `None` before the session's first allowed
    /// `prompt-submit`. A model or a person wrote this text, so it may contain control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A result that a plugin gives in place of running the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ProposedResponse {
    /// The plugin that gave the result.
    pub by: String,
    /// The result, as JSON.
    pub result: Box<RawValue>,
}

/// A person's answer. It can name the person and the channel through which the answer came. The log records the answer
/// with these names.
///
/// ```
/// use hookhost::approval::Approval;
///
/// let approval = Approval::yes().by("ada").via("web page");
/// assert!(approval.is_yes());
/// assert!(!Approval::no().because("not on a Friday").is_yes());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    pub(crate) decision: ApprovalAnswer,
    pub(crate) by: Option<String>,
    pub(crate) via: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) proof: Option<Box<PasskeyProof>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalAnswer {
    Yes,
    YesForSession,
    No(Option<String>),
}

impl Approval {
    /// Yes to all questions.
    #[must_use]
    pub fn yes() -> Self {
        Self { decision: ApprovalAnswer::Yes, by: None, via: None, from: None, proof: None }
    }

    /// Yes to all questions. For the rest of the session, the configuration's questions about the same call are also
    /// answered with yes. A plugin's question is asked again each time: see [`ApprovalRequest::can_be_kept`].
    #[must_use]
    pub fn yes_for_session() -> Self {
        Self { decision: ApprovalAnswer::YesForSession, ..Self::yes() }
    }

    /// No.
    #[must_use]
    pub fn no() -> Self {
        Self { decision: ApprovalAnswer::No(None), ..Self::yes() }
    }

    /// Adds the person's reason for answering no. The model reads this reason. If the answer is yes, this method has no
    /// effect.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        if let ApprovalAnswer::No(why) = &mut self.decision {
            *why = Some(reason.into());
        }
        self
    }

    /// Adds the name of the person who answered, as the program knows it.
    #[must_use]
    pub fn by(mut self, person: impl Into<String>) -> Self {
        self.by = Some(person.into());
        self
    }

    /// Adds the channel through which the answer came, for example `terminal`, `web page` or `chat`.
    #[must_use]
    pub fn via(mut self, way: impl Into<String>) -> Self {
        self.via = Some(way.into());
        self
    }

    /// Adds the place from which the answer came, for example `page`. By default, this is the name and the number of the
    /// process that gives the answer to the host.
    #[must_use]
    pub fn from(mut self, place: impl Into<String>) -> Self {
        self.from = Some(place.into());
        self
    }

    /// Adds the signature of a passkey ([`ApprovalRequest::challenge`]). As soon as a
    /// passkey is registered in the store, a yes without such a signature does not count.
    #[must_use]
    pub fn proof(mut self, proof: PasskeyProof) -> Self {
        self.proof = Some(Box::new(proof));
        self
    }

    /// Returns true if the answer is yes.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        !matches!(self.decision, ApprovalAnswer::No(_))
    }
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}
