//! How each kind of failure comes about, on every event, with a real component.

use crate::events::payload;
use crate::hostile::Shape;
use crate::stillborn::{EXIT, stillborn};
use crate::support::{plugin, spec};
use hookhost::config::{Entry, Limits};
use hookhost::contract::{EventKind, ToolSpec};
use hookhost::session::{DispatchOptions, RecordedOutcome};
use hookhost::{Host, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

/// Every kind, spelt as records spell it. They are read from where they are declared: for one that
/// is added, no way to it is known below, and each test that goes through all of them says so.
pub(crate) fn kinds() -> Vec<String> {
    let source = include_str!("../../../contract/src/failure.rs");
    let (_, declared) = source.split_once("pub enum FailureKind {").expect("the kinds");
    let (declared, _) = declared.split_once('}').expect("the end of the kinds");
    let names = declared.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let kinds = names.filter_map(|name| name.strip_suffix(',')).map(kebab_case);
    // The machine causes the one, and a native rule the other: `overload.rs` and `native.rs` have their tests, and the page
    // a section for each.
    let kinds: Vec<_> = kinds.filter(|kind| kind != "overloaded" && kind != "panic").collect();
    assert!(kinds.len() >= 11, "{kinds:?}");
    kinds
}

fn kebab_case(name: &str) -> String {
    let letters = name.char_indices().flat_map(|(index, letter)| {
        let hyphen = (index > 0 && letter.is_uppercase()).then_some('-');
        hyphen.into_iter().chain(letter.to_lowercase())
    });
    letters.collect()
}

/// A plugin that fails in one way on every event that it subscribes to.
pub(crate) struct Failing {
    pub(crate) entry: Entry,
    /// Events that it needs before it fails in this way.
    events_before: u32,
    /// The session in which it fails so, where it is not in all.
    session: Option<String>,
}

impl Failing {
    /// A session of a host in which the plugin has come to fail in this way on this event.
    pub(crate) async fn session(&self, host: &Host, event: EventKind) -> Session {
        let mut spec = spec();
        spec.id.clone_from(&self.session);
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
        spec.tools = vec![ToolSpec::new("bash", schema)];
        let session = host.open_session(spec).unwrap();
        for _ in 0..self.events_before {
            let _ = dispatch(&session, event).await;
        }
        let _ = session.take_notices();
        session
    }
}

/// A plugin whose failures are of this kind.
pub(crate) fn failing(name: &str, kind: &str) -> Failing {
    let misbehaving = |how| plugin(name, json!({"any": {"misbehave": how}}));
    let mut entry = match kind {
        "trap" | "tripped" => with_limits(misbehaving("trap"), |_| {}),
        "out-of-fuel" => with_limits(misbehaving("loop"), |limits| limits.fuel = NonZeroU64::new(1_000_000).unwrap()),
        "compute" => with_limits(misbehaving("loop"), |limits| limits.compute = Some(Duration::from_millis(20))),
        "deadline" => with_limits(misbehaving("sleep"), |limits| {
            limits.compute = Some(Duration::from_millis(20));
            limits.deadline = Some(Duration::from_millis(20));
        }),
        "out-of-memory" => with_limits(misbehaving("allocate"), |_| {}),
        "capability-calls" => {
            with_limits(misbehaving("flood"), |limits| limits.capability_calls = NonZeroU32::new(50).unwrap())
        }
        "oversized" => with_limits(plugin(name, json!({})), |limits| limits.input = NonZeroUsize::MIN),
        "answer-too-large" => {
            with_limits(misbehaving("big-answer"), |limits| limits.memory = NonZeroUsize::new(64 << 20).unwrap())
        }
        "invalid-answer" => with_limits(misbehaving("invalid-text"), |_| {}),
        "not-instantiated" => with_limits(stillborn(name, EXIT), |_| {}),
        other => panic!("{other} was added: say here how it comes about"),
    };
    if kind != "not-instantiated" {
        // It would also fail on the records of the events at hand, at some time after them.
        entry.events = Some(EventKind::ALL.iter().copied().filter(|&event| event != EventKind::AuditRecord).collect());
    }
    Failing { entry, events_before: if kind == "tripped" { 3 } else { 0 }, session: None }
}

/// A plugin, and an event on which it fails.
pub(crate) struct Way {
    pub(crate) kind: String,
    pub(crate) event: EventKind,
    pub(crate) failing: Failing,
}

/// Every way to fail that users read a sentence of its own about.
pub(crate) fn ways() -> Vec<Way> {
    use EventKind::{AfterToolCall, BeforeInference, BeforeToolCall, CustomEvent, PromptSubmit};
    let main = kinds().into_iter().map(|kind| Way { failing: failing("p", &kind), event: CustomEvent, kind });
    let many = |step: Value| json!({ "do": vec![step; 65] });
    let modify = |value: Value| json!({"verdict": "modify", "value": value});
    let finding = json!({"report": {"code": "x".repeat(70_000), "severity": "info", "explanation": "", "references": [],
                                    "action": ""}});
    let escaped = json!({"report": {"code": "\u{1}".repeat(50_000), "severity": "info", "explanation": "", "references": [],
                                    "action": ""}});
    let others = [
        ("trap", BeforeToolCall, json!({"misbehave": "recurse"})),
        ("trap", BeforeToolCall, json!({"misbehave": "exit"})),
        ("capability-calls", BeforeToolCall, many(json!({"report": "x"}))),
        ("capability-calls", BeforeToolCall, many(json!({"remind": "x"}))),
        ("capability-calls", BeforeToolCall, json!({"do": [finding]})),
        ("capability-calls", BeforeToolCall, json!({"do": [{"remind": "x".repeat(5_000)}]})),
        ("capability-calls", BeforeToolCall, json!({"do": [escaped]})),
        ("out-of-memory", BeforeToolCall, json!({"do": [{"open": ["/here/Cargo.toml", 300]}]})),
        ("invalid-answer", BeforeToolCall, json!({"misbehave": "invalid-json"})),
        ("invalid-answer", AfterToolCall, json!({"misbehave": "invalid-json"})),
        ("invalid-answer", CustomEvent, json!({"misbehave": "invalid-json"})),
        ("invalid-answer", BeforeToolCall, modify(json!([1]))),
        ("invalid-answer", BeforeToolCall, modify(json!({"cmd": "x"}))),
        ("invalid-answer", BeforeToolCall, json!({"verdict": "rewrite", "value": {"fetch": "http://x"}})),
        ("invalid-answer", BeforeInference, modify(json!({"tools": ["new"]}))),
        ("invalid-answer", BeforeInference, modify(json!({"model": "other"}))),
    ];
    // One configuration for all of them, since each is compiled again; the session says which is meant.
    let mut config: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (index, (_, event, behaviour)) in others.iter().enumerate() {
        let mut behaviour = behaviour.clone();
        behaviour["when"] = json!({ "session": index.to_string() });
        config.entry(event.name()).or_default().push(behaviour);
    }
    let mut entry = with_limits(plugin("p", json!(config)), |_| {});
    entry.grants.read_dirs.insert("/here".into(), env!("CARGO_MANIFEST_DIR").into());
    let others = others.into_iter().enumerate().map(|(index, (kind, event, _))| {
        let failing = Failing { entry: entry.clone(), events_before: 0, session: Some(index.to_string()) };
        Way { kind: kind.into(), event, failing }
    });
    // What is asked for while an instance is made is refused in the same words.
    let at_birth = |(kind, of, name, does)| {
        let start = format!("(func $start (if (call $round) (then {does} unreachable))) (start $start)");
        let shape = Shape::of_module(name, &format!("{of} {start}"));
        let entry = shape.entry(Path::new(env!("CARGO_TARGET_TMPDIR")));
        Way {
            kind: String::from(kind),
            event: PromptSubmit,
            failing: Failing { entry, events_before: 0, session: None },
        }
    };
    let at_birth = [
        (
            "out-of-memory",
            "(table $mine 1 funcref)",
            "wants-tables",
            "(drop (table.grow $mine (ref.null func) (i32.const 9_999_999)))",
        ),
        ("out-of-memory", "", "wants-handles", "(loop (drop (call $thing-new (i32.const 1))) (br 0))"),
    ]
    .map(at_birth);
    main.chain(others).chain(at_birth).collect()
}

/// Fuel, and time, for long, so that the limit that is set is reached first also on a slow machine.
pub(crate) fn with_limits(mut entry: Entry, limits: impl FnOnce(&mut Limits)) -> Entry {
    entry.limits.fuel = NonZeroU64::new(1 << 60).unwrap();
    entry.limits.compute = Some(Duration::from_secs(60));
    entry.limits.deadline = Some(Duration::from_secs(60));
    limits(&mut entry.limits);
    entry
}

/// The event before the plugins that subscribe to it, observers waited for.
pub(crate) async fn dispatch(session: &Session, event: EventKind) -> RecordedOutcome<Value> {
    let options = DispatchOptions::awaiting_observers();
    let settled = session.dispatch_event(event, payload(event), options).await;
    settled.unwrap_or_else(|error| panic!("{event}: {error}"))
}

/// The events that some plugin of the host subscribes to.
pub(crate) fn with_subscribers(host: &Host) -> impl Iterator<Item = EventKind> {
    EventKind::ALL.iter().copied().filter(|&event| host.has_subscriber(event))
}
