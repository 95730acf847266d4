//! `hookhost-settle AGENT [POINT]`: an agent's message on the standard input, frames of the hook's protocol on the standard
//! output. Without a frame it has settled nothing, and `hookhost-hook` has `hookhost` settle the event.

use hookhost_adapters::by_name;
use hookhost_hook::program;
use hookhost_settle::cached;
use std::process::ExitCode;

fn main() -> ExitCode {
    program::survive_limits();
    keep_to_ourselves();
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match settle(&words) {
        // At once: what this process has mapped and opened, the system gives back faster.
        Ok(()) => std::process::exit(0),
        Err(why) => {
            eprintln!("hookhost-settle leaves it to hookhost: {why}");
            ExitCode::FAILURE
        }
    }
}

fn settle(words: &[String]) -> Result<(), String> {
    if words == ["--version"] {
        println!("hookhost-settle {}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let (agent, point) = match words {
        [agent] => (agent, None),
        [agent, point] => (agent, Some(point.as_str())),
        _ => return Err("usage: hookhost-settle AGENT [POINT]".to_owned()),
    };
    let adapter = by_name(agent).ok_or_else(|| format!("it knows no agent {agent:?}"))?;
    // The system's list of users would be asked, which a program without the dynamic loader does not do dependably.
    if std::env::var_os("HOME").is_none_or(|home| home.is_empty()) {
        return Err("HOME is not set".to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let settled = runtime.block_on(cached::settle(adapter, point)).map_err(|why| why.to_string());
    runtime.shutdown_background();
    settled
}

/// What this process has in its memory is not for others: `hookhost` does the same.
fn keep_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
