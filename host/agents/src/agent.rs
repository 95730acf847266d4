//! Static data about an agent.

use hookhost_contract::EventKind;

/// The static data of an agent.
#[derive(Debug)]
pub struct Agent {
    /// Name on the command line, in `session.agent`, and in the table of tools.
    pub name: &'static str,
    /// Name that is shown to people.
    pub title: &'static str,
    /// Names of the agent's programs. The agent is found if one of these programs is on the `PATH`.
    pub programs: &'static [&'static str],
    /// The oldest and the newest version that the adapter was tested with. Both are empty strings if the versions are unknown.
    pub versions: (&'static str, &'static str),
    /// The agent's hook points.
    pub points: &'static [HookPoint],
    /// For each kind of tool, states whether plugins can gate or observe its calls.
    pub coverage: &'static [Coverage],
    /// Gaps that remain although the hook is installed, one sentence each. For example, some agents run a call if the
    /// hook crashes.
    pub gaps: &'static [&'static str],
}

impl Agent {
    /// Returns the hook point of this name.
    pub fn point(&self, name: &str) -> Option<&'static HookPoint> {
        self.points.iter().find(|point| point.name == name)
    }

    /// Returns the hook points at which `hookhost install` registers the hook.
    pub fn installed(&self) -> impl Iterator<Item = &'static HookPoint> + use<> {
        self.points.iter().filter(|point| point.installed)
    }

    /// Returns the time that the agent waits for the hook at a hook point, in seconds.
    pub fn timeout(&self, point: &str) -> u16 {
        self.point(point).map_or(TIMEOUT, |point| point.timeout)
    }

    /// Returns one sentence for each degree of coverage that the agent has. `with_notes` adds the limits of each kind of
    /// tool.
    pub fn coverage_sentences(&self, with_notes: bool) -> Vec<String> {
        let degrees = [Covered::Gated, Covered::Blind, Covered::Observed];
        degrees.into_iter().filter_map(|covered| self.coverage_sentence(covered, with_notes)).collect()
    }

    /// Returns the sentence about one degree of coverage, or `None` if the agent has no tools of this degree.
    pub fn coverage_sentence(&self, covered: Covered, with_notes: bool) -> Option<String> {
        let kinds = self.coverage.iter().filter(|coverage| coverage.covered == covered);
        let kinds: Vec<String> = kinds
            .map(|coverage| match coverage.note {
                note if with_notes && !note.is_empty() => format!("{} ({note})", coverage.tools),
                _ => coverage.tools.to_owned(),
            })
            .collect();
        let kinds = kinds.join(", ");
        let sentence = match covered {
            Covered::Gated => format!("{} will ask hookhost before: {kinds}.", self.title),
            Covered::Blind => format!("It will not ask before: {kinds}."),
            Covered::Observed => format!("hookhost sees, but cannot stop: {kinds}."),
        };
        (!kinds.is_empty()).then_some(sentence)
    }

    /// Returns the abilities of the agent at a hook point. At an unknown hook point, the agent has no abilities.
    pub fn abilities(&self, point: &str) -> Abilities {
        self.point(point).map_or(Abilities::NONE, |point| point.abilities)
    }
}

/// A point in an agent's work at which the agent calls hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookPoint {
    /// The agent's own name of the hook point.
    pub name: &'static str,
    /// The event that plugins get. This is `custom-event` if hookhost has no counterpart of the hook point.
    pub event: EventKind,
    /// The abilities of the agent at this hook point.
    pub abilities: Abilities,
    /// True if `hookhost install` registers the hook at this hook point.
    pub installed: bool,
    /// Timeout of the hook, in seconds. This is the value that `hookhost install` writes, or the agent's fixed value.
    /// If a person is asked a question, the time to answer is shorter than this timeout.
    pub timeout: u16,
}

/// Timeout of a hook in seconds, for agents that let the user choose it. It is longer than the time that a person has
/// to answer.
pub const TIMEOUT: u16 = 330;

impl HookPoint {
    /// Returns a hook point that `hookhost install` registers.
    pub const fn new(name: &'static str, event: EventKind, abilities: Abilities) -> Self {
        Self { name, event, abilities, installed: true, timeout: TIMEOUT }
    }

    /// Returns the same hook point, except that `hookhost install` does not register it.
    #[must_use]
    pub const fn not_installed(self) -> Self {
        Self { installed: false, ..self }
    }

    /// Returns the same hook point with this timeout in seconds.
    #[must_use]
    pub const fn timeout(self, seconds: u16) -> Self {
        Self { timeout: seconds, ..self }
    }
}

/// The effects that a reply can have on an agent at one hook point. If an outcome needs an ability that the agent
/// lacks, [`crate::degrade()`] first replaces the outcome with a stricter outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The agent does not perform a rejected call, and does not use a rejected result or text.
    pub rejects: bool,
    /// The agent accepts changed arguments for a call.
    pub changes: bool,
    /// The agent merges changed arguments into the arguments of the call, so an argument that the reply leaves out
    /// keeps its value.
    pub merges: bool,
    /// If the argument `command` is a string, the agent accepts changed arguments only if `command` is still a string.
    pub keeps_command: bool,
    /// The agent accepts a result in place of running the call.
    pub responds: bool,
    /// The agent can ask its user, and does not continue without the user's approval, even if no user is present.
    pub asks: bool,
    /// The agent accepts a replacement for a text or for a tool's result.
    pub replaces: bool,
    /// If the reply approves the call, the agent does not ask its user about the call.
    pub approves: bool,
    /// The agent's model reads a text in the reply.
    pub adds_context: bool,
    /// The agent's user sees a text in the reply.
    pub tells_user: bool,
    /// The agent can continue with another task from the reply.
    pub goes_on: bool,
    /// The agent can end its run.
    pub stops: bool,
}

impl Abilities {
    /// No abilities: the agent only reports.
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

    /// Only the ability to reject.
    pub const REJECTS: Self = Self { rejects: true, ..Self::NONE };
}

/// Coverage of one kind of tool of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Coverage {
    /// The kind of tool, such as `shell commands`. The text completes the sentence "the agent asks before: …", so it
    /// uses the user's words.
    pub tools: &'static str,
    /// Degree of coverage.
    pub covered: Covered,
    /// Limits of the coverage. Empty if there are none.
    pub note: &'static str,
}

impl Coverage {
    /// Returns the coverage of a kind of tool that plugins can gate.
    pub(crate) const fn gated(tools: &'static str, note: &'static str) -> Self {
        Self { tools, covered: Covered::Gated, note }
    }

    /// Returns the coverage of a kind of tool that plugins can only observe.
    pub(crate) const fn observed(tools: &'static str, note: &'static str) -> Self {
        Self { tools, covered: Covered::Observed, note }
    }

    /// Returns the coverage of a kind of tool that is not reported.
    pub(crate) const fn blind(tools: &'static str, note: &'static str) -> Self {
        Self { tools, covered: Covered::Blind, note }
    }
}

/// Degree to which a kind of tool is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// The agent calls the hook before each call of such a tool, and does not run a rejected call.
    Gated,
    /// The agent reports the calls, but plugins cannot prevent them.
    Observed,
    /// The agent reports nothing about these calls.
    Blind,
}

impl Covered {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gated => "gated",
            Self::Observed => "observed",
            Self::Blind => "blind",
        }
    }
}
