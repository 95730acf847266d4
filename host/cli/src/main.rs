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

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    warnings::say();
    match command::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(stop) => {
            stop.print();
            stop.exit.into()
        }
    }
}
