//! What the resident host does for the log besides recording: archives old records and anchors the last one, as `[evidence]` says.

use crate::audit_log;
use crate::command::audit::{anchor, archive};
use crate::configuration;
use crate::exit::CliError;
use crate::output;
use anyhow::anyhow;
use hookhost::Host;
use std::time::Duration;

/// Delay of the first upkeep, so that it does not slow the start of a host.
const FIRST: Duration = Duration::from_secs(60);

/// Interval of the upkeep.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Time that a host that ends waits for its last anchor. A later anchor covers the same records.
const LAST_ANCHOR_TIMEOUT: Duration = Duration::from_secs(5);

/// Does the upkeep again and again. The settings are read each time, so that a change needs no new host.
pub(crate) async fn keep_up(host: Host) {
    let mut wait = FIRST;
    loop {
        tokio::time::sleep(wait).await;
        wait = INTERVAL;
        // A failure of one does not prevent the other.
        for done in [archive_old(&host).await, add_anchor().await] {
            if let Err(error) = done {
                output::note(&output::notice(&error.message()));
            }
        }
    }
}

/// Adds the anchor of a host that ends.
pub(crate) async fn add_last_anchor() {
    match tokio::time::timeout(LAST_ANCHOR_TIMEOUT, add_anchor()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => output::note(&output::notice(&error.message())),
        Err(_) => output::note(&output::notice("the last anchor takes too long, so it is left to the next host")),
    }
}

async fn archive_old(host: &Host) -> Result<(), CliError> {
    let Some(keep) = configuration::evidence_of_user()?.keep() else { return Ok(()) };
    let archived = archive::archive(host, keep).await;
    let archived =
        archived.map_err(|error| CliError::from(anyhow!("old records are not archived: {}", error.message())))?;
    if archived.records > 0 {
        tracing::info!(records = archived.records, "old records are archived");
    }
    if let Some(held) = archived.held_back() {
        return Err(anyhow!("not all old records are archived: {held}").into());
    }
    Ok(())
}

async fn add_anchor() -> Result<(), CliError> {
    let Some(place) = anchor::configured()? else { return Ok(()) };
    let log = audit_log::path()?;
    let added = tokio::task::spawn_blocking(move || anchor::anchor(&log, &place)).await;
    let added = added.map_err(|error| anyhow!("the log is not anchored: {error}"))?;
    added.map(drop).map_err(|error| CliError::from(anyhow!("the log is not anchored: {error}")))
}
