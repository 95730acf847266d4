//! `hookhost` without a command, on a terminal: a conversation with an agent in one session. Lines that begin with a slash are commands.

mod commands;
mod completer;
mod editor;
mod slash;

use crate::args::{AgentOptions, ReplArgs};
use crate::audit_log;
use crate::command::run::WithoutKey;
use crate::command::run::report::{ForPeople, used};
use crate::command::run::watch::{self, ConfigWatcher};
use crate::command::{self, is_on_a_terminal, session};
use crate::configuration;
use crate::directory_rules::{OBSERVES, pause_note};
use crate::exit::{CliError, Exit};
use crate::interrupt::{self, Received, Signals};
use crate::loading;
use crate::output::{
    self, keyboard, one_line, screen,
    style::{DIM, ERROR, NAME, WARNING},
};
use crate::terminal_approver::{self, Answering};
use crate::toolbox::Tools;
use completer::Choices;
use editor::{LineEditor, LineInput, PROMPT};
use hookhost::{Config, Host};
use hookhost_agent::agent::{Agent, Dialogue, RunOutcome, Status};
use hookhost_agent::config::{AgentSection, Overrides, ProviderChoice};
use hookhost_models::message::TokenUsage;
use hookhost_resident::Pause;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The name of the history file in the state directory.
const HISTORY: &str = "history";

pub(crate) async fn run(args: &ReplArgs) -> Result<Exit, CliError> {
    if !is_on_a_terminal() {
        let stop = CliError::usage("there is no terminal to talk at: give the prompt to `run`");
        return Err(stop.advise("hookhost run \"Explain this project\""));
    }
    let options = &args.options;
    let session = session::chosen(args.session.as_deref(), args.latest, options.workspace.as_deref())?;
    let workspace = command::run::workspace(options, session.as_ref())?;
    let config = loading::config(&options.configuration, &workspace)?;
    let section = configuration::agent(&config)?;
    let (approver, answering) = terminal_approver::changeable(&options.approve);
    let host = loading::recording_host(config.clone(), approver).await?;
    let next = session.map(|session| session.id);
    let mut signals = Signals::listen()?;
    let begun = tokio::select! {
        begun = Repl::begin(host.clone(), config, section, workspace, answering, options, next) => begun,
        _ = signals.next() => Err(command::run::interrupted()),
    };
    let ended = match begun {
        Ok(repl) => repl.read_and_answer(signals).await,
        Err(stop) => Err(stop),
    };
    audit_log::finish(&host, ended).await
}

/// Tells the person that the rules do not take effect. A pause is for other agents alone.
fn note_enforcement(config: &Config) {
    if config.settings().observe {
        output::note(&output::notice(OBSERVES));
    }
    if let Some(pause) = configuration::places().ok().and_then(|places| Pause::current(&places.state)) {
        output::note(&output::notice(&format!("for your other agents, {}", pause_note(&pause))));
    }
}

struct Repl<'a> {
    host: Host,
    /// The configuration that was loaded first.
    config: Config,
    watcher: Option<ConfigWatcher>,
    section: AgentSection,
    workspace: PathBuf,
    options: &'a AgentOptions,
    answering: Answering,
    tools: Tools,
    agent: Agent,
    /// The provider and the model.
    model: (String, String),
    /// The session, while it is open.
    dialogue: Option<Dialogue>,
    /// The session that the next prompt continues if no session is open.
    next: Option<String>,
    /// True if the person has given a prompt already.
    has_said: bool,
    people: Arc<ForPeople>,
    choices: Arc<Choices>,
    editor: LineEditor,
}

