//! `hookhost hook`: what the small program `hookhost-hook` does; and, for that program, a call settled in this process.

use crate::args::HookArgs;
use crate::directory_rules::UserConfigurations;
use crate::exit::{CliError, Exit};
use crate::{configuration, loading};
use anyhow::anyhow;
use hookhost_adapters::json::MAX_BYTES;
use hookhost_adapters::message::VARIABLES;
use hookhost_adapters::{Adapter, Message, all, by_name};
use hookhost_hook::frame::Response;
use hookhost_hook::place::Place;
use hookhost_hook::program;
use hookhost_server::{Claims, Settler};
use std::io::{self, Read as _, Write as _};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use strsim::jaro_winkler;

/// Calls at once: plugins are asked one after another, and beside them an observer may run.
const AT_ONCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// How long observers may work after the reply.
const FOR_OBSERVERS: Duration = Duration::from_secs(2);

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
    let code = program::run(adapter(&args.agent)?, args.point.as_deref(), args.on_failure.into());
    std::process::exit(code.into())
}

/// Settles the message in this process. What is printed are frames: the hook that has started it reads them.
pub(crate) async fn alone(args: &HookArgs) -> Result<Exit, CliError> {
    if let Err(stop) = settle(args).await {
        say(&Response::Refused(stop.message()))?;
    }
    Ok(Exit::Done)
}

async fn settle(args: &HookArgs) -> Result<(), CliError> {
    let adapter = adapter(&args.agent)?;
    let directory = configuration::cwd()?;
    let mut message = Vec::new();
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    io::stdin().take(most).read_to_end(&mut message).map_err(|error| anyhow!("the message did not come: {error}"))?;
    let variables: Vec<_> =
        VARIABLES.iter().filter_map(|&name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
    let host = loading::shared_host(configuration::find(None, &directory)?.config).await?;
    let claims = Claims::new(Place::below(&configuration::places()?.state).claims(), None);
    let rules = UserConfigurations::at_once(AT_ONCE);
    let settler = Settler::new(host.clone(), Arc::new(rules)).beside_others(claims);
    let mut sent = Message::new(&message, &directory);
    sent.point = args.point.as_deref();
    sent.variables = &variables;
    let waits = |seconds| {
        // The hook that reads it may have gone: then nobody waits for the answer either.
        let _ = say(&Response::Waiting { seconds });
    };
    let reply = settler.reply(adapter, &sent, &waits).await;
    let (exit, stdout, stderr) = (reply.exit, reply.stdout.into_bytes(), reply.stderr.into_bytes());
    // Before the agent knows the outcome, so that whatever ends this process then loses nothing. What cannot be written is
    // said on the way; a call is not allowed then.
    let _ = host.flush().await;
    say(&Response::Reply { exit, stdout, stderr })?;
    drop(settler);
    let _ = host.drain(FOR_OBSERVERS).await;
    Ok(())
}

fn say(response: &Response) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let said = stdout.write_all(&response.to_frame()).and_then(|()| stdout.flush());
    said.map_err(|error| anyhow!("the reply cannot be printed: {error}").into())
}
