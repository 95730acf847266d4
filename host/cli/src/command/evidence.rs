//! `hookhost evidence`: exports what auditors ask for, as JSON, as CSV files or as a page.

use super::audit::anchor;
use crate::args::EvidenceArgs;
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    progress::Progress,
    quoted,
    style::{DIM, ERROR, GOOD, NAME, WARNING},
    truncate::counted,
};
use anyhow::anyhow;
use hookhost::files::{self, NewFile};
use hookhost_agents::clock::now;
use hookhost_telemetry::anchor::AnchorPlace;
use hookhost_telemetry::evidence::{Evidence, EvidenceRequest, Gap};
use hookhost_telemetry::tally::Tally;
use hookhost_transcripts::{SessionCount, TranscriptPlaces, UnseenSessions};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

pub(crate) fn run(args: &EvidenceArgs) -> Result<Exit, CliError> {
    let evidence = read(args)?;
    if args.json {
        let value = evidence.to_json().map_err(|error| anyhow!("the evidence has no JSON form: {error}"))?;
        output::print_json(&value)?;
    } else if let Some(directory) = &args.csv {
        write_csv(&evidence, directory)?;
    } else if let Some(file) = &args.html {
        write(file, &evidence.to_html())?;
        output::print(&format!("The evidence is in {}\n", quoted(&file.to_string_lossy())))?;
    } else {
        output::print(&summary(&evidence))?;
    }
    if !evidence.chain.is_verified {
        let why = "the log is not as it was written, and the evidence says so";
        return Err(CliError::new(Exit::Differs, anyhow!(why)).advise("hookhost audit verify"));
    }
    Ok(Exit::Done)
}

fn read(args: &EvidenceArgs) -> Result<Evidence, CliError> {
    let now = now();
    let from = beginning(args.from)?;
    let to = match args.to {
        Some(day) => beginning(day.tomorrow().map_err(|_| CliError::usage("the calendar ends before this day"))?)?,
        None => now,
    };
    if from >= to {
        return Err(CliError::usage("the period ends before it begins: `--from` must not be after `--to`"));
    }
    let place = match &args.anchors {
        Some(path) => Some(path.clone()),
        // The configured anchors are those of the user's own log.
        None if args.log.log.is_none() => anchor::configured()?,
        None => None,
    };
    let anchors = place.map(|path| AnchorPlace::open(&path).and_then(|place| place.read()));
    let anchors = anchors.transpose().map_err(anchor::failed)?;
    let log = audit_log::open(args.log.log.as_deref())?;
    audit_log::warn_of_foreign(&log);
    let request = EvidenceRequest { from, to, now, version: env!("CARGO_PKG_VERSION").to_owned(), anchors };
    let progress = Progress::start("reading the log");
    let total = if log.is_export() { 0 } else { log.last().map_err(audit_log::unreadable)? };
    let read = Evidence::read(&log, &request, |lines| progress.set(lines, total));
    let (mut evidence, tally) = read.map_err(audit_log::unreadable)?;
    drop(progress);
    // A named log may be of another machine, whose transcripts are not here.
    if args.log.log.is_none() {
        add_unseen(&mut evidence, &tally);
    }
    Ok(evidence)
}

/// Adds the sessions of agents that did not ask, as far as transcripts on this machine show them.
fn add_unseen(evidence: &mut Evidence, tally: &Tally) {
    let Some(home) = std::env::home_dir() else { return };
    let places = TranscriptPlaces::of_environment(home, |name| std::env::var_os(name));
    let [since, until] = [evidence.from, evidence.to].map(|time| UNIX_EPOCH + Duration::from_millis(time));
    let is_seen = |agent: &str, id: &str| tally.has_session(agent, id);
    let unseen = UnseenSessions::read_period(places, since, Some(until), is_seen);
    for (agent, SessionCount { all, unseen }) in &unseen.agents {
        let mut gap = Gap::default();
        (gap.kind, gap.agent, gap.count) = ("did-not-ask".to_owned(), (*agent).to_owned(), *unseen);
        gap.meaning =
            format!("of {all} sessions in the agent's transcripts of the period, these have no event in the log");
        evidence.add_gap(gap);
    }
    if unseen.unread > 0 {
        let mut gap = Gap::default();
        (gap.kind, gap.count) = ("transcripts-not-read".to_owned(), unseen.unread as u64);
        gap.meaning = "transcripts of agents were not read, because this takes too long".to_owned();
        evidence.add_gap(gap);
    }
}

fn write_csv(evidence: &Evidence, directory: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(directory)
        .map_err(|error| anyhow!("the directory {} cannot be made: {error}", directory.display()))?;
    let mut text = String::new();
    for (name, content) in evidence.to_csv() {
        let file = directory.join(name);
        write(&file, &content)?;
        let _ = writeln!(text, "{}", one_line(&file.to_string_lossy()));
    }
    output::print(&text)
}

/// Writes a file that only the user can read, because it says what agents did.
fn write(file: &Path, content: &str) -> Result<(), CliError> {
    let written = files::replace(file, content.as_bytes(), NewFile::Private);
    written.map_err(|error| anyhow!("{} cannot be written: {error}", file.display()).into())
}

fn summary(evidence: &Evidence) -> String {
    let mut text = format!("{NAME}hookhost{NAME:#} evidence: {}\n", counted(evidence.events, "event"));
    let counts = [
        ("rules in force", evidence.rules.len()),
        ("rules that decided", evidence.decisions.len()),
        ("approvals", evidence.approvals.len()),
        ("failures", evidence.failures.len()),
        ("kinds of gaps", evidence.gaps.len()),
        ("changes by the operator", evidence.operator.len()),
    ];
    for (label, count) in counts {
        let _ = writeln!(text, "  {label:<24}{count:>7}");
    }
    let chain = &evidence.chain;
    let records = counted(chain.records, "record");
    let _ = if chain.is_verified {
        writeln!(text, "  {GOOD}verified{GOOD:#}  {records}")
    } else {
        writeln!(text, "  {ERROR}changed{ERROR:#}   the log is not as it was written ({records})")
    };
    for flaw in &chain.flaws {
        let _ = writeln!(text, "  {ERROR}flaw{ERROR:#}      {}", one_line(flaw));
    }
    let _ = match &chain.anchors {
        Some(anchors) => {
            writeln!(text, "  {GOOD}anchors{GOOD:#}   {} of {} are in the log", anchors.found, anchors.of_this_log)
        }
        None => writeln!(text, "  {WARNING}anchors{WARNING:#}   none: `hookhost audit anchor PATH` makes one"),
    };
    let _ = writeln!(text, "  {DIM}--html FILE, --csv DIR or --json exports all of it{DIM:#}");
    text
}

/// Returns the beginning of a day in UTC, in milliseconds since the Unix epoch.
fn beginning(day: Date) -> Result<u64, CliError> {
    let at = day.to_zoned(TimeZone::UTC).map(|day| day.timestamp().as_millisecond());
    let at = at.map_err(|error| CliError::usage(format!("{day} is not in the calendar: {error}")))?;
    u64::try_from(at).map_err(|_| CliError::usage(format!("{day} is before 1970, when no log began")))
}
