//! What people wish for most, each as at most six lines of rules, with calls that try to get around them.
//!
//! Each file of `wishes/` has the rules of one wish, and probes. A probe is a call in a session of its own, which `stops` or `passes`, or
//! several steps of one session. A text is a command in Claude Code.

use hookhost::audit::EventRecord;
use hookhost::config::{Code, Config, Digest, Layer, Source};
use hookhost::contract::{EventKind, OutcomeKind, SessionMode};
use hookhost::facts::{AgentContext, AgentProcess};
use hookhost::session::{Clock, DispatchOptions};
use hookhost::{Host, Session, SessionSpec};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Maximum number of lines of a wish besides ids and examples.
const MAX_LINES: usize = 6;

/// Minimum number of probes of a wish.
const MIN_PROBES: usize = 12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    rule: Vec<toml::Table>,
    #[serde(default)]
    stops: Vec<Probe>,
    #[serde(default)]
    passes: Vec<Probe>,
    #[serde(default)]
    session: Vec<Probe>,
}

/// A step of a session, or a session with its steps.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Table {
    // The session.
    agent: Option<String>,
    depth: u32,
    mode: Option<SessionMode>,
    env: BTreeMap<String, String>,
    /// Files of the project, or of the home directory after `~/`.
    files: BTreeMap<String, String>,
    /// The local time, such as `sat 22:30`.
    at: Option<String>,
    /// True if calls that pass really run.
    runs: bool,
    steps: Vec<Probe>,
    // The step.
    shell: Option<String>,
    tool: Option<String>,
    arguments: Map<String, Value>,
    prompt: Option<String>,
    /// The model's final text.
    says: Option<String>,
    /// The task ends.
    ends: bool,
    fails: bool,
    output: String,
    read_only: Option<bool>,
    by_sub_agent: bool,
    /// Seconds before the step.
    wait: u64,
    /// What becomes of the step, by default `allowed`.
    is: Option<String>,
}

#[derive(Clone, Debug)]
struct Probe(Box<Table>);

impl<'de> Deserialize<'de> for Probe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        let table = match value {
            toml::Value::String(shell) => Table { shell: Some(shell), ..Table::default() },
            table => table.try_into().map_err(serde::de::Error::custom)?,
        };
        Ok(Self(Box::new(table)))
    }
}

/// A clock that is set by the probes.
#[derive(Default)]
struct Watch(AtomicU64);

impl Clock for Watch {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
struct Process(BTreeMap<String, String>);

impl AgentProcess for Process {
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.get(name).cloned())
    }

    fn user(&self) -> Result<Option<String>, String> {
        Ok(Some("ada".into()))
    }

    fn is_sandboxed(&self) -> Result<Option<bool>, String> {
        Ok(Some(false))
    }
}

/// Returns the milliseconds of a local time in a week of June, or of its Monday at noon.
fn moment(at: Option<&str>) -> u64 {
    const MONDAY: i64 = 20_619 * 24 * 60;
    let (day, time) = at.unwrap_or("mon 12:00").split_once(' ').expect("a day and a time");
    let day = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().position(|name| *name == day).expect("a day");
    let (hour, minute) = time.split_once(':').expect("an hour and a minute");
    let number = |text: &str| text.parse::<i64>().expect("a number");
    let zone = Command::new("date").arg("+%z").output().expect("the time zone").stdout;
    let zone = String::from_utf8(zone).expect("UTF-8");
    let offset = number(&zone[1..3]) * 60 + number(&zone[3..5]);
    let offset = if zone.starts_with('-') { -offset } else { offset };
    let day = i64::try_from(day).expect("a day");
    let minutes = MONDAY + day * 24 * 60 + number(hour) * 60 + number(minute) - offset;
    u64::try_from(minutes).expect("a time after 1970") * 60_000
}

/// A session of a probe, with its directories.
struct Stage<'a> {
    host: &'a Host,
    watch: &'a Watch,
    probe: &'a Table,
    home: TempDir,
    session: Session,
    sub_agent: Option<Session>,
    calls: usize,
}

