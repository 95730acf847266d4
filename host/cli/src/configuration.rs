//! Finds the configuration: the file of `--config`, or the user's own file and the approved files of the project.
//!
//! If a project's file is not used, a note names the command that approves it. A note also reports an approved file that has changed.

use crate::agents_section::AgentsSection;
use crate::bundled;
use crate::evidence_section::EvidenceSection;
use crate::exit::CliError;
use crate::output::{self, quoted, style::WARNING};
use anyhow::anyhow;
use hookhost::config::{
    Config, Discovered, Entry, Found, Inert, InertFile, Layer, Rule, UnapprovedChange, UserDirectories,
};
use hookhost_agent::config::AgentSection;
use hookhost_agent::config::SentVariable;
use hookhost_agent::mcp::McpSection;
use hookhost_exec::policy::SandboxSettings;
use hookhost_models::Keys;
use hookhost_proxy::mcp::policy::Section;
use hookhost_resident::RulePauses;
use hookhost_telemetry::TelemetrySettings;
use std::path::{Path, PathBuf};

/// The sections of `hookhost.toml` that do not belong to the engine.
pub(crate) const SECTIONS: &[&str] =
    &["agent", "agents", "evidence", "mcp", "mcp-proxy", "profile", "sandbox", "telemetry"];

/// Returns the directories of the user's own files.
pub(crate) fn places() -> Result<UserDirectories, CliError> {
    UserDirectories::of_user().map_err(CliError::not_loaded)
}

/// Returns the directory of compiled code: `HOOKHOST_CACHE_DIR`, or `hookhost` in the platform's directory for caches. If there is no such
/// directory, plugins are compiled at every start.
pub(crate) fn cache() -> Option<PathBuf> {
    hookhost::command::default_directory()
}

/// Returns the working directory.
pub(crate) fn cwd() -> Result<PathBuf, CliError> {
    std::env::current_dir().map_err(|error| anyhow::anyhow!("the working directory cannot be found: {error}").into())
}

/// Reads the configuration for `directory`. Prints a note about unapproved files, and about approved files that have changed.
pub(crate) fn read(chosen: Option<&Path>, directory: &Path) -> Result<Config, CliError> {
    let found = find(chosen, directory)?;
    found.changes.iter().for_each(|change| note(&changed(change)));
    found.inert.iter().for_each(|file| note(&inert(file)));
    Ok(found.config)
}

/// Finds the configuration for `directory`, and the files that exist but do not apply there.
pub(crate) fn find(chosen: Option<&Path>, directory: &Path) -> Result<Discovered, CliError> {
    let places = places()?;
    let found = match chosen {
        Some(file) => Config::open(file, &places, SECTIONS).map(Discovered::from),
        None => Config::discover(directory, &places, SECTIONS),
    };
    let mut found = found.map_err(CliError::not_loaded)?;
    check_sections(&found.config)?;
    let off = RulePauses::current(&places.state);
    found.config = with_rules_plugin(found.config.without_rules(|rule| off.of(rule).is_some()), &places)?;
    Ok(found)
}

/// Returns the rules in words of the working directory: those that apply, with those that are switched off for some time, and those that
/// `rules.off` leaves out.
pub(crate) fn rules() -> Result<(Vec<Rule>, Vec<Rule>), CliError> {
    let found = Config::discover(&cwd()?, &places()?, SECTIONS).map_err(CliError::not_loaded)?;
    Ok((found.config.rules().to_vec(), found.config.rules_off().to_vec()))
}

/// Returns the files that apply, with the files of rules that they name.
pub(crate) fn files(config: &Config) -> impl Iterator<Item = &Path> {
    config.files().iter().map(PathBuf::as_path).chain(config.rule_files())
}

/// Adds the plugin that judges the `[[rule]]` tables, if there are any. Writes its component, unless it is there already.
pub(crate) fn with_rules_plugin(config: Config, places: &UserDirectories) -> Result<Config, CliError> {
    let config = with_rules_entry(config, places)?;
    install_rules_plugin(&config, places)?;
    Ok(config)
}

/// Adds the plugin that judges the `[[rule]]` tables, if there are any, without writing its component.
pub(crate) fn with_rules_entry(config: Config, places: &UserDirectories) -> Result<Config, CliError> {
    if config.rules().is_empty() {
        return Ok(config);
    }
    let code = bundled::find(Entry::RULES)?.code(places)?;
    config.with_rules_plugin(code).map_err(CliError::not_loaded)
}

/// Writes the component that judges the `[[rule]]` tables, if there are any and it is not there already.
pub(crate) fn install_rules_plugin(config: &Config, places: &UserDirectories) -> Result<(), CliError> {
    if config.rules().is_empty() { Ok(()) } else { bundled::install_rules_plugin(places) }
}

/// Reads one file of the user, which can be a file of rules, and writes nothing.
pub(crate) fn of_file(file: &Path, places: &UserDirectories) -> Result<Config, CliError> {
    let config = Config::open(file, places, SECTIONS).map_err(CliError::not_loaded)?;
    check_sections(&config)?;
    with_rules_entry(config, places)
}

