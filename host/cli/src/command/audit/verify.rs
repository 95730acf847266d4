//! `hookhost audit verify`: checks that every record is unchanged and in its original position.

use crate::args::VerifyArgs;
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    progress::Progress,
    quoted,
    style::{DIM, ERROR, GOOD, NAME, WARNING},
    truncate::counted,
};
use hookhost::audit::{Flaw, Heads, Report};
use hookhost::store::{Log, LogError};
use hookhost_telemetry::anchor::{AnchorPlace, CheckedAnchors};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

pub(super) fn run(args: &VerifyArgs) -> Result<Exit, CliError> {
    let log = audit_log::open(args.log.log.as_deref())?;
    let read = |path: &PathBuf| AnchorPlace::open(path).and_then(|place| place.read());
    let anchors = args.anchors.as_ref().map(read).transpose().map_err(super::anchor::failed)?;
    let mut heads = anchors.as_ref().map(|anchors| anchors.heads(&log)).transpose().map_err(audit_log::unreadable)?;
    let mut heads = heads.take().unwrap_or_default();
    heads.noted = args.head;
    let report = verified(&log, &heads).map_err(audit_log::unreadable)?;
    let anchors = anchors.map(|anchors| anchors.checked(&heads, &report));
    let is_sound = report.is_sound() && anchors.as_ref().is_none_or(|anchors| anchors.problem.is_none());
    if args.json {
        output::print_json(&as_json(&log, &report, anchors.as_ref()))?;
    } else {
        output::print(&as_text(&log, &report, args, anchors.as_ref()))?;
    }
    Ok(if is_sound { Exit::Done } else { Exit::Differs })
}

fn verified(log: &Log, heads: &Heads) -> Result<Report, LogError> {
    let progress = Progress::start("checking the log");
    // To count the lines of an export, it would have to be read twice.
    let total = if log.is_export() { 0 } else { log.last()? };
    log.verify_with(heads, |lines| progress.set(lines, total))
}

fn as_text(log: &Log, report: &Report, args: &VerifyArgs, anchors: Option<&CheckedAnchors>) -> String {
    let mut text = format!("{NAME}{}{NAME:#}\n", one_line(&log.path().to_string_lossy()));
    for flaw in &report.flaws {
        let _ = writeln!(text, "  {ERROR}flaw{ERROR:#}      {}", one_line(&flaw.to_string()));
    }
    if report.more_flaws > 0 {
        let _ = writeln!(text, "  {ERROR}flaw{ERROR:#}      and {} more", report.more_flaws);
    }
    let records = counted(report.lines, "record");
    let _ = if report.is_sound() {
        writeln!(text, "  {GOOD}verified{GOOD:#}  {records}, each as it was written and in its place")
    } else {
        writeln!(text, "  {ERROR}changed{ERROR:#}   the log is not as it was written ({records})")
    };
    if let Some(line) = report.cut_at {
        let _ = writeln!(
            text,
            "  {WARNING}cut{WARNING:#}       line {line} is incomplete, because its writer was interrupted; the lines before \
             it are valid"
        );
    }
    for (first, last) in &report.archived {
        let _ = writeln!(
            text,
            "  {WARNING}archived{WARNING:#}  records {first} to {last} are in an archive that is not here, so they are not checked"
        );
    }
    if let Some(anchors) = anchors {
        text.push_str(&anchors_as_text(anchors));
    }
    if let Some(head) = report.head {
        let _ = writeln!(text, "  head      {head}");
    }
    if let Some(seq) = report.head_at {
        let since = counted(report.lines.saturating_sub(seq), "record");
        let _ = writeln!(text, "  {GOOD}noted{GOOD:#}     the head that you noted is record {seq}; {since} since");
    }
    if !report.open_sessions.is_empty() {
        let have = if report.open_sessions.len() == 1 { "has" } else { "have" };
        let sessions = counted(report.open_sessions.len(), "session");
        let _ = writeln!(text, "  open      {sessions} {have} no end: the agent still works, or was killed");
        for (session, seq) in &report.open_sessions {
            let _ = writeln!(text, "            {DIM}{}, its last record is {seq}{DIM:#}", one_line(session));
        }
    }
    if report.is_sound() && args.head.is_none() && anchors.is_none() {
        let log = args.log.log.as_deref().map(|log| format!(" --log {}", quoted(&log.to_string_lossy())));
        let log = one_line(&log.unwrap_or_default());
        let what = if report.last_is_vouched_for {
            "the newest records"
        } else {
            "the newest records, or change the last one,"
        };
        let _ = writeln!(
            text,
            "  {DIM}Somebody could remove {what} without a trace in the log. Note the head elsewhere, and compare it later:\n  \
             hookhost audit verify{log} --head HEAD{DIM:#}"
        );
    }
    text
}

