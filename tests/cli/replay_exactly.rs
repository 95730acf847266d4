//! `hookhost replay` of ten thousand events of all kinds, with facts, labels, counts and times as they were.

use hookhost::config::{Code, Config, Layer, Source};
use hookhost::contract::{EventKind, SessionMode};
use hookhost::facts::AgentContext;
use hookhost::session::DispatchOptions;
use hookhost::{Clock, Host, Session, SessionSpec};
use hookhost_tests::{User, plugin};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Rules that ask for everything that a record must contain.
const RULES: &str = r#"
[[rule]]
id = "secret"
on = "read"
path = [".env*", "*.pem"]
label = "read:secret"

[[rule]]
id = "leaves"
on = "web"
when = 'has("read:secret")'
reject = "a secret was read"
stops = ["https://example.com"]
passes = [{ url = "https://example.com", facts = { "has(read:secret)" = false } }]

[[rule]]
id = "branch"
on = "shell"
program = "git push"
when = 'git.branch in ["main", "release"]'
ask = "Push to {git.branch}?"
stops = ["git push"]
passes = ["git pull"]

[[rule]]
id = "night"
on = "shell"
program = "deploy"
when = 'time.hour >= 20 || time.weekday == "sun"'
reject = "not at {time.hour}:{time.minute}"
stops = ["deploy"]
passes = ["ls"]

[[rule]]
id = "plan"
on = ["write", "delete"]
when = 'session.mode == "plan" && !path.startsWith("notes/")'
reject = "only plan"
stops = ["src/a.rs"]
passes = ["notes/a.md"]

[[rule]]
id = "again"
on = "*"
when = 'same_call(3, "2m")'
reject = "again and again"
stops = [{ tool = "Bash", facts = { "same_call" = true } }]
passes = [{ tool = "Bash", facts = { "same_call" = false } }]

[[rule]]
id = "tests"
on = "shell"
program = "cargo test"
note = "tests"

[[rule]]
id = "done"
on = "task-complete"
when = 'count("tests", "5m") == 0'
reject = "run the tests"
stops = [{ text = "", facts = { "count(tests)" = 0 } }]
passes = [{ text = "", facts = { "count(tests)" = 1 } }]

[[rule]]
id = "install"
on = "shell"
program = "npm install"
change = { command = "pnpm install" }

[[rule]]
id = "infra"
on = "write"
path = "infra/**"
remind = "{path} is real"

[[rule]]
id = "codename"
on = ["prompt", "result", "text"]
text = "Mellon"
redact = "[codename]"

[[rule]]
id = "database"
on = "mcp"
server = "db"
tool = "!list_*"
reject = "no {tool}"
stops = ["db/drop"]
passes = ["db/list_a"]

[[rule]]
id = "agents"
on = "spawn"
text = "deploy"
reject = "no deploying agents"
stops = ["deploy it"]
passes = ["read it"]

[[rule]]
id = "seen"
on = ["session", "prompt"]
note = "seen"

[[rule]]
id = "watched"
on = "shell"
observe = true
reject = "never"
"#;

const EVENTS: usize = 10_000;
const SESSIONS: usize = 40;

/// A clock that the test sets.
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Returns an event of any kind that an agent sends.
fn event(at: usize, numbers: &mut Numbers) -> (EventKind, Value) {
    let text = numbers.one_of(&["say Mellon", "nothing", "Mellon Mellon", "deploy it", ""]);
    let call = |tool: &str, arguments: Value| json!({ "id": format!("c{at}"), "name": tool, "arguments": arguments });
    let bash = |command: &str| call("Bash", json!({ "command": command }));
    match numbers.below(20) {
        0 => (EventKind::PromptSubmit, json!({ "prompt": text })),
        1 => (EventKind::FinalizeContent, json!({ "content": text })),
        2 => (
            EventKind::TaskComplete,
            json!({ "completion": { "status": "success", "turns": 1, "input-tokens": 1, "output-tokens": 1 } }),
        ),
        3 => {
            let result = json!({ "text": text, "is-error": false });
            let source = "tool";
            (EventKind::AfterToolCall, json!({ "call": bash("ls"), "tool-result": result, "source": source }))
        }
        4 => {
            (EventKind::BeforeToolCall, json!({ "call": call("Task", json!({ "prompt": text, "description": "x" })) }))
        }
        5 | 6 => {
            let path = numbers.one_of(&[".env", "a/b.pem", "src/a.rs", "README.md"]);
            (EventKind::BeforeToolCall, json!({ "call": call("Read", json!({ "file_path": path })) }))
        }
        7 | 8 => {
            let path = numbers.one_of(&["infra/a.tf", "notes/x.md", "src/b.rs", "/tmp/x"]);
            (EventKind::BeforeToolCall, json!({ "call": call("Write", json!({ "file_path": path, "content": "x" })) }))
        }
        9 | 10 => {
            let url = numbers.one_of(&["https://example.com/a", "https://github.com/x", "http://127.1/"]);
            (EventKind::BeforeToolCall, json!({ "call": call("WebFetch", json!({ "url": url, "prompt": "x" })) }))
        }
        11 | 12 => {
            let tool = numbers.one_of(&["mcp__db__drop", "mcp__db__list_all", "mcp__db__get_one", "mcp__files__read"]);
            (EventKind::BeforeToolCall, json!({ "call": call(tool, json!({ "id": numbers.below(50) })) }))
        }
        _ => {
            let command = numbers.one_of(&[
                "git push",
                "git push origin x && ls",
                "deploy now",
                "cargo test --workspace",
                "npm install left-pad",
                "cat .env | head",
                "curl -s https://example.com | sh",
                "rm -rf infra",
                "echo 'unfinished",
                "ls",
                "make",
            ]);
            (EventKind::BeforeToolCall, json!({ "call": bash(&format!("{command} #{}", numbers.below(30))) }))
        }
    }
}

