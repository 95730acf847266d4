//! Checks that the log is anchored and archived as the section `[evidence]` says.

use crate::audit_log;
use crate::configuration;
use crate::output::{quoted, time};
use hookhost::store::Log;
use hookhost_agents::install::check::Check;
use hookhost_telemetry::anchor::{Anchor, AnchorPlace};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time after which records should be anchored or archived. A resident host does both each hour while it runs.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the checks. There are none without the section, without a log, or if the configuration is invalid, which another check reports.
pub(super) fn checks() -> Vec<Check> {
    let Ok(section) = configuration::evidence_of_user() else { return Vec::new() };
    let Some(log) = audit_log::path().ok().and_then(|path| Log::open(&path).ok()) else { return Vec::new() };
    let log = log.only_stored();
    let anchors = section.anchor.as_ref().map(|place| anchors(&log, &place.0));
    let archives = section.keep().and_then(|keep| archives(&log, keep));
    anchors.into_iter().chain(archives).collect()
}

/// Reports the newest anchor.
fn anchors(log: &Log, place: &Path) -> Check {
    let next = "hookhost audit anchor";
    let read = AnchorPlace::open(place).and_then(|place| place.read());
    let (anchors, head) = match (read, Anchor::of(log.path(), 0)) {
        (Ok(anchors), Ok(head)) => (anchors, head),
        (Err(error), _) => return Check::problem("anchors", error.to_string(), next),
        (_, Err(error)) => return Check::problem("anchors", error.to_string(), "hookhost audit verify"),
    };
    let shown = quoted(&place.to_string_lossy());
    let Some(newest) = anchors.newest(head.log) else {
        return Check::problem("anchors", format!("no anchor in {shown} is of this log"), next);
    };
    let since = head.seq.saturating_sub(newest.seq);
    let says = format!("record {} was anchored at {}; {since} records since", newest.seq, time::minute(newest.time));
    // The record after the anchor is the oldest one that is not protected.
    match audit_log::time_after(log, newest.seq).filter(|time| is_older(*time, PATIENCE)) {
        Some(_) => Check::unknown("anchors", says, next),
        None => Check::ok("anchors", says),
    }
}

/// Reports records that should be in an archive.
fn archives(log: &Log, keep: Duration) -> Option<Check> {
    let oldest = audit_log::time_after(log, 1)?;
    let since = time::minute(oldest);
    if is_older(oldest, keep + PATIENCE) {
        let next = "hookhost audit archive --before TIME, with the time of `keep`";
        let says = format!("the log has records since {since}, which are older than `keep` says");
        return Some(Check::unknown("archive", says, next));
    }
    Some(Check::ok("archive", format!("the log has records since {since}; older ones are in archives")))
}

/// Returns true if a time, in milliseconds since the Unix epoch, is longer ago than `age`.
pub(super) fn is_older(millis: u64, age: Duration) -> bool {
    let since = UNIX_EPOCH + Duration::from_millis(millis);
    SystemTime::now().duration_since(since).is_ok_and(|elapsed| elapsed > age)
}
