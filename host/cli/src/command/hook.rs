//! `hookhost hook`: what the small program `hookhost-hook` does; and, for that program, a call settled in this process.

use crate::args::HookArgs;
use crate::directory_rules::UserConfigurations;
use crate::exit::{CliError, Exit};
use crate::{configuration, loading};
use anyhow::anyhow;
use hookhost_adapters::directories::Directories;
use hookhost_adapters::{Adapter, all, by_name};
use hookhost_hook::frame::Response;
use hookhost_hook::place::Place;
use hookhost_hook::program;
use hookhost_server::{Claims, Settler};
use hookhost_settle::asked::{self, AT_ONCE, Asked};
use std::sync::Arc;
use strsim::jaro_winkler;

/// How alike two names are that may mean the same.
const LIKE: f64 = 0.8;

/// The agent of this name.
pub(crate) fn adapter(name: &str) -> Result<&'static dyn Adapter, CliError> {
    by_name(name).ok_or_else(|| {
        let names = || all().iter().map(|adapter| adapter.agent().name);
        let likeness = |known: &&str| jaro_winkler(name, known);
        let nearest = names().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|known| likeness(known) > LIKE);
        let advice = match nearest {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("it knows {}", names().collect::<Vec<_>>().join(", ")),
        };
        CliError::usage(format!("hookhost knows no agent {name:?}: {advice}"))
    })
}

/// Ends this process with the hook's exit code, which is the agent's language, and not one of [`Exit`].
pub(crate) fn run(args: &HookArgs) -> Result<Exit, CliError> {
    let code =
        program::run(adapter(&args.agent)?, args.point.as_deref(), args.on_failure.into(), Directories::default());
    std::process::exit(code.into())
}

/// Settles the message in this process. What is printed are frames: the hook that has started it reads them.
pub(crate) async fn alone(args: &HookArgs) -> Result<Exit, CliError> {
    if let Err(stop) = settle(args).await {
        asked::say(&Response::Refused(stop.message())).map_err(|error| unsaid(&error))?;
    }
    Ok(Exit::Done)
}

async fn settle(args: &HookArgs) -> Result<(), CliError> {
    let directory = configuration::cwd()?;
    let asked = Asked::read(adapter(&args.agent)?, args.point.as_deref(), directory.clone());
    let asked = asked.map_err(|error| anyhow!("the message did not come: {error}"))?;
    let host = loading::shared_host(configuration::find(None, &directory)?.config).await?;
    let claims = Claims::new(Place::below(&configuration::places()?.state).claims(), None);
    let rules = UserConfigurations::at_once(AT_ONCE);
    let settler = Settler::new(host, Arc::new(rules)).beside_others(claims);
    asked.settle(settler).await.map_err(|error| unsaid(&error))
}

fn unsaid(error: &std::io::Error) -> CliError {
    anyhow!("the reply cannot be printed: {error}").into()
}
