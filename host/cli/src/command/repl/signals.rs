//! The signals that end a turn or the conversation: Ctrl-C, Ctrl-\, a request to terminate, and the loss of the terminal.

use crate::exit::CliError;
use anyhow::anyhow;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    Interrupt,
    Terminate,
    /// Ctrl-\. It has the effect of a second Ctrl-C.
    Quit,
}

/// Receives signals from its creation on. While a line is edited, Ctrl-C is a key and not a signal.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| anyhow!("Ctrl-C cannot be listened for: {error}"));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })
    }

    pub(super) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.terminate.recv() => Received::Terminate,
            _ = self.hang_up.recv() => Received::Terminate,
            _ = self.quit.recv() => Received::Quit,
        }
    }
}
