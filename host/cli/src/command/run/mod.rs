//! `hookhost run`: runs the agent on a directory. Each step of the agent is an event for the plugins.

mod progress;
pub(crate) mod report;
pub(crate) mod watch;

use crate::args::{AgentOptions, ResumeArgs, RunArgs, RunOptions};
use crate::audit_log;
use crate::command::{auth, session};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::loading;
use crate::nearest::nearest;
use crate::output;
use crate::terminal_approver;
use crate::toolbox::{self, Tools};
use anyhow::anyhow;
use hookhost::contract::Cause;
use hookhost::{Config, Host};
use hookhost_agent::agent::{Agent, AgentConfig, AgentError, AgentEvent, Reporter, RunOutcome, Status};
use hookhost_agent::config::{AgentSection, Overrides, ProviderChoice};
use hookhost_agent::context::{Context, Sources};
use hookhost_agent::launcher::Launcher;
use hookhost_agent::session_store::Header;
use hookhost_models::ProviderError;
use hookhost_models::section::SectionError;
use report::{ForPeople, ForPrograms};
use serde_json::json;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) async fn run(args: &RunArgs) -> Result<Exit, CliError> {
    let session = session::chosen(args.session.as_deref(), args.latest, args.options.agent.workspace.as_deref())?;
    let prompt = prompt(args.prompt.as_ref())?;
    start(session, Some(prompt), &args.options).await
}

/// Continues a session. Without a prompt, continues the task that was interrupted.
pub(crate) async fn resume(args: &ResumeArgs) -> Result<Exit, CliError> {
    let session = session::find(&args.id)?;
    let prompt = args.prompt.as_ref().map(|text| prompt(Some(text))).transpose()?;
    start(Some(session), prompt, &args.options).await
}

async fn start(session: Option<Header>, prompt: Option<String>, args: &RunOptions) -> Result<Exit, CliError> {
    let options = &args.agent;
    let workspace = workspace(options, session.as_ref())?;
    let config = loading::config(&options.configuration, &workspace)?;
    let section = configuration::agent(&config)?;
    let approver = terminal_approver::of(&options.approve);
    let interactive = approver.is_some();
    let host = loading::recording_host(config.clone(), approver).await?;
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), Some(host.clone()))?;
    let begin = async {
        let chosen = choose(&section, overrides(options), WithoutKey::Stop).await?;
        Ok::<_, CliError>((chosen, tools(&host, &config, &section, &workspace, options).await?))
    };
    let (chosen, tools) = tokio::select! {
        begun = begin => begun?,
        () = cancel.cancelled() => return audit_log::finish(&host, Err(interrupted())).await,
    };
    let agent = agent(host.clone(), &section, chosen, tools, &workspace, interactive)?;

    let people = (!args.json).then(|| Arc::new(ForPeople::default()));
    let reporter: Arc<dyn Reporter> = match &people {
        Some(people) => Arc::clone(people) as _,
        None => Arc::new(ForPrograms),
    };
    let watcher = watch::watch(host.clone(), &options.configuration, &workspace, config, Arc::clone(&reporter));
    let status_line = people.as_ref().and_then(|people| people.status_line());
    let outcome = match (&session, &prompt) {
        (Some(session), prompt) => agent.resume(&session.id, prompt.as_deref(), &*reporter, &cancel).await,
        (None, prompt) => agent.run(prompt.as_deref().unwrap_or_default(), &*reporter, &cancel).await,
    };
    drop((status_line, watcher));
    let drained = audit_log::drain(&host).await;
    for notice in host.take_notices() {
        reporter.report(&AgentEvent::Notice { text: notice.text });
    }
    let ended = outcome.map_err(stopped).and_then(|outcome| {
        let exit = exit(&outcome);
        match &people {
            Some(people) => people.finish(&outcome),
            None => report::line(&json!({ "type": "outcome", "exit-code": exit as u8, "outcome": outcome })),
        }
        ended(&outcome, exit)
    });
    audit_log::finished(drained, ended)
}

