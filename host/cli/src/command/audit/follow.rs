//! `hookhost audit tail`: prints the last records and, with `--follow`, each new record as soon as it is stored.

use super::show::Printer;
use crate::args::TailArgs;
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::output::{self, Reader};
use hookhost::store::{FollowFrom, FollowedLog};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval at which the log is asked for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn run(args: &TailArgs) -> Result<Exit, CliError> {
    let cancel = CancellationToken::new();
    let _watch = if args.follow { Some(interrupt::watch(cancel.clone(), None)?) } else { None };
    let log = audit_log::open(args.filter.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    if args.follow && log.is_export() {
        return Err(CliError::usage("an export does not grow: --follow is for the database itself"));
    }
    let mut printer = Printer::new(&args.filter);
    if !args.follow {
        return printer.print_last(&log, args.count).map(|_| Exit::Done);
    }
    // What is stored while the last records are printed is printed with them.
    let (mut followed, _) = FollowedLog::open(log.path(), FollowFrom::End).map_err(audit_log::unreadable)?;
    let mut reader = printer.print_last(&log.only_stored(), args.count)?;
    while reader == Reader::Reads && output::is_read() {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = cancel.cancelled() => return Ok(Exit::Interrupted),
        }
        if followed.is_replaced() {
            let why = "the file of the log was removed or replaced: run the command again to follow the new log";
            return Err(CliError::not_loaded(anyhow::anyhow!(why)));
        }
        reader = printer.print_new(&mut followed)?;
    }
    Ok(Exit::Done)
}
