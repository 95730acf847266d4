//! What ends a turn or the conversation from outside: Ctrl-C, Ctrl-\, a request to terminate, a terminal that goes
//! away.

use crate::exit::CliError;
use anyhow::anyhow;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    Interrupt,
    Terminate,
    /// Ctrl-\: as a second Ctrl-C, also without a first.
    Quit,
}

/// Listens from where it is made. While a line is edited, Ctrl-C is a key and does not come this way.
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