impl<'a> Stage<'a> {
    fn new(host: &'a Host, watch: &'a Watch, probe: &'a Table) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        watch.0.store(moment(probe.at.as_deref()), Ordering::Relaxed);
        let project = home.path().canonicalize().expect("the directory").join("project");
        std::fs::create_dir_all(&project).expect("the project");
        for (name, content) in &probe.files {
            let path = name.strip_prefix("~/").map_or_else(|| project.join(name), |name| home.path().join(name));
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("the file's directory");
            if name.ends_with(".git/HEAD") {
                for name in ["objects", "refs"] {
                    std::fs::create_dir_all(path.with_file_name(name)).expect("what git needs in a repository");
                }
            }
            std::fs::write(path, content).expect("the file");
        }
        let mut spec = SessionSpec::new(probe.agent.as_deref().unwrap_or("claude-code"), &project);
        (spec.interactive, spec.depth) = (true, probe.depth);
        let session = host.open_session(spec).expect("a session");
        Self { host, watch, probe, home, session, sub_agent: None, calls: 0 }
    }

    fn project(&self) -> PathBuf {
        self.home.path().canonicalize().expect("the directory").join("project")
    }

    fn options(&self, step: &Table) -> DispatchOptions {
        let mut agent = AgentContext::default();
        agent.mode = self.probe.mode;
        agent.tool.read_only = step.read_only;
        let mut variables = self.probe.env.clone();
        variables.insert("HOME".into(), self.home.path().display().to_string());
        agent.process = Some(Arc::new(Process(variables)));
        let mut options = DispatchOptions::awaiting_observers();
        (options.agent, options.refuse_unknown_fields) = (agent, true);
        options
    }

    /// Dispatches a step, and the result of its call. Returns what became of it in one word.
    async fn step(&mut self, step: &Table) -> &'static str {
        self.calls += 1;
        self.watch.0.fetch_add(step.wait * 1_000, Ordering::Relaxed);
        if step.by_sub_agent && self.sub_agent.is_none() {
            let spec = SessionSpec::new(self.probe.agent.as_deref().unwrap_or("claude-code"), &self.project());
            let sub_agent = self.host.open_session(spec.under(self.session.id(), 1)).expect("a session");
            self.sub_agent = Some(sub_agent);
        }
        let (event, payload) = self.event(step);
        let record = self.dispatch(step, event, payload.clone()).await;
        let word = word(&record);
        if event == EventKind::BeforeToolCall && matches!(word, "allowed" | "changed") {
            if self.probe.runs {
                self.run(step);
            }
            let result = json!({ "text": step.output, "is-error": step.fails });
            let payload = json!({ "call": payload["call"], "tool-result": result, "source": "tool" });
            self.dispatch(step, EventKind::AfterToolCall, payload).await;
        }
        word
    }

    fn event(&self, step: &Table) -> (EventKind, Value) {
        if let Some(prompt) = &step.prompt {
            return (EventKind::PromptSubmit, json!({ "prompt": prompt }));
        }
        if let Some(content) = &step.says {
            return (EventKind::FinalizeContent, json!({ "content": content }));
        }
        if step.ends {
            let completion = json!({ "status": "success", "turns": 1, "input-tokens": 1, "output-tokens": 1 });
            return (EventKind::TaskComplete, json!({ "completion": completion }));
        }
        let (name, arguments) = match (&step.shell, &step.tool) {
            (Some(command), None) => ("Bash", json!({ "command": command })),
            (None, Some(tool)) => (tool.as_str(), json!(step.arguments)),
            _ => panic!("a step is one of `shell`, `tool`, `prompt`, `says` and `ends`: {step:?}"),
        };
        let call = json!({ "id": self.calls.to_string(), "name": name, "arguments": arguments });
        (EventKind::BeforeToolCall, json!({ "call": call }))
    }

    async fn dispatch(&self, step: &Table, event: EventKind, payload: Value) -> EventRecord {
        let session = self.sub_agent.as_ref().filter(|_| step.by_sub_agent).unwrap_or(&self.session);
        let settled = session.dispatch_event(event, payload, self.options(step)).await.expect("a payload of the event");
        for call in &settled.record.calls {
            assert_eq!(call.failure, None, "{step:?}");
        }
        *settled.record
    }

    /// Makes the call: runs its command, or writes its file.
    fn run(&self, step: &Table) {
        let text = |key: &str| step.arguments.get(key).and_then(Value::as_str);
        if let Some(command) = &step.shell {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).current_dir(self.project()).env("HOME", self.home.path());
            shell.output().expect("a shell");
        } else if let (Some(path), Some(content)) = (text("file_path"), text("content")) {
            std::fs::write(self.project().join(path), content).expect("the file");
        }
        for line in text("input").unwrap_or_default().lines() {
            match line.split_once(" File: ") {
                Some(("*** Add", path)) => std::fs::write(self.project().join(path), "").expect("the file"),
                Some(("*** Delete", path)) => std::fs::remove_file(self.project().join(path)).expect("the file"),
                _ => {}
            }
        }
    }
}

