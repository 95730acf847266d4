//! `hookhost install AGENT --mcp` and `hookhost uninstall AGENT --mcp`: put the proxy in front of an agent's MCP servers, or remove the
//! proxy.

use crate::agent_places::AgentPlaces;
use crate::command::hook_entries::failed;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, difference, one_line,
    style::{DIM, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::files::Lock;
use hookhost_agents::Adapter;
use hookhost_agents::directories::DIRECTORY_VARIABLES;
use hookhost_agents::install::mcp_servers::{ProxyCommand, ServerChange, ServerEntry, with_proxy, without_proxy};
use hookhost_agents::install::mcp_servers_toml;
use hookhost_agents::install::settings_file::SettingsFile;
use hookhost_agents::mcp_servers::ServersFormat;
use hookhost_agents::plan::Scope;
use hookhost_client::start;
use hookhost_proxy::server_name::ServerName;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// The name of the proxy's program.
const PROGRAM: &str = "hookhost";

/// The program that the agent starts for a server after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The proxy.
    Proxy,
    /// The server itself.
    Server,
}

pub(crate) fn change_servers(
    places: &AgentPlaces,
    agents: &[&Adapter],
    scope: Scope,
    to: To,
    is_dry: bool,
) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for adapter in agents {
        let changed = change(places, adapter, scope, to, is_dry);
        match changed {
            Ok((text, is_whole)) => {
                output::print(&text)?;
                if !is_whole {
                    exit = Exit::Failed;
                }
            }
            // If several agents are changed, an agent without a known file for MCP servers is skipped.
            Err(Unchanged::NotKnown) if agents.len() > 1 => {}
            Err(Unchanged::NotKnown) => {
                let why = format!(
                    "hookhost knows no file of {} with MCP servers; put `hookhost mcp --name NAME --` before each server's command",
                    scope.whose()
                );
                failed(adapter, &why).print();
                exit = Exit::Failed;
            }
            Err(Unchanged::Failed(error)) => {
                error.print();
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

enum Unchanged {
    NotKnown,
    Failed(CliError),
}

/// An agent's file with MCP servers, before and after the change.
pub(crate) struct ServersChange {
    path: PathBuf,
    before: String,
    after: String,
    servers: Vec<ServerEntry>,
}

impl ServersChange {
    /// Returns the names of the changed servers, with commas.
    pub(crate) fn names(&self) -> String {
        let changed = self.servers.iter().filter(|server| server.change == ServerChange::Changed);
        changed.map(|server| one_line(&server.name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the change as a unified difference.
    pub(crate) fn unified(&self) -> String {
        difference::unified(&self.path.to_string_lossy(), Some(&self.before), Some(&self.after))
    }
}

/// Removes the proxy from an agent's MCP servers. Returns `None` if there is no proxy in front of them. If `is_dry`, changes nothing.
pub(crate) fn take_out_proxies(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    is_dry: bool,
) -> Result<Option<ServersChange>, CliError> {
    // A file without this word is not read as settings, because a mistake in it does not concern hookhost.
    let names_hookhost = |text: Vec<u8>| text.windows(PROGRAM.len()).any(|word| word == PROGRAM.as_bytes());
    let found = adapter.mcp_servers(&places.context(adapter.agent().name, scope));
    if !found.is_some_and(|found| fs::read(found.path).is_ok_and(names_hookhost)) {
        return Ok(None);
    }
    match edit(places, adapter, scope, To::Server, is_dry) {
        Ok(change) => Ok(Some(change).filter(|change| change.before != change.after)),
        Err(Unchanged::NotKnown) => Ok(None),
        Err(Unchanged::Failed(error)) => Err(error),
    }
}

/// Changes the entries of an agent's servers. If `is_dry`, only returns the change.
fn edit(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    to: To,
    is_dry: bool,
) -> Result<ServersChange, Unchanged> {
    let context = places.context(adapter.agent().name, scope);
    let found = adapter.mcp_servers(&context).ok_or(Unchanged::NotKnown)?;
    let failed = |error: &dyn std::fmt::Display| Unchanged::Failed(failed(adapter, error));
    let lock = if is_dry { None } else { Some(Lock::take(&places.directories.state)) };
    let _lock = lock.transpose().map_err(|error| failed(&error))?;
    let file = SettingsFile::read(&found.path, places.root(scope)).map_err(|error| failed(&error))?;
    let text = file.text().map_err(|error| failed(&error))?;
    let shown = one_line(&found.path.to_string_lossy());
    let edited = match to {
        To::Proxy => {
            let program = start::program().map_err(|error| failed(&error))?;
            let name_of = |name: &str| {
                let made = ServerName::new(name).ok().or_else(|| ServerName::made_of(name));
                made.map(|name| name.to_string())
            };
            let proxy = ProxyCommand { program: &program, name_of: &name_of, misleads: &misleads };
            match found.format {
                ServersFormat::Toml => mcp_servers_toml::with_proxy(text, found.places, &proxy),
                ServersFormat::Json => with_proxy(text, found.places, adapter.json_dialect(), &proxy),
            }
        }
        To::Server => match found.format {
            ServersFormat::Toml => mcp_servers_toml::without_proxy(text, found.places),
            ServersFormat::Json => without_proxy(text, found.places),
        },
    };
    let (after, servers) = edited.map_err(|why| failed(&anyhow!("{shown} {why}")))?;
    if after != text && !is_dry {
        file.replace(after.as_bytes(), false).map_err(|error| failed(&error))?;
    }
    Ok(ServersChange { before: text.to_owned(), path: found.path, after, servers })
}

/// Returns the text to print, and a flag. The flag is false if a server was left unchanged because a proxy in front of this server would
/// read other rules.
fn change(
    places: &AgentPlaces,
    adapter: &Adapter,
    scope: Scope,
    to: To,
    is_dry: bool,
) -> Result<(String, bool), Unchanged> {
    let agent = adapter.agent();
    let change = edit(places, adapter, scope, to, is_dry)?;
    let shown = one_line(&change.path.to_string_lossy());
    let ServersChange { before, after, servers, .. } = &change;
    let mut said = format!("{NAME}{}{NAME:#} {DIM}({}) {shown}{DIM:#}\n", agent.title, scope.whose());
    if servers.is_empty() {
        output::sentence(&mut said, "There is no MCP server in this file.");
    }
    servers.iter().for_each(|server| about(&mut said, server, to, is_dry));
    if after != before {
        if is_dry {
            said.push_str(&change.unified());
        } else {
            let next = format!("restart {}, so that it starts the servers anew", agent.title);
            output::next_step(&mut said, &next);
        }
    }
    let is_misled = |server: &ServerEntry| matches!(server.change, ServerChange::MisleadingVariable(_));
    Ok((said, !servers.iter().any(is_misled)))
}

/// Returns true if this environment variable of a server's entry would make the proxy read other files than the user's. Agents replace
/// `${NAME}` in the value with the variable of that name in their own environment.
fn misleads(name: &str, value: &str) -> bool {
    let own = std::env::var(name).is_ok_and(|own| own == value);
    DIRECTORY_VARIABLES.contains(&name) && !own && value != format!("${{{name}}}") && value != format!("${name}")
}

fn about(said: &mut String, server: &ServerEntry, to: To, is_dry: bool) {
    let project = server.project.as_deref().map(|project| format!(" {DIM}(in {}){DIM:#}", one_line(project)));
    let name = one_line(&server.name) + &project.unwrap_or_default();
    let _ = match (&server.change, to) {
        (ServerChange::Changed, _) => {
            let does = match (to, is_dry) {
                (To::Proxy, false) => "hookhost checks its calls from now on",
                (To::Proxy, true) => "hookhost would check its calls",
                (To::Server, false) => "runs without hookhost again",
                (To::Server, true) => "would run without hookhost",
            };
            writeln!(said, "  {GOOD}✓{GOOD:#} {name}: {does}")
        }
        (ServerChange::Unchanged, _) | (ServerChange::Service | ServerChange::Unusable, To::Server) => {
            writeln!(said, "  {DIM}= {name}: unchanged{DIM:#}")
        }
        (ServerChange::Service, To::Proxy) => writeln!(
            said,
            "  {WARNING}?{WARNING:#} {name}: not checked, because it is a service; to check it, start `hookhost mcp --http URL` in its \
             place"
        ),
        (ServerChange::MisleadingVariable(variable), _) => writeln!(
            said,
            "  {WARNING}✗{WARNING:#} {name}: not checked, because its variable {} leads hookhost to other rules; take the variable \
             out, and try again",
            one_line(variable)
        ),
        (ServerChange::Unusable, To::Proxy) => {
            writeln!(
                said,
                "  {WARNING}?{WARNING:#} {name}: not checked, because it has no command that hookhost can read"
            )
        }
    };
}
