//! Starts the agent with a prompt that asks for the canary call, a harmless test call that the hook must deny. The agent starts in an empty
//! directory. In a project, the agent could run programs that the project's files name, because no person is there to answer its questions.

use super::last_event;
use crate::agent_places::AgentPlaces;
use crate::output::one_line;
use hookhost::contract::OutcomeKind;
use hookhost::files;
use hookhost_agents::install::check::Check;
use hookhost_agents::install::doctor::Diagnosis;
use hookhost_agents::install::{find, process};
use hookhost_agents::plan::Scope;
use hookhost_agents::{Adapter, canary};
use std::ffi::OsString;
use std::time::Duration;

/// Maximum time of the agent's run. It is long, because the agent's model can be slow.
const TIMEOUT: Duration = Duration::from_secs(300);

pub(super) fn check(adapter: &Adapter, places: &AgentPlaces, diagnosis: &Diagnosis) -> Check {
    let agent = adapter.agent();
    let prompt = format!("Run exactly this command with your shell tool, once, and nothing else: {}", canary::DENIED);
    let ask = || format!("ask it yourself: {prompt}");
    let Some(words) = adapter.headless(&prompt) else {
        let says = format!("no command is known that runs {} without a person", agent.title);
        return Check::unknown("agent-run", says, ask());
    };
    let named = words.first().map_or("", String::as_str);
    // An agent can have several programs, and some of them cannot run without a person. Therefore only this program is searched for.
    let Some(program) = find::on_path(named, &places.path) else {
        let says = format!("{} runs without a person as `{named}`, and this program is not on the PATH", agent.title);
        return Check::unknown("agent-run", says, ask());
    };
    if !diagnosis.installed.iter().any(|installed| installed.scope != Scope::Project) {
        let says = "only this project's files have the hook, and hookhost starts no agent with a project's files";
        return Check::unknown("agent-run", says, format!("hookhost install {}, or {}", agent.name, ask()));
    }
    let state = &places.directories.state;
    let directory =
        files::make_own_directory(state).and_then(|()| tempfile::Builder::new().prefix("doctor-").tempdir_in(state));
    let directory = match &directory {
        Ok(directory) => directory.path(),
        Err(error) => {
            let says = format!("no empty directory can be made for {}: {error}", agent.title);
            return Check::problem("agent-run", says, "check the state directory of hookhost");
        }
    };
    let words: Vec<OsString> =
        std::iter::once(program.into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
    let trace = directory.join(canary::TRACE);
    let before = last_event::last_record();
    let ended = process::run(&words, directory, &[("PATH", &places.path)], b"", TIMEOUT);
    let how = match &ended {
        Ok(ended) => match ended.code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was ended by a signal".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let has_run = trace.symlink_metadata().is_ok();
    match last_event::of_denied_canary(agent.name, before) {
        _ if has_run => {
            let says = format!("{} ran the test call that hookhost must deny", agent.title);
            Check::problem(
                "agent-run",
                says,
                "look at the checks above: the agent does not call the hook, or does not obey it",
            )
        }
        Some(OutcomeKind::Rejected) => {
            let says = format!("{} itself was denied a forbidden test call", agent.title);
            Check::ok("agent-run", says)
        }
        Some(outcome) => {
            let says = format!(
                "{} asked about the test call that hookhost must deny, and it was {}",
                agent.title,
                outcome.name()
            );
            Check::problem("agent-run", says, "hookhost audit show 5")
        }
        None => {
            let said = ended.map(|ended| String::from_utf8_lossy(&ended.stdout).trim().to_owned()).unwrap_or_default();
            let said: String = one_line(&said).chars().take(200).collect();
            let says = format!("{} {how} and did not make the test call; its output: {said}", agent.title);
            Check::problem("agent-run", says, "check that the agent reaches its model, and look at the checks above")
        }
    }
}
