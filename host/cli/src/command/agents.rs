//! `hookhost agents`: the agents on this machine.

use super::doctor::{self, LastEvents};
use crate::agent_places::{AgentPlaces, NO_AGENT};
use crate::args::AgentsArgs;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, GOOD, NAME, WARNING},
    time,
};
use hookhost_agents::install::doctor::Diagnosis;
use hookhost_agents::install::prove::Proof;
use hookhost_agents::{Agent, Covered, canary};
use serde_json::{Value, json};

/// An agent on this machine.
struct InstalledAgent {
    agent: &'static Agent,
    diagnosis: Diagnosis,
    proof: Option<Proof>,
    /// True if the agent's hook is a command that hookhost can run without the agent, for `doctor --prove`.
    can_be_proven: bool,
}

pub(crate) fn run(args: &AgentsArgs) -> Result<Exit, CliError> {
    let places = AgentPlaces::here()?;
    let events = LastEvents::read();
    let found = doctor::diagnoses(&places, &args.agents).into_iter().map(|(adapter, mut diagnosis)| {
        let agent = adapter.agent();
        let proof = doctor::newest_proof(&places, agent.name, &mut diagnosis);
        let can_be_proven = adapter.canary(canary::DENIED, &places.project).is_some();
        InstalledAgent { agent, diagnosis, proof, can_be_proven }
    });
    let found: Vec<_> = found.collect();
    if args.json {
        let agents: Vec<_> = found.iter().map(|found| as_json(found, &events)).collect();
        output::print_json(&json!({ "agents": agents }))?;
    } else if found.is_empty() {
        output::print(NO_AGENT)?;
    } else {
        output::print(&found.iter().map(|found| as_text(found, &events)).collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// The agent's tools that plugins do not see.
fn blind(agent: &Agent) -> Vec<&'static str> {
    let blind = agent.coverage.iter().filter(|coverage| coverage.covered == Covered::Blind);
    blind.map(|coverage| coverage.tools).collect()
}

fn as_text(found: &InstalledAgent, events: &LastEvents) -> String {
    let InstalledAgent { agent, diagnosis, proof, can_be_proven } = found;
    let Diagnosis { traces, installed, .. } = diagnosis;
    let place = traces.program.as_ref().or_else(|| traces.directories.first());
    let place = place.map(|place| one_line(&place.to_string_lossy())).unwrap_or_default();
    let mut text = format!("{NAME}{}{NAME:#} {DIM}{place}{DIM:#}\n", agent.name);
    let mut row = |label: &str, value: &str| output::row(&mut text, 10, label, value);
    let scopes: Vec<_> = installed.iter().map(|installed| installed.scope.name()).collect();
    row(
        "installed",
        &if scopes.is_empty() {
            format!("{WARNING}no{WARNING:#}")
        } else {
            format!("{GOOD}{}{GOOD:#}", scopes.join(", "))
        },
    );
    let (proven, is_proven) = match proof.as_ref().map(|proof| (proof, time::utc(proof.time), proof.outdated())) {
        None if !can_be_proven => ("not without the agent: its hook is not a command".to_owned(), true),
        None => ("never".to_owned(), false),
        Some((proof, when, _)) if !proof.holds() => (format!("{WARNING}failed{WARNING:#} {when}"), false),
        Some((_, when, Some(why))) => (format!("{when}, {WARNING}{}{WARNING:#}", one_line(&why)), false),
        Some((_, when, None)) if !diagnosis.is_well() => {
            (format!("{when}, {WARNING}and the agent does not reach it{WARNING:#}"), false)
        }
        Some((_, when, None)) => (when, true),
    };
    row("proven", &proven);
    row(
        "last event",
        &events
            .of(agent.name)
            .map_or_else(|| "none".to_owned(), |last| format!("{} {}", time::utc(last.time), last.event)),
    );
    let blind = blind(agent);
    row("blind", &if blind.is_empty() { "no known tools".to_owned() } else { blind.join("; ") });
    let Agent { name, title, .. } = agent;
    let problem = diagnosis.problem().filter(|_| !installed.is_empty());
    if installed.is_empty() {
        row("next", &format!("hookhost install {name}"));
    } else if let Some(problem) = problem.filter(|problem| problem.about != "proof") {
        row("problem", &format!("{WARNING}{}{WARNING:#}", one_line(&problem.says)));
        row("next", &format!("hookhost doctor {name}"));
    } else if !is_proven {
        row("next", &format!("hookhost doctor {name} --prove"));
    } else if events.of(name).is_none() {
        // The hook is installed, but perhaps the agent does not call it yet, for example because the user has not trusted it.
        row("next", &format!("use {title}, then: hookhost doctor {name}"));
    }
    text
}

fn as_json(found: &InstalledAgent, events: &LastEvents) -> Value {
    let InstalledAgent { agent, diagnosis, proof, .. } = found;
    let Diagnosis { traces, installed, .. } = diagnosis;
    let holds = |proof: &&Proof| proof.holds() && proof.outdated().is_none() && diagnosis.is_well();
    json!({
        "agent": agent.name,
        "title": agent.title,
        "program": traces.program,
        "directories": traces.directories,
        "installed": installed.iter().map(|installed| installed.scope.name()).collect::<Vec<_>>(),
        "proven": proof.as_ref().filter(holds).map(|proof| proof.time),
        "problem": diagnosis.problem().map(|problem| &problem.says),
        "last-proof": proof,
        "last-event": events.of(agent.name).map(|last| json!({ "event": last.event.name(), "time": last.time })),
        "blind": blind(agent),
    })
}
