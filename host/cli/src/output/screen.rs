//! Writes all output to the terminal under one lock, so that results, notes and the line editor do not write at the same time.
//!
//! The last line can be a status line for the work in progress. Any other output overwrites the status line. This needs no escape sequence,
//! so it also works with `NO_COLOR`. While a question is open, all other output is held back until the person has answered.

use crate::output::style::DIM;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of columns that is assumed if the terminal does not report it.
const COLUMNS: usize = 80;

/// Number of questions that have been written.
static QUESTIONS: AtomicUsize = AtomicUsize::new(0);

static SCREEN: Mutex<Screen> = Mutex::new(Screen { status: 0, mid_line: false, above: None, held: None });

/// The state of the terminal.
struct Screen {
    /// Number of columns of the status line; 0 if no status line is shown.
    status: usize,
    /// True if the last line has text other than the status.
    mid_line: bool,
    /// The channel for notes that appear above the edited line. It is set while a line is edited.
    above: Option<Sender<String>>,
    /// The output that is held back while a question is open.
    held: Option<Vec<(Stream, String)>>,
}

/// The target of a write.
#[derive(Clone, Copy)]
enum Stream {
    Out,
    /// Standard output, byte for byte.
    OutExactly,
    Err,
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a result on standard output.
pub(super) fn print(text: &str) -> io::Result<()> {
    screen().write(Stream::Out, text)
}

/// Like [`print`], but writes the text byte for byte.
pub(crate) fn print_exactly(text: &str) -> io::Result<()> {
    screen().write(Stream::OutExactly, text)
}

/// Writes a note on standard error, or above the edited line.
pub(super) fn note(text: &str) -> io::Result<()> {
    let mut screen = screen();
    if let Some(above) = screen.above.as_ref().filter(|_| !text.is_empty()) {
        let plain = anstream::AutoStream::choice(&io::stderr()) == anstream::ColorChoice::Never;
        let text = if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
        if above.send(text).is_ok() {
            return Ok(());
        }
    }
    screen.write(Stream::Err, text)
}

/// Writes a question on its own line, and holds back all other output until [`answered`] is called.
pub(crate) fn ask(text: &str) {
    let mut screen = screen();
    if screen.mid_line {
        let _ = screen.write(Stream::Err, "\n");
    }
    let _ = screen.write(Stream::Err, text);
    screen.held.get_or_insert_default();
    QUESTIONS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of questions so far. If the number has grown between two outputs, a question stands between them on the screen.
pub(crate) fn questions() -> usize {
    QUESTIONS.load(Ordering::Relaxed)
}

/// Adds text to the open question.
pub(crate) fn ask_again(text: &str) {
    let mut screen = screen();
    let held = screen.held.take();
    let _ = screen.write(Stream::Err, text);
    screen.held = held;
}

/// Ends a question with a line that shows the answer, and writes the output that was held back.
pub(crate) fn answered(text: &str) {
    let mut screen = screen();
    let held = screen.held.take().unwrap_or_default();
    let _ = screen.write(Stream::Err, text);
    for (stream, text) in held {
        let _ = screen.write(stream, &text);
    }
}

/// Returns true if a status line can be shown, which needs a terminal that can overwrite a line.
pub(crate) fn shows_status() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Returns true if results go to a terminal that can show markup as styles.
pub(crate) fn shows_markup() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Shows the status line, unless the last line has other text. Each character must be one column wide.
pub(crate) fn status(text: &str) {
    let mut screen = screen();
    if screen.mid_line || screen.above.is_some() || screen.held.is_some() {
        return;
    }
    let columns = columns();
    let text: String = text.chars().take(columns).collect();
    let length = text.chars().count();
    let rest = " ".repeat(screen.status.min(columns).saturating_sub(length));
    let mut err = anstream::stderr().lock();
    // The cursor stays at the start of the line, so that any other output overwrites it.
    let _ = write!(err, "\r{DIM}{text}{DIM:#}{rest}\r").and_then(|()| err.flush());
    screen.status = length;
}

/// Removes the status.
pub(crate) fn no_status() {
    screen().take_back();
}

/// Erases the `^C` that the terminal shows for Ctrl-C, if the last line contains nothing else.
pub(crate) fn interrupted() {
    let mut screen = screen();
    screen.take_back();
    if shows_status() && !screen.mid_line {
        let mut err = anstream::stderr().lock();
        let _ = err.write_all(b"\r  \r").and_then(|()| err.flush());
    }
}

/// Begins or ends the editing of a line. While a line is edited, notes go to `above`.
pub(crate) fn edits(above: Option<Sender<String>>) {
    let mut screen = screen();
    screen.take_back();
    screen.above = above;
    // The line editor begins on a new line, and leaves the cursor on a new line.
    screen.mid_line = false;
}

impl Screen {
    fn write(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        let is_terminal = match stream {
            Stream::Out | Stream::OutExactly => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        };
        if is_terminal && !text.is_empty() {
            if let Some(held) = &mut self.held {
                held.push((stream, text.to_owned()));
                return Ok(());
            }
            self.take_back();
            self.mid_line = !text.ends_with('\n');
        }
        let write = |out: &mut dyn Write| out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match stream {
            Stream::Out => write(&mut anstream::stdout().lock()),
            Stream::OutExactly => write(&mut io::stdout().lock()),
            Stream::Err => write(&mut anstream::stderr().lock()),
        }
    }

    fn take_back(&mut self) {
        let length = std::mem::take(&mut self.status).min(columns());
        if length > 0 {
            let mut err = anstream::stderr().lock();
            let _ = write!(err, "\r{}\r", " ".repeat(length)).and_then(|()| err.flush());
        }
    }
}

/// Returns the number of columns that a line can have without being wrapped.
pub(crate) fn columns() -> usize {
    let size = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { COLUMNS - 1 } else { size - 1 }
}
