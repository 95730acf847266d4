//! `hookhost agents`: the agents on this machine.

use super::doctor::{self, LastEvents};
use crate::agent_places::{AgentPlaces, no_agent};
use crate::args::AgentsArgs;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, GOOD, NAME, WARNING},
    time,
};
use hookhost_agents::install::check::{Check, CheckState};
use hookhost_agents::install::doctor::Diagnosis;
use hookhost_agents::install::prove::Proof;
use hookhost_agents::{Agent, Covered, canary};
use serde_json::{Value, json};

/// Width of the labels.
const LABEL: usize = 9;

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
        output::print(&no_agent())?;
    } else {
        output::print(&found.iter().map(|found| as_text(found, &events, args.verbose)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Done)
}

/// The tools before which the agent does not ask hookhost.
fn unseen(agent: &Agent) -> Vec<&'static str> {
    let unseen = agent.coverage.iter().filter(|coverage| coverage.covered == Covered::Blind);
    unseen.map(|coverage| coverage.tools).collect()
}

fn as_text(found: &InstalledAgent, events: &LastEvents, is_verbose: bool) -> String {
    let InstalledAgent { agent, diagnosis, proof, can_be_proven } = found;
    let Diagnosis { traces, version, installed, .. } = diagnosis;
    let Agent { name, title, .. } = agent;
    let version = version.as_deref().map(|version| format!(" {}", one_line(version))).unwrap_or_default();
    let mut text = format!("{NAME}{title}{NAME:#}{version} {DIM}({name}){DIM:#}\n");
    let mut row = |label: &str, value: &str| output::row(&mut text, LABEL, label, value);
    if is_verbose {
        let place = traces.program.as_ref().or_else(|| traces.directories.first());
        row("place", &place.map(|place| one_line(&place.to_string_lossy())).unwrap_or_default());
    }
    let is_entry = |check: &Check| check.about == "entry" && check.state == CheckState::Ok;
    let has_plugin = installed.is_empty() && diagnosis.checks.iter().any(is_entry);
    let scopes: Vec<_> = installed.iter().map(|installed| installed.scope.whose()).collect();
    row(
        "hook",
        &if has_plugin {
            format!("{GOOD}in its plugin{GOOD:#}")
        } else if scopes.is_empty() {
            format!("{WARNING}not installed{WARNING:#}")
        } else {
            format!("{GOOD}in {}{GOOD:#}", scopes.join(" and "))
        },
    );
    let (tested, is_proven) = match proof.as_ref().map(|proof| (proof, time::minute(proof.time), proof.outdated())) {
        None if !can_be_proven => (format!("only by {title} itself, because it runs the hook itself"), true),
        None => ("never".to_owned(), false),
        Some((proof, when, _)) if !proof.holds() => (format!("{WARNING}failed{WARNING:#} on {when}"), false),
        Some((_, when, Some(why))) => (format!("on {when}, {WARNING}{}{WARNING:#}", one_line(&why)), false),
        Some((_, when, None)) if !diagnosis.is_well() => {
            (format!("on {when}: it denied a forbidden call, {WARNING}but there is a problem{WARNING:#}"), false)
        }
        Some((_, when, None)) => (format!("on {when}: it denied a forbidden call"), true),
    };
    if !installed.is_empty() {
        row("tested", &tested);
    }
    let last = events.of(name).map(|last| format!("{} ({})", time::minute(last.time), last.event));
    row("last call", &last.unwrap_or_else(|| "none yet".to_owned()));
    if is_verbose {
        agent.coverage_sentences(true).iter().for_each(|sentence| output::sentence(&mut text, sentence));
        agent.gaps.iter().for_each(|gap| output::sentence(&mut text, &format!("Limit: {gap}.")));
    } else if let Some(sentence) = agent.coverage_sentence(Covered::Blind, false).filter(|_| !installed.is_empty()) {
        output::sentence(&mut text, &sentence);
    }
    let problem = diagnosis.problem().filter(|_| !installed.is_empty());
    if installed.is_empty() && !has_plugin {
        output::next_step(&mut text, &format!("hookhost on --agent {name}"));
    } else if let Some(problem) = problem.filter(|problem| problem.about != "proof") {
        let says = one_line(&problem.says);
        output::row(&mut text, LABEL, "problem", &format!("{WARNING}{says}{WARNING:#}"));
        output::next_step(&mut text, &format!("hookhost doctor {name}"));
    } else if !is_proven {
        output::next_step(&mut text, &format!("hookhost doctor {name} --prove"));
    } else if events.of(name).is_none() {
        // The hook is installed, but perhaps the agent does not call it yet, for example because the user has not trusted it.
        output::next_step(&mut text, &format!("use {title}, then run: hookhost doctor {name}"));
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
        "unseen": unseen(agent),
    })
}