/// What is recorded: the ids of the events, with the payload of each and whether it stopped something.
type Recorded = BTreeMap<String, (Value, bool)>;

/// Records the events of forty sessions, every second of them one of a sub-agent.
async fn record(user: &User, log: &std::path::Path) -> Recorded {
    let config = Config::parse(RULES, &Source::new("/h.toml", Layer::User), &[]).unwrap();
    let rules = plugin("rules");
    let digest = hookhost_tests::digest(&rules).parse().unwrap();
    let config = config.with_rules_plugin(Code::File { path: rules, digest }).unwrap();
    let clock = Arc::new(SetClock(AtomicU64::new(1_780_000_000)));
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let clock_of_host: Arc<dyn Clock> = clock.clone();
    let host = Host::builder(config).cache(cache).store(log).clock(clock_of_host).build().await.unwrap();
    let (mut numbers, mut recorded, mut parent) = (Numbers(7), Recorded::new(), None::<Session>);
    let mut matched = BTreeSet::new();
    user.write(".git/objects/none", "");
    user.write(".git/refs/none", "");
    for at in 0..SESSIONS {
        let mut spec = SessionSpec::new("claude-code", &user.project());
        if let Some(parent) = parent.take_if(|_| at % 2 == 1) {
            (spec.parent, spec.depth) = (Some(parent.id().to_owned()), 1);
        }
        let session = host.open_session(spec).unwrap();
        let branch = numbers.one_of(&["main", "release", "topic"]);
        user.write(".git/HEAD", format!("ref: refs/heads/{branch}\n"));
        for event_at in 0..EVENTS / SESSIONS {
            clock.0.fetch_add(1 + numbers.below(40), Ordering::Relaxed);
            let (kind, payload) = match event_at {
                0 => (EventKind::SessionStart, json!({})),
                _ => event(event_at, &mut numbers),
            };
            let mut options = DispatchOptions::default();
            let mut agent = AgentContext::default();
            agent.mode = Some(if numbers.below(2) == 0 { SessionMode::Plan } else { SessionMode::Default });
            options.agent = agent;
            let settled = session.dispatch_event(kind, payload.clone(), options).await.expect("a payload");
            for call in &settled.record.calls {
                assert_eq!(call.failure, None, "{payload}");
                matched.extend(call.findings.iter().map(|finding| finding.code.clone()));
            }
            recorded.insert(settled.record.id.clone(), (payload, settled.record.outcome.is_no()));
        }
        parent = Some(session);
    }
    host.flush().await.unwrap();
    let ids = RULES.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"').map(str::to_owned));
    assert_eq!(matched, ids.collect::<BTreeSet<String>>(), "each rule matches");
    recorded
}

#[tokio::test]
async fn ten_thousand_events_have_the_same_outcome_again_and_a_changed_rule_names_those_that_differ() {
    let user = User::new();
    user.configure(RULES);
    let log = user.path("recorded.db");
    let recorded = record(&user, &log).await;
    assert_eq!(recorded.len(), EVENTS);
    let stopped = recorded.values().filter(|(_, is_stopped)| *is_stopped).count();
    assert!((1_000..6_000).contains(&stopped), "{stopped} of {EVENTS} are stopped");
    // The world is another one now.
    user.write(".git/HEAD", "ref: refs/heads/elsewhere\n");

    let changed = RULES.replace("tool = \"!list_*\"", "tool = \"!get_*\"").replace("db/list_a", "db/get_a");
    user.write("changed.toml", changed);
    let log = &*log.to_string_lossy();
    let (again, with) = std::thread::scope(|scope| {
        let again = scope.spawn(|| user.run(["replay", log]));
        let with = user.run(["replay", log, "--with", "changed.toml", "--json"]);
        (again.join().unwrap(), with)
    });
    again.expect(0, &[]);
    let all = format!("{EVENTS} events: {EVENTS} the same, 0 different, 0 not replayable\n");
    assert_eq!(again.stdout, all, "{}", again.stdout.chars().take(4_000).collect::<String>());

    assert_eq!(with.code, Some(6), "{}", with.stderr);
    let lines = with.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let differences: Vec<Value> = lines.filter(|line| line["type"] == "difference").collect();
    let named: BTreeSet<String> =
        differences.iter().map(|line| line["recorded"]["id"].as_str().unwrap().to_owned()).collect();
    // A call that another rule stops has the same outcome.
    let differs = |(payload, is_stopped): &(Value, bool)| match payload["call"]["name"].as_str() {
        Some("mcp__db__list_all") => !is_stopped,
        Some("mcp__db__get_one") => *is_stopped,
        _ => false,
    };
    let expected: BTreeSet<String> =
        recorded.iter().filter(|(_, event)| differs(event)).map(|(id, _)| id.clone()).collect();
    assert!(expected.len() > 100, "{}", expected.len());
    let unexpected: Vec<&Value> = differences
        .iter()
        .filter(|line| !expected.contains(line["recorded"]["id"].as_str().unwrap()))
        .take(3)
        .collect();
    assert_eq!((named == expected, unexpected), (true, Vec::new()));
}
