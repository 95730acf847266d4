//! What is known of an agent.

use hookhost_contract::EventKind;

/// An agent, as far as it is data.
#[derive(Debug)]
#[non_exhaustive]
pub struct Agent {
    /// Its name: on the command line, in `session.agent`, and in the table of its tools.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its programs, by which it is found on the `PATH`.
    pub programs: &'static [&'static str],
    /// The versions that the adapter is made for: the oldest and the newest that was tried. Empty texts where none is known.
    pub versions: (&'static str, &'static str),
    /// Its hook points.
    pub points: &'static [HookPoint],
    /// What of it is covered, by kind of tool.
    pub coverage: &'static [Coverage],
    /// What cannot be closed when the hook fails, a sentence each.
    pub gaps: &'static [&'static str],
}

impl Agent {
    /// The hook point of this name.
    #[must_use]
    pub fn point(&self, name: &str) -> Option<&'static HookPoint> {
        self.points.iter().find(|point| point.name == name)
    }

    /// How long the agent waits for the hook at a hook point, in seconds.
    #[must_use]
    pub fn timeout(&self, point: &str) -> u16 {
        self.point(point).map_or(TIMEOUT, |point| point.timeout)
    }

    /// What the agent can do at a hook point; at an unknown one nothing.
    #[must_use]
    pub fn abilities(&self, point: &str) -> Abilities {
        self.point(point).map_or(Abilities::NONE, |point| point.abilities)
    }
}

/// A place in an agent's life where it calls hooks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookPoint {
    /// The agent's own name of it.
    pub name: &'static str,
    /// The event that plugins are asked about; `custom-event` where there is no counterpart.
    pub event: EventKind,
    /// What the agent can do there.
    pub abilities: Abilities,
    /// Whether `hookhost install` registers the hook there.
    pub installed: bool,
    /// How long the agent waits for the hook, in seconds, as `hookhost install` writes it or the agent fixes it. A person has
    /// less time to answer.
    pub timeout: u16,
}

/// How long an agent waits for its hook where that can be chosen, in seconds: longer than a person has for an answer.
pub const TIMEOUT: u16 = 330;

impl HookPoint {
    /// A hook point that `hookhost install` registers.
    #[must_use]
    pub const fn new(name: &'static str, event: EventKind, abilities: Abilities) -> Self {
        Self { name, event, abilities, installed: true, timeout: TIMEOUT }
    }

    /// The same, where `hookhost install` does not register the hook.
    #[must_use]
    pub const fn not_installed(self) -> Self {
        Self { installed: false, ..self }
    }

    /// The same, where the agent waits for so many seconds.
    #[must_use]
    pub const fn timeout(self, seconds: u16) -> Self {
        Self { timeout: seconds, ..self }
    }
}

/// What an agent can do with the reply at one hook point. What it cannot do is made stricter before ([`crate::degrade()`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// It does not do what was rejected; of a result or a text: it does not use it.
    pub rejects: bool,
    /// It takes other arguments for a call.
    pub changes: bool,
    /// It lays the other arguments over those of the call, so that one that is left out stays as it was.
    pub merges: bool,
    /// It takes other arguments only where a text `command` stays one.
    pub keeps_command: bool,
    /// It takes a result in place of running the call.
    pub responds: bool,
    /// It asks its user, and does not continue without a yes, also where nobody is there.
    pub asks: bool,
    /// It takes another text or result in place of the one that it has.
    pub replaces: bool,
    /// It need not ask its user where the reply approves.
    pub approves: bool,
    /// Its model reads a text beside the answer.
    pub adds_context: bool,
    /// Its user reads a text.
    pub tells_user: bool,
    /// It continues with another task.
    pub goes_on: bool,
    /// It ends its run.
    pub stops: bool,
}

impl Abilities {
    /// Nothing: it only tells.
    pub const NONE: Self = Self {
        rejects: false,
        changes: false,
        merges: false,
        keeps_command: false,
        responds: false,
        asks: false,
        replaces: false,
        approves: false,
        adds_context: false,
        tells_user: false,
        goes_on: false,
        stops: false,
    };

    /// Rejections alone.
    pub const REJECTS: Self = Self { rejects: true, ..Self::NONE };
}

/// What of an agent is covered, for one kind of tool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Coverage {
    /// The kind of tool, such as `shell commands`.
    pub tools: &'static str,
    /// How far.
    pub covered: Covered,
    /// What one has to know about it; may be empty.
    pub note: &'static str,
}

impl Coverage {
    /// A kind of tool, and how far it is covered.
    #[must_use]
    pub const fn new(tools: &'static str, covered: Covered, note: &'static str) -> Self {
        Self { tools, covered, note }
    }
}

/// How far a kind of tool is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// Plugins are asked before, and their no holds.
    Gated,
    /// Plugins are told, and cannot hinder it.
    Observed,
    /// The agent does not say anything about it.
    Blind,
}

impl Covered {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gated => "gated",
            Self::Observed => "observed",
            Self::Blind => "blind",
        }
    }
}
