//! `docs/failures.md` is followed literally: every row of its table, for each of its kinds, events and policies.

use crate::failure_kinds::{Way, dispatch, failing, kinds, ways, with_subscribers};
use crate::support::{host, spec, texts};
use hookhost::Session;
use hookhost::config::{Mode, OnFailure};
use hookhost::contract::{EventKind, FailureKind, Shape};
use hookhost::session::RecordedOutcome;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What the operator wrote about a plugin's failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    mode: Mode,
    on_failure: Option<OnFailure>,
}

impl Policy {
    const ALL: [Self; 7] = [
        Self { mode: Mode::Enforce, on_failure: None },
        Self { mode: Mode::Enforce, on_failure: Some(OnFailure::Reject) },
        Self { mode: Mode::Enforce, on_failure: Some(OnFailure::Skip) },
        Self { mode: Mode::Enforce, on_failure: Some(OnFailure::Ask) },
        Self { mode: Mode::Observe, on_failure: None },
        Self { mode: Mode::Observe, on_failure: Some(OnFailure::Reject) },
        Self { mode: Mode::Observe, on_failure: Some(OnFailure::Skip) },
    ];

    /// As the page calls it. The page says what holds where the operator wrote nothing.
    fn name(self, shape: Shape) -> &'static str {
        match (self.mode, self.on_failure) {
            (Mode::Observe, _) => "observe",
            (Mode::Enforce, Some(OnFailure::Reject)) => "reject",
            (Mode::Enforce, Some(OnFailure::Skip)) => "skip",
            (Mode::Enforce, Some(OnFailure::Ask)) if shape == Shape::Gate => "ask",
            (Mode::Enforce, None | Some(OnFailure::Ask)) if matches!(shape, Shape::Gate | Shape::Transform) => "reject",
            (Mode::Enforce, None | Some(OnFailure::Ask)) => "skip",
            policy => panic!("the page does not have {policy:?}"),
        }
    }
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    kinds: Vec<String>,
    /// Whether the page says that the plugin is not even called.
    uncalled: bool,
    /// Each shape with the word for the effect on its events.
    events: Vec<(String, String)>,
    policies: Vec<String>,
    /// What the user may see; none: nothing.
    sentences: Vec<String>,
    /// The kind that is logged; absent: the failure's own.
    kind: Option<String>,
    cause: Option<String>,
}

fn page() -> &'static str {
    include_str!("../../../../docs/failures.md")
}

