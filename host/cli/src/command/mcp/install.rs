//! `hookhost install AGENT --mcp` and `hookhost uninstall AGENT --mcp`: put the proxy in front of an agent's MCP servers, or remove the
//! proxy.

use crate::agent_places::AgentPlaces;
use crate::command::install::failed;
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
                    "no file is known in which it names MCP servers ({}); put `hookhost mcp --name NAME --` before each \
                     server's command",
                    scope.name()
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
    let context = places.context(agent.name, scope);
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
    let mut said = format!("{NAME}{}{NAME:#} {DIM}({}) {shown}{DIM:#}\n", agent.title, scope.name());
    if servers.is_empty() {
        said.push_str("  it names no MCP server there\n");
    }
    servers.iter().for_each(|server| about(&mut said, server, to));
    if after != text {
        if is_dry {
            said.push_str(&difference::unified(&found.path.to_string_lossy(), Some(text), Some(&after)));
        } else {
            file.replace(after.as_bytes(), false).map_err(|error| failed(&error))?;
            said.push_str("  restart the agent, so that it starts them\n");
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

fn about(said: &mut String, server: &ServerEntry, to: To) {
    let project = server.project.as_deref().map(|project| format!(" {DIM}(in {}){DIM:#}", one_line(project)));
    let name = one_line(&server.name) + &project.unwrap_or_default();
    let _ = match (&server.change, to) {
        (ServerChange::Changed, To::Proxy) => writeln!(said, "  {GOOD}proxied  {GOOD:#} {name}"),
        (ServerChange::Changed, To::Server) => writeln!(said, "  {GOOD}by itself{GOOD:#} {name}"),
        (ServerChange::Unchanged, _) => writeln!(said, "  {DIM}as it is {DIM:#} {name}"),
        (ServerChange::Service, _) => {
            writeln!(said, "  {WARNING}left     {WARNING:#} {name}: a service; `hookhost mcp --http URL` proxies it")
        }
        (ServerChange::MisleadingVariable(variable), _) => writeln!(
            said,
            "  {WARNING}left     {WARNING:#} {name}: its variable {} leads hookhost to other rules, and it runs without the proxy; \
             take the variable out, and try again",
            one_line(variable)
        ),
        _ => writeln!(said, "  {WARNING}left     {WARNING:#} {name}: it has no command that could be read"),
    };
}
