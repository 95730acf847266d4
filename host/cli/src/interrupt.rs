//! Handles Ctrl-C. The first one cancels the work, which then ends in order; a second one ends the process at once. A request to
//! terminate and the loss of the terminal count as the first; Ctrl-\ acts as the second, even without a first.

use crate::exit::{CliError, Exit};
use crate::output::{self, keyboard, screen};
use anyhow::anyhow;
use hookhost::Host;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Maximum duration of a second Ctrl-C: the last records are written, and events that observers did not get are counted.
const LAST_RECORDS: Duration = Duration::from_millis(250);

/// Lets a second Ctrl-C write the host's last records, until it is dropped. It must not keep the host longer than the command: the
/// last one to drop the host closes the audit log.
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

/// Cancels `cancel` on the first signal. A second one, or SIGQUIT, writes the records of `host` and ends the process. Must be called
/// within the runtime.
pub(crate) fn watch(cancel: CancellationToken, host: Option<Host>) -> Result<Watch, CliError> {
    let listen = |kind| signal(kind).map_err(|error| anyhow!("Ctrl-C cannot be listened for: {error}"));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let mut quit = listen(SignalKind::quit())?;
    let watch = Watch { host: Arc::new(Mutex::new(host)) };
    let host = Arc::clone(&watch.host);
    tokio::spawn(async move {
        let quits = tokio::select! {
            _ = interrupt.recv() => false,
            _ = terminate.recv() => false,
            _ = hang_up.recv() => false,
            _ = quit.recv() => true,
        };
        screen::interrupted();
        cancel.cancel();
        if !quits {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
            }
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

/// Kills all processes that tools and MCP servers have started, and reports those that cannot be killed.
pub(crate) fn kill_started() {
    if let Err(still) = hookhost_agent::tool::kill_started() {
        output::note(&output::notice(&format!("{still}; end it by `kill`")));
    }
}
