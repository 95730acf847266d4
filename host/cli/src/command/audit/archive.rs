//! `hookhost audit archive`: moves old records from the log into files beside it.

use crate::args::ArchiveArgs;
use crate::exit::{CliError, Exit};
use crate::output::{self, one_line, style::GOOD, time, truncate::counted};
use crate::{audit_log, loading};
use hookhost::Config;
use hookhost::{Host, StoreError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) async fn run(args: &ArchiveArgs) -> Result<Exit, CliError> {
    if !audit_log::is_there()? {
        return Err(CliError::not_loaded(anyhow::anyhow!(
            "there is no audit log yet, because no agent has called hookhost"
        )));
    }
    let host = loading::shared_host(Config::empty()).await?;
    let done = archive(&host, args.before).await.map_err(|error| audit_log::unusable(&error));
    let (exit, archived) = match done {
        Ok(archived) => (audit_log::finish(&host, Ok(Exit::Done)).await?, archived),
        Err(error) => return audit_log::finish(&host, Err(error)).await,
    };
    let before = time::minute(cutoff(args.before));
    if archived.records == 0 {
        output::print(&format!("No record is older than {before}: nothing is archived.\n"))?;
        return Ok(exit);
    }
    let records = counted(archived.records, "record");
    output::print(&format!("{GOOD}archived{GOOD:#}  {records} from before {before}\n"))?;
    let directory = one_line(&format!("{}-archive", audit_log::path()?.display()));
    for file in &archived.files {
        output::print(&format!("  {directory}/{}\n", one_line(file)))?;
    }
    Ok(exit)
}

/// What was archived.
#[derive(Debug, Default)]
pub(crate) struct ArchivedRecords {
    pub(crate) records: u64,
    pub(crate) files: Vec<String>,
}

/// Archives all records that are older than this.
pub(crate) async fn archive(host: &Host, older_than: Duration) -> Result<ArchivedRecords, StoreError> {
    let before = cutoff(older_than);
    let mut all = ArchivedRecords::default();
    while let Some(archived) = host.archive(before).await? {
        all.records += archived.through - archived.first + 1;
        all.files.push(archived.file);
    }
    Ok(all)
}

fn cutoff(older_than: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(older_than).as_millis()).unwrap_or(u64::MAX)
}
