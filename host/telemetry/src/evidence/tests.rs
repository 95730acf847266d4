//! Tests of the evidence: one log with a record of each kind, its export as it must be, and what a changed log leads to.

use super::{Evidence, EvidenceRequest, TextState};
use crate::anchor::tests::chained;
use crate::anchor::{Anchor, Anchors};
use hookhost::audit::Line;
use hookhost::config::Digest;
use hookhost::store::Log;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// 1 March 2026, in milliseconds since the Unix epoch.
const MARCH: u64 = 1_772_323_200_000;
const DAY: u64 = 86_400_000;

const CONFIG: &str = r#"{"no":["git push --force"],"token":"(masked)"}"#;

fn digest(text: &str) -> String {
    Digest::of_bytes(text.as_bytes()).to_string()
}

fn call(plugin: &str, config: &str, more: &Value) -> Value {
    let mut call = json!({ "plugin": plugin, "digest": digest(plugin), "config": digest(config), "mode": "enforce",
        "round": 1, "fuel": 0, "micros": 40 });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn event(id: &str, time: u64, outcome: &str, more: &Value) -> Value {
    let mut event = json!({ "kind": "event", "id": id, "session": "claude-code:s1", "time": time, "turn": 0,
        "event": "before-tool-call", "outcome": outcome, "by": [], "changed-by": [], "calls": [],
        "original": { "id": "t1", "name": "Bash", "arguments": { "command": "git push --force" } } });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

/// A log with records before, in and after March.
fn records() -> Vec<Value> {
    let refusal = json!({ "verdict": { "reject": { "reason": "no", "code": "git.force-push" } } });
    let asks = json!([{ "plugin": "guard", "question": "Push to \u{202e}main?", "code": "git.push" }]);
    let trap = json!({ "failure": { "kind": "trap", "detail": "trapped" } });
    let header = |kind: &str, time: u64| json!({ "kind": kind, "session": "claude-code:s1", "time": time });
    let with = |mut value: Value, more: Value| {
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    vec![
        json!({ "kind": "log", "version": 2, "time": MARCH - 9 * DAY }),
        with(
            header("session", MARCH - 8 * DAY),
            json!({ "agent": "claude-code", "cwd": "/w", "workspace": "/w", "depth": 0,
            "interactive": true, "tools": [], "models": [] }),
        ),
        event("old", MARCH - 8 * DAY, "allowed", &json!({ "calls": [call("guard", "old", &json!({}))] })),
        event(
            "e1",
            MARCH + DAY,
            "rejected",
            &json!({ "by": ["guard"], "cause": "verdict", "micros": 90,
            "calls": [call("guard", CONFIG, &refusal)] }),
        ),
        event(
            "e2",
            MARCH + 2 * DAY,
            "escalated",
            &json!({ "by": ["guard"], "questions": asks,
            "calls": [call("guard", CONFIG, &json!({}))] }),
        ),
        with(
            header("answer", MARCH + 2 * DAY + 9_000),
            json!({ "id": "e2", "event": "before-tool-call", "outcome": "allowed",
            "answer": { "kind": "approved", "micros": 9_000_000, "by": "=ada", "via": "terminal", "from": "tty 3" },
            "effects-hold": true }),
        ),
        event(
            "e3",
            MARCH + 3 * DAY,
            "rejected",
            &json!({ "by": ["guard"], "cause": { "failed": "trap" },
            "calls": [call("guard", CONFIG, &trap)] }),
        ),
        event("e4", MARCH + 3 * DAY, "rejected", &json!({ "cause": "not-recorded" })),
        with(
            header("delivery", MARCH + 4 * DAY),
            json!({ "point": "PreToolUse", "what": "unanswered", "note": "late" }),
        ),
        with(
            header("delivery", MARCH + 4 * DAY),
            json!({ "point": "PreToolUse", "what": "unanswered", "note": "late" }),
        ),
        with(header("dropped", MARCH + 4 * DAY), json!({ "events": { "turn-end": 3 } })),
        json!({ "kind": "operator", "time": MARCH + 5 * DAY, "action": "pause", "by": "ada", "until": MARCH + 6 * DAY }),
        event("e5", MARCH + 5 * DAY + 1, "allowed", &json!({ "enforcement": "paused" })),
        json!({ "kind": "rules-changed", "time": MARCH + 7 * DAY, "plugins": [
            { "plugin": "cargo", "digest": { "native": "1.0" }, "config": digest("cargo"), "mode": "observe" }] }),
        with(
            event("e6", MARCH + 8 * DAY, "rejected", &json!({ "by": ["guard"], "cause": "verdict" })),
            json!({ "session": "claude-code:hookhost-doctor-denied" }),
        ),
        event(
            "later",
            MARCH + 40 * DAY,
            "rejected",
            &json!({ "by": ["guard"], "cause": "verdict",
            "calls": [call("guard", "new", &refusal)] }),
        ),
    ]
}

fn lines(records: &[Value]) -> Vec<String> {
    let bodies: Vec<String> = records
        .iter()
        .map(|record| {
            // The member `kind` comes first in a log.
            let kind = &record["kind"];
            let rest: serde_json::Map<String, Value> = record
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| *name != "kind")
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            format!(r#""kind":{kind},{}"#, Value::Object(rest).to_string().strip_prefix('{').unwrap())
        })
        .collect();
    chained(&bodies)
}

fn written(directory: &Path, lines: &[String]) -> PathBuf {
    let path = directory.join("log.jsonl");
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    path
}

fn request(anchors: Option<Anchors>) -> EvidenceRequest {
    EvidenceRequest { from: MARCH, to: MARCH + 31 * DAY, now: MARCH + 41 * DAY, version: "0.0.0".to_owned(), anchors }
}

fn anchors(lines: &[String], number: usize) -> Anchors {
    let (log, head) = (Line::parse(&lines[0]).unwrap().hash(), Line::parse(&lines[number - 1]).unwrap().hash());
    let anchor = Anchor { log, seq: number as u64, head, time: MARCH + 20 * DAY, machine: "m".to_owned() };
    Anchors { anchors: vec![anchor], unreadable: 0 }
}

/// The evidence of a log in which March has a record of each kind. The text of one rule is kept.
fn evidence() -> Evidence {
    let directory = tempfile::tempdir().unwrap();
    let lines = lines(&records());
    let path = written(directory.path(), &lines);
    let texts = directory.path().join("log.jsonl-rules");
    std::fs::create_dir(&texts).unwrap();
    std::fs::write(texts.join(format!("{}.json", digest(CONFIG))), CONFIG).unwrap();
    std::fs::write(texts.join(format!("{}.json", digest("cargo"))), r#"{"x":"(masked)"}"#).unwrap();
    let log = Log::open(&path).unwrap();
    Evidence::read(&log, &request(Some(anchors(&lines, 12))), |_| {}).unwrap().0
}

#[test]
fn the_export_is_as_it_was_reviewed() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/evidence/golden");
    let evidence = evidence();
    let mut files = evidence.to_csv();
    files.push(("evidence.json".to_owned(), format!("{:#}\n", evidence.to_json().unwrap())));
    files.push(("evidence.html".to_owned(), evidence.to_html()));
    for (name, content) in files {
        let path = golden.join(&name);
        if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
            std::fs::create_dir_all(&golden).unwrap();
            std::fs::write(&path, &content).unwrap();
        }
        let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            content == reviewed,
            "{} is stale: HOOKHOST_WRITE_GOLDENS=1 cargo test --workspace --lib -- the_export_is",
            path.display()
        );
    }
}

#[test]
fn the_json_reads_back_as_exactly_the_same_evidence() {
    let evidence = evidence();
    let text = evidence.to_json().unwrap().to_string();
    let again: Evidence = serde_json::from_str(&text).unwrap();
    assert_eq!(again, evidence);
}

#[test]
fn only_the_period_counts_and_only_events_of_agents() {
    let evidence = evidence();
    assert_eq!(evidence.events, 5, "not the one before, the one after and the proof of `hookhost doctor`");
    let decisions: Vec<_> =
        evidence.decisions.iter().map(|count| (&*count.by, &*count.rule, count.rejected, count.asked)).collect();
    assert_eq!(decisions, [("guard", "", 1, 0), ("guard", "git.force-push", 1, 0), ("guard", "git.push", 0, 1)]);
}

#[test]
fn rules_are_shown_with_the_records_that_prove_them_and_with_their_texts() {
    let evidence = evidence();
    let rules: Vec<_> = evidence
        .rules
        .iter()
        .map(|rule| (&*rule.rule.plugin, rule.rule.first, rule.rule.last, rule.rule.calls, rule.text_is))
        .collect();
    assert_eq!(rules, [("cargo", 14, 14, 0, TextState::Masked), ("guard", 4, 7, 3, TextState::AsLoaded)]);
    assert_eq!(evidence.rules[1].text.as_deref(), Some(CONFIG));
}

#[test]
fn an_approval_says_who_answered_how_from_where_and_to_which_question() {
    let [approval] = &evidence().approvals[..] else { panic!("one approval") };
    assert_eq!(
        (&*approval.by, &*approval.via, &*approval.answer, approval.wait),
        ("=ada", "terminal", "approved", 9_000_000)
    );
    assert_eq!((&*approval.asked_by, &*approval.event), ("guard git.push", "before-tool-call Bash"));
    // A member of a later version.
    assert_eq!(approval.details["from"], "tty 3");
}

#[test]
fn a_question_of_before_the_period_is_known_to_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path(), &lines(&records()));
    let from_the_answer = EvidenceRequest { from: MARCH + 2 * DAY + 1, ..request(None) };
    let evidence = Evidence::read(&Log::open(&path).unwrap(), &from_the_answer, |_| {}).unwrap().0;
    assert_eq!((&*evidence.approvals[0].asked_by, evidence.events), ("guard git.push", 3));
}

