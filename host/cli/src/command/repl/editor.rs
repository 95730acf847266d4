//! Reads lines from the terminal, with editing, completion and a history. Messages that arrive while a line is edited appear above that
//! line.

use super::completer::{Choices, LineHelper};
use crate::exit::CliError;
use crate::output::{self, screen, style::WARNING};
use anyhow::anyhow;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::config::Builder;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, CompletionType, Config, Editor, ExternalPrinter as _, KeyCode, KeyEvent, Modifiers};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::task::JoinHandle;

/// The prompt of the input line.
pub(super) const PROMPT: &str = "> ";

/// Maximum number of lines in the history.
const REMEMBERED: usize = 1000;

/// Maximum length of a line in the history, in bytes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineInput {
    Line(String),
    /// Ctrl-C. The typed text is discarded.
    Interrupted,
    /// Ctrl-D, or the end of the terminal.
    End,
}

type Read = (Box<Editor<LineHelper, FileHistory>>, Result<String, ReadlineError>);

pub(super) struct LineEditor {
    /// The editor, while no line is being read.
    editor: Option<Box<Editor<LineHelper, FileHistory>>>,
    /// The task that reads a line. Reading cannot be cancelled.
    reading: Option<JoinHandle<Read>>,
    /// The history file, until writing it fails.
    history: Option<PathBuf>,
    above: Option<Sender<String>>,
    before: Option<Termios>,
}

impl LineEditor {
    pub(super) fn new(choices: Arc<Choices>, history: PathBuf) -> Result<Self, CliError> {
        let config = config().map_err(|error| unusable(&error))?;
        let mut editor = Editor::<LineHelper, FileHistory>::with_config(config).map_err(|error| unusable(&error))?;
        editor.set_helper(Some(LineHelper(choices)));
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let above = editor.create_external_printer().ok().map(|mut printer| {
            let (sender, lines) = channel::<String>();
            // Prints notices on a separate thread. If no line is being edited, a notice waits on that thread until the next line is edited.
            // So a notice never blocks the agent.
            std::thread::spawn(move || lines.into_iter().try_for_each(|text| printer.print(text)));
            sender
        });
        let mut this =
            Self { history: Some(history), reading: None, above, before: tcgetattr(io::stdin()).ok(), editor: None };
        if let Some(file) = this.history.clone() {
            match editor.load_history(&file) {
                Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::NotFound => {}
                loaded => this.remembered(loaded),
            }
        }
        this.editor = Some(Box::new(editor));
        Ok(this)
    }

    /// Returns the next line. If this future is dropped before the line is complete, the next call returns that line.
    pub(super) async fn read(&mut self) -> Result<LineInput, CliError> {
        if let Some(mut editor) = self.editor.take() {
            screen::edits(self.above.clone());
            self.reading = Some(tokio::task::spawn_blocking(move || {
                let line = editor.readline(PROMPT);
                (editor, line)
            }));
        }
        let Some(reading) = &mut self.reading else { return Ok(LineInput::End) };
        let read = reading.await;
        self.reading = None;
        screen::edits(None);
        let (editor, line) = read.map_err(|error| anyhow!("the terminal cannot be read: {error}"))?;
        self.editor = Some(editor);
        match line {
            Ok(line) => {
                self.remember(&line);
                Ok(LineInput::Line(line.replace("\\\n", "\n")))
            }
            Err(ReadlineError::Interrupted) => Ok(LineInput::Interrupted),
            Err(ReadlineError::Eof) => Ok(LineInput::End),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                output::note(&format!("{WARNING}note:{WARNING:#} the line is not UTF-8, and is given up\n"));
                Ok(LineInput::Line(String::new()))
            }
            Err(error) => Err(unusable(&error)),
        }
    }

    fn remember(&mut self, line: &str) {
        let (Some(editor), Some(file)) = (&mut self.editor, &self.history) else { return };
        if line.trim().is_empty() || line.len() > MAX_LINE_BYTES {
            return;
        }
        let added = editor.add_history_entry(line);
        let kept = added.and_then(|_| editor.append_history(file));
        self.remembered(kept);
    }

    /// Prints a note if the history cannot be stored, but only once.
    fn remembered(&mut self, done: Result<(), ReadlineError>) {
        if let (Err(error), Some(file)) = (done, &self.history) {
            let file = output::one_line(&file.to_string_lossy());
            output::note(&format!("{WARNING}note:{WARNING:#} what you type is not remembered in {file}: {error}\n"));
            self.history = None;
        }
    }

    /// Restores the terminal's settings if a line is being read.
    pub(super) fn give_back(&self) {
        if self.reading.is_none() {
            return;
        }
        screen::edits(None);
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
        // The first sequence turns off bracketed paste, which is on only in a terminal with editing.
        let end = if self.above.is_some() { "\u{1b}[?2004l\n" } else { "\n" };
        let _ = screen::print_exactly(end);
    }
}

fn config() -> rustyline::Result<Config> {
    let builder: Builder = Config::builder().max_history_size(REMEMBERED)?.history_ignore_dups(true)?;
    // As in a shell, lines that begin with a blank are not stored.
    let builder = builder.history_ignore_space(true);
    // The first Tab already lists all choices.
    Ok(builder.completion_type(CompletionType::List).completion_show_all_if_ambiguous(true).build())
}

fn unusable(error: &ReadlineError) -> CliError {
    anyhow!("the terminal cannot be read: {error}").into()
}
