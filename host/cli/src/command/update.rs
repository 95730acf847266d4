//! `hookhost update`: says which version is here and how this installation is updated, and writes the user's file in the form of this
//! version. hookhost never updates itself.

use super::doctor;
use crate::args::UpdateArgs;
use crate::audit_log;
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::installation::Installation;
use crate::output::{
    self, one_line,
    style::{DIM, NAME, WARNING},
};
use hookhost::StoreError;
use hookhost::command::replace_audit_modes;
use hookhost::store::{Log, LogError};
use hookhost_client::connection::ConnectionError;
use serde_json::json;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One line of the answer.
struct Finding {
    label: &'static str,
    says: String,
    is_problem: bool,
}

impl Finding {
    fn good(label: &'static str, says: impl Into<String>) -> Self {
        Self { label, says: says.into(), is_problem: false }
    }

    fn problem(label: &'static str, says: impl Into<String>) -> Self {
        Self { label, says: says.into(), is_problem: true }
    }
}

pub(crate) fn run(args: &UpdateArgs) -> Result<Exit, CliError> {
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).map_err(anyhow::Error::new)?;
    let installation = Installation::of(&program, Path::new("/"), std::env::home_dir().as_deref());
    let findings = [
        Finding::good("program", one_line(&program.to_string_lossy())),
        Finding::good("update", one_line(&installation.update())),
        host()?,
        log()?,
        settings(rewritten()?),
    ];
    let exit = if findings.iter().any(|finding| finding.is_problem) { Exit::NotLoaded } else { Exit::Done };
    if args.json {
        let findings = findings.iter().map(|Finding { label, says, is_problem }| {
            ((*label).to_owned(), json!({ "says": says, "problem": is_problem }))
        });
        let mut answer: serde_json::Map<_, _> = findings.collect();
        answer.insert("version".to_owned(), json!(VERSION));
        answer.insert("installed-by".to_owned(), json!(installation.to_string()));
        output::print_json(&answer)?;
        return Ok(exit);
    }
    let mut text = format!("{NAME}hookhost {VERSION}{NAME:#}, installed by {installation}\n");
    for Finding { label, says, is_problem } in &findings {
        let says = if *is_problem { format!("{WARNING}{says}{WARNING:#}") } else { says.clone() };
        output::row(&mut text, 8, label, &says);
    }
    text.push_str(&format!(
        "{DIM}hookhost does not look for newer versions, and does not update itself. An update keeps the log, the approvals and the \
         settings.{DIM:#}\n"
    ));
    output::print(&text)?;
    Ok(exit)
}

/// Compares the version of the resident host.
fn host() -> Result<Finding, CliError> {
    Ok(match doctor::host_status(&configuration::places()?) {
        Ok(status) => match status["version"].as_str().unwrap_or("unknown") {
            VERSION => Finding::good("host", "the resident host is of this version"),
            other => {
                let other = one_line(other);
                Finding::good(
                    "host",
                    format!(
                        "the resident host is still of version {other}: it decides what is under way, and then this version takes over"
                    ),
                )
            }
        },
        Err(ConnectionError::NotThere(_)) => Finding::good("host", "no resident host runs"),
        Err(error) => {
            Finding::problem("host", format!("the resident host does not answer: {}", one_line(&error.to_string())))
        }
    })
}

/// Checks that this version can read the log and the state of plugins.
fn log() -> Result<Finding, CliError> {
    let path = audit_log::path()?;
    let shown = one_line(&path.to_string_lossy());
    Ok(match Log::open(&path).and_then(|log| log.last()) {
        Ok(records) => Finding::good("log", format!("{shown} has {records} records, which this version reads")),
        Err(LogError::Store(StoreError::Missing(_))) => Finding::good("log", "there is no log yet"),
        Err(LogError::Store(error @ StoreError::Version { .. })) => {
            let error = one_line(&error.to_string());
            Finding::problem(
                "log",
                format!("a newer hookhost has written the log, and nothing is decided until it is back: {error}"),
            )
        }
        Err(error) => Finding::problem("log", one_line(&error.to_string())),
    })
}

/// Replaces the mode `audit` of version 0.1 in the user's own file, and returns how often. An agent changes nothing. A file with other
/// mistakes stays, too: they are reported when the settings are checked.
fn rewritten() -> Result<usize, CliError> {
    let places = configuration::places()?;
    let file = places.user_file();
    let can_write = !inside_agent::is_inside() && file.exists();
    Ok(if can_write { replace_audit_modes(&file, &places, SECTIONS).unwrap_or_default() } else { 0 })
}

/// Checks that this version accepts the settings. `rewritten` is the number of modes that were replaced.
fn settings(rewritten: usize) -> Finding {
    match configuration::cwd().and_then(|cwd| configuration::find(None, &cwd)) {
        Ok(found) => {
            let files: Vec<_> =
                configuration::files(&found.config).map(|file| one_line(&file.to_string_lossy())).collect();
            let mut says = if files.is_empty() { "there is no hookhost.toml yet".to_owned() } else { files.join(", ") };
            if rewritten > 0 {
                says.push_str(&format!("; {rewritten} `mode = \"audit\"` in your own file became `observe`"));
            }
            Finding::good("settings", says)
        }
        Err(error) => {
            let message = error.message();
            let first = message.lines().next().unwrap_or_default();
            Finding::problem("settings", format!("this version does not accept them: {}", one_line(first)))
        }
    }
}
