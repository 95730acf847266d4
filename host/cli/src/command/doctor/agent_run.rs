//! The agent itself, asked by its own command to make the call that has to be denied.

use super::last_event;
use crate::output::one_line;
use hookhost::contract::OutcomeKind;
use hookhost_adapters::{Adapter, canary};
use hookhost_install::check::Check;
use hookhost_install::{find, process};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// How long the agent may take: its model may be slow.
const TIMEOUT: Duration = Duration::from_secs(300);

pub(super) fn check(adapter: &dyn Adapter, path: &OsStr, directory: &Path) -> Check {
    let agent = adapter.agent();
    let prompt = format!("Run exactly this command with your shell tool, once, and nothing else: {}", canary::DENIED);
    let ask = || format!("ask it yourself: {prompt}");
    let Some(words) = adapter.headless(&prompt) else {
        let says = format!("no command is known by which {} runs without a person", agent.title);
        return Check::unknown("agent-run", says, ask());
    };
    let named = words.first().map_or("", String::as_str);
    // An agent can have several programs, and not each of them runs without a person.
    let Some(program) = find::on_path(named, path) else {
        let says = format!("no program `{named}` is on the PATH, by which {} runs without a person", agent.title);
        return Check::unknown("agent-run", says, ask());
    };
    let words: Vec<OsString> =
        std::iter::once(program.into()).chain(words.into_iter().skip(1).map(OsString::from)).collect();
    let trace = directory.join(canary::TRACE);
    // One that an earlier run left would say of this one what it did not do.
    if let Err(error) = remove(&trace) {
        let says = format!("{} is in the way, and cannot be removed: {error}", one_line(&trace.to_string_lossy()));
        return Check::problem("agent-run", says, "remove it, and try again");
    }
    let before = last_event::last_record();
    let ended = process::run(&words, directory, &[], b"", TIMEOUT);
    let how = match &ended {
        Ok(ended) => match ended.code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was ended by a signal".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let has_run = trace.symlink_metadata().is_ok();
    // What is left of it is ours to remove; where it cannot be, the next run says so.
    let _ = remove(&trace);
    match last_event::of_denied_canary(agent.name, before) {
        _ if has_run => {
            let says = format!("{} ran the canary call that has to be denied", agent.title);
            Check::problem(
                "agent-run",
                says,
                "see the checks above: the agent does not call the hook, or does not obey it",
            )
        }
        Some(OutcomeKind::Rejected) => {
            let shown = one_line(&directory.to_string_lossy());
            let says =
                format!("{} asked about the canary call, it was rejected, and left no trace in {shown}", agent.title);
            Check::ok("agent-run", says)
        }
        Some(outcome) => {
            let says = format!("{} asked about the canary call, and it was {}", agent.title, outcome.name());
            Check::problem("agent-run", says, "hookhost audit show 5")
        }
        None => {
            let said = ended.map(|ended| String::from_utf8_lossy(&ended.stdout).trim().to_owned()).unwrap_or_default();
            let said: String = one_line(&said).chars().take(200).collect();
            let says = format!("{} {how} and asked about no canary call; it said: {said}", agent.title);
            Check::problem("agent-run", says, "see whether the agent can reach its model, and the checks above")
        }
    }
}

/// Removes what is there, if anything is.
fn remove(file: &Path) -> std::io::Result<()> {
    if file.symlink_metadata().is_err() { Ok(()) } else { std::fs::remove_file(file) }
}
