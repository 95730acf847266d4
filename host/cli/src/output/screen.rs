//! The terminal as the one thing that results, notes and the line editor write to: under one lock, so that nothing tears.
//!
//! What is under way can stand in the last line, as its status. It gives way to whatever else is written and leaves no
//! trace. No escape sequence is needed for it, so it is the same with `NO_COLOR`.

use crate::output::style::DIM;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

static SCREEN: Mutex<Screen> = Mutex::new(Screen { status: 0, mid_line: false, above: None });

/// What stands on the terminal.
struct Screen {
    /// Columns of the status that stands in the last line.
    status: usize,
    /// Whether something else stands there.
    mid_line: bool,
    /// While a line is edited, notes go above it by this way.
    above: Option<Sender<String>>,
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a result on the standard output.
pub(super) fn print(text: &str) -> io::Result<()> {
    screen().write(&mut anstream::stdout().lock(), io::stdout().is_terminal(), text)
}

/// The same, byte for byte.
pub(crate) fn print_exactly(text: &str) -> io::Result<()> {
    screen().write(&mut io::stdout().lock(), io::stdout().is_terminal(), text)
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
    screen.write(&mut anstream::stderr().lock(), io::stderr().is_terminal(), text)
}

/// Whether a status can be shown: there is a terminal that can take a line back.
pub(crate) fn shows_status() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Shows what is under way, where the last line is free for it. A character is taken to be one column wide.
pub(crate) fn status(text: &str) {
    let mut screen = screen();
    if screen.mid_line || screen.above.is_some() {
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

/// Ctrl-C was typed: the terminal shows it as `^C`, which is taken away where it is all that stands in the last line.
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
    // The editor begins in a line of its own and ends behind one.
    screen.mid_line = false;
}

impl Screen {
    fn write(&mut self, out: &mut dyn Write, is_terminal: bool, text: &str) -> io::Result<()> {
        if is_terminal && !text.is_empty() {
            self.take_back();
            self.mid_line = !text.ends_with('\n');
        }
        out.write_all(text.as_bytes())?;
        out.flush()
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
fn columns() -> usize {
    let size = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { COLUMNS - 1 } else { size - 1 }
}
