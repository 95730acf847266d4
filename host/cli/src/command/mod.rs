//! The commands, one file each. A command returns its exit code, or a [`CliError`] that contains the problem and a next step.

mod acp;
mod add;
mod agents;
mod allow;
mod allow_once;
mod approvals;
pub(crate) mod audit;
mod auth;
mod cache;
mod check;
mod dispatch;
mod doctor;
mod evidence;
pub(crate) mod exec;
mod external;
mod generated;
mod hook;
mod hook_entries;
mod hooks;
mod import;
mod inspect;
mod install;
mod leftovers;
mod mcp;
mod off;
mod on;
mod passkey;
mod profile;
mod record;
mod relayed;
mod repl;
mod replay;
mod report;
mod rule;
mod run;
mod serve;
mod session;
mod suggest;
mod table;
mod telemetry;
mod test;
mod tools;
mod trust;
mod ui;
mod uninstall;
mod update;
mod why;

use crate::args::{Cli, Command, McpCommand, SessionCommand};
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::output;
use std::future::Future;
use std::io::{self, IsTerminal as _};
use tokio::runtime::Builder;

/// Returns true if standard input and output are a terminal.
pub(crate) fn is_on_a_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(crate) fn run(cli: Cli) -> Result<Exit, CliError> {
    let Some(command) = cli.command else { return wait_for(repl::run(&cli.repl)) };
    match command {
        Command::Run(args) => wait_for(run::run(&args)),
        Command::Session(args) => match args.command {
            SessionCommand::List(args) => session::list(&args),
            SessionCommand::Show(args) => session::show(&args),
            SessionCommand::Resume(args) => wait_for(run::resume(&args)),
            SessionCommand::Remove(args) => session::remove(&args),
            SessionCommand::Labels(args) => wait_here_for(session::labels::run(&args)),
            SessionCommand::Unlabel(args) => wait_here_for(session::unlabel::run(&args)),
        },
        Command::Allow(args) => wait_for(allow::run(&args)),
        Command::Add(args) => wait_for(add::run(&args)),
        Command::Profile(args) => wait_for(profile::run(&args)),
        Command::Trust(args) => wait_for(trust::run(&args)),
        Command::On(args) => wait_for(on::run(&args)),
        Command::Off(args) => wait_for(off::run(&args)),
        Command::Check(args) => wait_for(check::run(&args)),
        Command::Install(args) => install::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Ui(args) => ui::run(&args),
        // `main` runs it, because its exit code is that of the program.
        Command::Exec(_) => Ok(Exit::Usage),
        Command::Agents(args) => agents::run(&args),
        Command::Inspect(args) => wait_for(inspect::run(&args)),
        Command::Hooks(args) => wait_for(hooks::run(&args)),
        Command::Auth(args) => auth::run(&args),
        Command::Tools(args) => wait_for(tools::run(&args)),
        Command::Dispatch(args) => wait_here_for(dispatch::run(&args)),
        Command::Hook(args) => hook::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Mcp(args) => match &args.command {
            Some(McpCommand::Approve(args)) => mcp::approve(args),
            Some(McpCommand::List { server, json }) => mcp::list(server.as_deref(), *json),
            Some(McpCommand::Init { server }) => mcp::init(server),
            Some(McpCommand::Check) => mcp::check(),
            Some(McpCommand::Interceptor(args)) => wait_for(mcp::interceptor(args)),
            None => wait_here_for(mcp::proxy(&args)),
        },
        Command::Acp(args) => wait_here_for(acp::proxy(&args)),
        Command::AllowOnce(args) => wait_here_for(allow_once::run(&args)),
        Command::Passkey(args) => wait_here_for(passkey::run(&args)),
        Command::Approvals(args) => wait_here_for(approvals::run(&args)),
        Command::Audit(args) => wait_for(audit::run(&args.command)),
        Command::Report(args) => report::run(&args),
        Command::Evidence(args) => evidence::run(&args),
        Command::Why(args) => wait_for(why::run(&args)),
        Command::Test(args) => wait_for(test::run(&args)),
        Command::Record(args) => record::run(&args),
        Command::Replay(args) => wait_for(replay::run(&args)),
        Command::Telemetry(args) => telemetry::run(&args),
        Command::Update(args) => update::run(&args),
        Command::Cache(args) => cache::run(&args),
        Command::Rule(args) => wait_for(rule::run(&args)),
        Command::Import(args) => wait_for(import::run(&args)),
        Command::Suggest(args) => wait_for(suggest::run(&args)),
        Command::Completions(args) => generated::completions(&args),
        Command::Man(args) => generated::man(&args),
        Command::External(words) => external::run(&words),
    }
}

/// Returns the names of the external subcommands, one per line. An external subcommand is a program of the user that `hookhost NAME` starts.
/// The text is empty if there are no such programs.
pub(crate) fn programs() -> String {
    external::names().iter().map(|name| format!("  {}\n", output::one_line(name))).collect()
}

/// Runs a command that sends events to plugins, on a runtime with two worker threads.
fn wait_for<F: Future<Output = Result<Exit, CliError>>>(command: F) -> Result<Exit, CliError> {
    wait(Builder::new_multi_thread().worker_threads(2), command)
}

/// Runs a command for a single event on the current thread, because starting worker threads would take longer than the event.
fn wait_here_for<F: Future<Output = Result<Exit, CliError>>>(command: F) -> Result<Exit, CliError> {
    wait(&mut Builder::new_current_thread(), command)
}

fn wait<F: Future<Output = Result<Exit, CliError>>>(runtime: &mut Builder, command: F) -> Result<Exit, CliError> {
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::anyhow!("the asynchronous runtime cannot be started: {error}"))?;
    let ended = runtime.block_on(command);
    // This does not wait for tasks, because a task that waits for a terminal or a connection would keep the process alive.
    runtime.shutdown_background();
    // Processes that the command started must not outlive it.
    interrupt::kill_started();
    ended
}
