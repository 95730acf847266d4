//! `hookhost audit show`: prints the last records of a log, as text for people or as stored JSON.

use crate::args::{FilterArgs, ShowArgs};
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{self, Reader, one_line, record, style::WARNING};
use hookhost::audit::{Filter, Line};
use hookhost::store::{FollowedLog, Log, LogError};
use std::collections::VecDeque;

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.filter.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    let most = if args.all { usize::MAX } else { args.count };
    let mut printer = Printer::new(&args.filter);
    let reader = printer.print_last(&log, most)?;
    if reader == Reader::Reads && printer.printed == 0 && most > 0 && !printer.filter.is_empty() {
        let records = log.last().map_err(audit_log::unreadable)?;
        output::note(&format!("none of the {records} records match the filter\n"));
    }
    Ok(Exit::Done)
}

/// Number of records that are read at once while the log is followed.
const RECORDS_AT_ONCE: usize = 256;

fn warn(error: &LogError) {
    let text = one_line(&error.to_string());
    output::note(&format!("{WARNING}warning:{WARNING:#} {text}\n"));
}

/// Prints the records that match a filter.
pub(super) struct Printer {
    filter: Filter,
    json: bool,
    printed: u64,
    /// The number of the last record that was read.
    last: u64,
}

impl Printer {
    pub(super) fn new(args: &FilterArgs) -> Self {
        let FilterArgs { session, event, plugin, outcome, json, log: _ } = args;
        let mut filter = Filter::default();
        (filter.session, filter.event) = (session.clone(), *event);
        (filter.plugin, filter.outcome) = (plugin.clone(), *outcome);
        Self { filter, json: *json, printed: 0, last: 0 }
    }

    /// Prints the last `most` records that match, oldest first.
    pub(super) fn print_last(&mut self, log: &Log, most: usize) -> Result<Reader, CliError> {
        // Without a filter every record matches. Records are numbered without gaps, so the number of the first record to print is known.
        if self.filter.is_empty() && most < usize::MAX {
            let last = log.last().map_err(audit_log::unreadable)?;
            self.last = last.saturating_sub(most as u64);
            return self.print_further(log);
        }
        if most == usize::MAX {
            return self.print_further(log);
        }
        let mut kept = VecDeque::new();
        for line in log.lines().map_err(audit_log::unreadable)? {
            let Some(line) = self.fitting(line)? else { continue };
            kept.push_back(line);
            if kept.len() > most {
                kept.pop_front();
            }
        }
        for line in kept {
            if self.print(&line)? == Reader::HasGone {
                return Ok(Reader::HasGone);
            }
        }
        Ok(Reader::Reads)
    }

    /// Prints the matching records that were stored since the last call.
    pub(super) fn print_new(&mut self, followed: &mut FollowedLog) -> Result<Reader, CliError> {
        let mut is_behind = true;
        while is_behind {
            let lines = match followed.next_records(RECORDS_AT_ONCE) {
                Ok(lines) => lines,
                Err(error @ LogError::NotAsWritten { from, .. }) => {
                    warn(&error);
                    // Records that take the place of removed ones have their numbers.
                    self.last = self.last.min(from.saturating_sub(1));
                    continue;
                }
                Err(error) => return Err(audit_log::unreadable(error)),
            };
            is_behind = lines.len() == RECORDS_AT_ONCE;
            let last = self.last;
            for line in lines.into_iter().filter(|line| line.seq() > last) {
                if let Some(line) = self.fitting(Ok(line))?
                    && self.print(&line)? == Reader::HasGone
                {
                    return Ok(Reader::HasGone);
                }
            }
        }
        Ok(Reader::Reads)
    }

    /// Prints the matching records after the last record that was read.
    fn print_further(&mut self, log: &Log) -> Result<Reader, CliError> {
        for line in log.lines_after(self.last).map_err(audit_log::unreadable)? {
            if let Some(line) = self.fitting(line)?
                && self.print(&line)? == Reader::HasGone
            {
                return Ok(Reader::HasGone);
            }
        }
        Ok(Reader::Reads)
    }

    /// Returns the line if its record matches the filter. An invalid record is reported and skipped.
    fn fitting(&mut self, line: Result<Line, LogError>) -> Result<Option<Line>, CliError> {
        let line = match line {
            Ok(line) => line,
            Err(error @ LogError::Line { number, .. }) => {
                // Treats the invalid line as read, so that a later call does not report it again.
                self.last = self.last.max(number);
                warn(&error);
                return Ok(None);
            }
            Err(error) => return Err(audit_log::unreadable(error)),
        };
        self.last = self.last.max(line.seq());
        let fits = self.filter.is_empty() || line.entry().is_ok_and(|entry| self.filter.fits(&entry));
        Ok(fits.then_some(line))
    }

    fn print(&mut self, line: &Line) -> Result<Reader, CliError> {
        self.printed += 1;
        if self.json {
            output::print_exactly(&format!("{}\n", line.text()))
        } else {
            output::print_on(&record::describe(line))
        }
    }
}
