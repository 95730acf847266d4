//! The commands, a file each. A command returns how it ended, or a [`Stop`] with what went wrong and what helps.

mod allow;
mod audit;
mod auth;
mod cache;
mod dispatch;
mod external;
mod hooks;
mod inspect;
mod replay;
mod run;
mod tools;
mod trust;

use crate::args::Command;
use crate::exit::{Exit, Stop};
use std::future::Future;

pub(crate) fn run(command: Command) -> Result<Exit, Stop> {
    match command {
        Command::Run(args) => wait_for(run::run(&args)),
        Command::Allow(args) => wait_for(allow::run(&args)),
        Command::Trust(args) => trust::run(&args),
        Command::Inspect(args) => wait_for(inspect::run(&args)),
        Command::Hooks(args) => wait_for(hooks::run(&args)),
        Command::Auth(args) => auth::run(&args),
        Command::Tools(args) => wait_for(tools::run(&args)),
        Command::Dispatch(args) => wait_for(dispatch::run(&args)),
        Command::Audit(args) => wait_for(audit::run(&args.command)),
        Command::Replay(args) => wait_for(replay::run(&args)),
        Command::Cache(args) => cache::run(&args),
        Command::External(words) => external::run(&words),
    }
}

/// Runs a command that asks plugins.
fn wait_for<F: Future<Output = Result<Exit, Stop>>>(command: F) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::anyhow!("the asynchronous runtime cannot be started: {error}"))?;
    let ended = runtime.block_on(command);
    // Whatever still waits for a terminal or a connection must not keep the process.
    runtime.shutdown_background();
    ended
}
