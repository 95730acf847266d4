//! Says per agent whether the kernel guards files from it: whether it runs in `hookhost exec`.

use super::LastEvents;
use crate::agent_places::AgentPlaces;
use crate::configuration;
use crate::output::quoted;
use crate::sandbox::{Shims, ability};
use hookhost_agents::Agent;
use hookhost_agents::install::check::Check;
use hookhost_exec::Ability;

/// The name of the check.
pub(super) const SANDBOX: &str = "sandbox";

/// What is known about the second line of all agents.
pub(super) struct SecondLine<'a> {
    places: &'a AgentPlaces,
    shims: Shims,
    ability: Ability,
    is_docker_open: bool,
}

impl<'a> SecondLine<'a> {
    /// Finds out what this system can enforce.
    pub(super) fn examine(places: &'a AgentPlaces) -> Self {
        // A mistake in the configuration is reported by another check.
        let config = configuration::find(None, &places.directories.config).map(|found| found.config);
        let settings = config.and_then(|config| configuration::sandbox(&config)).unwrap_or_default();
        Self { places, shims: Shims::of(places), ability: ability(), is_docker_open: settings.docker }
    }

    /// Returns the check of an agent. `no` is not a problem, because the second line is a choice, but a shim that does not work is one.
    pub(super) fn check(&self, agent: &Agent, events: &LastEvents) -> Check {
        let program = agent.programs.first().copied().unwrap_or(agent.name);
        let how = format!("hookhost exec -- {program}");
        if let Ability::None { because } = &self.ability {
            return Check::ok(SANDBOX, format!("second line: not possible here, because {because}"));
        }
        let names = self.shims.names();
        if let Some(name) = agent.programs.iter().find(|name| names.iter().any(|shim| shim == *name))
            && !self.shims.is_first(name, &self.places.path)
        {
            let directory = quoted(&self.shims.directory().to_string_lossy());
            let says =
                format!("second line: no, because {directory} is not the first directory of the PATH with `{name}`");
            return Check::problem(SANDBOX, says, format!("put it first on your PATH: export PATH={directory}:$PATH"));
        }
        if !events.of(agent.name).is_some_and(|event| event.is_sandboxed) {
            return Check::ok(SANDBOX, format!("second line: no; to have the kernel guard files from it, too: {how}"));
        }
        let says = match &self.ability {
            _ if self.is_docker_open => "no, the Docker socket leads out (`docker = true` in [sandbox])".to_owned(),
            Ability::Landlock { because, .. } => format!("partly, because {because}"),
            _ => "yes, its last call ran in hookhost exec".to_owned(),
        };
        Check::ok(SANDBOX, format!("second line: {says}"))
    }
}