/// Checks all sections. Every command does so, even for sections that it does not use, because a file applies only if all of its sections
/// are valid.
pub(crate) fn check_sections(config: &Config) -> Result<(), CliError> {
    agent(config)?;
    agents(config)?;
    evidence(config)?;
    mcp(config)?;
    mcp_proxy(config)?;
    sandbox(config)?;
    sent_variables(config)?;
    telemetry(config)?;
    Ok(())
}

/// Reads the section `[agent]`. Only the user's own file can set programs and variants of providers. Otherwise a repository could make
/// hookhost run a program of the repository.
pub(crate) fn agent(config: &Config) -> Result<AgentSection, CliError> {
    let section: AgentSection = config.section("agent").map_err(CliError::not_loaded)?.unwrap_or_default();
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

/// Reads the section `[agents]`.
pub(crate) fn agents(config: &Config) -> Result<AgentsSection, CliError> {
    Ok(config.section("agents").map_err(CliError::not_loaded)?.unwrap_or_default())
}

/// Reads the section `[evidence]`.
pub(crate) fn evidence(config: &Config) -> Result<EvidenceSection, CliError> {
    Ok(config.section("evidence").map_err(CliError::not_loaded)?.unwrap_or_default())
}

/// Reads the section `[evidence]` of the user's own file, whatever the working directory is.
pub(crate) fn evidence_of_user() -> Result<EvidenceSection, CliError> {
    evidence(&find(None, &places()?.config)?.config)
}

/// Returns the file of keys that `hookhost auth` writes.
pub(crate) fn keys_file() -> Result<PathBuf, CliError> {
    Ok(places()?.config.join("keys.toml"))
}

/// Reads the keys of providers.
pub(crate) fn keys() -> Result<Keys, CliError> {
    Keys::read(&keys_file()?).map_err(CliError::not_loaded)
}

/// Reads the section `[mcp]`. A program that a project's file names runs in the directory of that file. The user has approved the program
/// in that directory, not a program with the same relative path in the working directory.
pub(crate) fn mcp(config: &Config) -> Result<McpSection, CliError> {
    let mut section: McpSection = config.section("mcp").map_err(CliError::not_loaded)?.unwrap_or_default();
    section.check().map_err(CliError::not_loaded)?;
    for (name, server) in &mut section.servers {
        let origin = config.origin(&["mcp", name.as_str(), "command"]).filter(|origin| origin.layer == Layer::Project);
        if let Some(directory) = origin.as_ref().and_then(|origin| origin.file.parent()) {
            server.cwd = Some(server.cwd.as_ref().map_or_else(|| directory.to_owned(), |cwd| directory.join(cwd)));
        }
    }
    Ok(section)
}

/// Reads the section `[mcp-proxy]`.
pub(crate) fn mcp_proxy(config: &Config) -> Result<Section, CliError> {
    let section: Section = config.section("mcp-proxy").map_err(CliError::not_loaded)?.unwrap_or_default();
    section.check().map_err(|why| CliError::not_loaded(anyhow!(why)))?;
    Ok(section)
}

/// Reads the section `[sandbox]`, which only the user's own file can have.
pub(crate) fn sandbox(config: &Config) -> Result<SandboxSettings, CliError> {
    let section: SandboxSettings = config.section("sandbox").map_err(CliError::not_loaded)?.unwrap_or_default();
    match section.mistakes().as_slice() {
        [] => Ok(section),
        mistakes => Err(CliError::not_loaded(anyhow!(mistakes.join("; ")))),
    }
}

/// Reads the section `[telemetry]`, which only the user's own file can have.
pub(crate) fn telemetry(config: &Config) -> Result<TelemetrySettings, CliError> {
    Ok(config.section("telemetry").map_err(CliError::not_loaded)?.unwrap_or_default())
}

/// Returns the environment variables that are sent to servers. A project's file must not send the key of a built-in provider to another
/// server, because a person who approves the file may not notice this in its text.
pub(crate) fn sent_variables(config: &Config) -> Result<Vec<SentVariable>, CliError> {
    let mut sent = agent(config)?.sent_variables();
    // The section is not checked as a whole, because the file to be approved may lack values that another file sets.
    let services: McpSection = config.section("mcp").map_err(CliError::not_loaded)?.unwrap_or_default();
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

/// Describes a file that does not apply, and the next step.
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

/// Describes a file that differs from its approved content, and the next step.
pub(crate) fn changed(change: &UnapprovedChange) -> String {
    let text = output::printable(&change.to_string());
    let path = quoted(&change.named_by.to_string_lossy());
    let revoke = format!("{text}\n  to revoke the approval: hookhost trust --revoke {path}");
    match change.found {
        Found::Changed { .. } => format!("{revoke}\n  to see and approve the change: hookhost trust {path}"),
        _ => revoke,
    }
}

/// Returns the command that allows the current content of a plugin. The command names the configuration file that contains the plugin's
/// entry.
pub(crate) fn allow_command(wasm: &Path, entry: Option<&Entry>, chosen: Option<&Path>) -> String {
    let mut command = format!("hookhost allow {}", quoted(&wasm.to_string_lossy()));
    let origin = entry.and_then(|entry| entry.origin.as_ref()).filter(|origin| origin.layer != Layer::User);
    if let Some(file) = origin.map(|origin| origin.file.as_path()).or(chosen) {
        command.push_str(&format!(" --config {}", quoted(&file.to_string_lossy())));
    }
    command
}
