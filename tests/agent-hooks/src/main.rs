//! `agent-hooks --plugins DIRECTORY` runs the conformance vectors of AGENT-HOOKS-0.1 in both directions and prints the report,
//! by part. It ends with 1 where a vector fails.

use anyhow::{Context as _, Result, bail};
use hookhost_agent_hooks::report::{Count, markdown, total};
use hookhost_agent_hooks::vectors;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("agent-hooks: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flag, plugins] = &arguments[..] else { bail!("usage: agent-hooks --plugins DIRECTORY") };
    if flag != "--plugins" {
        bail!("usage: agent-hooks --plugins DIRECTORY");
    }
    let Some(vectors) = vectors::load()? else {
        println!(
            "the vectors are not here: they are published at {}; name their directory in {}",
            vectors::PUBLISHED,
            vectors::VARIABLE
        );
        println!("0 passed, 0 failed");
        return Ok(ExitCode::SUCCESS);
    };
    quiet_where_scripted();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime can be made")?;
    let directions = runtime.block_on(hookhost_agent_hooks::run(&vectors, Path::new(plugins)))?;
    print!("{}", markdown(&directions));
    let Count { passed, failed, skipped } = total(&directions);
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Keeps panics that a vector asks for off the terminal: its resolver and its identity provider fail that way.
fn quiet_where_scripted() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload_as_str().is_some_and(|text| text.contains("script")) {
            usual(panic);
        }
    }));
}
