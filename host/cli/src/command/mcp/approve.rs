//! `hookhost mcp approve` and `hookhost mcp list`: approve and list definitions of tools. The proxy holds back each definition that is not
//! approved.

use super::rules::lock_file;
use crate::args::ApproveToolsArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::nearest::nearest;
use crate::output::{
    self, difference, one_line, quoted,
    style::{DIM, GOOD, NAME, WARNING},
};
use hookhost_proxy::mcp::lock::{HeldBackStore, HeldDefinition, HeldDefinitions, LockFile};
use hookhost_proxy::server_name::ServerName;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(crate) fn approve(args: &ApproveToolsArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("approves tools of MCP servers")?;
    let server = ServerName::new(&args.server).map_err(CliError::usage)?;
    let file = lock_file(&configuration::cwd()?)?;
    let directory = HeldBackStore::below(&configuration::places()?.state, &file);
    let held = directory.read(&args.server).map_err(CliError::not_loaded)?;
    let lock = LockFile::read(&file).map_err(CliError::not_loaded)?;
    if held.is_empty() && !lock.servers.contains_key(&args.server) {
        let known: BTreeSet<String> = lock.servers.keys().cloned().chain(directory.servers()).collect();
        return Err(unknown_server(&args.server, &known));
    }
    let (never, chosen): (HeldDefinitions, HeldDefinitions) =
        chosen(args, held)?.into_iter().partition(|(_, held)| held.is_final);
    for (tool, held) in &never {
        output::note(&output::notice(&format!("{}: {}; {}", escaped(tool), escaped(&held.why), held.remedy(&server))));
    }
    if chosen.is_empty() {
        let what = if never.is_empty() { "is held back" } else { "can be approved" };
        output::print(&format!("Nothing of {server} {what}.\n"))?;
        return Ok(Exit::Done);
    }
    for (tool, held) in &chosen {
        output::note(&described(tool, held, lock.definition(&args.server, tool)));
    }
    if !args.yes && !output::confirm("Approve?", "")? {
        output::note("Nothing was approved.\n");
        return Ok(Exit::Rejected);
    }
    let _changing = directory.changing().map_err(CliError::not_loaded)?;
    // A proxy may have changed both files before the user answered, so read the files again. Only the definitions that were shown are
    // approved.
    let mut lock = LockFile::read(&file).map_err(CliError::not_loaded)?;
    let mut left = directory.read(&args.server).map_err(CliError::not_loaded)?;
    left.retain(|tool, held| chosen.get(tool) != Some(held));
    let count = chosen.len();
    lock.approve(&args.server, chosen.into_iter().map(|(tool, held)| (tool, held.definition)).collect());
    lock.write(&file).map_err(CliError::not_loaded)?;
    directory.write(&args.server, &left).map_err(CliError::not_loaded)?;
    output::print(&format!(
        "{GOOD}approved{GOOD:#} {count} of {}, in {}\n",
        one_line(&args.server),
        quoted(&file.to_string_lossy())
    ))?;
    Ok(Exit::Done)
}

fn unknown_server(server: &str, known: &BTreeSet<String>) -> CliError {
    let why = format!("no server {} was listed here{}", one_line(server), known_servers(server, known));
    CliError::usage(why).advise("hookhost mcp list")
}

/// Returns the end of an error message that suggests known servers for a mistyped name.
pub(super) fn known_servers(typed: &str, known: &BTreeSet<String>) -> String {
    match nearest(typed, known.iter().map(String::as_str)) {
        Some(nearest) => format!(": did you mean {nearest}?"),
        None if known.is_empty() => String::new(),
        None => format!("; known are {}", known.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
    }
}

fn chosen(args: &ApproveToolsArgs, mut held: HeldDefinitions) -> Result<HeldDefinitions, CliError> {
    if let Some(missing) = args.tools.iter().find(|tool| !held.contains_key(*tool)) {
        let missing = one_line(missing);
        return Err(CliError::usage(format!("no tool {missing} of {} is held back", one_line(&args.server)))
            .advise("hookhost mcp list"));
    }
    held.retain(|tool, _| args.tools.is_empty() || args.tools.contains(tool));
    Ok(held)
}

/// Describes a definition for people: the whole definition if it is new, otherwise its changes. Invisible characters are escaped.
fn described(tool: &str, held: &HeldDefinition, before: Option<&Value>) -> String {
    let mut text =
        format!("{NAME}{}{NAME:#} {WARNING}{}{WARNING:#}\n", one_line(&escaped(tool)), one_line(&escaped(&held.why)));
    let now = pretty(&held.definition);
    match before {
        Some(before) => text.push_str(&difference::unified(tool, Some(&pretty(before)), Some(&now))),
        None => now.lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        }),
    }
    text
}

fn pretty(definition: &Value) -> String {
    let mut sorted = definition.clone();
    sorted.sort_all_objects();
    escaped(&serde_json::to_string_pretty(&sorted).unwrap_or_default())
}

fn escaped(text: &str) -> String {
    let shown = |c: char| c == '\n' || !hookhost::is_unseen(c);
    text.chars().flat_map(|c| if shown(c) { vec![c] } else { c.escape_default().collect() }).collect()
}

pub(crate) fn list(only: Option<&str>, as_json: bool) -> Result<Exit, CliError> {
    let file = lock_file(&configuration::cwd()?)?;
    let directory = HeldBackStore::below(&configuration::places()?.state, &file);
    let lock = LockFile::read(&file).map_err(CliError::not_loaded)?;
    let mut servers: BTreeSet<String> = lock.servers.keys().cloned().chain(directory.servers()).collect();
    if let Some(only) = only {
        if !servers.contains(only) {
            return Err(unknown_server(only, &servers));
        }
        servers.retain(|server| server == only);
    }
    let mut all = serde_json::Map::new();
    for server in servers {
        let held = directory.read(&server).map_err(CliError::not_loaded)?;
        let approved: Vec<&String> = lock.servers.get(&server).into_iter().flat_map(|tools| tools.keys()).collect();
        let held: serde_json::Map<String, Value> =
            held.into_iter().map(|(tool, held)| (tool, Value::from(held.why))).collect();
        all.insert(server, json!({ "approved": approved, "held-back": held }));
    }
    if as_json {
        output::print_json(&json!({ "lock-file": file.to_string_lossy(), "servers": all }))?;
        return Ok(Exit::Done);
    }
    let mut text = format!("{DIM}{}{DIM:#}\n", one_line(&file.to_string_lossy()));
    if all.is_empty() {
        text.push_str("no server was listed yet\n");
    }
    for (server, tools) in &all {
        let _ = writeln!(text, "{NAME}{}{NAME:#}", one_line(server));
        for tool in tools.get("approved").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(text, "  {GOOD}approved {GOOD:#} {}", one_line(&escaped(tool)));
        }
        for (tool, why) in tools.get("held-back").and_then(Value::as_object).into_iter().flatten() {
            let why = one_line(&escaped(why.as_str().unwrap_or_default()));
            let _ = writeln!(text, "  {WARNING}held back{WARNING:#} {} {DIM}{why}{DIM:#}", one_line(&escaped(tool)));
        }
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
