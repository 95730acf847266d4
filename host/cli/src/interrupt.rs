//! Handles Ctrl-C. The first Ctrl-C cancels the work, which then ends in order. A second Ctrl-C ends the process at once. SIGTERM and the
//! loss of the terminal act like the first Ctrl-C. Ctrl-\ acts like the second Ctrl-C, even if there was no first Ctrl-C.

use crate::exit::{CliError, Exit};
use crate::output::{self, keyboard, screen};
use anyhow::anyhow;
use hookhost::Host;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Maximum time after a second Ctrl-C for writing the last records, and for counting the events that observing plugins did not get.
const LAST_RECORDS: Duration = Duration::from_millis(250);

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Interrupt,
    Terminate,
    /// Ctrl-\, which has the effect of a second Ctrl-C.
    Quit,
}

/// A receiver for the signals that arrive after its creation. While a person edits a line, Ctrl-C is a key and not a signal.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| anyhow!("Ctrl-C cannot be listened for: {error}"));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })
    }

    /// Cancels `cancel` on the first signal, and ignores all further signals. For commands whose steps are short, and must not end in the
    /// middle of a step.
    pub(crate) fn cancel_on_first(mut self, cancel: CancellationToken) {
        tokio::spawn(async move {
            loop {
                self.next().await;
                cancel.cancel();
            }
        });
    }

    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.terminate.recv() => Received::Terminate,
            _ = self.hang_up.recv() => Received::Terminate,
            _ = self.quit.recv() => Received::Quit,
        }
    }
}

/// Until this value is dropped, a second Ctrl-C writes the host's last records. The value must be dropped before the command ends, because
/// the audit log is closed only when all owners have dropped the host.
#[derive(Debug)]
pub(crate) struct Watch {
    host: Arc<Mutex<Option<Host>>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(take(&self.host));
    }
}

fn take(host: &Mutex<Option<Host>>) -> Option<Host> {
    host.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Cancels `cancel` on the first signal. A second signal, or SIGQUIT, writes the records of `host` and ends the process. This must be
/// called within the runtime.
pub(crate) fn watch(cancel: CancellationToken, host: Option<Host>) -> Result<Watch, CliError> {
    let mut signals = Signals::listen()?;
    let watch = Watch { host: Arc::new(Mutex::new(host)) };
    let host = Arc::clone(&watch.host);
    tokio::spawn(async move {
        let first = signals.next().await;
        screen::interrupted();
        cancel.cancel();
        if first != Received::Quit {
            while signals.next().await == Received::Terminate {}
        }
        match take(&host) {
            Some(host) => end_at_once(&host).await,
            None => exit(),
        }
    });
    Ok(watch)
}

/// Writes the records of `host`, and ends the process.
pub(crate) async fn end_at_once(host: &Host) -> ! {
    let _ = tokio::time::timeout(LAST_RECORDS, host.drain(Duration::ZERO)).await;
    exit()
}

fn exit() -> ! {
    screen::no_status();
    keyboard::restore();
    // `exit` drops nothing, so MCP servers and their children would continue.
    kill_started();
    std::process::exit(Exit::Interrupted as i32)
}

/// Kills all processes that tools and MCP servers have started, and reports the processes that cannot be killed.
pub(crate) fn kill_started() {
    if let Err(still) = hookhost_agent::tool::kill_started() {
        output::note(&output::notice(&format!("{still}; end it by `kill`")));
    }
}