impl<'a> Repl<'a> {
    async fn begin(
        host: Host,
        config: Config,
        section: AgentSection,
        workspace: PathBuf,
        answering: Answering,
        options: &'a AgentOptions,
        next: Option<String>,
    ) -> Result<Self, CliError> {
        let chosen = command::run::choose(&section, command::run::overrides(options), WithoutKey::Ask).await?;
        let model = named(&chosen);
        let tools = command::run::tools(&host, &config, &section, &workspace, options).await?;
        let interactive = answering.is_somebody_there();
        let agent = command::run::agent(host.clone(), &section, chosen, tools.clone(), &workspace, interactive)?;
        let people = Arc::new(ForPeople::folding());
        let reporter = Arc::clone(&people) as _;
        let watcher = watch::watch(host.clone(), &options.configuration, &workspace, config.clone(), reporter);
        let choices = Arc::new(Choices {
            store: session::store()?,
            providers: providers(&section),
            provider: Mutex::new(model.0.clone()),
        });
        let history = audit_log::path()?.with_file_name(HISTORY);
        let editor = LineEditor::new(Arc::clone(&choices), history)?;
        Ok(Self {
            host,
            config,
            watcher,
            section,
            workspace,
            options,
            answering,
            tools,
            agent,
            model,
            dialogue: None,
            next,
            has_said: false,
            people,
            choices,
            editor,
        })
    }

    /// Reads lines and handles them until the person leaves.
    async fn read_and_answer(mut self, mut signals: Signals) -> Result<Exit, CliError> {
        let (provider, model) = (one_line(&self.model.0), one_line(&self.model.1));
        let directory = one_line(&self.workspace.to_string_lossy());
        output::note(&format!(
            "{NAME}{model}{NAME:#} of {provider} in {directory}\n{DIM}/help shows what can be typed; Ctrl-D leaves{DIM:#}\n"
        ));
        note_enforcement(&self.config);
        let ended = self.lines(&mut signals).await;
        self.close().await;
        ended
    }

    async fn lines(&mut self, signals: &mut Signals) -> Result<Exit, CliError> {
        // True if the previous input was Ctrl-C.
        let mut interrupted = false;
        loop {
            let typed = tokio::select! {
                typed = self.editor.read() => typed?,
                received = signals.next() => match received {
                    Received::Terminate => {
                        self.editor.give_back();
                        return Ok(Exit::Interrupted);
                    }
                    Received::Quit => {
                        self.editor.give_back();
                        interrupt::end_at_once(&self.host).await
                    }
                    // This signal comes from a terminal without line editing. Such a terminal discards the typed line itself.
                    Received::Interrupt if interrupted => return Ok(Exit::Interrupted),
                    Received::Interrupt => {
                        interrupted = true;
                        self.hint();
                        output::print(PROMPT)?;
                        continue;
                    }
                },
            };
            let line = match typed {
                LineInput::End => return Ok(Exit::Done),
                LineInput::Interrupted if interrupted => return Ok(Exit::Interrupted),
                LineInput::Interrupted => {
                    interrupted = true;
                    self.hint();
                    continue;
                }
                LineInput::Line(line) => line,
            };
            interrupted = false;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(words) = slash::words(&line) {
                if self.command(&words).await? {
                    return Ok(Exit::Done);
                }
                continue;
            }
            match self.turn(&line, signals).await? {
                Turn::Ended => {}
                Turn::Leaves => return Ok(Exit::Interrupted),
            }
        }
    }

    fn hint(&self) {
        output::note(&format!("{DIM}Ctrl-C once more leaves, and so does Ctrl-D{DIM:#}\n"));
    }

