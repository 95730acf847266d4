//! A person at a terminal: types, and sees what is on the screen.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

/// What a terminal is told when a line is edited in it.
const EDITS: &str = "\u{1b}[?2004h";

/// How the last line of a question begins.
pub(crate) const ASKED: &str = "Continue? Press ";

/// Rows and columns, unless a test says otherwise.
pub(crate) const SIZE: (u16, u16) = (50, 120);

/// A command whose standard streams are a terminal.
pub(crate) struct Session {
    pub(crate) child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    raw: Vec<u8>,
    seen: String,
    /// How often a line was to be typed, as far as the person has waited for it.
    prompts: usize,
    /// How the terminal treated what was typed before the command began.
    pub(crate) modes_before: (InputModes, LocalModes),
}

impl Session {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_typed(command, "")
    }

    /// Starts a command when something has been typed already.
    pub(crate) fn start_typed(command: &mut Command, typed: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let own = File::from(master.try_clone().unwrap());
        resize(&own, SIZE);
        let modes_before = modes(&own);
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.to_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
        (&own).write_all(typed.as_bytes()).unwrap();
        let child = command
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        // The command holds the terminal's streams until here; while anybody does, the screen does not end.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut reader = own;
        let (to, screen) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                let _ = to.send(piece[..length].to_vec());
            }
        });
        let keyboard = File::from(master);
        Self { child, keyboard, screen, raw: Vec::new(), seen: String::new(), prompts: 0, modes_before }
    }

    /// Whether more came in time.
    fn reads(&mut self, patience: Duration) -> bool {
        let Ok(piece) = self.screen.recv_timeout(patience) else { return false };
        self.raw.extend(piece);
        self.seen = String::from_utf8_lossy(&self.raw).into_owned();
        true
    }

    /// Reads until this is on the screen.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        while !self.seen.contains(text) {
            assert!(self.reads(TIMEOUT), "{text:?} did not come: {}", self.seen);
        }
    }

    /// Reads until this is on the screen once more than it has been.
    #[track_caller]
    pub(crate) fn sees_again(&mut self, text: &str) {
        self.sees_times(text, self.seen.matches(text).count() + 1);
    }

    /// Reads until this has come on the screen so often.
    #[track_caller]
    pub(crate) fn sees_times(&mut self, text: &str, times: usize) {
        while self.seen.matches(text).count() < times {
            assert!(self.reads(TIMEOUT), "{text:?} did not come again: {}", self.seen);
        }
    }

    /// Reads until a question is open; gives the key that means yes to the last one.
    #[track_caller]
    pub(crate) fn yes(&mut self) -> String {
        loop {
            let last = self.seen.rsplit_once(ASKED);
            if let Some((yes, _)) = last.and_then(|(_, asked)| asked.split_once(" to agree")) {
                return yes.to_owned();
            }
            assert!(self.reads(TIMEOUT), "nothing is asked: {}", self.seen);
        }
    }

    /// Says yes to the last question.
    #[track_caller]
    pub(crate) fn agrees(&mut self) {
        let yes = self.yes();
        self.types(&yes);
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until a line can be typed, and types it.
    #[track_caller]
    pub(crate) fn says(&mut self, line: &str) {
        self.is_asked();
        self.types(line);
        self.types("\r");
    }

    /// Waits until a line can be typed.
    #[track_caller]
    pub(crate) fn is_asked(&mut self) {
        self.prompts += 1;
        self.sees_times(EDITS, self.prompts);
    }

    /// How the terminal treats what is typed.
    pub(crate) fn modes(&self) -> (InputModes, LocalModes) {
        modes(&self.keyboard)
    }

    /// Rows and columns from now on.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        resize(&self.keyboard, size);
    }

    /// What a person sees who scrolls to the beginning, without empty lines at the end: lines as
    /// they are on the screen, however they came about.
    pub(crate) fn looks(&self) -> String {
        let (rows, columns) = SIZE;
        let mut parser = vt100::Parser::new(10 * rows, columns, 0);
        parser.process(&self.raw);
        let contents = parser.screen().contents();
        contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// Waits until a person sees this.
    #[track_caller]
    pub(crate) fn looks_like(&mut self, text: &str) {
        while !self.looks().contains(text) {
            assert!(self.reads(TIMEOUT), "{text:?} is not to be seen:\n{}", self.looks());
        }
    }

    /// How it ended, and all that came on the screen.
    pub(crate) fn end(self) -> (Option<i32>, String) {
        let (code, seen, _) = self.end_looking();
        (code, seen)
    }

    /// The same, and what a person sees in the end.
    pub(crate) fn end_looking(mut self) -> (Option<i32>, String, String) {
        // Its output must be read, otherwise it cannot end.
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => self.reads(Duration::from_millis(20)),
            };
        };
        while self.reads(Duration::from_secs(5)) {}
        let looks = self.looks();
        (code, self.seen.replace("\r\n", "\n"), looks)
    }
}

fn modes(terminal: &File) -> (InputModes, LocalModes) {
    let modes = tcgetattr(terminal).unwrap();
    (modes.input_modes, modes.local_modes)
}

fn resize(terminal: &File, (ws_row, ws_col): (u16, u16)) {
    tcsetwinsize(terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}
