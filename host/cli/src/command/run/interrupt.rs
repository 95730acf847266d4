//! Ctrl-C. The first one cancels the run, which then ends in order; a second one ends the process at once. A request to
//! terminate, and a terminal that goes away, count as the first.

use crate::exit::{Exit, Stop};
use anyhow::anyhow;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `cancel` on the first signal. To be called within the runtime.
pub(super) fn watch(cancel: CancellationToken) -> Result<(), Stop> {
    let listen = |kind| signal(kind).map_err(|error| anyhow!("Ctrl-C cannot be listened for: {error}"));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        cancel.cancel();
        interrupt.recv().await;
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(())
}
