//! The cases that run for each agent.

mod acp;
mod failures;
mod gate;
mod inside;
mod plugin;
mod proxy;
mod recorded;
mod resident;
mod session;

use crate::agents::RealAgent;
use crate::hook::Hook;
use crate::run::Run;
use anyhow::Result;
use std::path::Path;

/// A case, which consists of one or more runs of an agent in a new home directory.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    check: fn(&mut Run<'_>) -> Result<()>,
    /// True if the case needs the built programs, because it uses features of the resident host that the stand-in does not have.
    needs_built: bool,
}

/// All cases.
pub(crate) const CASES: &[Case] = &[
    Case { name: "calls", check: gate::calls, needs_built: false },
    Case { name: "prompt", check: gate::prompt, needs_built: false },
    Case { name: "stop", check: gate::stop, needs_built: false },
    Case { name: "subagent", check: gate::subagent, needs_built: false },
    Case { name: "results", check: session::results, needs_built: false },
    Case { name: "session", check: session::session, needs_built: false },
    Case { name: "missing", check: failures::missing, needs_built: false },
    Case { name: "dead", check: failures::dead, needs_built: true },
    Case { name: "approvals", check: resident::approvals, needs_built: true },
    Case { name: "recorded", check: recorded::recorded, needs_built: true },
    Case { name: "ways", check: resident::ways, needs_built: true },
    Case { name: "acp", check: acp::acp, needs_built: true },
    Case { name: "install", check: resident::install, needs_built: true },
    Case { name: "plugin", check: plugin::plugin, needs_built: true },
    Case { name: "inside", check: inside::inside, needs_built: true },
    Case { name: "proxy", check: proxy::proxy, needs_built: true },
];

/// Runs a case, and prints its checks.
///
/// # Errors
/// If a step fails that is not itself a check.
pub(crate) fn run(case: &Case, agent: &dyn RealAgent, hook: &Hook, root: &Path, cache: &Path) -> Result<()> {
    if case.needs_built && hook.built().is_err() {
        return Ok(());
    }
    let mut run = Run::prepare(agent, hook, root, cache)?;
    (case.check)(&mut run)?;
    run.keep()
}
