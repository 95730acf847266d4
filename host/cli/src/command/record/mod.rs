//! `hookhost record`: makes a case file of the tool calls and prompts in the log, one case for each session.

mod events;
mod mask;
mod session_case;

pub(super) use session_case::toml_value;

use crate::args::RecordArgs;
use crate::audit_log;
use crate::exit::CliError;
use crate::exit::Exit;
use crate::output::{
    self, one_line, quoted,
    style::{DIM, WARNING},
    truncate::{SHOWN, counted, cut},
};
use anyhow::anyhow;
use events::Recording;
use hookhost_agents::clock::before_now;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// The period, if neither a period nor a session is given.
const PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(args: &RecordArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    let period = args.last.or_else(|| args.session.is_none().then_some(PERIOD));
    let since = period.map_or(0, before_now);
    let recording = Recording::read(&log, args, since)?;
    let events = recording.events();
    if events == 0 {
        let found =
            CliError::usage("the log has no tool call and no prompt of this period, agent or session to record");
        note_left_out(&recording);
        return Err(found.advise("hookhost audit show"));
    }
    let text = recording.to_toml(log.path());
    match &args.output {
        None => output::print(&text)?,
        Some(file) => write(file, &text)?,
    }
    let sessions = counted(recording.sessions(), "session");
    output::note(&format!("recorded {} of {sessions}\n", counted(events, "event")));
    if let Some(masked) = recording.masked() {
        output::note(&format!(
            "{WARNING}masked:{WARNING:#} {masked}; look for further secrets before you pass the file on\n"
        ));
    }
    note_left_out(&recording);
    if let Some(file) = &args.output {
        let mut text = String::new();
        output::next_step(&mut text, &format!("hookhost test {}", quoted(&file.to_string_lossy())));
        output::note(&text);
    }
    Ok(Exit::Done)
}

fn note_left_out(recording: &Recording) {
    for (why, count) in recording.left_out() {
        output::note(&format!("{DIM}left out: {}, {}{DIM:#}\n", counted(*count, "event"), cut(&one_line(why), SHOWN)));
    }
}

/// Writes a new file.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let shown = path.display();
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(|error| anyhow!("cannot make {}: {error}", directory.display()))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::usage(format!("{shown} is already there: name a new file, or remove it"))
        }
        _ => anyhow!("cannot write {shown}: {error}").into(),
    })
}
