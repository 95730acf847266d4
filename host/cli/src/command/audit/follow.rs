//! `hookhost audit tail`: prints the last records and, with `--follow`, each new record as soon as it is stored.

use super::show::Printer;
use crate::args::TailArgs;
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::output::{self, Reader};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval at which the log is read for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) async fn run(args: &TailArgs) -> Result<Exit, CliError> {
    let cancel = CancellationToken::new();
    let _watch = if args.follow { Some(interrupt::watch(cancel.clone(), None)?) } else { None };
    let log = audit_log::open(args.filter.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    if args.follow && log.is_export() {
        return Err(CliError::usage("an export does not grow: --follow is for the database itself"));
    }
    // `--follow` finds new records by their number. A record gets its number only when a host stores it. Therefore records that are not
    // stored yet are left out.
    let log = if args.follow { log.only_stored() } else { log };
    let mut printer = Printer::new(&args.filter);
    let mut reader = printer.print_last(&log, args.count)?;
    if !args.follow {
        return Ok(Exit::Done);
    }
    while reader == Reader::Reads && output::is_read() {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = cancel.cancelled() => return Ok(Exit::Interrupted),
        }
        reader = printer.print_further(&log)?;
    }
    Ok(Exit::Done)
}
