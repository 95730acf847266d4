//! The `hookhost` command: a thin shell over the engine and the agent. Each subcommand is a file of `command`.

mod args;
mod audit_log;
mod command;
mod configuration;
mod exit;
mod interrupt;
mod loading;
mod output;
mod terminal_approver;
mod toolbox;
mod warnings;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::typed();
    warnings::say();
    match command::run(cli) {
        Ok(exit) => exit.into(),
        Err(stop) => {
            stop.print();
            stop.exit.into()
        }
    }
}