/// Returns what became of an event.
fn word(record: &EventRecord) -> &'static str {
    let mut findings = record.calls.iter().flat_map(|call| &call.findings);
    match record.outcome {
        OutcomeKind::Rejected => "rejected",
        OutcomeKind::Escalated => "asked",
        OutcomeKind::Withheld => "withheld",
        // A rule that rejects the end of a task makes the agent continue.
        OutcomeKind::Collected if findings.any(|finding| finding.action == "reject") => "rejected",
        OutcomeKind::Allowed | OutcomeKind::Passed if !record.changed_by.is_empty() => "changed",
        OutcomeKind::Allowed | OutcomeKind::Passed | OutcomeKind::Collected => "allowed",
        _ => "cancelled",
    }
}

impl Wish {
    /// Returns the rules with the plugin that judges them.
    fn config(&self) -> Config {
        let rules = toml::Table::from_iter([(
            "rule".to_owned(),
            toml::Value::Array(self.rule.iter().cloned().map(toml::Value::Table).collect()),
        )]);
        let path = hookhost_tests::plugin("rules");
        let code = Code::File { digest: Digest::of_file(&path).expect("a component"), path };
        let config = Config::parse(&rules.to_string(), &Source::new("/wish.toml", Layer::User), &[]);
        config.and_then(|config| config.with_rules_plugin(code)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Counts the lines of the rules besides ids and examples.
    fn lines(&self) -> usize {
        let is_counted = |key: &String| !matches!(key.as_str(), "id" | "stops" | "passes");
        self.rule.iter().flat_map(toml::Table::keys).filter(|key| is_counted(key)).count()
    }

    /// Returns each probe that is not as it should be, and the number of all.
    async fn wrong(&self) -> (Vec<String>, usize) {
        let watch = Arc::new(Watch::default());
        let builder = Host::builder(self.config()).cache(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        let host = builder.clock(watch.clone()).build().await.unwrap_or_else(|error| panic!("{error}"));
        let (mut wrong, mut count) = (Vec::new(), 0);
        let single = self.stops.iter().map(|probe| (probe, true)).chain(self.passes.iter().map(|probe| (probe, false)));
        for (Probe(probe), stops) in single {
            let word = Stage::new(&host, &watch, probe).step(probe).await;
            count += 1;
            if matches!(word, "rejected" | "asked" | "withheld") != stops {
                wrong.push(format!("{word}: {probe:?}"));
            }
        }
        for Probe(probe) in &self.session {
            let mut stage = Stage::new(&host, &watch, probe);
            for (at, Probe(step)) in probe.steps.iter().enumerate() {
                let word = stage.step(step).await;
                count += 1;
                if word != step.is.as_deref().unwrap_or("allowed") {
                    wrong.push(format!("{word}: step {} of {probe:?}", at + 1));
                }
            }
        }
        (wrong, count)
    }
}

#[tokio::test]
async fn each_wish_is_six_lines_and_every_probe_of_it_is_judged_right() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("components/wishes");
    let mut files: Vec<PathBuf> =
        directory.read_dir().expect("wishes").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().expect("a name").display().to_string();
        let text = std::fs::read_to_string(file).expect("a wish");
        let wish: Wish = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (of_wish, count) = wish.wrong().await;
        assert!(wish.lines() <= MAX_LINES, "{name} has {} lines", wish.lines());
        assert!(count >= MIN_PROBES, "{name} has {count} probes");
        wrong.extend(of_wish.into_iter().map(|probe| format!("{name}: {probe}")));
    }
    assert!(files.len() >= 15, "{files:?}");
    assert!(wrong.is_empty(), "{} probes are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
