//! `hookhost mcp check`: finds rules that name an MCP server, a tool or an argument that does not occur in the stored tool lists of
//! servers.

use super::approve::known_servers;
use super::arguments::{Missing, missing};
use super::rules::{lock_file, section};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use crate::output::{
    self, one_line,
    style::{DIM, WARNING},
};
use hookhost::config::{Config, ToolPattern};
use hookhost::contract::rule::{RuleOn, RuleRow};
use hookhost_conditions::glob::{Comparison, Glob};
use hookhost_proxy::mcp::lock::{HeldBackStore, LockFile};
use hookhost_proxy::mcp::operation::is_reserved;
use hookhost_proxy::mcp::policy::Section;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Reports each rule that names a known server but matches none of its tools. Also reports rules that name an unknown server.
pub(crate) fn check() -> Result<Exit, CliError> {
    let directory = configuration::cwd()?;
    let config = configuration::read(None, &directory)?;
    let file = lock_file(&directory)?;
    let lock = LockFile::read(&file).map_err(CliError::not_loaded)?;
    let held = HeldBackStore::below(&configuration::places()?.state, &file);
    let known = lock.servers.keys().cloned().chain(held.servers()).collect();
    let mut report = Report { lock, held, known, found: String::new() };
    rules(&config).iter().for_each(|rule| report.rule(rule));
    report.section(&section()?)?;
    if report.found.is_empty() {
        output::print("Each rule about a known MCP server matches a tool of that server.\n")?;
        return Ok(Exit::Done);
    }
    output::print(&report.found)?;
    Ok(Exit::Failed)
}

/// The findings so far, and the tool lists that rules are compared with.
struct Report {
    lock: LockFile,
    held: HeldBackStore,
    /// The servers whose tool list is stored.
    known: BTreeSet<String>,
    found: String,
}

impl Report {
    fn say(&mut self, what: &str, text: &str, more: &str) {
        let text = one_line(text);
        let _ = writeln!(self.found, "{WARNING}{what}{WARNING:#} {text} {DIM}{more}{DIM:#}");
    }

    fn rule(&mut self, rule: &Rule) {
        let Some(named) = named(&rule.text) else { return };
        let lower = named.to_lowercase();
        let listed = self.lock.servers.keys().find(|known| known.to_lowercase() == lower).cloned();
        match listed {
            Some(server) if self.fits_any(rule, &server) => self.arguments(rule, &server),
            Some(server) => {
                self.say("no tool", &rule.text, &format!("{}: the server {server} has no matching tool", rule.name));
            }
            None if self.known.contains(named) => {}
            // An unknown name can belong to a server of an agent that has no proxy. Therefore an unknown name is reported only if it
            // resembles a known name.
            None => {
                let nearest = nearest(named, self.known.iter().map(String::as_str));
                if let Some(more) = nearest.map(|nearest| format!("{}: did you mean {nearest}?", rule.name)) {
                    self.say("no server", &rule.text, &more);
                }
            }
        }
    }

    fn fits_any(&self, rule: &Rule, server: &str) -> bool {
        let mut tools = self.lock.servers.get(server).into_iter().flatten();
        of_protocol(rule, server).is_some() || tools.any(|(tool, _)| rule.fits(server, tool))
    }

    /// Reports each argument that a rule names but that no matching tool or protocol method has.
    fn arguments(&mut self, rule: &Rule, server: &str) {
        let schemas = self.schemas(rule, server);
        for argument in &rule.arguments {
            let each: Option<Vec<Missing>> = schemas.iter().map(|schema| missing(schema, argument)).collect();
            let Some(each) = each.filter(|each| !each.is_empty()) else { continue };
            let near = each.iter().find_map(|missing| missing.nearest.as_deref());
            let near = near.map(|near| format!(": did you mean {}?", one_line(near))).unwrap_or_default();
            let more = format!(
                "of {}, {}: no matching tool or method of {server} has this argument{near}",
                one_line(&rule.text),
                rule.name
            );
            self.say("no argument", argument, &more);
        }
    }

    /// Returns the schemas of approved tools and of protocol methods that the rule matches.
    fn schemas(&self, rule: &Rule, server: &str) -> Vec<Value> {
        if let Some(method) = of_protocol(rule, server) {
            return vec![schema_of(method)];
        }
        let tools = self.lock.servers.get(server).into_iter().flatten().filter(|(tool, _)| rule.fits(server, tool));
        let of_tools = tools.map(|(_, definition)| definition.get("inputSchema").cloned().unwrap_or_default());
        let methods = METHODS.iter().filter(|method| rule.fits(server, method)).map(|method| schema_of(method));
        of_tools.chain(methods).collect()
    }