fn rows() -> Vec<Row> {
    let mut lines = page().lines().skip_while(|line| !line.starts_with("| failure |"));
    let columns = cells(lines.next().expect("the table"));
    let expected = [
        "failure",
        "how it comes about",
        "event kind",
        "policy",
        "what happens",
        "what the user sees",
        "what is logged",
    ];
    assert_eq!(columns, expected);
    lines.skip(1).map_while(|line| line.starts_with('|').then(|| row(&cells(line)))).collect()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

fn row(cells: &[&str]) -> Row {
    let [failure, comes_about, shapes, policies, happens, sees, logged] = cells else { panic!("{cells:?}") };
    let (shapes, happens) = (words(shapes), words(happens));
    assert_eq!(shapes.len(), happens.len(), "{cells:?}");
    let (kind, cause) = logged.split_once("; ").unwrap_or_else(|| panic!("{cells:?}"));
    Row {
        kinds: if *failure == "any" { kinds() } else { words(failure) },
        uncalled: comes_about.contains("the plugin is not called"),
        events: shapes.into_iter().zip(happens).collect(),
        policies: words(policies),
        sentences: sentences(sees),
        kind: (kind != "its kind").then(|| bare(kind)),
        cause: (cause != "no cause").then(|| bare(cause)),
    }
}

fn words(cell: &str) -> Vec<String> {
    cell.split(", ").map(bare).collect()
}

fn bare(word: &str) -> String {
    word.trim_matches('`').to_owned()
}

/// The first sentence is written out, and of the others what they say in place of what it did, or all where they start over.
fn sentences(cell: &str) -> Vec<String> {
    if cell == "nothing" {
        return Vec::new();
    }
    let written: Vec<_> = cell.split('`').skip(1).step_by(2).collect();
    let opening = written[0].split_once(": it ").map_or("", |(opening, _)| opening);
    let rest = written[1..].iter().map(|other| match other.starts_with('…') {
        true => (*other).to_owned(),
        false => format!("{opening}: it {other}"),
    });
    std::iter::once(written[0].to_owned()).chain(rest).collect()
}

/// Whether `text` is the sentence, where each `…` matches something.
pub(crate) fn says(sentence: &str, text: &str) -> bool {
    let (first, rest) = sentence.split_once('…').unwrap_or((sentence, ""));
    let Some(text) = text.strip_prefix(first) else { return false };
    if !sentence.contains('…') {
        return text.is_empty();
    }
    (1..=text.len()).filter(|&end| text.is_char_boundary(end)).any(|end| says(rest, &text[end..]))
}

fn shapes() -> BTreeSet<String> {
    EventKind::ALL.iter().map(|event| shape(*event)).collect()
}

/// As the page calls it.
fn shape(event: EventKind) -> String {
    format!("{:?}", event.shape()).to_lowercase()
}

#[test]
fn every_kind_of_failure_and_of_event_and_every_policy_has_exactly_one_row() {
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for row in self::rows() {
        for kind in &row.kinds {
            for (shape, _) in &row.events {
                rows.extend(row.policies.iter().map(|policy| (kind.clone(), shape.clone(), policy.clone())));
            }
        }
    }
    let mut expected = Vec::new();
    for kind in kinds() {
        for shape in shapes() {
            expected.extend(["reject", "skip", "observe"].map(|policy| (kind.clone(), shape.clone(), policy.into())));
            expected.extend((shape == "gate").then(|| (kind.clone(), shape.clone(), "ask".into())));
        }
    }
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn every_row_is_what_happens_what_is_seen_and_what_is_logged() {
    let rows = rows();
    let untouched = host(vec![]).await;
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for kind in kinds() {
        for policy in Policy::ALL {
            let mut failing = failing("p", &kind);
            (failing.entry.mode, failing.entry.on_failure) = (policy.mode, policy.on_failure);
            let host = host(vec![failing.entry.clone()]).await;
            // The end of a session is told once, so that no session has tripped a plugin by it before.
            let can_be = |event: &EventKind| *event != EventKind::SessionEnd || kind != "tripped";
            for event in with_subscribers(&host).filter(can_be) {
                let fits = |row: &&Row| {
                    row.kinds.contains(&kind)
                        && row.policies.iter().any(|name| name == policy.name(event.shape()))
                        && row.events.iter().any(|(name, _)| *name == shape(event))
                };
                let row = rows.iter().find(fits).unwrap_or_else(|| panic!("no row: {kind}, {event}, {policy:?}"));
                let session = failing.session(&host, event).await;
                let settled = dispatch(&session, event).await;
                let case = format!("{kind}, {event}, {policy:?}");
                let without = dispatch(&untouched.open_session(spec()).unwrap(), event).await.outcome;
                wrong.extend(compare(row, &kind, &settled, &without).err().map(|why| format!("{case}: {why}")));
                let notices = texts(session.take_notices());
                let skipped = row.sentences.is_empty() && kind != "tripped";
                let is_told = |notice: &String| notice.starts_with(&format!("the plugin p failed on {event}: it "));
                if notices.len() != usize::from(skipped) || !notices.iter().all(is_told) {
                    wrong.push(format!("{case}: {notices:?}"));
                }
                seen.insert((kind.clone(), policy.name(event.shape()), shape(event)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each kind was met on each shape of events under each policy, of which one is for gates alone.
    assert_eq!(seen.len(), kinds().len() * (shapes().len() * 3 + 1), "{seen:?}");
}

/// Compares a row to the outcome of an event before one plugin, `p`, that failed; `without` is its outcome before no plugin.
fn compare(row: &Row, kind: &str, settled: &RecordedOutcome<Value>, without: &Value) -> Result<(), String> {
    let RecordedOutcome { outcome, record, .. } = settled;
    let same = |what: &str, expected: &Value, found: &Value| {
        if expected == found { Ok(()) } else { Err(format!("{what} is {found}, and should be {expected}")) }
    };
    let (_, happens) = row.events.iter().find(|(name, _)| *name == shape(record.event)).ok_or("no such event")?;
    same("the outcome's word", &json!(happens), &json!(record.outcome))?;

    if row.sentences.is_empty() {
        same("the outcome", without, outcome)?;
        same("the reason", &json!(null), &json!(record.reason))?;
        same("who decided", &json!([]), &json!(record.by))?;
    } else {
        let question = record.questions.first().map(|question| question.escalation.question.as_str());
        let reason = question.or(record.reason.as_deref()).ok_or("no reason is given")?;
        if !row.sentences.iter().any(|sentence| says(sentence, reason)) {
            return Err(format!("the user sees {reason:?}, and should see one of {:?}", row.sentences));
        }
        same("who decided", &json!(["p"]), &json!(record.by))?;
        same("who decided, in the outcome", &json!(["p"]), &outcome["by"])?;
        // In these tests nobody is there to be asked.
        let kind = if happens == "escalated" { "rejected" } else { happens };
        same("the outcome's kind", &json!(kind), &outcome["kind"])?;
    }
    same("the final value", &json!(null), &json!(record.last))?;

    let [call] = &record.calls[..] else { return Err(format!("{} calls are logged", record.calls.len())) };
    let failure = call.failure.as_ref().ok_or("no failure is logged")?;
    same("the kind", &json!(row.kind.as_deref().unwrap_or(kind)), &json!(failure.kind))?;
    same("the verdict", &json!(null), &json!(call.verdict))?;
    if row.uncalled {
        same("the fuel", &json!(0), &json!(call.fuel))?;
    }
    let cause = outcome.get("cause").map(|cause| {
        if *cause != json!({ "failed": failure.kind }) {
            return cause.as_str().unwrap_or_default().to_owned();
        }
        match failure.kind {
            kind if kind.is_timeout() => "timed-out".into(),
            FailureKind::Oversized => "oversized".into(),
            _ => "failed".into(),
        }
    });
    same("the cause", &json!(row.cause), &json!(cause))
}

/// The sentence of the page's quotation.
fn notice() -> String {
    let quoted: Vec<_> = page().lines().filter_map(|line| line.strip_prefix("> ")).collect();
    quoted.join(" ")
}

#[tokio::test]
async fn a_plugin_is_tripped_by_any_kind_of_failure_of_its_own_and_the_user_is_told_once() {
    for kind in kinds().into_iter().filter(|kind| kind != "tripped" && kind != "oversized") {
        let failing = failing("p", &kind);
        let host = host(vec![failing.entry.clone()]).await;
        let mut met = BTreeSet::new();
        // The end of a session is told once.
        let events = with_subscribers(&host).filter(|event| *event != EventKind::SessionEnd);
        for event in events.filter(|event| met.insert(shape(*event))) {
            let session = failing.session(&host, event).await;
            for _ in 0..3 {
                assert_eq!(of_tripping(&session), [""; 0], "{kind}, {event}");
                assert_eq!(failure(&session, event).await, kind, "{event}");
            }
            let notices = of_tripping(&session);
            assert!(matches!(&notices[..], [told] if says(&notice(), told)), "{kind}, {event}: {notices:?}");
            assert_eq!(failure(&session, event).await, "tripped", "{kind}, {event}");
            assert_eq!(texts(session.take_notices()), [""; 0], "{kind}, {event}");
        }
    }
}

/// What the user is told, except failures that are skipped.
fn of_tripping(session: &Session) -> Vec<String> {
    let mut notices = texts(session.take_notices());
    notices.retain(|notice| !notice.contains(" failed on "));
    notices
}

/// The kind of the failure that is logged of the only plugin's only call.
async fn failure(session: &Session, event: EventKind) -> String {
    let settled = dispatch(session, event).await;
    let [call] = &settled.record.calls[..] else { panic!("{:?}", settled.record.calls) };
    let failure = call.failure.as_ref().unwrap_or_else(|| panic!("{call:?}"));
    json!(failure.kind).as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_sentence_of_the_table_comes_about_and_no_other_does() {
    // Questions have the words of the failures.
    let is_refusal = |row: &Row| !row.sentences.is_empty() && !row.policies.contains(&"ask".to_owned());
    let rows: Vec<_> = rows().into_iter().filter(is_refusal).collect();
    let mut unseen: BTreeSet<&str> = rows.iter().flat_map(|row| &row.sentences).map(String::as_str).collect();
    for Way { kind, event, failing } in ways() {
        let host = host(vec![failing.entry.clone()]).await;
        let session = failing.session(&host, event).await;
        let reason = dispatch(&session, event).await.record.reason.unwrap_or_else(|| panic!("{kind}, {event}: passed"));
        let sentences = rows.iter().filter(|row| row.kinds.contains(&kind)).flat_map(|row| &row.sentences);
        let said: Vec<_> = sentences.filter(|sentence| says(sentence, &reason)).collect();
        assert!(!said.is_empty(), "{kind}, {event}: {reason:?} is not in the table");
        unseen.retain(|sentence| !said.iter().any(|said| said == sentence));
    }
    assert!(unseen.is_empty(), "no plugin made the host say {unseen:?}");
}