#[test]
fn failures_say_what_followed_from_them() {
    let evidence = evidence();
    let shown: Vec<_> =
        evidence.failures.iter().map(|failed| (&*failed.plugin, &*failed.failure, &*failed.consequence)).collect();
    assert_eq!(shown, [("guard", "trap", "rejected (failed trap)"), ("", "not-recorded", "rejected (not-recorded)")]);
}

#[test]
fn gaps_are_counted_by_kind_and_agent() {
    let evidence = evidence();
    let shown: Vec<_> = evidence.gaps.iter().map(|gap| (&*gap.kind, &*gap.agent, gap.record, gap.count)).collect();
    assert_eq!(
        shown,
        [("not-observed", "claude-code", 11, 3), ("paused", "claude-code", 13, 1), ("unanswered", "claude-code", 9, 2)]
    );
}

#[test]
fn the_evidence_of_a_changed_log_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut changed = lines(&records());
    let anchors = anchors(&changed, 12);
    changed[3] = changed[3].replace("rejected", "allowed");
    let path = written(directory.path(), &changed);
    let evidence = Evidence::read(&Log::open(&path).unwrap(), &request(Some(anchors.clone())), |_| {}).unwrap().0;
    assert!(!evidence.chain.is_verified && evidence.chain.flaws == ["record 4 was changed"], "{:?}", evidence.chain);
    assert!(evidence.to_html().contains("record 4 was changed"));
    // The whole log is rewritten.
    let mut records = records();
    records[3]["outcome"] = "allowed".into();
    let path = written(directory.path(), &lines(&records));
    let evidence = Evidence::read(&Log::open(&path).unwrap(), &request(Some(anchors)), |_| {}).unwrap().0;
    assert!(
        !evidence.chain.is_verified && evidence.chain.flaws[0].contains("record 12 is not the one that was anchored")
    );
}

