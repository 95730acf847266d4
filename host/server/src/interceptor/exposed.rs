//! What has a name among interceptors.

use hookhost::RuleSet;
use serde_json::{Value, json};

/// The events that have a counterpart, and all others, which plugins get as custom events.
const ALL: &str = "*";

/// Whether an interceptor checks or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It says whether a payload may pass.
    Validation,
    /// It gives another payload.
    Mutation,
}

impl Kind {
    /// The draft's word.
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
    /// Before it is sent to the server.
    Request,
    /// After the server has answered.
    Response,
}

impl Phase {
    /// The draft's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Request, Self::Response].into_iter().find(|phase| phase.name() == name)
    }
}

/// A name, and what is behind it.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// The name, unique among those that are served together.
    pub name: String,
    /// Whether it checks or changes.
    pub kind: Kind,
    /// The events it is for; `*` for all.
    pub events: Vec<String>,
    /// The directions it is for.
    pub phases: Vec<Phase>,
    /// Whether what it says changes nothing.
    pub audit: bool,
    /// Whether a message passes where it fails; in a chain that is run here a plugin's no counts nevertheless. The default of the
    /// draft is no. Another invoker cannot tell a mutator's no from a failure: leave it `false` for mutators that others invoke.
    pub fail_open: bool,
    /// The rules that are asked; `None` for those of the host.
    pub rules: Option<RuleSet>,
}

impl Exposed {
    /// A name of a chain, for all events and both directions, under the rules of the host.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
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
        Self::new("hookhost/change", Kind::Mutation)
    }

    pub(super) fn check() -> Self {
        Self::new("hookhost/check", Kind::Validation)
    }

    /// Whether it is for an event.
    pub(super) fn hooks(&self, event: &str) -> bool {
        self.events.iter().any(|hooked| hooked == ALL || hooked == event)
    }

    /// Whether both are names of one chain.
    pub(super) fn shares(&self, other: &Self) -> bool {
        self.name == other.name || (self.rules.is_none() && other.rules.is_none())
    }

    /// As `interceptors/list` has it: what is the default is left out.
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
