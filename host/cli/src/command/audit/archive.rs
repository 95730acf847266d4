//! `hookhost audit archive`: moves old records from the log into files beside it.

use crate::args::ArchiveArgs;
use crate::command::telemetry::{self, SinkRow};
use crate::exit::{CliError, Exit};
use crate::output::{self, one_line, style::GOOD, time, truncate::counted};
use crate::{audit_log, loading};
use hookhost::{Config, Host};
use hookhost_agents::clock::before_now;
use hookhost_telemetry::Environment;
use std::time::Duration;

pub(super) async fn run(args: &ArchiveArgs) -> Result<Exit, CliError> {
    if !audit_log::is_there()? {
        return Err(CliError::not_loaded(anyhow::anyhow!(
            "there is no audit log yet, because no agent has called hookhost"
        )));
    }
    let host = loading::shared_host(Config::empty()).await?;
    let done = archive(&host, args.before).await;
    let (exit, archived) = match done {
        Ok(archived) => (audit_log::finish(&host, Ok(Exit::Done)).await?, archived),
        Err(error) => return audit_log::finish(&host, Err(error)).await,
    };
    let before = time::minute(before_now(args.before));
    let held = archived.held_back().map_or_else(String::new, |held| format!("{held}\n"));
    if archived.records == 0 {
        let nothing = format!("No record is older than {before}: nothing is archived.\n");
        output::print(if held.is_empty() { &nothing } else { &held })?;
        return Ok(exit);
    }
    let records = counted(archived.records, "record");
    output::print(&format!("{GOOD}archived{GOOD:#}  {records} from before {before}\n"))?;
    let directory = one_line(&format!("{}-archive", audit_log::path()?.display()));
    for file in &archived.files {
        output::print(&format!("  {directory}/{}\n", one_line(file)))?;
    }
    output::print(&held)?;
    Ok(exit)
}

/// The records that one call has archived.
#[derive(Debug, Default)]
pub(crate) struct ArchivedRecords {
    pub(crate) records: u64,
    pub(crate) files: Vec<String>,
    /// The sink of telemetry that needs older records than the others, if it holds back the archive.
    pub(crate) needed_by: Option<String>,
}

impl ArchivedRecords {
    /// Says which sink of telemetry holds back the rest of the records, if one does.
    pub(crate) fn held_back(&self) -> Option<String> {
        let sink = self.needed_by.as_ref()?;
        Some(format!("{sink} of telemetry has not taken the rest: hookhost telemetry test {sink}, or skip {sink}"))
    }
}

/// Archives all records that are older than this, except those that a sink of telemetry has not taken yet.
pub(crate) async fn archive(host: &Host, older_than: Duration) -> Result<ArchivedRecords, CliError> {
    let cutoff = before_now(older_than);
    let unsent = first_unsent()?.filter(|unsent| unsent.time < cutoff);
    let before = unsent.as_ref().map_or(cutoff, |unsent| unsent.time);
    let mut all = ArchivedRecords { needed_by: unsent.map(|unsent| unsent.sink), ..ArchivedRecords::default() };
    while let Some(archived) = host.archive(before).await.map_err(|error| audit_log::unusable(&error))? {
        all.records += archived.through - archived.first + 1;
        all.files.push(archived.file);
    }
    Ok(all)
}

/// A record that a sink of telemetry has not taken.
struct UnsentRecord {
    sink: String,
    /// Time of the record, in milliseconds since the Unix epoch.
    time: u64,
}

/// Returns the first record that a sink has not taken.
fn first_unsent() -> Result<Option<UnsentRecord>, CliError> {
    let unsent = |row: SinkRow| Some(UnsentRecord { time: row.waiting_since?, sink: row.name });
    Ok(telemetry::rows(&Environment::of_process())?.into_iter().filter_map(unsent).min_by_key(|unsent| unsent.time))
}
