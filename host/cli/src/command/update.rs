//! `hookhost update`: says which version is here and how this installation is updated, and writes the user's file in the form of this
//! version. hookhost never updates itself.

use super::doctor;
use crate::args::UpdateArgs;
use crate::audit_log;
use crate::configuration::{self, SECTIONS};
use crate::exit::{CliError, Exit};
use crate::installation::Installation;
use crate::output::{
    self, one_line,
    style::{DIM, NAME, WARNING},
};
use hookhost::StoreError;
use hookhost::command::replace_audit_modes;
use hookhost::store::{Log, LogError};
use hookhost_agents::ancestry::AgentSign;
use hookhost_client::connection::ConnectionError;
use serde_json::{Map, Value, json};
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
    let replaced = replaced_rules();
    let is_problem = !replaced.is_empty() || findings.iter().any(|finding| finding.is_problem);
    let exit = if is_problem { Exit::NotLoaded } else { Exit::Done };
    if args.json {
        let findings = findings.iter().map(|Finding { label, says, is_problem }| {
            ((*label).to_owned(), json!({ "says": says, "problem": is_problem }))
        });
        let mut answer: Map<_, _> = findings.collect();
        answer.insert("version".to_owned(), json!(VERSION));
        answer.insert("rules-to-write".to_owned(), json!(replaced));
        answer.insert("installed-by".to_owned(), json!(installation.to_string()));
        output::print_json(&answer)?;
        return Ok(exit);
    }
    let mut text = format!("{NAME}hookhost {VERSION}{NAME:#}, installed by {installation}\n");
    for Finding { label, says, is_problem } in &findings {
        let says = if *is_problem { format!("{WARNING}{says}{WARNING:#}") } else { says.clone() };
        output::row(&mut text, 8, label, &says);
    }
    if !replaced.is_empty() {
        text.push_str(&format!(
            "{WARNING}tool-policy only shortens results now. Write these rules in place of its others:{WARNING:#}\n\n"
        ));
        replaced.iter().for_each(|rule| text.push_str(&format!("{}\n", output::printable(rule))));
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
    let can_write = AgentSign::of_this_process().is_none() && file.exists();
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

/// Returns the rules in words that replace the rules of the plugin tool-policy of version 0.1.
fn replaced_rules() -> Vec<String> {
    let Ok(found) = configuration::cwd().and_then(|cwd| configuration::find(None, &cwd)) else { return Vec::new() };
    let rules = found.config.enabled().filter_map(|entry| entry.config.get("rule")?.as_array());
    rules.flatten().filter_map(Value::as_object).filter_map(replacement).collect()
}

/// Returns what to write in place of a rule with `deny`, `ask` or `rate`.
fn replacement(old: &Map<String, Value>) -> Option<String> {
    let quoted = |text: &str| Value::from(text).to_string();
    let id = old.get("id").and_then(Value::as_str)?;
    let tool = old.get("tool").and_then(Value::as_str).unwrap_or("*");
    let on = quoted(tool);
    let conditions: Vec<String> =
        old.get("when").and_then(Value::as_array).into_iter().flatten().filter_map(condition).collect();
    let mut text = String::new();
    let mut add = |id: &str, conditions: &[String], answer: &str, says: &str, examples: &str| {
        text.push_str(&format!("[[rule]]\nid = {}\non = {on}\n", quoted(id)));
        if !conditions.is_empty() {
            text.push_str(&format!("when = {}\n", quoted(&conditions.join(" && "))));
        }
        text.push_str(&format!("{answer} = {}\n{examples}", quoted(says)));
    };
    let none = "stops = []    # calls that it stops, such as { tool = \"NAME\", arguments = {} }\npasses = []   # calls that it does not\n";
    let examples = if conditions.is_empty() { "" } else { none };
    if let Some(rate) = old.get("rate").and_then(Value::as_object) {
        let (calls, seconds) = (rate.get("calls")?, rate.get("seconds")?);
        let noted = format!("{id}-calls");
        add(&noted, &conditions, "note", "a call", "");
        let counted = format!("count(\"{noted}\", \"{seconds}s\") >= {calls}");
        let tool = quoted(&tool.replace(['*', '?'], "x"));
        let example = |count: &Value| format!("[{{ tool = {tool}, facts = {{ \"count({noted})\" = {count} }} }}]");
        let of_count = format!("stops = {}\npasses = {}\n", example(calls), example(&json!(0)));
        let examples = if conditions.is_empty() { &of_count } else { none };
        let says = format!("{calls} calls in {seconds} s are possible");
        add(id, &[&conditions[..], &[counted]].concat(), "reject", &says, examples);
    }
    for (key, answer) in [("deny", "reject"), ("ask", "ask")] {
        if let Some(says) = old.get(key).and_then(Value::as_str) {
            add(id, &conditions, answer, says, examples);
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a condition on an argument as an expression.
fn condition(old: &Value) -> Option<String> {
    let argument = format!("arguments.{}", old.get("argument")?.as_str()?);
    Some(match old {
        _ if old.get("equals").is_some() => format!("{argument} == {}", old["equals"]),
        _ if old.get("not").is_some() => format!("!({argument} == {})", old["not"]),
        _ if old.get("matches").is_some() => format!("{argument}.matches({})", old["matches"]),
        _ if old["present"] == true => format!("has({argument})"),
        _ => format!("!has({argument})"),
    })
}