    fn section(&mut self, section: &Section) -> Result<(), CliError> {
        for server in section.servers().filter(|server| !self.known.contains(*server)).collect::<Vec<_>>() {
            let near = known_servers(server, &self.known);
            self.say(
                "no server",
                server,
                &format!("[mcp-proxy.servers]: no tools of a server with this name are stored{near}"),
            );
        }
        for pattern in section.patterns().filter(|pattern| self.known.contains(pattern.server)).collect::<Vec<_>>() {
            // The server's list also contains tools that are held back.
            let held = self.held.read(pattern.server).map_err(CliError::not_loaded)?;
            let approved = self.lock.servers.get(pattern.server).into_iter().flat_map(|tools| tools.keys());
            if !approved.chain(held.keys()).any(|tool| pattern.fits(tool)) {
                let server = pattern.server;
                let more =
                    format!("[mcp-proxy.servers.{server}] {}: the server {server} has no matching tool", pattern.key);
                self.say("no tool", pattern.text, &more);
            }
        }
        Ok(())
    }
}

/// A rule that names tools, and perhaps also arguments of these tools.
struct Rule {
    /// The plugin or section that contains the rule, for messages.
    name: String,
    /// The pattern of the tools, as written.
    text: String,
    tools: Tools,
    /// The paths of the arguments that the rule's conditions name.
    arguments: Vec<String>,
}

/// The pattern that selects a rule's tools.
enum Tools {
    /// A pattern from the configuration file.
    Pattern(ToolPattern),
    /// A glob from a rule in words.
    Glob(Glob),
}

impl Rule {
    fn fits(&self, server: &str, tool: &str) -> bool {
        let tool = format!("mcp__{server}__{tool}");
        match &self.tools {
            Tools::Pattern(pattern) => pattern.matches(&tool),
            Tools::Glob(pattern) => pattern.matches(&tool, Comparison::Name),
        }
    }
}

/// Returns all rules that name tools.
fn rules(config: &Config) -> Vec<Rule> {
    let rule = |name: String, pattern: &ToolPattern| Rule {
        name,
        text: pattern.as_str().to_owned(),
        tools: Tools::Pattern(pattern.clone()),
        arguments: Vec::new(),
    };
    let mut rules = Vec::new();
    for entry in config.enabled() {
        let name = format!("plugin {}", entry.name);
        rules.extend(entry.tools.iter().flatten().map(|pattern| rule(name.clone(), pattern)));
    }
    rules.extend(config.rules().iter().flat_map(|rule| of_row(&rule.row)));
    rules
}

/// Returns the tools that a rule in words names, with the arguments in its conditions.
fn of_row(row: &RuleRow) -> Vec<Rule> {
    let of_tools = row.on.iter().filter(|on| matches!(on, RuleOn::Tool(_))).map(|on| on.name().to_owned());
    let every = [String::from("*")];
    let tools = if row.tool.is_empty() { &every[..] } else { &row.tool };
    let servers = row.server.iter().filter(|server| !server.starts_with('!') && row.on.contains(&RuleOn::Mcp));
    let of_servers = servers.flat_map(|server| {
        let tools = tools.iter().filter(|tool| !tool.starts_with('!'));
        tools.map(move |tool| format!("mcp__{server}__{tool}"))
    });
    let conditions = || row.when.iter().chain(&row.unless);
    let rule = |text: String| {
        let tools = Tools::Glob(Glob::new(&text).ok()?);
        let arguments = conditions().flat_map(|condition| named_arguments(condition)).collect();
        Some(Rule { name: format!("rule {}", row.id), text, tools, arguments })
    };
    of_tools.chain(of_servers).filter_map(rule).collect()
}

/// Returns the paths of the arguments that a condition names: `database.name` of `arguments.database.name == "a"`.
fn named_arguments(condition: &str) -> impl Iterator<Item = String> {
    condition.split("arguments.").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        let (path, rest) = rest.split_at(end);
        // The last part can be a method, such as `startsWith`.
        let path = if rest.starts_with('(') { path.rsplit_once('.').map_or("", |(path, _)| path) } else { path };
        (!path.is_empty()).then(|| path.to_owned())
    })
}

/// Returns the server that a pattern names, if any.
fn named(pattern: &str) -> Option<&str> {
    let (prefix, rest) = pattern.split_at_checked(5)?;
    let (server, _) = rest.split_once("__")?;
    (prefix.eq_ignore_ascii_case("mcp__") && !server.contains(['*', '?', '['])).then_some(server)
}

/// Returns the MCP method that a rule names instead of a tool.
fn of_protocol<'a>(rule: &'a Rule, server: &str) -> Option<&'a str> {
    rule.text.get(format!("mcp__{server}__").len()..).filter(|rest| is_reserved(rest))
}

/// The MCP methods whose arguments do not depend on the server.
const METHODS: [&str; 2] = ["resources/read", "prompts/get"];

/// Returns the schema of a method's arguments in the form in which rules see the arguments. If the arguments depend on the server, the
/// schema is empty.
fn schema_of(method: &str) -> Value {
    match method {
        "resources/read" => json!({ "properties": { "uri": {} } }),
        "prompts/get" => json!({ "properties": { "name": {}, "arguments": {} } }),
        _ => json!({}),
    }
}
