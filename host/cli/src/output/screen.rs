//! The terminal as the one thing that results, notes and the line editor write to: under one lock,
//! so that nothing tears.
//!
//! The last line can be a status line, for what is under way. It gives way to any other output and
//! leaves no trace. It needs no escape sequence, so it is the same with `NO_COLOR`. A question is
//! alone on the screen: what is written while it waits for its answer comes after that.

use crate::output::style::DIM;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Questions that have been written.
static QUESTIONS: AtomicUsize = AtomicUsize::new(0);

static SCREEN: Mutex<Screen> = Mutex::new(Screen { status: 0, mid_line: false, above: None, held: None });

/// What is on the terminal.
struct Screen {
    /// Columns of the status in the last line.
    status: usize,
    /// Whether the last line has other text.
    mid_line: bool,
    /// While a line is edited, notes go above it by this way.
    above: Option<Sender<String>>,
    /// The output that waits while a question is open.
    held: Option<Vec<(Stream, String)>>,
}

/// Which way something is written.
#[derive(Clone, Copy)]
enum Stream {
    Out,
    /// Byte for byte.
    OutExactly,
    Err,
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a result on the standard output.
pub(super) fn print(text: &str) -> io::Result<()> {
    screen().write(Stream::Out, text)
}

/// The same, byte for byte.
pub(crate) fn print_exactly(text: &str) -> io::Result<()> {
    screen().write(Stream::OutExactly, text)
}

/// Writes a note on the standard error, or above the line that is edited.
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

/// Writes a question on a line of its own, and holds back what follows until it is [answered].
pub(crate) fn ask(text: &str) {
    let mut screen = screen();
    if screen.mid_line {
        let _ = screen.write(Stream::Err, "\n");
    }
    let _ = screen.write(Stream::Err, text);
    screen.held.get_or_insert_default();
    QUESTIONS.fetch_add(1, Ordering::Relaxed);
}

/// How many questions have been written: where it has grown, a question is between the old output and the new.
pub(crate) fn questions() -> usize {
    QUESTIONS.load(Ordering::Relaxed)
}

/// Writes more of the question that is open.
pub(crate) fn ask_again(text: &str) {
    let mut screen = screen();
    let held = screen.held.take();
    let _ = screen.write(Stream::Err, text);
    screen.held = held;
}

/// Ends a question with the line that tells its answer.
pub(crate) fn answered(text: &str) {
    let mut screen = screen();
    let held = screen.held.take().unwrap_or_default();
    let _ = screen.write(Stream::Err, text);
    for (stream, text) in held {
        let _ = screen.write(stream, &text);
    }
}

/// Whether a status can be shown: there is a terminal that can take a line back.
pub(crate) fn shows_status() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Whether results are read on a terminal that can show markup as styles.
pub(crate) fn shows_markup() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Shows what is under way, where the last line is free for it. A character is taken to be one column wide.
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
    // The cursor stays in front: what anybody else writes takes the line.
    let _ = write!(err, "\r{DIM}{text}{DIM:#}{rest}\r").and_then(|()| err.flush());
    screen.status = length;
}

/// Takes the status away.
pub(crate) fn no_status() {
    screen().take_back();
}

/// Ctrl-C was typed: the terminal shows it as `^C`, which is erased where the last line holds nothing else.
pub(crate) fn interrupted() {
    let mut screen = screen();
    screen.take_back();
    if shows_status() && !screen.mid_line {
        let mut err = anstream::stderr().lock();
        let _ = err.write_all(b"\r  \r").and_then(|()| err.flush());
    }
}

/// Whether a line is edited from here on, and by which way notes come above it.
pub(crate) fn edits(above: Option<Sender<String>>) {
    let mut screen = screen();
    screen.take_back();
    screen.above = above;
    // The editor begins in a line of its own and ends after one.
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

/// Columns that a line can have without being wrapped.
pub(crate) fn columns() -> usize {
    let size = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { COLUMNS - 1 } else { size - 1 }
}
