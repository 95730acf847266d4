//! Runs the commands that a person types in a conversation.

use super::Repl;
use super::slash::{self, About, COMMANDS, Slash};
use crate::args::Approve;
use crate::command::run::report::used;
use crate::command::{hooks, session, tools};
use crate::exit::CliError;
use crate::output::{
    self, one_line, printable,
    style::{ERROR, NAME},
};
use clap::ValueEnum as _;
use std::fmt::Write as _;

/// Maximum number of sessions that are listed.
const LISTED: usize = 10;

impl Repl<'_> {
    /// Runs the typed command. Returns true if the command ends the conversation. An error is printed and does not end the conversation.
    pub(super) async fn command(&mut self, words: &[&str]) -> Result<bool, CliError> {
        let slash = match slash::parse(words) {
            Ok(slash) => slash,
            Err(sentence) => {
                wrong(&sentence);
                return Ok(false);
            }
        };
        let done = match slash {
            Slash::Quit => return Ok(true),
            Slash::Help => Ok(help()),
            Slash::Hooks(event) => Ok(hooks::as_text(&self.host, &self.loaded(), event)),
            Slash::Tools => Ok(tools::as_text(&self.agent.offered())),
            Slash::Session(about) => self.session(about).await,
            Slash::Model(names) => self.model(names).await,
            Slash::Approve(how) => Ok(self.approve(how)),
            Slash::Show(number) => Ok(self.show(number)),
        };
        match done {
            Ok(text) => output::print(&text)?,
            Err(stop) => stop.print(),
        }
        Ok(false)
    }

    async fn session(&mut self, about: About<'_>) -> Result<String, CliError> {
        match about {
            About::This => Ok(self.this_session()),
            About::List => {
                let sessions = session::latest_as_text(LISTED)?;
                Ok(if sessions.is_empty() { "there are no sessions yet\n".into() } else { sessions })
            }
            About::New => {
                self.end_session().await;
                self.next = None;
                Ok("the next prompt begins a session\n".into())
            }
            About::Resume(id) => {
                let id = session::find(id)?.id;
                if self.dialogue.as_ref().is_some_and(|dialogue| dialogue.session() == id) {
                    return Ok(format!("{id} is this session\n"));
                }
                self.end_session().await;
                let text = format!("the next prompt continues {id}\n");
                self.next = Some(id);
                Ok(text)
            }
        }
    }

    fn this_session(&self) -> String {
        let Some(dialogue) = &self.dialogue else {
            return match &self.next {
                Some(id) => format!("the next prompt continues {id}\n"),
                None => "the next prompt begins a session\n".into(),
            };
        };
        let mut text = format!("{NAME}{}{NAME:#}\n", dialogue.session());
        let mut row = |label: &str, value: &str| output::row(&mut text, 9, label, &one_line(value));
        row("model", &self.model_in_words());
        row("workspace", &self.workspace.to_string_lossy());
        if let Some(file) = dialogue.transcript() {
            row("file", &file.to_string_lossy());
        }
        row("used", &used(dialogue.turns(), dialogue.subagent_turns(), dialogue.usage()));
        text
    }

    fn model_in_words(&self) -> String {
        let (provider, model) = &self.model;
        format!("{model} of {provider}")
    }

    /// Changes the model. A single word is the name of a provider or, if no provider has this name, the name of a model of the current
    /// provider. A word that only resembles the name of a provider is an error.
    async fn model(&mut self, names: &[&str]) -> Result<String, CliError> {
        let providers = self.choices.providers.iter().map(|(known, _)| known);
        let (provider, model) = match names {
            [] => return Ok(one_line(&self.model_in_words()) + "\n"),
            [name] if providers.clone().any(|known| known == name) => ((*name).to_owned(), None),
            [name] if let Some(near) = providers.clone().find(|known| is_mistyped(name, known)) => {
                let (name, own) = (one_line(name), one_line(&self.model.0));
                wrong(&format!(
                    "there is no provider `{name}`: type /model {near} for that one, or /model {own} {name} for a model of this name"
                ));
                return Ok(String::new());
            }
            [model] => (self.model.0.clone(), Some((*model).to_owned())),
            [provider, rest @ ..] => ((*provider).to_owned(), rest.first().map(|model| (*model).to_owned())),
        };
        self.choose(provider, model).await?;
        Ok(format!("{} from the next prompt on\n", one_line(&self.model_in_words())))
    }

    fn approve(&self, how: Option<&str>) -> String {
        if let Some(how) = how {
            match Approve::from_str(how, false) {
                Ok(how) if self.answering.set(how) => {}
                Ok(_) => wrong("hookhost cannot ask: the standard error is not the terminal"),
                Err(_) => wrong(&format!("/approve takes {}, not `{}`", takes("approve"), one_line(how))),
            }
            if Approve::from_str(how, false).ok() != Some(self.answering.get()) {
                return String::new();
            }
        }
        match self.answering.get() {
            Approve::Ask => "ask: you are asked all questions of plugins\n".into(),
            Approve::Deny => "deny: all questions of plugins are answered with no\n".into(),
        }
    }

    fn show(&self, number: Option<usize>) -> String {
        match self.people.unfold(number) {
            Ok(text) => printable(text.trim_end_matches('\n')) + "\n",
            Err(sentence) => {
                wrong(&sentence);
                String::new()
            }
        }
    }
}

/// Returns true if a word is a provider's name with one or two wrong letters. A word that begins with the provider's name, such as
/// `deepseek-chat`, is the name of a model.
fn is_mistyped(word: &str, name: &str) -> bool {
    let wrong = strsim::osa_distance(word, name);
    !word.starts_with(name) && wrong <= 2 && wrong * 3 <= name.len()
}

fn takes(name: &str) -> &'static str {
    COMMANDS.iter().find(|command| command.name == name).map_or("", |command| command.takes)
}

/// Prints an error about the typed command.
fn wrong(sentence: &str) {
    output::note(&format!("{ERROR}error:{ERROR:#} {}\n", one_line(sentence)));
}

fn help() -> String {
    let mut text = String::new();
    for command in &COMMANDS {
        let typed = format!("/{} {}", command.name, command.takes);
        let _ = writeln!(text, "{NAME}{typed:<36}{NAME:#} {}", command.does);
    }
    text.push_str(
        "\nAnything else is a prompt. Alt-Enter, or a backslash at the end, continues in the next line; Tab completes\n\
         commands; Up brings back what was typed. Ctrl-C stops the agent, or gives the line up; twice, it leaves.\n",
    );
    let programs = crate::command::programs();
    if !programs.is_empty() {
        let _ = write!(text, "\nPrograms on your PATH, for a shell, after `hookhost`:\n{programs}");
    }
    text
}
