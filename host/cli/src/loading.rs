//! Creates a host from the command line: adds the plugins of `--plugin`, loads every plugin, and gives advice if a plugin cannot be loaded.

use crate::args::ConfigArgs;
use crate::audit_log;
use crate::configuration::{self, allow_command};
use crate::exit::CliError;
use crate::output::{self, progress::Progress, quoted};
use anyhow::anyhow;
use hookhost::approval::Approver;
use hookhost::command::Advice;
use hookhost::config::{Config, Discovered, Entry, Problems, Rule, Settings};
use hookhost::plugin::LoadError;
use hookhost::{Changes, Clock, Error, Host, HostBuilder, Plugin};
use hookhost_models::Keys;
use hookhost_models::PluginModels;
use hookhost_resident::users_file;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the configuration for `directory`, with the plugins of `--plugin` enabled.
pub(crate) fn config(args: &ConfigArgs, directory: &Path) -> Result<Config, CliError> {
    with_plugins(args, configuration::read(args.config.as_deref(), directory)?)
}

/// Reads the configuration again while `loaded` is in force. Also returns a message about approved files that have changed. This fails if a
/// file of `loaded` no longer applies, because a program of the agent could have changed the file in order to remove the agent's rules.
pub(crate) fn config_again(
    args: &ConfigArgs,
    directory: &Path,
    loaded: &Config,
) -> Result<(Config, Option<String>), CliError> {
    let found = configuration::find(args.config.as_deref(), directory)?;
    keeps_all_files(&found, loaded)?;
    let config = with_plugins(args, found.config)?;
    let changes: Vec<_> = found.changes.iter().map(configuration::changed).collect();
    Ok((config, (!changes.is_empty()).then(|| changes.join("\n"))))
}

/// Checks that each file of the loaded configuration still applies, except a file that a command of the user removed.
pub(crate) fn keeps_all_files(found: &Discovered, loaded: &Config) -> Result<(), CliError> {
    let places = configuration::places()?;
    let is_lost = |file: &&PathBuf| !found.config.files().contains(file) && !users_file::is_forgotten(&places, file);
    let Some(lost) = loaded.files().iter().find(is_lost) else { return Ok(()) };
    let stop = match found.inert.iter().find(|inert| inert.path == *lost) {
        Some(inert) => CliError::not_loaded(anyhow!("{inert}"))
            .advise(format!("hookhost trust {}", quoted(&lost.to_string_lossy()))),
        None => CliError::not_loaded(anyhow!("{} is no longer there", lost.display())),
    };
    Err(stop)
}

fn with_plugins(args: &ConfigArgs, mut config: Config) -> Result<Config, CliError> {
    for wasm in &args.plugins {
        let name = config.entry_at(wasm).map(|entry| entry.name.clone());
        let Some(name) = name else { return Err(not_on_the_allowlist(wasm, &config, args)) };
        config.enable(&name);
    }
    Ok(config)
}

/// Replaces the configuration of a host.
pub(crate) async fn reload(host: &Host, config: &Config) -> Result<Changes, CliError> {
    host.reload(config).await.map_err(|error| stop(error, config))
}

fn not_on_the_allowlist(wasm: &Path, config: &Config, args: &ConfigArgs) -> CliError {
    let shown = wasm.display();
    if !wasm.exists() {
        return CliError::not_loaded(anyhow!("the plugin {shown} does not exist"));
    }
    let files: Vec<_> = config.files().iter().map(|file| file.display().to_string()).collect();
    let allowlist = match files.as_slice() {
        [] => "no hookhost.toml applies here".to_owned(),
        files => format!("it has no entry in {}", files.join(" or ")),
    };
    CliError::not_loaded(anyhow!("{shown} is not on the allowlist: {allowlist}")).advise(allow_command(
        wasm,
        None,
        args.config.as_deref(),
    ))
}

/// Creates a host with every enabled plugin. Fails if a plugin cannot be loaded. The host records nothing and asks no person.
pub(crate) async fn host(config: Config) -> Result<Host, CliError> {
    let builder = builder(config.clone());
    builder.build().await.map_err(|error| stop(error, &config))
}

/// Like [`host`], with another clock.
pub(crate) async fn host_at(config: Config, clock: Arc<dyn Clock>) -> Result<Host, CliError> {
    let builder = builder(config.clone()).clock(clock);
    builder.build().await.map_err(|error| stop(error, &config))
}

/// Like [`host`], but for the events of an agent. The user's log records the events and stores the state of plugins, and plugins may send
/// requests to the models of `[agent.plugin-models]`. A command with such a host must end with [`audit_log::finish`].
pub(crate) async fn recording_host(config: Config, approver: Option<Arc<dyn Approver>>) -> Result<Host, CliError> {
    // With a passkey, a yes comes from the page.
    let mut builder = builder(config.clone()).store(audit_log::prepared()?).share_questions_with_passkey();
    builder = builder.model(Arc::new(plugin_models(&config)?));
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    builder.build().await.map_err(|error| stop(error, &config))
}

/// Creates a host for users' own agents. It finds the rules of each event separately. Questions that an agent cannot show to its user wait
/// in the store.
pub(crate) async fn shared_host(config: Config) -> Result<Host, CliError> {
    let models = Arc::new(plugin_models(&config)?);
    // The configuration is empty because every session brings its own rules.
    let builder = builder(Config::empty()).store(audit_log::prepared()?).share_questions().model(models);
    builder.build().await.map_err(|error| stop(error, &config))
}

