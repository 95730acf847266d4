//! `hookhost-hook AGENT [POINT] [FLAGS]`: reads an agent's message and prints the reply. The flags are `--on-failure=deny|allow`
//! and the flags for [`Directories`]. The program itself reads no configuration and loads no plugins. The resident host does both.

use hookhost_agents::directories::Directories;
use hookhost_agents::plan::OnFailure;
use hookhost_agents::{Adapter, Reply, all, by_name};
use hookhost_client::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    program::survive_limits();
    program::watch_signals();
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let code = if arguments.iter().any(|argument| argument == "--version") {
        program::say(&Reply::text(format!("hookhost-hook {}\n", env!("CARGO_PKG_VERSION"))))
    } else {
        match Parsed::of(&arguments) {
            Ok(Parsed { adapter, point, on_failure, fixed }) => program::run(adapter, point, on_failure, fixed),
            Err(why) => program::say(&Reply::exit_2(&why)),
        }
    };
    ExitCode::from(code)
}

/// The parsed command line.
struct Parsed<'a> {
    adapter: &'static Adapter,
    point: Option<&'a str>,
    on_failure: OnFailure,
    fixed: Directories,
}

impl<'a> Parsed<'a> {
    fn of(arguments: &'a [String]) -> Result<Self, String> {
        let mut words = Vec::new();
        let mut on_failure = OnFailure::Deny;
        let mut fixed = Directories::default();
        for argument in arguments {
            match argument.as_str() {
                "--on-failure=allow" => on_failure = OnFailure::Allow,
                "--on-failure=deny" => on_failure = OnFailure::Deny,
                flag if fixed.take_flag(flag) => {}
                option if option.starts_with('-') => {
                    return Err(format!(
                        "hookhost-hook knows no option {option:?}: `hookhost install` writes the right command"
                    ));
                }
                word => words.push(word),
            }
        }
        let (agent, point) = match words.as_slice() {
            [agent] => (*agent, None),
            [agent, point] => (*agent, Some(*point)),
            _ => {
                return Err("usage: hookhost-hook AGENT [POINT] [--on-failure=deny|allow] [--config-dir=DIRECTORY …]"
                    .to_owned());
            }
        };
        let adapter = by_name(agent).ok_or_else(|| {
            let known: Vec<&str> = all().iter().map(|adapter| adapter.agent().name).collect();
            format!("hookhost knows no agent {agent:?}: it knows {}", known.join(", "))
        })?;
        Ok(Self { adapter, point, on_failure, fixed })
    }
}
