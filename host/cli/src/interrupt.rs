//! Ctrl-C. The first one cancels what runs, which then ends in order; a second one ends the process
//! at once. A request to terminate, and a terminal that goes away, count as the first; Ctrl-\
//! counts as the second, also without a first.

use crate::exit::{CliError, Exit};
use crate::output::{self, keyboard, screen};
use anyhow::anyhow;
use hookhost::Host;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long a second Ctrl-C takes at most: the last records are written, and what observers did not get is counted.
const LAST_RECORDS: Duration = Duration::from_millis(250);

/// As long as it is there, a second Ctrl-C has the host's last records written. It must not keep the host beyond the
/// command: who drops the last one closes the audit log.
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

/// Cancels `cancel` on the first signal. On a second one, or on SIGQUIT, the process ends, with
/// what `host` has recorded written. To be called within the runtime.
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

/// Ends the process, with what `host` has recorded written.
pub(crate) async fn end_at_once(host: &Host) -> ! {
    let _ = tokio::time::timeout(LAST_RECORDS, host.drain(Duration::ZERO)).await;
    exit()
}

fn exit() -> ! {
    screen::no_status();
    keyboard::restore();
    // Nothing is dropped any more: MCP servers and their children would continue.
    kill_started();
    std::process::exit(Exit::Interrupted as i32)
}

/// Kills all that tools and MCP servers have started; what cannot be killed is reported.
pub(crate) fn kill_started() {
    if let Err(still) = hookhost_agent::tool::kill_started() {
        output::note(&output::notice(&format!("{still}; end it by `kill`")));
    }
}
