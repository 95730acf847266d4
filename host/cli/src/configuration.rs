//! Which configuration counts: the file named with `--config`, or the user's own and the project's approved ones.
//!
//! A project's file that does not count is announced, with the command that approves it, and so is
//! one that is not what was approved and counts.

use crate::agents_section::AgentsSection;
use crate::exit::CliError;
use crate::output::{self, quoted, style::WARNING};
use anyhow::anyhow;
use hookhost::config::{
    Config, ConfigError, Discovered, Entry, Found, Inert, InertFile, Layer, UnapprovedChange, UserDirectories,
};
use hookhost_agent::config::AgentSection;
use hookhost_agent::mcp::McpSection;
use hookhost_agent::provider::Keys;
use hookhost_agent::sent::SentVariable;
use hookhost_mcp::policy::Section;
use std::path::{Path, PathBuf};

/// The sections of `hookhost.toml` that are not the engine's.
pub(crate) const SECTIONS: &[&str] = &["agent", "agents", "mcp", "mcp-proxy"];

/// The directories of the user's own files.
pub(crate) fn places() -> Result<UserDirectories, CliError> {
    UserDirectories::of_user().map_err(not_loaded)
}

/// Where compiled code is kept: `HOOKHOST_CACHE_DIR`, or `hookhost` in the platform's directory for
/// caches. Without one of them, every start compiles.
pub(crate) fn cache() -> Option<PathBuf> {
    hookhost::command::default_directory()
}

/// The working directory.
pub(crate) fn cwd() -> Result<PathBuf, CliError> {
    std::env::current_dir().map_err(|error| anyhow::anyhow!("the working directory cannot be found: {error}").into())
}

/// The configuration that counts in `directory`. What is inert there is announced, and what is not as it was approved.
pub(crate) fn read(chosen: Option<&Path>, directory: &Path) -> Result<Config, CliError> {
    let found = find(chosen, directory)?;
    found.changes.iter().for_each(|change| note(&changed(change)));
    found.inert.iter().for_each(|file| note(&inert(file)));
    Ok(found.config)
}

/// The configuration that counts in `directory`, and what is inert there.
pub(crate) fn find(chosen: Option<&Path>, directory: &Path) -> Result<Discovered, CliError> {
    let places = places()?;
    let found = match chosen {
        Some(file) => Config::open(file, &places, SECTIONS).map(Discovered::from),
        None => Config::discover(directory, &places, SECTIONS),
    };
    let found = found.map_err(not_loaded)?;
    // For every command, a file counts only if all of it is right.
    agent(&found.config)?;
    agents(&found.config)?;
    mcp(&found.config)?;
    mcp_proxy(&found.config)?;
    sent_variables(&found.config)?;
    Ok(found)
}

/// The section `[agent]`. Programs and variants of providers are the user's own: a project's file that could name one would run
/// what a repository brings.
pub(crate) fn agent(config: &Config) -> Result<AgentSection, CliError> {
    let section: AgentSection = config.section("agent").map_err(not_loaded)?.unwrap_or_default();
    for name in section.providers.keys() {
        for key in ["program", "variant"] {
            let origin = config.origin(&["agent", "providers", name.as_str(), key]);
            if let Some(origin) = origin.filter(|origin| origin.layer == Layer::Project) {
                return Err(CliError::not_loaded(anyhow!(
                    "{origin}: a project's file cannot set `agent.providers.{name}.{key}`: set it in your own file, or take it out"
                )));
            }
        }
    }
    Ok(section)
}

/// The section `[agents]`.
pub(crate) fn agents(config: &Config) -> Result<AgentsSection, CliError> {
    Ok(config.section("agents").map_err(not_loaded)?.unwrap_or_default())
}

/// The file of keys that `hookhost auth` keeps.
pub(crate) fn keys_file() -> Result<PathBuf, CliError> {
    Ok(places()?.config.join("keys.toml"))
}

/// The keys in it.
pub(crate) fn keys() -> Result<Keys, CliError> {
    Keys::read(&keys_file()?).map_err(CliError::not_loaded)
}