/// Returns the error for Ctrl-C before the first prompt, for example while MCP servers start.
pub(crate) fn interrupted() -> CliError {
    CliError::new(Exit::Interrupted, anyhow!("interrupted during startup"))
}

/// Turns an error that prevented the start of a run into an error of the command.
pub(crate) fn stopped(error: AgentError) -> CliError {
    match error {
        AgentError::Store(error) => session::stop(error),
        AgentError::NoPrompt { ref id } => {
            let advice = format!("hookhost session resume {id} \"…\"");
            CliError::new(Exit::Usage, error).advise(advice)
        }
        other => anyhow::Error::new(other).into(),
    }
}

pub(crate) fn workspace(args: &AgentOptions, session: Option<&Header>) -> Result<PathBuf, CliError> {
    let directory = match (&args.workspace, session) {
        (Some(directory), _) => directory,
        (None, Some(session)) if session.workspace.is_dir() => &session.workspace,
        (None, Some(session)) => {
            let workspace = session.workspace.display();
            return Err(CliError::usage(format!("the session was in {workspace}, which is not there any more"))
                .advise(output::this_command_and("--workspace DIRECTORY")));
        }
        (None, None) => return configuration::cwd(),
    };
    let shown = directory.display();
    let wrong =
        |why: &dyn std::fmt::Display| CliError::usage(format!("the workspace {shown} cannot be worked on: {why}"));
    let workspace = directory.canonicalize().map_err(|error| wrong(&error))?;
    if workspace.is_dir() { Ok(workspace) } else { Err(wrong(&"it is not a directory")) }
}

/// Returns the prompt from the command line or the standard input.
fn prompt(given: Option<&String>) -> Result<String, CliError> {
    let prompt = match given {
        Some(prompt) => prompt.clone(),
        None if std::io::stdin().is_terminal() => {
            return Err(CliError::usage("there is nothing to do: give a prompt")
                .advise("hookhost run \"Explain this project\""));
        }
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| {
                CliError::usage(format!("the prompt cannot be read from the standard input: {error}"))
            })?;
            text
        }
    };
    if prompt.trim().is_empty() {
        return Err(CliError::usage("the prompt is empty").advise("hookhost run \"Explain this project\""));
    }
    Ok(prompt)
}

/// Returns the provider and model that the command line sets.
pub(crate) fn overrides(args: &AgentOptions) -> Overrides {
    Overrides::new(args.provider.clone(), args.model.clone(), args.script.clone())
}

/// The reaction if the user names no provider and no provider has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutKey {
    /// Asks the person at the terminal for a key.
    Ask,
    /// Ends the command with advice.
    Stop,
}

/// Returns the named provider and model. Without names, chooses the first provider that is ready.
pub(crate) async fn choose(
    section: &AgentSection,
    mut overrides: Overrides,
    without_key: WithoutKey,
) -> Result<ProviderChoice, CliError> {
    let mut section = section.clone();
    section.ask_programs().await;
    loop {
        let keys = configuration::keys()?;
        if let Some(ready) = section.first_ready(&overrides, &keys).await {
            let name = |name: &Option<String>| name.clone().unwrap_or_default();
            let (provider, model) = (name(&ready.provider), name(&ready.model));
            output::note(&output::notice(&format!("{provider} is ready and is used, with the model {model}")));
            overrides = ready;
        }
        let is_named = overrides.provider.is_some() || overrides.script.is_some() || section.provider.is_some();
        match section.choose_with(&overrides, &keys) {
            Ok(chosen) => return Ok(chosen),
            Err(SectionError::Provider(ProviderError::NoKey { .. })) if !is_named => {
                let provider = if without_key == WithoutKey::Ask { auth::ask_for_key(&section)? } else { None };
                if provider.is_none() {
                    return Err(no_provider(&section));
                }
                overrides.provider = provider;
            }
            Err(SectionError::UnknownProvider { name, known }) => {
                let names = section.provider_names();
                let near = nearest(&name, names.iter().map(String::as_str)).map(str::to_owned);
                let stop = CliError::new(Exit::Usage, SectionError::UnknownProvider { name, known });
                return Err(near.into_iter().fold(stop, |stop, near| stop.advise(format!("--provider {near}"))));
            }
            Err(error @ SectionError::Provider(_)) => return Err(CliError::new(Exit::Failed, error)),
            Err(error) => return Err(CliError::new(Exit::Usage, error)),
        }
    }
}