/// Returns the models to which plugins may send requests. Models for which no plugin has a grant are included, because the rules can change
/// while the host runs.
pub(crate) fn plugin_models(config: &Config) -> Result<PluginModels, CliError> {
    let section = configuration::agent(config)?;
    // Without models no key is needed, so an error in the file of keys does not matter.
    let keys = if section.plugin_models.is_empty() { Keys::default() } else { configuration::keys()? };
    Ok(section.plugin_models(&keys))
}

/// Loads each plugin of a configuration as a test, which compiles the plugins that were never compiled. `progress` shows how far this is.
pub(crate) async fn compile(config: &Config, progress: &Progress) -> Result<(), CliError> {
    // The time for compiling a component is about proportional to its size.
    let size =
        |entry: &Entry| entry.code.path().and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
    let total = config.enabled().map(size).sum();
    let mut done = 0;
    for entry in config.enabled() {
        load_alone(config.only(&entry.name)).await?;
        done += size(entry);
        progress.set(done, total);
    }
    Ok(())
}

/// Loads the plugin of an entry, even if the entry is not enabled.
pub(crate) async fn attempt(entry: &Entry) -> Result<Plugin, CliError> {
    let mut entry = entry.clone();
    entry.enabled = true;
    load_alone(Config::from_entries(vec![entry], Settings::default()).map_err(CliError::not_loaded)?).await
}

/// Loads the only plugin of a configuration.
async fn load_alone(config: Config) -> Result<Plugin, CliError> {
    match builder(config.clone()).build().await {
        Ok(host) => host.plugins().pop().ok_or_else(|| CliError::not_loaded(anyhow!("the plugin was not loaded"))),
        Err(error @ Error::Load(LoadError::Refused { .. }))
            if config.entries().iter().all(|entry| entry.origin.is_none()) =>
        {
            Err(stop(error, &config).advise(output::this_command_and("--set KEY=VALUE")))
        }
        Err(error) => Err(stop(error, &config)),
    }
}

/// Checks the rules in words with the plugin that judges them, which tries their examples. Returns the mistakes.
pub(crate) async fn mistakes_in_rules(config: &Config) -> Result<Option<Problems>, CliError> {
    if config.rules().is_empty() {
        return Ok(None);
    }
    let config = config.only(Entry::RULES);
    match builder(config.clone()).build().await {
        Ok(_) => Ok(None),
        Err(Error::Load(LoadError::InvalidRules(problems))) => Ok(Some(problems)),
        Err(error) => Err(stop(error, &config)),
    }
}

/// Checks that no other rule asks when or how often this one matched. Without this one, no rule would load, and every call would be denied.
pub(crate) fn check_without(rule: &Rule) -> Result<(), CliError> {
    let id = &rule.row.id;
    let asks = |other: &&Rule| other.row.id != *id && other.asks_about(id);
    match configuration::rules()?.0.iter().find(asks) {
        None => Ok(()),
        Some(other) => {
            let (id, other) = (output::one_line(id), output::one_line(&other.row.id));
            let why = format!("the rule {id} stays, because `{other}` asks about it: change or remove `{other}` first");
            Err(CliError::usage(why))
        }
    }
}

fn builder(config: Config) -> HostBuilder {
    let builder = Host::builder(config);
    match configuration::cache() {
        Some(directory) => builder.cache(directory),
        None => builder,
    }
}

fn stop(error: Error, config: &Config) -> CliError {
    match error {
        Error::Load(error) => not_loaded(&error, config),
        Error::Store(error) => audit_log::unusable(&error),
        other => CliError::from(anyhow::Error::new(other)),
    }
}

fn not_loaded(error: &LoadError, config: &Config) -> CliError {
    let entry = name_of(error).and_then(|name| config.entry(name));
    let written = entry.and_then(|entry| entry.origin.as_ref()).map(ToString::to_string);
    let command = match error.advice() {
        Advice::Allow(path) => Some(allow_command(path, entry, None)),
        Advice::Inspect(path) => Some(format!("hookhost inspect {}", quoted(&path.to_string_lossy()))),
        _ => None,
    };
    let message = match (error, &written) {
        (LoadError::OtherDigest { path, .. }, _) if entry.is_some_and(|entry| entry.name == Entry::RULES) => {
            return CliError::not_loaded(anyhow!("{error}"))
                .advise(format!("rm {}, which hookhost writes again", quoted(&path.to_string_lossy())));
        }
        (LoadError::Unreadable { .. }, Some(origin)) => {
            format!("{error}; put the file back, or take out its entry at {origin}")
        }
        (
            LoadError::NotGranted { .. }
            | LoadError::NoDirectory { .. }
            | LoadError::Refused { .. }
            | LoadError::Tools { .. },
            Some(origin),
        ) => {
            format!("{error}\n  its entry is at {origin}")
        }
        _ => error.to_string(),
    };
    let stop = CliError::not_loaded(anyhow!(message));
    match command {
        Some(command) => stop.advise(command),
        None => stop,
    }
}

/// Returns the name of the entry that an error is about.
fn name_of(error: &LoadError) -> Option<&str> {
    match error {
        LoadError::Unreadable { name, .. }
        | LoadError::OtherDigest { name, .. }
        | LoadError::Unfit { name, .. }
        | LoadError::NotGranted { name, .. }
        | LoadError::NoDirectory { name, .. }
        | LoadError::Refused { name, .. }
        | LoadError::Tools { name, .. }
        | LoadError::Failed { name, .. } => Some(name),
        _ => None,
    }
}
