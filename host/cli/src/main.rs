//! The `hookhost` command, a thin layer over the engine and the agent. Each subcommand has a file in the module `command`.

mod agent_places;
mod agents_section;
mod args;
mod audit_log;
mod bundled;
mod checked_rows;
mod command;
mod configuration;
mod directory_rules;
mod evidence_section;
mod exit;
mod inside_agent;
mod installation;
mod interrupt;
mod loading;
mod log_upkeep;
mod nearest;
mod output;
mod profile;
mod proposals;
mod ready;
mod rows;
mod sandbox;
mod telemetry;
mod terminal_approver;
mod toolbox;
mod warnings;

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// This replaces the C library's allocator. With the C library's allocator, threads wait for each other when one thread frees memory that
/// another thread has allocated.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    if let Some(exit) = hookhost_exec::helper_exit() {
        return exit;
    }
    hookhost_client::program::survive_limits();
    if std::env::args_os().nth(1).is_some_and(|command| command == "hook") {
        // Signals are handled as early as possible, so that a hook that receives a signal denies the call before it ends.
        hookhost_client::program::watch_signals();
    }
    keep_to_ourselves();
    let cli = args::Cli::typed();
    warnings::say();
    let ended = match &cli.command {
        Some(args::Command::Exec(args)) => command::exec::run(args),
        _ => command::run(cli).map(ExitCode::from),
    };
    ended.unwrap_or_else(|stop| {
        stop.print();
        stop.exit.into()
    })
}

/// Protects the keys in this process's environment and memory. On Linux, a child process of the same user can no longer read them through
/// `/proc/PID/environ`, `/proc/PID/mem` or `ptrace`, unless that user is root. There is no core dump either. Programs that this process
/// executes are not affected.
fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // An error is ignored. The call does not fail on Linux, and in any case plugins decide which programs the agent may run.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
