//! `hookhost install`: puts the hook into the settings of agents.

use super::hook_entries::{self, PutIn};
use super::mcp;
use crate::agent_places::{AgentPlaces, NO_AGENT, adapters, is_second_way, names};
use crate::args::InstallArgs;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, one_line,
    style::{DIM, GOOD, NAME, WARNING},
    wrap::wrapped,
};
use hookhost_agents::Adapter;
use hookhost_agents::install::FileChange;
use hookhost_agents::install::find;
use hookhost_agents::install::version::{self, VersionSupport};
use hookhost_agents::plan::{OnFailure, Plan, Scope};
use std::fmt::Write as _;

pub(crate) fn run(args: &InstallArgs) -> Result<Exit, CliError> {
    if !args.dry_run {
        inside_agent::refuse("changes the settings of agents")?;
    }
    if args.agents.is_empty() && !args.all {
        let stop = CliError::usage(format!("name an agent; hookhost knows {}", names()));
        return Err(stop.advise("hookhost install --all, for each agent on this machine"));
    }
    let places = AgentPlaces::here()?;
    if args.mcp {
        return mcp::change_servers(&places, &adapters(&args.agents), args.scope.scope(), mcp::To::Proxy, args.dry_run);
    }
    let places = places.with_settings()?;
    let scope = args.scope.scope();
    places.check_program(scope)?;
    let mut chosen = adapters(&args.agents);
    if args.all {
        chosen.retain(|adapter| {
            !is_second_way(adapter)
                && find::traces(adapter, &places.context(adapter.agent().name, scope), &places.path).any()
        });
    }
    if chosen.is_empty() {
        return Err(
            CliError::usage(NO_AGENT).advise("hookhost install AGENT, to prepare for an agent that comes later")
        );
    }
    let mut exit = Exit::Done;
    for adapter in chosen {
        if let Err(error) = install(&places, adapter, scope, args) {
            // Continues with the other agents.
            error.print();
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn install(places: &AgentPlaces, adapter: &Adapter, scope: Scope, args: &InstallArgs) -> Result<(), CliError> {
    let is_dry = args.dry_run;
    let agent = adapter.agent();
    let context = places.context(agent.name, scope);
    let program = find::traces(adapter, &context, &places.path).program;
    let version = program.as_deref().map(|program| version::ask(program, &places.path));
    let known = version.clone().and_then(Result::ok);
    let PutIn { plan, changes } = hook_entries::put_in(places, adapter, scope, known, is_dry)?;
    let mut text = match &version {
        Some(Ok(version)) => format!("{NAME}{}{NAME:#} {}", agent.title, one_line(version)),
        _ => format!("{NAME}{}{NAME:#}", agent.title),
    };
    let _ = writeln!(text, " {DIM}({}){DIM:#}", scope.whose());
    if is_dry {
        changes.iter().for_each(|change| text.push_str(&hook_entries::unified(change)));
    }
    changes.iter().for_each(|change| about_file(&mut text, change, is_dry));
    about_version(&mut text, adapter, version.as_ref());
    about_effect(&mut text, adapter, places.on_failure(agent.name), args.verbose);
    about_steps(&mut text, adapter, &plan);
    output::print(&text)
}

fn about_file(text: &mut String, change: &FileChange, is_dry: bool) {
    let shown = one_line(&change.file.named.to_string_lossy());
    let does = match (change.is_needed(), change.file.content.is_some(), is_dry) {
        (false, ..) => "unchanged",
        (true, true, false) => "changed",
        (true, false, false) => "created",
        (true, true, true) => "would change",
        (true, false, true) => "would create",
    };
    let _ = writeln!(text, "  {GOOD}{does}{GOOD:#} {shown}");
    if change.file.is_linked {
        let real = one_line(&change.file.real.to_string_lossy());
        let _ = writeln!(text, "  {DIM}(a link to {real}, the file that is written){DIM:#}");
    }
}

fn about_version(text: &mut String, adapter: &Adapter, version: Option<&Result<String, String>>) {
    let agent = adapter.agent();
    let (title, (oldest, newest)) = (agent.title, agent.versions);
    let says = match version {
        // The agent is a service, so there is no program of it on this machine.
        None if agent.programs.is_empty() => return,
        None => {
            let programs = agent.programs.join("` or `");
            format!("{title} is not on this machine yet: no program `{programs}` is on the PATH.")
        }
        Some(Err(why)) => format!("The version of {title} is unknown: {why}."),
        Some(Ok(version)) => match version::support(agent, version) {
            VersionSupport::Older => {
                format!("{title} {version} is older than {oldest}, the oldest supported version: update it.")
            }
            VersionSupport::Newer => {
                format!("{title} {version} is newer than {newest}, the newest version that hookhost was tested with.")
            }
            _ => return,
        },
    };
    warning(text, &says);
}

fn warning(text: &mut String, sentence: &str) {
    let _ = writeln!(text, "  {WARNING}{}{WARNING:#}", wrapped(&one_line(sentence), 2));
}

/// Describes the effect of the hook on the agent's calls.
fn about_effect(text: &mut String, adapter: &Adapter, on_failure: OnFailure, is_verbose: bool) {
    let agent = adapter.agent();
    agent.coverage_sentences(is_verbose).iter().for_each(|sentence| output::sentence(text, sentence));
    match on_failure {
        OnFailure::Allow => warning(
            text,
            "If hookhost does not answer, the call runs, because your hookhost.toml says `on-failure = \"allow\"`.",
        ),
        OnFailure::Deny if is_verbose => output::sentence(text, "If hookhost does not answer, the call is denied."),
        OnFailure::Deny => {}
    }
    if !is_verbose {
        return;
    }
    for gap in agent.gaps {
        output::sentence(text, &format!("Limit: {gap}."));
    }
    let points = |stops: bool| {
        let points = agent.installed().filter(|point| point.abilities.rejects == stops);
        points.map(|point| point.name).collect::<Vec<_>>().join(", ")
    };
    for (label, points) in [("can stop at", points(true)), ("only reports", points(false))] {
        if !points.is_empty() {
            let _ = writeln!(text, "  {DIM}{label:12}{DIM:#} {}", wrapped(&points, 15));
        }
    }
}

fn about_steps(text: &mut String, adapter: &Adapter, plan: &Plan) {
    for step in &plan.steps {
        let _ = writeln!(text, "  {WARNING}you:{WARNING:#} {}", wrapped(&one_line(step), 7));
    }
    output::next_step(text, &format!("hookhost doctor {} --prove", adapter.agent().name));
}
