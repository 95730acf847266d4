//! `hookhost install`: puts the hook into the settings of agents.

use super::mcp;
use crate::agent_places::{AgentPlaces, adapters, is_second_way, names};
use crate::args::InstallArgs;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, difference, one_line,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::files::Lock;
use hookhost_agents::install::find;
use hookhost_agents::install::receipt::{Installation, Receipts};
use hookhost_agents::install::version::{self, VersionSupport};
use hookhost_agents::install::{self, FileChange};
use hookhost_agents::plan::{OnFailure, Plan, Scope};
use hookhost_agents::{Adapter, Covered};
use std::fmt::Write as _;

pub(crate) fn run(args: &InstallArgs) -> Result<Exit, CliError> {
    if !args.dry_run {
        inside_agent::refuse("changes the settings of agents")?;
    }
    if args.agents.is_empty() && !args.all {
        let stop = CliError::usage(format!("no agent is named; there are {}", names()));
        return Err(stop
            .advise("hookhost install AGENT")
            .advise("hookhost install --all, for each that is found here"));
    }
    let places = AgentPlaces::here()?;
    if args.mcp {
        return mcp::change_servers(&places, &adapters(&args.agents), args.scope.scope(), mcp::To::Proxy, args.dry_run);
    }
    let places = places.with_settings()?;
    places.check_program()?;
    let scope = args.scope.scope();
    let mut chosen = adapters(&args.agents);
    if args.all {
        chosen.retain(|adapter| {
            !is_second_way(adapter)
                && find::traces(adapter, &places.context(adapter.agent().name, scope), &places.path).any()
        });
    }
    if chosen.is_empty() {
        return Err(CliError::usage("no agent is found here, neither by a program on the PATH nor by a directory")
            .advise("hookhost install AGENT"));
    }
    let mut exit = Exit::Done;
    for adapter in chosen {
        if let Err(error) = install(&places, adapter, scope, args.dry_run) {
            // Continues with the other agents.
            error.print();
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn install(places: &AgentPlaces, adapter: &Adapter, scope: Scope, is_dry: bool) -> Result<(), CliError> {
    let agent = adapter.agent();
    let context = places.context(agent.name, scope);
    let plan = adapter.install(&context).map_err(|why| failed(adapter, &why))?;
    let program = find::traces(adapter, &context, &places.path).program;
    let version = program.as_deref().map(|program| version::ask(program, &places.path));
    // The lock ensures that only one process at a time reads and writes the settings files.
    let lock =
        if is_dry { None } else { Some(Lock::take(&places.directories.state).map_err(|error| anyhow!("{error}"))?) };
    let (of, receipts) =
        (Installation::new(agent.name, scope, &places.project), Receipts::of(&places.directories.state));
    let earlier = receipts.read(&of).map_err(|error| failed(adapter, &error))?;
    let changes = install::prepare(&plan, &of, adapter.json_dialect(), earlier.as_ref());
    let changes = changes.map_err(|error| failed(adapter, &error))?;
    let mut text = match &version {
        Some(Ok(version)) => format!("{NAME}{}{NAME:#} {}", agent.title, one_line(version)),
        _ => format!("{NAME}{}{NAME:#}", agent.title),
    };
    let _ = writeln!(text, " {DIM}({}){DIM:#}", scope.name());
    if is_dry {
        for change in changes.iter().filter(|change| change.is_needed()) {
            text.push_str(&unified(change));
        }
    } else {
        let version = version.clone().and_then(Result::ok);
        install::apply(&changes, &receipts, &of, version).map_err(|error| failed(adapter, &error))?;
    }
    drop(lock);
    changes.iter().for_each(|change| about_file(&mut text, change, is_dry));
    about_version(&mut text, adapter, version.as_ref());
    about_effect(&mut text, adapter, places.on_failure(agent.name));
    about_steps(&mut text, adapter, &plan);
    output::print(&text)
}

/// The error for an agent whose files stay unchanged.
pub(super) fn failed(adapter: &Adapter, error: &dyn std::fmt::Display) -> CliError {
    CliError::new(Exit::Failed, anyhow!("{}: {error}", adapter.agent().title))
}

fn unified(change: &FileChange) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let before = change.file.content.as_deref().map(text);
    difference::unified(&change.file.real.to_string_lossy(), before.as_deref(), Some(&text(&change.after)))
}

fn about_file(text: &mut String, change: &FileChange, is_dry: bool) {
    let shown = one_line(&change.file.named.to_string_lossy());
    let does = match (change.is_needed(), change.file.content.is_some(), is_dry) {
        (false, ..) => "as it is",
        (true, true, false) => "changed",
        (true, false, false) => "made",
        (true, true, true) => "to change",
        (true, false, true) => "to make",
    };
    let _ = writeln!(text, "  {GOOD}{does:9}{GOOD:#} {shown}");
    if change.file.is_linked {
        let real = one_line(&change.file.real.to_string_lossy());
        let _ = writeln!(text, "  {DIM}link     {DIM:#} it leads to {real}, which is the file that is written");
    }
}

fn about_version(text: &mut String, adapter: &Adapter, version: Option<&Result<String, String>>) {
    let agent = adapter.agent();
    let (oldest, newest) = agent.versions;
    let says = match version {
        // The agent is a service, so there is no program of it on this machine.
        None if agent.programs.is_empty() => return,
        None => format!("no program `{}` is on the PATH", agent.programs.join("` or `")),
        Some(Err(why)) => one_line(why),
        Some(Ok(version)) => match version::support(agent, version) {
            VersionSupport::Older => {
                format!("{} is older than {oldest}, the oldest that is known: update it", one_line(version))
            }
            VersionSupport::Newer => format!("{} is newer than {newest}, the newest tested version", one_line(version)),
            _ => return,
        },
    };
    let _ = writeln!(text, "  {WARNING}version  {WARNING:#} {says}");
}

/// Describes the effect of the hook on the agent's calls.
fn about_effect(text: &mut String, adapter: &Adapter, on_failure: OnFailure) {
    let agent = adapter.agent();
    let points = agent.points.iter().filter(|point| point.installed);
    let gates: Vec<_> = points.clone().filter(|point| point.abilities.rejects).map(|point| point.name).collect();
    let told: Vec<_> = points.filter(|point| !point.abilities.rejects).map(|point| point.name).collect();
    let mut row = |label: &str, value: &str| output::row(text, 9, label, value);
    row("can stop", &gates.join(", "));
    row("is told", &told.join(", "));
    for covered in [Covered::Gated, Covered::Observed, Covered::Blind] {
        let kinds = agent.coverage.iter().filter(|coverage| coverage.covered == covered);
        let kinds: Vec<_> = kinds.map(|coverage| with_note(coverage.tools, coverage.note)).collect();
        row(covered.name(), &kinds.join("; "));
    }
    agent.gaps.iter().for_each(|gap| row("gap", gap));
    let failure = match on_failure {
        OnFailure::Deny => "a call is denied if the hook gets no answer",
        OnFailure::Allow => {
            "the agent continues if the hook gets no answer: your hookhost.toml says `on-failure = \"allow\"`"
        }
    };
    row("failure", failure);
}

fn with_note(what: &str, note: &str) -> String {
    if note.is_empty() { what.to_owned() } else { format!("{what} ({note})") }
}

fn about_steps(text: &mut String, adapter: &Adapter, plan: &Plan) {
    for step in &plan.steps {
        let _ = writeln!(text, "  {WARNING}you       {step}{WARNING:#}");
    }
    let _ = writeln!(text, "  {DIM}next     {DIM:#} hookhost doctor {} --prove", adapter.agent().name);
}
