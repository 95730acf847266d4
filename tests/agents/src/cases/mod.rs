//! What is checked, for each agent.

mod failures;
mod gate;
mod life;

use crate::agents::RealAgent;
use crate::hook::Hook;
use crate::run::Run;
use anyhow::Result;
use std::path::Path;

/// A case: one or more runs of an agent in a home of their own.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    check: fn(&mut Run<'_>) -> Result<()>,
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    Case { name: "calls", check: gate::calls },
    Case { name: "prompt", check: gate::prompt },
    Case { name: "stop", check: gate::stop },
    Case { name: "subagent", check: gate::subagent },
    Case { name: "results", check: life::results },
    Case { name: "life", check: life::life },
    Case { name: "missing", check: failures::missing },
];

/// Runs a case, and prints its checks.
///
/// # Errors
/// If something fails that is not what is checked.
pub(crate) fn run(case: &Case, agent: &dyn RealAgent, hook: &Hook, root: &Path, cache: &Path) -> Result<()> {
    let mut run = Run::prepare(agent, hook, root, cache)?;
    (case.check)(&mut run)?;
    run.keep()
}