/// Returns the error for the case that the user names no provider and no provider is ready.
fn no_provider(section: &AgentSection) -> CliError {
    let names = auth::providers_with_a_key(section).join(", ");
    let why = "no model is ready: no provider has a key, and no server on this machine answers";
    CliError::new(Exit::Failed, anyhow!("{why}"))
        .advise("hookhost on, to check the agents that you already use, which needs no model")
        .advise(format!("hookhost auth set PROVIDER, where PROVIDER is one of {names}"))
        .advise("ollama serve, or llama.cpp or vLLM on this machine")
        .advise("hookhost run \"…\" --script FILE, which takes the answers from a file instead of a model")
}

/// Returns the tools of a run, and prints a notice for each tool that is left out.
pub(crate) async fn tools(
    host: &Host,
    config: &Config,
    section: &AgentSection,
    workspace: &Path,
    options: &AgentOptions,
) -> Result<Tools, CliError> {
    let chosen = options.configuration.config.as_deref();
    let (tools, left_out) = toolbox::tools(host, config, section, workspace, chosen, options.no_sandbox).await?;
    for notice in left_out {
        output::note(&output::notice(&notice));
    }
    Ok(tools)
}

/// Builds an agent for this workspace.
pub(crate) fn agent(
    host: Host,
    section: &AgentSection,
    chosen: ProviderChoice,
    tools: Tools,
    workspace: &Path,
    interactive: bool,
) -> Result<Agent, CliError> {
    let ProviderChoice { provider, model, limits, others, notices, .. } = chosen;
    for notice in notices {
        output::note(&output::notice(&notice));
    }
    let mut settings = settings(section, workspace, &model, tools.launcher)?;
    if let Some(most) = limits.max_output_tokens {
        settings.max_output_tokens = settings.max_output_tokens.min(most);
    }
    settings.interactive = interactive;
    settings.context_window = limits.context_window;
    settings.sessions_dir = Some(session::directory()?);
    let mut builder = Agent::builder(host, provider, tools.toolbox, settings);
    for (provider, models) in others {
        builder = builder.models(provider, models).map_err(anyhow::Error::new)?;
    }
    builder.build().map_err(|error| anyhow::Error::new(error).into())
}

/// Returns the agent's settings for this workspace, which do not depend on the provider.
pub(crate) fn settings(
    section: &AgentSection,
    workspace: &Path,
    model: &str,
    launcher: Launcher,
) -> Result<AgentConfig, CliError> {
    let mut settings = section.agent_config(workspace, model);
    let places = configuration::places()?;
    let mut sources = Sources::of(workspace);
    (sources.config, sources.home) = (Some(places.config), places.home);
    settings.context = Context::gather(&sources);
    settings.launcher = launcher;
    Ok(settings)
}

fn exit(outcome: &RunOutcome) -> Exit {
    match outcome.status {
        Status::Success => Exit::Done,
        Status::Rejected => match &outcome.rejection {
            Some(rejection) => match rejection.cause {
                Cause::Failed(_) => Exit::PluginFailed,
                // The system failed, and neither a plugin nor a person rejected the event.
                Cause::NotRecorded => Exit::Failed,
                _ => Exit::Rejected,
            },
            None => Exit::Rejected,
        },
        Status::MaxTurns | Status::MaxTokens | Status::MaxTime | Status::Error => Exit::Failed,
        Status::Cancelled => Exit::Interrupted,
    }
}

fn ended(outcome: &RunOutcome, exit: Exit) -> Result<Exit, CliError> {
    if exit == Exit::Done {
        return Ok(exit);
    }
    let reason = outcome.reason.clone().unwrap_or_else(|| format!("the run ended as {}", outcome.status.name()));
    Err(CliError::new(exit, anyhow!(reason)))
}