    /// Lets the agent answer a prompt, in the open session or in a new session.
    async fn turn(&mut self, prompt: &str, signals: &mut Signals) -> Result<Turn, CliError> {
        if self.dialogue.is_none() {
            match self.agent.dialogue(self.next.as_deref()) {
                Ok(dialogue) => (self.dialogue, self.has_said) = (Some(dialogue), true),
                Err(error) => {
                    command::run::stopped(error).print();
                    return Ok(Turn::Ended);
                }
            }
        }
        let Some(dialogue) = &mut self.dialogue else { return Ok(Turn::Ended) };
        let before = (dialogue.turns(), dialogue.usage());
        self.people.begin();
        let status_line = self.people.status_line();
        // Text that the person types while the agent works belongs to the next prompt and must not appear in the output.
        let typing = keyboard::hide_typing();
        let cancel = CancellationToken::new();
        let mut leaves = false;
        let outcome = {
            let running = dialogue.prompt(prompt, &*self.people, &cancel);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    outcome = &mut running => break outcome,
                    received = signals.next() => match received {
                        Received::Interrupt if cancel.is_cancelled() => interrupt::end_at_once(&self.host).await,
                        Received::Quit => interrupt::end_at_once(&self.host).await,
                        received => {
                            screen::interrupted();
                            leaves |= received == Received::Terminate;
                            cancel.cancel();
                        }
                    },
                }
            }
        };
        drop((status_line, typing));
        if !dialogue.is_open() {
            self.next = Some(dialogue.session().to_owned());
            self.dialogue = None;
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                command::run::stopped(error).print();
                return Ok(Turn::Ended);
            }
        };
        self.people.end_line();
        self.report(&outcome, before);
        Ok(match outcome.status {
            _ if leaves => Turn::Leaves,
            _ => Turn::Ended,
        })
    }

    /// Prints how the work on a prompt ended, and the tokens that it used.
    fn report(&self, outcome: &RunOutcome, before: (u32, TokenUsage)) {
        let reason = outcome.reason.as_deref().map(one_line).unwrap_or_default();
        match outcome.status {
            Status::Success => {}
            Status::Cancelled => {
                output::note(&format!("{WARNING}stopped{WARNING:#}: what ran was ended, and the session continues\n"));
            }
            _ => output::note(&format!("{ERROR}error:{ERROR:#} {reason}\n")),
        }
        let (turns, usage) = before;
        let spent = outcome.usage.since(usage);
        output::note(&format!(
            "{DIM}{}{DIM:#}\n",
            used(outcome.turns.saturating_sub(turns), outcome.subagent_turns, spent)
        ));
    }

    /// Ends the open session. The next prompt continues this session, unless the user chooses another session.
    async fn end_session(&mut self) {
        if let Some(dialogue) = self.dialogue.take() {
            self.next = Some(dialogue.session().to_owned());
            dialogue.end(&*self.people).await;
        }
    }

    /// Ends the session, and says how to resume it.
    async fn close(&mut self) {
        self.end_session().await;
        if let Some(id) = self.next.as_deref().filter(|_| self.has_said) {
            output::note(&format!("{DIM}to continue this session: hookhost --session {id}{DIM:#}\n"));
        }
    }

    /// Returns the current configuration.
    fn loaded(&self) -> Config {
        self.watcher.as_ref().map_or_else(|| self.config.clone(), ConfigWatcher::config)
    }

    /// Uses another model from the next prompt on. The session ends now and resumes with that model.
    async fn choose(&mut self, provider: String, model: Option<String>) -> Result<(), CliError> {
        let script = self.options.script.clone().filter(|_| provider == "scripted");
        let overrides = Overrides::new(Some(provider), model, script);
        let chosen = command::run::choose(&self.section, overrides, WithoutKey::Ask).await?;
        let model = named(&chosen);
        let section = &self.section;
        let (tools, interactive) = (self.tools.clone(), self.answering.is_somebody_there());
        let directory: &Path = &self.workspace;
        self.agent = command::run::agent(self.host.clone(), section, chosen, tools, directory, interactive)?;
        *self.choices.provider.lock().unwrap_or_else(PoisonError::into_inner) = model.0.clone();
        self.model = model;
        self.end_session().await;
        Ok(())
    }
}

/// The end of a turn, as far as it matters for the next line.
enum Turn {
    Ended,
    Leaves,
}

/// Returns the names of the provider and the model.
fn named(chosen: &ProviderChoice) -> (String, String) {
    (chosen.provider.name().to_owned(), chosen.model.clone())
}

/// Returns the providers, each with its known models.
fn providers(section: &AgentSection) -> Vec<(String, Vec<String>)> {
    let models = |name: &String| {
        let known = section.provider(name).unwrap_or_default();
        let mut models: Vec<_> = known.model.into_iter().chain(known.models).chain(known.limits.into_keys()).collect();
        models.sort();
        models.dedup();
        models
    };
    let names = section.provider_names();
    names.into_iter().map(|name| (name.clone(), models(&name))).collect()
}
