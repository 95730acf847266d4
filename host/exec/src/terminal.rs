//! The terminal outside, and the connection to the program's own terminal.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Maximum number of bytes that are read from the terminal before the program reads them.
const MAX_UNREAD: usize = 64 << 10;

/// The terminal outside. Its settings are restored when it is dropped.
#[derive(Debug)]
pub(crate) struct Terminal {
    input: Option<OwnedFd>,
    output: OwnedFd,
    /// The program's output is a terminal too, so the program has the screen for itself.
    is_whole: bool,
    settings: Termios,
    is_raw: bool,
    is_foreground: bool,
    /// The other end of the program's terminal.
    master: Option<OwnedFd>,
    unread: Vec<u8>,
}

impl Terminal {
    /// Finds the terminal among the descriptors 0 to 2. Also returns which of them are terminals.
    pub(crate) fn of_descriptors(descriptors: &[BorrowedFd<'_>; 3]) -> io::Result<([bool; 3], Option<Self>)> {
        let are_terminals = descriptors.map(isatty);
        let [input, output, errors] = descriptors;
        let [is_input, is_output, is_errors] = are_terminals;
        let shown = [(is_output, output), (is_errors, errors), (is_input, input)];
        let Some((_, shown)) = shown.into_iter().find(|(is_terminal, _)| *is_terminal) else {
            return Ok((are_terminals, None));
        };
        let terminal = Self {
            input: if is_input { Some(input.try_clone_to_owned()?) } else { None },
            output: shown.try_clone_to_owned()?,
            is_whole: is_input && is_output,
            settings: tcgetattr(shown)?,
            is_raw: false,
            is_foreground: false,
            master: None,
            unread: Vec::new(),
        };
        Ok((are_terminals, Some(terminal)))
    }

    /// Connects the program's terminal, with the settings and the size of the one outside.
    pub(crate) fn connect(&mut self, master: OwnedFd) -> io::Result<()> {
        let mut settings = self.settings.clone();
        if !self.is_whole {
            // The terminal outside shows already what is typed, and ends lines for the program.
            settings.local_modes.remove(LocalModes::ECHO);
            settings.output_modes.remove(OutputModes::OPOST);
        }
        tcsetattr(&master, OptionalActions::Now, &settings)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        self.master = Some(master);
        self.resize();
        self.take();
        Ok(())
    }

    /// Copies the size of the terminal outside. The kernel tells the program.
    pub(crate) fn resize(&self) {
        if let (Some(master), Ok(size)) = (&self.master, tcgetwinsize(&self.output)) {
            _ = tcsetwinsize(master, size);
        }
    }

    /// Passes each key on, if this process is in the foreground. In the background, it leaves the terminal alone.
    pub(crate) fn take(&mut self) {
        self.is_foreground = tcgetpgrp(&self.output).is_ok_and(|group| group == getpgrp());
        if !self.is_foreground || !self.is_whole || self.is_raw {
            return;
        }
        // A shell may have changed the settings while the program was stopped.
        if let Ok(settings) = tcgetattr(&self.output) {
            self.settings = settings;
        }
        let mut raw = self.settings.clone();
        raw.make_raw();
        self.is_raw = tcsetattr(&self.output, OptionalActions::Drain, &raw).is_ok();
    }

    /// Restores the settings of the terminal outside.
    pub(crate) fn release(&mut self) {
        if self.is_raw && tcgetpgrp(&self.output).is_ok_and(|group| group == getpgrp()) {
            _ = tcsetattr(&self.output, OptionalActions::Drain, &self.settings);
        }
        self.is_raw = false;
        self.is_foreground = false;
    }

    /// The terminal outside, if its input is wanted now.
    pub(crate) fn wanted_input(&self) -> Option<BorrowedFd<'_>> {
        let is_wanted = self.is_foreground && self.master.is_some() && self.unread.len() < MAX_UNREAD;
        self.input.as_ref().filter(|_| is_wanted).map(OwnedFd::as_fd)
    }

    /// The program's terminal, and whether something waits to be written to it.
    pub(crate) fn program_end(&self) -> Option<(BorrowedFd<'_>, bool)> {
        Some((self.master.as_ref()?.as_fd(), !self.unread.is_empty()))
    }

    /// Reads the terminal outside.
    pub(crate) fn read_input(&mut self) {
        let Some(input) = &self.input else { return };
        let mut buffer = [0; 4096];
        match retry_on_intr(|| read(input, &mut buffer)) {
            // In a terminal that collects lines, this is the key for the end of the input.
            Ok(0) if !self.is_raw => self.unread.push(self.settings.special_codes[SpecialCodeIndex::VEOF]),
            Ok(0) | Err(Errno::IO) => self.input = None,
            Ok(length) => self.unread.extend_from_slice(&buffer[..length]),
            Err(_) => {}
        }
        self.write_unread();
    }

    /// Writes to the program's terminal as much as fits.
    pub(crate) fn write_unread(&mut self) {
        let Some(master) = &self.master else { return };
        if let Ok(length) = retry_on_intr(|| write(master, &self.unread)) {
            self.unread.drain(..length);
        }
    }

    /// Copies output of the program once. Returns false if there is none now, or will be none.
    pub(crate) fn copy_output(&mut self) -> bool {
        let Some(master) = &self.master else { return false };
        let mut buffer = [0; 16 << 10];
        match retry_on_intr(|| read(master, &mut buffer)) {
            Ok(length) if length > 0 => {
                let mut rest = &buffer[..length];
                while let Ok(written) = retry_on_intr(|| write(&self.output, rest)) {
                    rest = &rest[written..];
                    if rest.is_empty() {
                        break;
                    }
                }
                true
            }
            Err(Errno::AGAIN) => false,
            _ => {
                self.master = None;
                false
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.release();
    }
}
