//! `hookhost hook`: does the same as the small program `hookhost-hook`.

use crate::args::HookArgs;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use hookhost_agents::directories::Directories;
use hookhost_agents::{Adapter, all, by_name};
use hookhost_client::program;

/// Returns the agent of this name.
pub(crate) fn adapter(name: &str) -> Result<&'static Adapter, CliError> {
    by_name(name).ok_or_else(|| {
        let names = || all().iter().map(|adapter| adapter.agent().name);
        let advice = match nearest(name, names()) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("it knows {}", names().collect::<Vec<_>>().join(", ")),
        };
        CliError::usage(format!("hookhost knows no agent {name:?}: {advice}"))
    })
}

/// Runs the hook, and ends this process with the hook's exit code. The agent defines the meaning of this code, so it is not an [`Exit`].
pub(crate) fn run(args: &HookArgs) -> Result<Exit, CliError> {
    let code =
        program::run(adapter(&args.agent)?, args.point.as_deref(), args.on_failure.into(), Directories::default());
    std::process::exit(code.into())
}