fn anchors_as_text(anchors: &CheckedAnchors) -> String {
    let CheckedAnchors { of_this_log, found, of_other_logs, problem } = anchors;
    let mut text = String::new();
    if let Some(problem) = problem {
        let _ = writeln!(text, "  {ERROR}flaw{ERROR:#}      {}", one_line(problem));
    } else {
        let _ = writeln!(text, "  {GOOD}anchors{GOOD:#}   {found} of {of_this_log} are in the log");
    }
    if *of_other_logs > 0 {
        let _ = writeln!(
            text,
            "  {WARNING}other{WARNING:#}     {} of other logs: of another machine, or of a log that this one replaced",
            counted(*of_other_logs, "anchor")
        );
    }
    text
}

fn as_json(log: &Log, report: &Report, anchors: Option<&CheckedAnchors>) -> Value {
    let Report {
        lines, head, flaws, more_flaws, head_at, last_is_vouched_for, cut_at, open_sessions, archived, ..
    } = report;
    json!({
        "log": log.path(),
        "verified": report.is_sound() && anchors.is_none_or(|anchors| anchors.problem.is_none()),
        "records": lines,
        "head": head,
        "noted-head-at": head_at,
        "last-is-vouched-for": last_is_vouched_for,
        "cut-at-line": cut_at,
        "flaws": flaws.iter().map(flaw).collect::<Vec<_>>(),
        "more-flaws": more_flaws,
        "archived-elsewhere": archived.iter().map(|(first, last)| json!({ "first": first, "last": last })).collect::<Vec<_>>(),
        "anchors": anchors,
        "open-sessions": open_sessions.iter().map(|(session, seq)| json!({ "session": session, "last": seq })).collect::<Vec<_>>(),
    })
}

fn flaw(flaw: &Flaw) -> Value {
    let says = flaw.to_string();
    match flaw {
        Flaw::Changed(seq) => json!({ "kind": "changed", "record": seq, "says": says }),
        Flaw::Removed(first, last) => json!({ "kind": "removed", "first": first, "last": last, "says": says }),
        Flaw::Moved(seq) => json!({ "kind": "moved", "record": seq, "says": says }),
        Flaw::Twice(seq) => json!({ "kind": "twice", "record": seq, "says": says }),
        Flaw::NoBeginning => json!({ "kind": "no-beginning", "says": says }),
        Flaw::Unreadable { line, .. } => json!({ "kind": "unreadable", "line": line, "says": says }),
        Flaw::Foreign(what) => json!({ "kind": "foreign", "holds": what, "says": says }),
        Flaw::AnchorDiffers(seq) => json!({ "kind": "anchor-differs", "record": seq, "says": says }),
        Flaw::AnchorMissing(seq) => json!({ "kind": "anchor-missing", "record": seq, "says": says }),
        Flaw::UnreadableArchive(what) => json!({ "kind": "unreadable-archive", "what": what, "says": says }),
        Flaw::Unproven { seq, .. } => json!({ "kind": "unproven", "record": seq, "says": says }),
        Flaw::Passkeys(_) => json!({ "kind": "passkeys", "says": says }),
        Flaw::HeadMissing(head) => json!({ "kind": "head-missing", "head": head, "says": says }),
        _ => json!({ "kind": "other", "says": says }),
    }
}
