//! The `hookhost` command: a thin shell over the engine and the agent. Each subcommand is a file of `command`.

mod agent_places;
mod agents_section;
mod args;
mod audit_log;
mod command;
mod configuration;
mod directory_rules;
mod exit;
mod inside_agent;
mod interrupt;
mod loading;
mod nearest;
mod output;
mod terminal_approver;
mod toolbox;
mod warnings;

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// The threads of the C library's allocator wait for each other where one frees what another has allocated.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    hookhost_hook::program::survive_limits();
    if std::env::args_os().nth(1).is_some_and(|command| command == "hook") {
        // At once: a hook answers no to a signal, and does not just end.
        hookhost_hook::program::watch_signals();
    }
    keep_to_ourselves();
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

/// This process holds keys, in its environment and in its memory. What it starts runs as the same user, and could read both
/// (`/proc/PID/environ`, `/proc/PID/mem`, `ptrace`): on Linux it cannot any more, unless that user is root. There is no core
/// dump either. A program that this one becomes or starts is as it always was.
fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It fails on no Linux; what the agent may run is still for plugins to say.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
