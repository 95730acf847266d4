//! Interceptors as clients see them, with their names, types, events and rules.

use hookhost::RuleSet;
use serde_json::{Value, json};

/// Matches all events. Plugins get events that have no counterpart in the contract as custom events.
const ALL: &str = "*";

/// The type of an interceptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterceptorKind {
    /// Decides whether a payload may pass.
    Validation,
    /// Returns the payload, changed or unchanged.
    Mutation,
}

impl InterceptorKind {
    /// Returns the draft's name of this type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Mutation => "mutation",
        }
    }
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the message is sent to the server.
    Request,
    /// After the server has answered.
    Response,
}

impl Phase {
    /// Returns the draft's name of this phase.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    /// Returns the phase of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Request, Self::Response].into_iter().find(|phase| phase.name() == name)
    }
}

/// A named interceptor.
#[derive(Clone, Debug)]
pub struct NamedInterceptor {
    /// The name. No two interceptors that are served together may have the same name.
    pub name: String,
    /// The type of the interceptor.
    pub kind: InterceptorKind,
    /// The events that the interceptor handles. `*` stands for all events.
    pub events: Vec<String>,
    /// The directions that the interceptor handles.
    pub phases: Vec<Phase>,
    /// True if the interceptor's result has no effect on the message.
    pub audit: bool,
    /// True if a message passes although the interceptor has failed. If this program runs the chain, a plugin's rejection still
    /// stops the message. The draft's default is false. Invokers other than this program cannot distinguish a mutator's rejection
    /// from a failure, so this field must be false for mutators that such an invoker uses.
    pub fail_open: bool,
    /// The rules that apply. `None` means the host's rules.
    pub rules: Option<RuleSet>,
}

impl NamedInterceptor {
    /// Creates an interceptor for all events and both directions, under the host's rules.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: InterceptorKind) -> Self {
        Self {
            name: name.into(),
            kind,
            events: vec![ALL.to_owned()],
            phases: vec![Phase::Request, Phase::Response],
            audit: false,
            fail_open: false,
            rules: None,
        }
    }

    pub(super) fn change() -> Self {
        Self::new("hookhost/change", InterceptorKind::Mutation)
    }

    pub(super) fn check() -> Self {
        Self::new("hookhost/check", InterceptorKind::Validation)
    }

    /// Returns true if the interceptor handles an event.
    pub(super) fn hooks(&self, event: &str) -> bool {
        self.events.iter().any(|hooked| hooked == ALL || hooked == event)
    }

    /// Returns true if this interceptor and `other` belong to the same chain.
    pub(super) fn shares(&self, other: &Self) -> bool {
        self.name == other.name || (self.rules.is_none() && other.rules.is_none())
    }

    /// Returns the descriptor for `interceptors/list`. Members with their default value are left out.
    pub(super) fn descriptor(&self) -> Value {
        let hooks = self.phases.iter().map(|phase| json!({ "events": self.events, "phase": phase.name() }));
        let mut descriptor = json!({ "name": self.name, "type": self.kind.name(), "hooks": hooks.collect::<Vec<_>>() });
        if self.audit {
            descriptor["mode"] = json!("audit");
        }
        if self.fail_open {
            descriptor["failOpen"] = json!(true);
        }
        descriptor
    }
}
