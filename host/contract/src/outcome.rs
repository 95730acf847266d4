//! The outcomes of events. An outcome contains only the final value of the event, and not the original value.

use crate::{FailureKind, Refusal};
use serde::{Deserialize, Serialize};

/// The response type of events to which plugins cannot respond. It has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Never {}

/// The decision about a gate event.
///
/// `P` is the pending approval of an event about which a person has to be asked. In a final decision, `P` is [`Never`].
///
/// ```
/// use hookhost_contract::{Decision, Refusal, Rejection, Stop, ToolCall, ToolResult};
///
/// /// Returns the text that the model reads.
/// fn answer(decision: Decision<ToolCall, ToolResult>, run: impl Fn(&ToolCall) -> String) -> String {
///     match decision {
///         Decision::Allowed { value: call } => run(&call),
///         Decision::Responded { response, .. } => response.text,
///         Decision::Rejected(rejection) => rejection.to_string(),
///     }
/// }
///
/// let no = Rejection::verdict("no-deploys", Refusal::new("deploys are frozen"), Stop::Run);
/// assert_eq!(answer(Decision::Rejected(no), |_| unreachable!()), "Rejected by no-deploys: deploys are frozen");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[must_use]
pub enum Decision<V, R = Never, P = Never> {
    /// The event may happen, but only with this value and not with the original value.
    Allowed {
        /// The value with which the event may happen.
        value: V,
    },
    /// The event must not happen, because a plugin gave its result. For a tool call, pass this result to
    /// `after_tool_call` like any other result, with [`ResultSource::Plugin`](crate::ResultSource::Plugin).
    Responded {
        /// The value that the response is about.
        value: V,
        /// The result that replaces the event's own result.
        response: R,
        /// The plugin that responded.
        by: String,
    },
    /// The event must not happen.
    Rejected(Rejection),
    /// A person has to answer first.
    Escalated(P),
}

/// The outcome of a transform event.
///
/// ```
/// use hookhost_contract::{ToolResult, TransformOutcome};
///
/// /// Returns the text that the model reads in place of a tool's result.
/// fn for_the_model(outcome: TransformOutcome<ToolResult>) -> String {
///     match outcome {
///         TransformOutcome::Passed { value } => value.text,
///         TransformOutcome::Withheld(rejection) => rejection.to_string(),
///     }
/// }
///
/// let passed = TransformOutcome::Passed { value: ToolResult::text("3 files") };
/// assert_eq!(for_the_model(passed), "3 files");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[must_use]
pub enum TransformOutcome<V> {
    /// The value is passed on, possibly changed.
    Passed {
        /// The value after the changes of all plugins.
        value: V,
    },
    /// The value must not be used; only the refusal is passed on.
    Withheld(Rejection),
}

/// The scope that a refusal with `stop` ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The whole run: the user's session and all its sub-agents, even if the plugin rejected an event of a sub-agent.
    #[default]
    Run,
    /// Only the session of the event, and the sub-agents of this session. The session that started this session sees
    /// a failed sub-agent.
    Session,
}

/// A rejection with its source and its reason. Its display form is one sentence for the model and the user, which names
/// the plugin.
///
/// ```
/// use hookhost_contract::{Cause, Rejection};
///
/// /// Returns true if the authors of the rules should look at the rejection.
/// fn is_a_fault(rejection: &Rejection) -> bool {
///     match rejection.cause {
///         Cause::Verdict | Cause::NotApproved => false,
///         Cause::Failed(kind) => !kind.is_wall_time(),
///         _ => true,
///     }
/// }
/// # let _ = is_a_fault;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Rejection {
    /// The plugins that rejected the event, failed, or asked a person. `the configuration` if a `[[rule]]` asked a
    /// person. Empty if the event could not be recorded.
    pub by: Vec<String>,
    /// The kind of rejection.
    pub cause: Cause,
    /// The refusal for the agent. Its reason is truncated to [`Refusal::MAX_REASON`] bytes.
    pub refusal: Refusal,
    /// The scope that the rejection ends, if the plugin set `stop`. The key `stop` of the plugin's entry selects the
    /// scope.
    pub ends: Option<Stop>,
}

/// The kind of an event's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutcomeKind {
    /// A gate: the event may happen.
    Allowed,
    /// A gate: a plugin gave the result in place of the event.
    Responded,
    /// A gate: a person is asked.
    Escalated,
    /// A gate: the event must not happen.
    Rejected,
    /// A transform: the value is passed on.
    Passed,
    /// A transform: only the refusal is passed on.
    Withheld,
    /// Plugins were asked for tasks.
    Collected,
    /// The event happened; observers are notified.
    Observed,
    /// The agent gave up the event before there was a decision, so nothing runs.
    Cancelled,
}

impl OutcomeKind {
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::Allowed,
        Self::Responded,
        Self::Escalated,
        Self::Rejected,
        Self::Passed,
        Self::Withheld,
        Self::Collected,
        Self::Observed,
        Self::Cancelled,
    ];

    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Responded => "responded",
            Self::Escalated => "escalated",
            Self::Rejected => "rejected",
            Self::Passed => "passed",
            Self::Withheld => "withheld",
            Self::Collected => "collected",
            Self::Observed => "observed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns true if the event was rejected or its value was withheld.
    #[must_use]
    pub fn is_no(self) -> bool {
        matches!(self, Self::Rejected | Self::Withheld)
    }
}

