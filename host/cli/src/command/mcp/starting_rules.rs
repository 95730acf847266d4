//! `hookhost mcp init` and `hookhost mcp check`: rules that begin with a server's listing, and rules about tools that no listing
//! has.

use super::approve::known_servers;
use super::rules::{lock_file, section};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use crate::output::{
    self, one_line,
    style::{DIM, WARNING},
};
use hookhost::config::{Config, ToolPattern};
use hookhost_mcp::lock::{Definitions, HeldBack, Lock};
use hookhost_mcp::operation::is_reserved;
use hookhost_relay::name::ServerName;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Prints rules for a server: only the tools that it lists, and a question about each that does not say that it only reads.
pub(crate) fn init(server: &str) -> Result<Exit, CliError> {
    let server = ServerName::new(server).map_err(CliError::usage)?;
    let file = lock_file(&configuration::cwd()?)?;
    let lock = Lock::read(&file).map_err(CliError::not_loaded)?;
    let held = HeldBack::below(&configuration::places()?.state, &file);
    let held = held.read(server.as_str()).map_err(CliError::not_loaded)?;
    let mut definitions: Definitions = held.into_iter().map(|(tool, held)| (tool, held.definition)).collect();
    definitions.extend(lock.servers.get(server.as_str()).cloned().unwrap_or_default());
    // What no rule can name, a person has to look at.
    definitions.retain(|tool, _| !tool.contains(|c: char| c.is_whitespace() || hookhost::is_unseen(c)));
    if definitions.is_empty() {
        let why = format!("nothing is known of {server}: start an agent that uses it through the proxy, and try again");
        return Err(CliError::usage(why).advise("hookhost mcp list"));
    }
    let listed: Vec<String> = definitions.keys().map(|tool| text(tool)).collect();
    let only_reads = |definition: &Value| definition.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    let asked: Vec<String> = definitions
        .iter()
        .filter(|(_, definition)| !only_reads(definition))
        .map(|(tool, _)| text(&server.tool(tool)))
        .collect();
    let mut rules = format!(
        "# What the MCP server {server} may be asked. Its tools are those that it lists now.\n\
         [mcp-proxy.servers.{server}]\ntools = [{}]\n",
        listed.join(", ")
    );
    if !asked.is_empty() {
        let _ = write!(
            rules,
            "\n# These do not say that they only read.\n[[ask]]\ntools = [{}]\nquestion = \"May {server} do this?\"\n",
            asked.join(", ")
        );
    }
    output::print(&rules)?;
    output::note(&format!("{DIM}add it to your hookhost.toml, and change it as you see fit{DIM:#}\n"));
    Ok(Exit::Done)
}

/// A text as TOML has it; of what it escapes JSON has the same spelling.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Reports the patterns of rules that are about a known server and fit none of its tools, and servers that nobody knows.
pub(crate) fn check() -> Result<Exit, CliError> {
    let directory = configuration::cwd()?;
    let config = configuration::read(None, &directory)?;
    let file = lock_file(&directory)?;
    let lock = Lock::read(&file).map_err(CliError::not_loaded)?;
    let held = HeldBack::below(&configuration::places()?.state, &file);
    let known: BTreeSet<String> = lock.servers.keys().cloned().chain(held.servers()).collect();
    let mut found = String::new();
    let no_tool = |found: &mut String, pattern: &str, rule: &str, server: &str| {
        let pattern = one_line(pattern);
        let _ =
            writeln!(found, "{WARNING}no tool{WARNING:#} {pattern} {DIM}{rule}: {server} lists none that fits{DIM:#}");
    };
    for (rule, pattern) in patterns(&config) {
        let text = String::from(pattern.clone());
        if let Some(server) = about(&text, &lock) {
            if !fits_any(&pattern, server, &lock) {
                no_tool(&mut found, &text, &rule, server);
            }
        } else if let Some(server) = named(&text).filter(|server| !known.contains(*server))
            // Agents have servers of their own under such names: only what is like a known one is an error in typing.
            && let Some(nearest) = nearest(server, known.iter().map(String::as_str))
        {
            let text = one_line(&text);
            let _ = writeln!(found, "{WARNING}no server{WARNING:#} {text} {DIM}{rule}: did you mean {nearest}?{DIM:#}");
        }
    }
    let section = section()?;
    for server in section.servers().filter(|server| !known.contains(*server)) {
        let near = known_servers(server, &known);
        let _ = writeln!(
            found,
            "{WARNING}no server{WARNING:#} {server} {DIM}[mcp-proxy.servers]: none of that name was listed{near}{DIM:#}"
        );
    }
    for pattern in section.patterns() {
        // What is held back is listed as well.
        let held = if known.contains(pattern.server) {
            held.read(pattern.server).map_err(CliError::not_loaded)?
        } else {
            continue;
        };
        let mut tools = lock.servers.get(pattern.server).into_iter().flat_map(|tools| tools.keys()).chain(held.keys());
        if !tools.any(|tool| pattern.fits(tool)) {
            let rule = format!("[mcp-proxy.servers.{}] {}", pattern.server, pattern.key);
            no_tool(&mut found, pattern.text, &rule, pattern.server);
        }
    }
    if found.is_empty() {
        output::print("Each rule about a known MCP server fits a tool of it.\n")?;
        return Ok(Exit::Done);
    }
    output::print(&found)?;
    Ok(Exit::Failed)
}

/// The patterns of all rules, each with whose it is.
fn patterns(config: &Config) -> Vec<(String, ToolPattern)> {
    let of_plugins = config.enabled().flat_map(|entry| {
        let name = format!("plugin {}", entry.name);
        entry.tools.iter().flatten().map(move |pattern| (name.clone(), pattern.clone()))
    });
    let of_asks = config.asks().iter().flat_map(|rule| rule.tools.iter().flatten().cloned());
    of_plugins.chain(of_asks.map(|pattern| ("[[ask]]".to_owned(), pattern))).collect()
}

/// The server that a pattern names, where it was listed.
fn about<'a>(pattern: &str, lock: &'a Lock) -> Option<&'a str> {
    let server = named(pattern)?.to_lowercase();
    lock.servers.keys().map(String::as_str).find(|known| known.to_lowercase() == server)
}

/// The server that a pattern names, where it names one.
fn named(pattern: &str) -> Option<&str> {
    let (prefix, rest) = pattern.split_at_checked(5)?;
    let (server, _) = rest.split_once("__")?;
    (prefix.eq_ignore_ascii_case("mcp__") && !server.contains(['*', '?', '['])).then_some(server)
}

fn fits_any(pattern: &ToolPattern, server: &str, lock: &Lock) -> bool {
    let prefix = format!("mcp__{server}__");
    let tools = lock.servers.get(server).into_iter().flatten().map(|(tool, _)| tool.as_str());
    let text = String::from(pattern.clone());
    let of_protocol = text.get(prefix.len()..).is_some_and(is_reserved);
    of_protocol || tools.into_iter().any(|tool| pattern.matches(&format!("{prefix}{tool}")))
}