#[test]
fn the_page_has_no_script_and_shows_no_text_as_markup() {
    let mut evidence = evidence();
    evidence.approvals[0].question = "<script>alert(1)</script><img src=x onerror=y>\u{202e}\u{0}&amp;".to_owned();
    evidence.rules[0].text = Some("</pre><script>".to_owned());
    let page = evidence.to_html();
    assert!(
        !page.contains("<script") && !page.contains("<img") && !page.contains("http://") && !page.contains('\u{202e}')
    );
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("\\u{202e}") && page.contains("\\u{0}"));
}

#[test]
fn what_is_not_shown_depends_on_the_anchors_and_on_the_beginning_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path(), &lines(&records()));
    let before = EvidenceRequest { from: MARCH - 20 * DAY, ..request(None) };
    let evidence = Evidence::read(&Log::open(&path).unwrap(), &before, |_| {}).unwrap().0;
    let says = |text: &str| evidence.not_shown.iter().any(|sentence| sentence.contains(text));
    assert!(says("No head of the log was checked") && says("The log begins within the period"));
    assert!(
        self::evidence().not_shown.iter().any(|sentence| sentence.contains("Records after number 12 are not anchored"))
    );
}

#[test]
fn a_rule_is_in_force_only_if_an_agent_called_it_within_the_period() {
    let directory = tempfile::tempdir().unwrap();
    let mut records = records();
    let calls = |configs: &[&str]| {
        let calls: Vec<_> = configs.iter().map(|config| call("guard", config, &json!({}))).collect();
        json!({ "calls": calls })
    };
    // One configuration was used before March and is used after it. A trial and a proof have others.
    records.push(event("again", MARCH + 50 * DAY, "allowed", &calls(&["old"])));
    let of = |session: &str, mut record: Value| {
        record["session"] = session.into();
        record
    };
    let trial = json!({ "kind": "session", "time": MARCH + DAY, "agent": "hookhost-dispatch", "cwd": "/w", "workspace": "/w",
        "depth": 0, "interactive": true, "tools": [], "models": [] });
    let inserted = [
        of("trial", trial),
        of("trial", event("t", MARCH + DAY, "allowed", &calls(&["trial"]))),
        of("claude-code:hookhost-doctor-denied", event("d", MARCH + DAY, "allowed", &calls(&["proof"]))),
    ];
    records.splice(3..3, inserted);
    let path = written(directory.path(), &lines(&records));
    let evidence = Evidence::read(&Log::open(&path).unwrap(), &request(None), |_| {}).unwrap().0;
    let shown: Vec<_> = evidence.rules.iter().map(|rule| (&*rule.rule.plugin, &*rule.rule.config)).collect();
    assert_eq!(shown, [("cargo", &*digest("cargo")), ("guard", &*digest(CONFIG))]);
}