/// The section `[mcp]`. A program that a project's file names runs in that file's directory: what
/// was approved there is not what lies under the same path in the directory that the user happens
/// to be in.
pub(crate) fn mcp(config: &Config) -> Result<McpSection, CliError> {
    let mut section: McpSection = config.section("mcp").map_err(not_loaded)?.unwrap_or_default();
    section.check().map_err(CliError::not_loaded)?;
    for (name, server) in &mut section.servers {
        let origin = config.origin(&["mcp", name.as_str(), "command"]).filter(|origin| origin.layer == Layer::Project);
        if let Some(directory) = origin.as_ref().and_then(|origin| origin.file.parent()) {
            server.cwd = Some(server.cwd.as_ref().map_or_else(|| directory.to_owned(), |cwd| directory.join(cwd)));
        }
    }
    Ok(section)
}

/// The section `[mcp-proxy]`.
pub(crate) fn mcp_proxy(config: &Config) -> Result<Section, CliError> {
    let section: Section = config.section("mcp-proxy").map_err(not_loaded)?.unwrap_or_default();
    section.check().map_err(|why| CliError::not_loaded(anyhow!(why)))?;
    Ok(section)
}

/// Which environment variables are sent to which servers. A project's file does not send the key of
/// a provider that is known without any configuration to another server: who approves the file may
/// not see in its text what leaves.
pub(crate) fn sent_variables(config: &Config) -> Result<Vec<SentVariable>, CliError> {
    let mut sent = agent(config)?.sent_variables();
    // Unchecked: what is to be approved may lack what another file says.
    let services: McpSection = config.section("mcp").map_err(not_loaded)?.unwrap_or_default();
    sent.extend(services.sent_variables());
    for variable in &sent {
        let mut origins = variable.keys.iter().filter_map(|keys| {
            let keys: Vec<_> = keys.iter().map(String::as_str).collect();
            config.origin(&keys)
        });
        let origin = origins.find(|origin| origin.layer == Layer::Project);
        if let (Some(origin), Some(own)) = (origin, variable.is_meant_for().first()) {
            let SentVariable { name, to, .. } = variable;
            return Err(CliError::not_loaded(anyhow!(
                "{origin}: a project's file cannot send the value of your {name} to {to}, since that key is for {own}: name \
                 another variable, or describe the server in your own file"
            )));
        }
    }
    Ok(sent)
}

fn note(text: &str) {
    output::note(&format!("{WARNING}note:{WARNING:#} {text}\n"));
}

/// What a person is told of a file that does not count.
pub(crate) fn inert(file: &InertFile) -> String {
    let text = output::printable(&file.to_string());
    let path = quoted(&file.path.to_string_lossy());
    match file.why {
        Inert::NeverApproved | Inert::Lost { .. } => {
            format!("{text}\n  to see and approve it: hookhost trust {path}")
        }
        _ => text,
    }
}

/// What a person is told of a file that is not as they approved it.
pub(crate) fn changed(change: &UnapprovedChange) -> String {
    let text = output::printable(&change.to_string());
    let path = quoted(&change.path.to_string_lossy());
    let revoke = format!("{text}\n  to revoke the approval: hookhost trust --revoke {path}");
    match change.found {
        Found::Changed { .. } => format!("{revoke}\n  to see and approve the change: hookhost trust {path}"),
        _ => revoke,
    }
}

/// A configuration that cannot be used: nothing is loaded.
pub(crate) fn not_loaded(error: ConfigError) -> CliError {
    CliError::not_loaded(error)
}

/// The command that allows a file as it now is, in the file that its entry is written in.
pub(crate) fn allow_command(wasm: &Path, entry: Option<&Entry>, chosen: Option<&Path>) -> String {
    let mut command = format!("hookhost allow {}", quoted(&wasm.to_string_lossy()));
    let origin = entry.and_then(|entry| entry.origin.as_ref()).filter(|origin| origin.layer != Layer::User);
    if let Some(file) = origin.map(|origin| origin.file.as_path()).or(chosen) {
        command.push_str(&format!(" --config {}", quoted(&file.to_string_lossy())));
    }
    command
}