impl std::fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A plugin rejected the event.
    Verdict,
    /// A plugin failed, and its `on-failure` is `reject`.
    Failed(FailureKind),
    /// The plugins did not agree on one value.
    Disagreement,
    /// A person denied the event, or nobody answered.
    NotApproved,
    /// The rules ask a person about this tool call, but `on-question` rejects questions. If the host shares its
    /// questions, a person can let exactly this call pass once.
    Overridable,
    /// After each approval of a person, changed rules or a changed state led to new questions, until the limit was
    /// reached.
    TooManyQuestions,
    /// The event could not be recorded, so it must not happen.
    NotRecorded,
    /// The agent has already reported the end of the session.
    Ended,
    /// The host was called outside of a tokio runtime, or in a runtime without a timer.
    NoRuntime,
    /// The event's payload is invalid.
    Invalid,
    /// The operator requires a plugin, and none is loaded.
    NoPlugin,
}

impl<V, R, P> Decision<V, R, P> {
    /// Returns the decision if it is final. A decision that a person has to make is an error.
    ///
    /// # Errors
    /// Returns the pending approval.
    pub fn into_final(self) -> Result<Decision<V, R>, P> {
        Ok(match self {
            Self::Allowed { value } => Decision::Allowed { value },
            Self::Responded { value, response, by } => Decision::Responded { value, response, by },
            Self::Rejected(rejection) => Decision::Rejected(rejection),
            Self::Escalated(pending) => return Err(pending),
        })
    }

    /// Returns true if the event may happen.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// Returns the rejection, if there is one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::Allowed { .. } | Self::Responded { .. } | Self::Escalated(_) => None,
        }
    }
}

/// Displays `Allowed`, `Answered by careful`, the sentence of the rejection, or `Escalated`.
impl<V, R, P> std::fmt::Display for Decision<V, R, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Allowed { .. } => f.write_str("Allowed"),
            Self::Responded { by, .. } => write!(f, "Answered by {by}"),
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Escalated(_) => f.write_str("Escalated"),
        }
    }
}

impl Rejection {
    /// Creates a rejection by a plugin. If `refusal` has `stop` set, the rejection ends the scope `stop`. A reason
    /// that is longer than [`Refusal::MAX_REASON`] is truncated.
    #[must_use]
    pub fn verdict(by: &str, mut refusal: Refusal, stop: Stop) -> Self {
        cut(&mut refusal.reason);
        let ends = refusal.stop.then_some(stop);
        Self { by: vec![by.to_owned()], cause: Cause::Verdict, refusal, ends }
    }

    /// Creates a rejection by the host. A reason that is longer than [`Refusal::MAX_REASON`] is truncated.
    #[must_use]
    pub fn host(by: Vec<String>, cause: Cause, mut reason: String) -> Self {
        cut(&mut reason);
        // The machine may be less busy at the next attempt.
        let retryable = cause == Cause::Failed(FailureKind::Overloaded);
        Self { by, cause, refusal: Refusal { reason, code: None, retryable, stop: false }, ends: None }
    }

    /// Returns the word for the cause in messages, records and JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.cause {
            Cause::Verdict => "rejected",
            Cause::Failed(kind) if kind.is_timeout() => "timed out",
            Cause::Failed(FailureKind::Overloaded) => "overloaded",
            Cause::Failed(FailureKind::Oversized) => "oversized",
            Cause::Failed(_) => "failed",
            Cause::Disagreement => "disagreed",
            Cause::NotApproved | Cause::Overridable => "not approved",
            Cause::TooManyQuestions => "asked too often",
            Cause::NotRecorded => "not recorded",
            Cause::Ended => "ended",
            Cause::NoRuntime => "no runtime",
            Cause::Invalid => "invalid",
            Cause::NoPlugin => "no plugin",
        }
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let by = self.by.join(", ");
        let reason = &self.refusal.reason;
        match self.cause {
            Cause::Verdict => write!(f, "Rejected by {by}: {reason}"),
            Cause::Failed(FailureKind::Overloaded) => {
                write!(f, "Rejected because the machine is overloaded: the plugin {by} {reason}")
            }
            Cause::Failed(kind) => write!(f, "Rejected because the plugin {by} {}{reason}", kind.opening()),
            Cause::Disagreement => write!(f, "Rejected because {by} did not agree: {reason}"),
            Cause::NotApproved => write!(f, "Rejected: not approved (asked by {by}): {reason}"),
            Cause::Overridable => write!(f, "Rejected, because nobody is asked here. {by} would ask: {reason}"),
            Cause::TooManyQuestions => write!(f, "Rejected because {by} asked too often: {reason}"),
            Cause::NotRecorded => write!(f, "Rejected because the audit log cannot be written: {reason}"),
            Cause::Ended => write!(f, "Rejected because the session has ended: {reason}"),
            Cause::NoRuntime => write!(f, "Rejected because there is no tokio runtime with a timer: {reason}"),
            Cause::Invalid => write!(f, "Rejected because the event is invalid: {reason}"),
            Cause::NoPlugin => write!(f, "Rejected because no plugin is loaded: {reason}"),
        }
    }
}

/// Truncates a plugin's text for a model to [`Refusal::MAX_REASON`] bytes.
fn cut(reason: &mut String) {
    if reason.len() > Refusal::MAX_REASON {
        let end = (0..=Refusal::MAX_REASON).rev().find(|&end| reason.is_char_boundary(end)).unwrap_or(0);
        reason.truncate(end);
        reason.push('…');
    }
}
