//! `hookhost doctor`: checks that an agent's hook is installed, that the agent calls it and that it can deny a call. Also shows the rules
//! in force.

mod agent_run;
mod evidence;
mod host;
mod last_event;
mod log;
mod passkeys;
mod rules;
mod second_line;
mod sinks;
mod words;

pub(super) use host::status as host_status;
pub(super) use last_event::LastEvents;
pub(super) use log::check as log_check;

use crate::agent_places::{AgentPlaces, adapters, is_second_way, no_agent};
use crate::args::DoctorArgs;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{ADVICE, DIM, ERROR, GOOD, NAME, WARNING},
    time,
    wrap::wrapped,
};
use hookhost_agents::install::check::{Check, CheckState};
use hookhost_agents::install::doctor::{self, Diagnosis, Selection};
use hookhost_agents::install::prove::{self, Proof, Proofs};
use hookhost_agents::plan::Scope;
use hookhost_agents::{Adapter, canary};
use hookhost_telemetry::Environment;
use second_line::SecondLine;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::thread;

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let places = AgentPlaces::here()?;
    let mut examined = Vec::new();
    for (adapter, mut diagnosis) in diagnoses(&places, args.agent.as_slice()) {
        let proof = proof(args, &places, adapter, &mut diagnosis);
        examined.push((adapter, diagnosis, proof));
    }
    // The events are read last, because a proof can make the agent call its hook.
    let events = LastEvents::read();
    let second_line = SecondLine::examine(&places);
    let running = host::status(&places.directories);
    let shows_all = args.verbose || args.json;
    let rules = rules::check(running.as_ref().ok(), shows_all);
    let mut common = vec![host::check(&running), log::check(&places.directories), rules];
    common.extend(rules::enforcement(&places.directories));
    common.extend(rules::switched_off(&places.directories));
    common.extend(log_reader_checks(&Environment::of_process()));
    common.extend(left_out(&places));
    let mut objects = Vec::new();
    let mut text = String::new();
    let mut is_well = common.iter().all(|check| check.state != CheckState::Problem);
    for (adapter, mut diagnosis, proof) in examined {
        diagnosis.checks.push(events.check(adapter.agent()));
        if !diagnosis.installed.is_empty() {
            diagnosis.checks.push(second_line.check(adapter.agent(), &events));
        }
        is_well &= diagnosis.is_well();
        objects.push(as_json(adapter, &diagnosis, proof.as_ref()));
        if args.verbose {
            let _ = writeln!(text, "{NAME}{}{NAME:#}", adapter.agent().title);
            diagnosis.checks.iter().for_each(|check| line(&mut text, check));
        } else {
            text.push_str(&words::about_agent(adapter.agent(), &diagnosis));
        }
        text.push('\n');
    }
    if args.json {
        output::print_json(&json!({ "agents": objects, "checks": common }))?;
    } else {
        if objects.is_empty() {
            text.push_str(&no_agent());
            text.push('\n');
        }
        let mut of_host = String::new();
        if args.verbose {
            let _ = writeln!(of_host, "{NAME}hookhost{NAME:#}");
            common.iter().for_each(|check| line(&mut of_host, check));
        } else {
            of_host.push_str(&words::about_hookhost(&common));
        }
        // A mistake in the configuration concerns every agent, so it comes first.
        let sections = if rules::cannot_be_read() { [of_host + "\n", text] } else { [text, of_host] };
        output::print(&sections.concat())?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

/// Checks what reads the log or depends on it: anchors and archives, the programs that get its records, and the passkeys. The page shows
/// these checks, too. The environment can name receivers of telemetry.
pub(super) fn log_reader_checks(environment: &Environment) -> Vec<Check> {
    let mut checks = evidence::checks();
    checks.extend(sinks::checks(environment));
    checks.extend(passkeys::check());
    checks
}

/// Examines the named agents, or each agent on this machine. `hookhost agents` and `hookhost doctor` both call this function, so they
/// report the same.
pub(super) fn diagnoses(places: &AgentPlaces, named: &[String]) -> Vec<(&'static Adapter, Diagnosis)> {
    let sought = if named.is_empty() { Selection::ByTraces } else { Selection::ByName };
    let examine = |adapter: &'static Adapter| {
        let context = places.context(adapter.agent().name, Scope::User);
        (adapter, doctor::examine(adapter, &context, &places.path, sought))
    };
    // Agents are examined in parallel, because an agent that is a large script takes a second to print its version.
    let diagnoses = thread::scope(|scope| {
        let threads: Vec<_> =
            adapters(named).into_iter().map(|adapter| scope.spawn(move || examine(adapter))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<Vec<_>>()
    });
    let is_here = |(adapter, diagnosis): &(&'static Adapter, Diagnosis)| {
        let has_traces = diagnosis.traces.any() && !is_second_way(adapter);
        sought == Selection::ByName || has_traces || !diagnosis.installed.is_empty()
    };
    diagnoses.into_iter().filter(is_here).collect()
}

/// Reports the directories of the `PATH` that are not searched for programs.
fn left_out(places: &AgentPlaces) -> Option<Check> {
    let shown: Vec<_> = places.left_out.iter().map(|directory| format!("`{}`", directory.display())).collect();
    let says = format!(
        "{} of the PATH belong to this project or the working directory: hookhost runs no program there",
        shown.join(", ")
    );
    (!shown.is_empty())
        .then(|| Check::unknown("path", says, "run `hookhost doctor` in another directory to see an agent there"))
}

/// Adds the result of the newest proof to the checks. A proof is a test in which the hook must deny a call. With `--prove`, a new proof is
/// made first.
fn proof(args: &DoctorArgs, places: &AgentPlaces, adapter: &Adapter, diagnosis: &mut Diagnosis) -> Option<Proof> {
    let name = adapter.agent().name;
    if !args.prove {
        return newest_proof(places, name, diagnosis);
    }
    let proofs = Proofs::of(&places.directories.state);
    let commands: Vec<_> = diagnosis.installed.iter().flat_map(|installed| installed.commands.clone()).collect();
    let proof = prove::prove(adapter, &commands, &places.project, &places.path, diagnosis.version.clone());
    let has_canary = adapter.canary(canary::DENIED, &places.project).is_some();
    match &proof {
        Some(proof) => {
            if let Err(error) = proofs.keep(proof) {
                let says = format!("the proof cannot be stored ({error})");
                diagnosis.checks.push(Check::problem("proof", says, "check the state directory of hookhost"));
            }
            diagnosis.checks.push(if proof.holds() {
                Check::ok("proof", proof.sentence())
            } else {
                Check::problem(
                    "proof",
                    proof.sentence(),
                    format!("hookhost on --agent {name}, to install the hook again"),
                )
            });
        }
        None if diagnosis.installed.is_empty() && has_canary => {
            if diagnosis.is_well() {
                let title = adapter.agent().title;
                let says = format!("only {title} can test a hook that its plugin calls");
                let next = format!("tell {title} to do something that your rules reject");
                diagnosis.checks.push(Check::unknown("proof", says, next));
            }
        }
        None if has_canary => {
            let says = "the hook is not as hookhost writes it, so there is nothing to run";
            diagnosis.checks.push(Check::problem("proof", says, format!("hookhost on --agent {name}")));
        }
        None => {
            let title = adapter.agent().title;
            let says = format!("{title} runs the hook itself, so only {title} can test it");
            let next = match adapter.headless("") {
                Some(_) => format!("hookhost doctor {name} --prove --run-agent"),
                None => format!("tell {title} to do something that your rules reject"),
            };
            diagnosis.checks.push(Check::unknown("proof", says, next));
        }
    }
    if args.run_agent {
        diagnosis.checks.push(agent_run::check(adapter, places, diagnosis));
    }
    proof
}

/// Returns the newest stored proof, and adds its check.
pub(super) fn newest_proof(places: &AgentPlaces, agent: &str, diagnosis: &mut Diagnosis) -> Option<Proof> {
    let proof = Proofs::of(&places.directories.state).newest(agent);
    if !diagnosis.installed.is_empty() {
        diagnosis.checks.push(kept(agent, proof.as_ref()));
    }
    proof
}

/// Returns the check of a stored proof.
fn kept(agent: &str, proof: Option<&Proof>) -> Check {
    let prove = format!("hookhost doctor {agent} --prove");
    let Some(proof) = proof else {
        return Check::unknown("proof", "the hook has not been tested yet", prove);
    };
    let when = time::minute(proof.time);
    if !proof.holds() {
        return Check::problem("proof", format!("{}, on {when}", proof.sentence()), prove);
    }
    if let Some(why) = proof.outdated() {
        return Check::unknown("proof", format!("the hook was tested on {when}, {why}"), prove);
    }
    Check::ok("proof", format!("{}, on {when}", proof.sentence()))
}

fn line(text: &mut String, check: &Check) {
    let style = match check.state {
        CheckState::Ok => GOOD,
        CheckState::Problem => ERROR,
        CheckState::Unknown => WARNING,
    };
    let Check { about, says, next, .. } = check;
    let _ = writeln!(
        text,
        "  {style}{:7}{style:#} {DIM}{about:8}{DIM:#} {}",
        check.state.name(),
        wrapped(&one_line(says), 19)
    );
    if let Some(next) = next {
        let _ = writeln!(text, "          {ADVICE}try:{ADVICE:#} {}", one_line(next));
    }
}

fn as_json(adapter: &Adapter, diagnosis: &Diagnosis, proof: Option<&Proof>) -> Value {
    let scopes: Vec<_> = diagnosis.installed.iter().map(|installed| installed.scope.name()).collect();
    json!({
        "agent": adapter.agent().name,
        "title": adapter.agent().title,
        "program": diagnosis.traces.program,
        "version": diagnosis.version,
        "installed": scopes,
        "checks": diagnosis.checks,
        "proof": proof,
    })
}
