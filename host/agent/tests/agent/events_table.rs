//! Checks the table of answers in `docs/events.md`. For each row, the agent runs with a plugin that gives this answer,
//! and the answer must have the effect that the row describes.

use crate::support::{
    Harness, Prepared, Scenario, USED, calls, component, plugins_of, results, says, says_and_calls, stored,
};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit::Record;
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::{Code, Digest, Layer, Settings, Source};
use hookhost::contract::{Custom, Decision, EventKind, Shape, Stop};
use hookhost::session::SessionSpec;
use hookhost::store::Log;
use hookhost::{Config, Host};
use hookhost_agent::agent::{AgentEvent, RunOutcome, Status};
use hookhost_models::message::Message;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A row of the table: the plugin's answer, the model's answers, and the condition that must hold after the run.
struct Row {
    event: &'static str,
    answer: &'static str,
    /// The plugin's configuration for this event, without the verdict.
    behaviour: Value,
    model: fn() -> Vec<Prepared>,
    prepare: fn(&mut Harness),
    holds: fn(&Ran) -> bool,
}

/// A run that has ended.
struct Ran<'a> {
    harness: &'a Harness,
    outcome: &'a RunOutcome,
    messages: Vec<Message>,
}

impl Ran<'_> {
    fn is(&self, status: Status) -> bool {
        self.outcome.status == status
    }

    /// Returns true if this event was refused, either by the plugin or because no person was there to answer.
    fn refused_on(&self, event: EventKind) -> bool {
        let is_it = |told: &AgentEvent| matches!(told, AgentEvent::Rejected { event: on, .. } if *on == event);
        self.harness.events().iter().any(|told| is_it(told) || in_a_sub_agent(told).is_some_and(is_it))
    }

    fn requests(&self) -> usize {
        self.harness.fake.requests().len()
    }

    fn prompts(&self) -> Vec<&str> {
        self.messages.iter().filter(|message| message.role() == "user").map(Message::text).collect()
    }

    fn result(&self) -> (&str, bool) {
        results(&self.messages)[0]
    }

    fn is_result(&self, part: &str, is_error: bool) -> bool {
        self.result().0.contains(part) && self.result().1 == is_error
    }

    fn exists(&self, name: &str) -> bool {
        self.harness.path(name).exists()
    }

    fn sub_agent(&self) -> bool {
        self.harness.events().iter().any(|told| in_a_sub_agent(told).is_some())
    }

    /// Returns the first message of the last request.
    fn first_said(&self) -> String {
        self.harness.fake.requests().last().map(|request| request.messages[0].text().to_owned()).unwrap_or_default()
    }
}

fn in_a_sub_agent(told: &AgentEvent) -> Option<&AgentEvent> {
    if let AgentEvent::Subagent { event, .. } = told { Some(event) } else { None }
}

fn done() -> Vec<Prepared> {
    vec![says("Done.")]
}

/// The model creates a file and gives its final answer.
fn touches() -> Vec<Prepared> {
    vec![calls([("bash", json!({ "command": "touch made" }))]), says("Done.")]
}

fn plans() -> Vec<Prepared> {
    let plan = json!({ "title": "Two", "tasks": ["first", "second"] });
    vec![calls([("submit_plan", plan)]), says("Planned."), says("One."), says("Two."), says("More.")]
}

fn spawns() -> Vec<Prepared> {
    vec![calls([("agent", json!({ "prompt": "look" }))]), says("Found."), says("Done.")]
}

/// A conversation that grows beyond the context window.
fn grows() -> Vec<Prepared> {
    let long = format!("echo {}", "x".repeat(3000));
    let bash = |command: &str| calls([("bash", json!({ "command": command }))]);
    vec![bash(&long), bash("true"), says("Summary."), says("Done.")]
}

fn near_its_limit(harness: &mut Harness) {
    harness.config.context_window = NonZeroU64::new(1500);
    harness.config.system_prompt = String::new();
    harness.config.max_depth = 0;
    harness.tools =
        hookhost_agent::tool::Toolbox::empty().with(Arc::new(hookhost_agent::tool::Bash::default())).unwrap();
}

fn as_it_is(_: &mut Harness) {}

fn fails() -> Vec<Prepared> {
    use hookhost_models::ProviderError;
    vec![Err(ProviderError::Unauthorized { provider: "fake".into(), status: 401, variable: None }), says("Repaired.")]
}

fn row(
    event: &'static str,
    answer: &'static str,
    behaviour: Value,
    model: fn() -> Vec<Prepared>,
    holds: fn(&Ran) -> bool,
) -> Row {
    Row { event, answer, behaviour, model, prepare: as_it_is, holds }
}

impl Row {
    fn prepared(self, prepare: fn(&mut Harness)) -> Self {
        Self { prepare, ..self }
    }

    fn session(&self) -> String {
        format!("{}.{}", self.event, self.answer)
    }

    fn scenario(&self) -> Scenario {
        let mut behaviour = self.behaviour.clone();
        match self.answer {
            "tasks" => {}
            // An observing plugin repeats the event's value to a model, so that the test can see the value.
            "none" => behaviour["do"] = json!([{ "model": [self.session(), "{value}"] }]),
            answer => behaviour["verdict"] = json!(answer),
        }
        if matches!(self.answer, "reject" | "approve") {
            behaviour["reason"] = json!("no");
        }
        if self.answer == "escalate" {
            behaviour["question"] = json!("sure?");
        }
        Scenario::new(self.session(), "guard", json!({ self.event: behaviour }))
    }

    /// Returns true if a plugin that subscribes to this event delays other events. The row then needs a host without
    /// plugins for other events.
    fn holds_back(&self) -> bool {
        ["request-send", "response-receive", "before-tools", "finalize-content"].contains(&self.event)
    }
}

fn more() -> Value {
    json!({ "value": [{ "prompt": "more" }] })
}

#[expect(clippy::needless_pass_by_value, reason = "so that `json!({…})` needs no `&`")]
fn value(value: Value) -> Value {
    json!({ "value": value })
}

fn none() -> Value {
    json!({})
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
    use EventKind::*;
    let succeeds: fn(&Ran) -> bool = |ran| ran.is(Status::Success);
    vec![
        row(
            "session-start",
            "tasks",
            more(),
            || vec![says("One."), says("Two.")],
            |ran| ran.prompts() == ["do it", "more"],
        ),
        row("provider-resolve", "allow", none(), done, |ran| ran.harness.fake.requests()[0].model == "model-1"),
        row("provider-resolve", "modify", value(json!({ "provider": "fake", "model": "model-2" })), done, |ran| {
            ran.harness.fake.requests()[0].model == "model-2" && ran.is(Status::Success)
        })
        .prepared(|harness| harness.others = vec![(Arc::clone(&harness.provider), vec!["model-2".into()])]),
        row("provider-resolve", "reject", none(), done, |ran| {
            ran.is(Status::Rejected)
                && ran.requests() == 0
                && ran.messages.is_empty()
                && ran.refused_on(ProviderResolve)
        }),
        row("task-start", "allow", none(), done, |ran| ran.prompts() == ["do it"]),
        row("task-start", "modify", value(json!({ "prompt": "do less", "title": "Less" })), done, |ran| {
            ran.prompts() == ["do less"] && ran.is(Status::Success)
        }),
        row("task-start", "escalate", none(), done, |ran| ran.messages.is_empty() && ran.refused_on(TaskStart)),
        row("task-start", "reject", none(), done, |ran| {
            ran.messages.is_empty() && ran.is(Status::Rejected) && ran.refused_on(TaskStart)
        }),
        row("prompt-submit", "keep", none(), done, |ran| ran.prompts() == ["do it"]),
        row("prompt-submit", "replace", value(json!("do it well")), done, |ran| ran.prompts() == ["do it well"]),
        row("prompt-submit", "reject", none(), done, |ran| ran.messages.is_empty() && ran.is(Status::Rejected)),
        row("turn-start", "allow", none(), done, |ran| ran.requests() == 1 && ran.is(Status::Success)),
        row("turn-start", "escalate", none(), done, |ran| ran.requests() == 0 && ran.refused_on(TurnStart)),
        row("turn-start", "reject", none(), done, |ran| ran.requests() == 0 && ran.is(Status::Rejected)),
        row("before-compaction", "allow", none(), grows, |ran| {
            ran.requests() == 4 && ran.first_said().contains("\n\nSummary.\n\n[Here") && ran.outcome.text == "Done."
        })
        .prepared(near_its_limit),
        row("before-compaction", "reject", none(), grows, |ran| {
            ran.requests() == 3 && ran.first_said() == "do it" && ran.refused_on(BeforeCompaction)
        })
        .prepared(near_its_limit),
        row("before-compaction", "respond", value(json!("In short.")), grows, |ran| {
            ran.requests() == 3 && ran.first_said().contains("\n\nIn short.\n\n[Here")
        })
        .prepared(near_its_limit),
        row("after-compaction", "keep", none(), grows, |ran| ran.first_said().contains("\n\nSummary.\n\n[Here"))
            .prepared(near_its_limit),
        row("after-compaction", "replace", value(json!("{value} Masked.")), grows, |ran| {
            ran.first_said().contains("\n\nSummary. Masked.\n\n[Here")
        })
        .prepared(near_its_limit),
        row("after-compaction", "reject", none(), grows, |ran| {
            ran.requests() == 4 && ran.first_said() == "do it" && ran.refused_on(AfterCompaction)
        })
        .prepared(near_its_limit),
        row("before-inference", "allow", none(), done, |ran| ran.requests() == 1 && ran.is(Status::Success)),
        row("before-inference", "modify", value(json!({ "prompt": "do less", "tools": [] })), done, |ran| {
            let sent = &ran.harness.fake.requests()[0];
            sent.tools.is_empty() && sent.messages[0].text() == "do less" && ran.prompts() == ["do it"]
        }),
        row("before-inference", "escalate", none(), done, |ran| ran.requests() == 0 && ran.refused_on(BeforeInference)),
        row("before-inference", "reject", none(), done, |ran| ran.requests() == 0 && ran.is(Status::Rejected)),
        row("before-inference", "respond", value(json!("Instead.")), done, |ran| {
            ran.requests() == 0 && ran.outcome.text == "Instead."
        }),
        row("request-send", "allow", none(), done, |ran| ran.requests() == 1 && ran.is(Status::Success)),
        row(
            "request-send",
            "modify",
            value(json!({ "model": "model-1", "system-prompt": "raw", "messages": [], "reminders": [],
            "tools": [], "max-output-tokens": 7 })),
            done,
            |ran| {
                let sent = &ran.harness.fake.requests()[0];
                (sent.system_prompt.as_str(), sent.max_output_tokens, sent.messages.len()) == ("raw", 7, 0)
            },
        ),
        row("request-send", "escalate", none(), done, |ran| ran.requests() == 0 && ran.refused_on(RequestSend)),
        row("request-send", "reject", none(), done, |ran| ran.requests() == 0 && ran.is(Status::Rejected)),
        row("response-receive", "keep", none(), touches, |ran| ran.exists("made") && ran.harness.shown() == "Done."),
        row(
            "response-receive",
            "replace",
            value(json!({ "text": "Masked.", "stop-reason": "end-turn" })),
            touches,
            |ran| !ran.exists("made") && ran.harness.shown() == "Masked." && ran.outcome.text == "Masked.",
        ),
        row(
            "response-receive",
            "reject",
            none(),
            || vec![says_and_calls("Look.", [("bash", json!({ "command": "touch made" }))])],
            |ran| {
                let nothing = !ran.exists("made") && ran.harness.shown().is_empty() && ran.prompts() == ["do it"];
                nothing && ran.messages.len() == 1 && ran.is(Status::Rejected) && ran.refused_on(ResponseReceive)
            },
        ),
        row("stream-delta", "keep", none(), done, |ran| ran.harness.shown() == "Done."),
        row("stream-delta", "replace", value(json!("<{value}>")), done, |ran| {
            ran.harness.shown() == "<Done.>" && ran.messages[1].text() == "Done."
        }),
        row("stream-delta", "reject", none(), done, |ran| ran.harness.shown() == "[withheld: Rejected by guard: no]"),
        row("before-tool-call", "allow", none(), touches, |ran| ran.exists("made")),
        row("before-tool-call", "approve", none(), touches, |ran| ran.exists("made")),
        row("before-tool-call", "modify", value(json!({ "command": "touch other" })), touches, |ran| {
            ran.exists("other") && !ran.exists("made")
        }),
        row(
            "before-tool-call",
            "rewrite",
            value(json!({ "read-file": "b" })),
            || vec![calls([("read_file", json!({ "path": "a" }))]), says("Done.")],
            |ran| ran.is_result("`b` cannot be read", true),
        ),
        row("before-tool-call", "escalate", none(), touches, |ran| {
            !ran.exists("made") && ran.is_result("Rejected: not approved", true)
        }),
        row("before-tool-call", "reject", none(), touches, |ran| {
            !ran.exists("made") && ran.is_result("Rejected by guard: no", true) && ran.is(Status::Success)
        }),
        row("before-tool-call", "respond", value(json!("instead")), touches, |ran| {
            !ran.exists("made") && ran.result() == ("instead", false)
        }),
        row("stream-end", "none", none(), done, |ran| ran.is(Status::Success)),
        row("after-inference", "none", none(), touches, |ran| ran.exists("made")),
        row("token-usage", "allow", none(), touches, |ran| ran.exists("made") && ran.is(Status::Success)),
        row(
            "token-usage",
            "reject",
            none(),
            || vec![calls([("bash", json!({ "command": "sleep 60; touch made" }))]), says("never")],
            |ran| !ran.exists("made") && ran.is(Status::Rejected) && ran.requests() == 1,
        ),
        row("before-tools", "allow", none(), touches, |ran| ran.exists("made")),
        row("before-tools", "escalate", none(), touches, |ran| {
            !ran.exists("made") && ran.is_result("Rejected: not approved", true)
        }),
        row("before-tools", "reject", none(), touches, |ran| {
            !ran.exists("made") && ran.is_result("Rejected by guard: no", true) && ran.is(Status::Success)
        }),
        row("after-tool-call", "keep", none(), touches, |ran| ran.result() == ("[exit code 0]", false)),
        row("after-tool-call", "replace", value(json!("masked")), touches, |ran| ran.result() == ("masked", false)),
        row("after-tool-call", "reject", none(), touches, |ran| {
            ran.exists("made") && ran.is_result("Rejected by guard", true)
        }),
        row("subagent-start", "allow", none(), spawns, |ran| ran.result() == ("Found.", false) && ran.sub_agent()),
        row("subagent-start", "modify", value(json!("look closely")), spawns, |ran| {
            ran.harness.fake.requests()[1].messages[0].text() == "look closely" && ran.result() == ("Found.", false)
        }),
        row("subagent-start", "escalate", none(), spawns, |ran| {
            !ran.sub_agent() && ran.is_result("Rejected: not approved", true) && ran.is(Status::Success)
        }),
        row("subagent-start", "reject", none(), spawns, |ran| {
            !ran.sub_agent() && ran.is_result("Rejected by guard: no", true) && ran.is(Status::Success)
        }),
        row("subagent-end", "none", none(), spawns, |ran| ran.result() == ("Found.", false)),
        row("plan-submit", "allow", none(), plans, |ran| ran.prompts() == ["do it", "first", "second"]),
        row(
            "plan-submit",
            "modify",
            value(json!({ "title": "One", "tasks": [{ "prompt": "only" }], "clear-existing": false })),
            plans,
            |ran| ran.prompts() == ["do it", "only"],
        ),
        row("plan-submit", "escalate", none(), plans, |ran| {
            ran.prompts() == ["do it"] && ran.is_result("Rejected: not approved", true)
        }),
        row("plan-submit", "reject", none(), plans, |ran| {
            ran.prompts() == ["do it"] && ran.is_result("Rejected by guard: no", true) && ran.is(Status::Success)
        }),
        row("turn-end", "none", none(), touches, succeeds),
        row("finalize-content", "keep", none(), done, |ran| ran.outcome.text == "Done."),
        row("finalize-content", "replace", value(json!("masked")), done, |ran| {
            ran.harness.shown() == "masked" && ran.messages[1].text() == "masked"
        }),
        row("finalize-content", "reject", none(), done, |ran| {
            ran.is(Status::Rejected)
                && ran.outcome.text == "[withheld: Rejected by guard: no]"
                && ran.messages[1].text() == ran.outcome.text
        }),
        row("agent-error", "finish", none(), fails, |ran| ran.is(Status::Error) && ran.prompts() == ["do it"]),
        row("agent-error", "go-on", more(), fails, |ran| ran.is(Status::Success) && ran.prompts() == ["do it", "more"]),
        row("task-complete", "finish", none(), done, |ran| ran.prompts() == ["do it"]),
        row(
            "task-complete",
            "go-on",
            json!({ "value": [{ "prompt": "more" }], "when": { "contains": "\"input-tokens\":100," } }),
            || vec![says("One.")],
            |ran| ran.prompts() == ["do it", "more"],
        ),
        row("plan-complete", "none", none(), plans, |ran| ran.prompts().len() == 3),
        row("queue-empty", "finish", none(), done, |ran| ran.prompts() == ["do it"]),
        row(
            "queue-empty",
            "go-on",
            json!({ "value": [{ "prompt": "more" }], "when": { "contains": "\"tasks\":1," } }),
            || vec![says("One."), says("Two.")],
            |ran| ran.prompts() == ["do it", "more"],
        ),
        row("session-end", "none", none(), done, |ran| ran.outcome.usage == USED),
        row("audit-record", "none", none(), done, succeeds),
    ]
}

/// A model that stores the questions of plugins.
#[derive(Default)]
struct Received(Mutex<Vec<(String, String)>>);

impl Model for Received {
    fn complete<'a>(&'a self, _: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        self.0.lock().unwrap().push((request.instructions, request.input));
        Box::pin(std::future::ready(Ok(String::new())))
    }
}

impl Received {
    /// Returns true if a plugin got the event in this session. It waits for that, because observing plugins get events
    /// later than other plugins.
    async fn of(&self, session: &str) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if self.0.lock().unwrap().iter().any(|(from, what)| from == session && !what.is_empty()) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }
}

/// A person who gives the same answer to every question.
struct Says(Approval);

impl Approver for Says {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

/// The name of a host's log file.
const LOG: &str = "log.db";

/// Returns a configuration whose rule asks about commands.
fn asking() -> Config {
    let text = "[[rule]]\nid = 'ask'\non = 'shell'\nask = 'Run it?'\n";
    let config = Config::parse(text, &Source::new("/h.toml", Layer::Chosen), &[]).unwrap();
    let path = component("rules.wasm");
    let digest = Digest::of_file(&path).unwrap();
    config.with_rules_plugin(Code::File { path, digest }).unwrap()
}

/// Creates a host with the plugins of these rows.
async fn host(rows: &[Row], received: &Arc<Received>, directory: &Path, person: Option<&Approval>) -> Host {
    let mut plugins = plugins_of(rows.iter().map(Row::scenario));
    for plugin in &mut plugins {
        plugin.grants.approve = true;
    }
    let asks = rows.iter().any(|row| row.answer == "approve");
    let config = if asks { asking() } else { Config::empty() }.with_entries(plugins).unwrap();
    let builder = Host::builder(config).model(Arc::clone(received) as _).store(directory.join(LOG));
    let builder = match person {
        Some(answer) => builder.approver(Arc::new(Says(answer.clone()))),
        None => builder,
    };
    builder.build().await.unwrap()
}

/// Returns the plugins' answers in the log: session, event, and the verdict's name.
fn answers(log: &Path) -> BTreeSet<(String, &'static str, String)> {
    let log = Log::open(log).unwrap();
    let mut answers = BTreeSet::new();
    for line in log.lines().unwrap() {
        let Record::Event(record) = line.unwrap().entry().unwrap() else { continue };
        for verdict in record.calls.iter().filter_map(|call| call.verdict.as_ref()) {
            let name = match serde_json::from_str(verdict.get()).unwrap() {
                Value::String(name) => name,
                Value::Object(verdict) => verdict.keys().next().unwrap().clone(),
                Value::Array(_) => "tasks".to_owned(),
                other => panic!("{other}"),
            };
            answers.insert((record.header.session.clone(), record.event.name(), name));
        }
    }
    answers
}

/// Runs each row, and describes the rows whose effect did not occur or whose event no plugin was asked about. `person`
/// is the person who can answer questions, if any.
async fn failing(rows: Vec<Row>, person: Option<Approval>) -> Vec<String> {
    let received = Arc::new(Received::default());
    let directory = tempfile::tempdir().unwrap();
    let mut groups: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let group = match row.answer {
            // This answer comes from the configuration, which would ask in every session of a host.
            "approve" => "approve".to_owned(),
            _ if row.holds_back() => row.event.to_owned(),
            _ => "other".to_owned(),
        };
        groups.entry(group).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for (name, rows) in groups {
        let directory = directory.path().join(name);
        let host = host(&rows, &received, &directory, person.as_ref()).await;
        let mut asked = Vec::new();
        for row in rows {
            let mut harness = Harness::with_host(host.clone(), (row.model)());
            harness.config.session = Some(row.session());
            harness.config.interactive = person.is_some();
            (row.prepare)(&mut harness);
            let outcome = harness.run().await;
            let messages = stored(&outcome);
            let ran = Ran { harness: &harness, outcome: &outcome, messages };
            if !(row.holds)(&ran) {
                wrong.push(format!("{}: {outcome:?}\n  {:?}\n  {:?}", row.session(), ran.messages, harness.events()));
            }
            if row.answer != "none" {
                asked.push((row.session(), row.event, row.answer.to_owned()));
            } else if !received.of(&row.session()).await {
                wrong.push(format!("{}: no plugin was informed", row.session()));
            }
        }
        // Most events have their record in the log by now. Only the records of events at the end of a session may be
        // written later.
        let deadline = Instant::now() + Duration::from_secs(20);
        let unasked = loop {
            let answers = answers(&directory.join(LOG));
            let unasked: Vec<_> = asked.iter().filter(|asked| !answers.contains(*asked)).collect();
            if unasked.is_empty() || Instant::now() > deadline {
                break unasked;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        wrong.extend(unasked.into_iter().map(|(session, ..)| format!("{session}: the log has no such answer")));
    }
    wrong
}

/// Returns the rows of the page as pairs of event and answer.
fn written() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md")).unwrap();
    let table = page.split("\n| event | answer | effect on the loop |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (event, rest) = row.split_once("` | `").unwrap();
        (event.to_owned(), rest.split_once('`').unwrap().0.to_owned())
    })
    .collect()
}

/// Returns the answers that the contract permits for each event. In the file, they are the first words of the indented
/// lines above the event's interface.
fn permitted() -> BTreeMap<String, Vec<String>> {
    let wit = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/0.1/events.wit")).unwrap();
    let (mut interfaces, mut answers) = (BTreeMap::new(), Vec::new());
    for line in wit.lines() {
        if let Some(name) = line.strip_prefix("interface ").and_then(|rest| rest.strip_suffix(" {")) {
            interfaces.insert(name.to_owned(), std::mem::take(&mut answers));
        } else if let Some(answer) = line.strip_prefix("///   ") {
            answers.extend(answer.split(' ').next().map(str::to_owned));
        } else if line.is_empty() {
            answers.clear();
        }
    }
    interfaces
}

#[test]
fn the_page_has_every_answer_of_every_event_and_each_has_its_run() {
    let permitted = permitted();
    let contract: Vec<(String, String)> = EventKind::ALL
        .iter()
        .flat_map(|event| {
            let answers = match event.shape() {
                Shape::Observe => vec!["none".to_owned()],
                _ if event.name() == "session-start" => vec!["tasks".to_owned()],
                _ => permitted[event.name()].clone(),
            };
            answers.into_iter().map(|answer| (event.name().to_owned(), answer))
        })
        .collect();
    let sorted = |mut rows: Vec<(String, String)>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(written()), sorted(contract));
    // `custom-event` has a test of its own below, because only an embedding program sends it.
    let runs = rows().into_iter().map(|row| (row.event.to_owned(), row.answer.to_owned()));
    let custom = CUSTOM.iter().map(|answer| ("custom-event".to_owned(), (*answer).to_owned()));
    assert_eq!(sorted(written()), sorted(runs.chain(custom).collect()));
}

#[test]
fn the_page_says_of_every_event_when_it_fires_and_names_only_events() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md")).unwrap();
    let all: BTreeSet<&str> = EventKind::ALL.iter().map(|event| event.name()).collect();
    let events = |heading: &str| {
        let table = page.split(heading).nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|'));
        table.map(|line| line.split('`').nth(1).unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(events("| event | kind | when it fires | it carries |"), all);
    let elsewhere = events("| event | elsewhere |");
    assert!(elsewhere.len() > 20 && elsewhere.is_subset(&all), "{elsewhere:?}");
    for event in EventKind::ALL {
        let kind = format!("| `{event}` | {} |", format!("{:?}", event.shape()).to_lowercase());
        assert!(page.contains(&kind), "{kind}");
    }
}

#[tokio::test]
async fn every_answer_of_every_event_has_the_effect_that_the_page_says() {
    let rows = rows();
    let count = rows.len() + CUSTOM.len();
    let wrong = failing(rows, None).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // This does not use `println!`, because the test harness hides that output if a test succeeds.
    writeln!(std::io::stdout(), "{count} answers of {} events, each with its effect", EventKind::ALL.len()).unwrap();
}

#[tokio::test]
async fn what_a_person_allows_runs_as_if_nobody_had_asked_and_what_they_deny_does_not() {
    let escalations = || rows().into_iter().filter(|row| row.answer == "escalate");
    let allowed = |escalation: Row| {
        let mut rows = rows().into_iter();
        let allow = rows.find(|row| (row.event, row.answer) == (escalation.event, "allow")).unwrap();
        Row { model: allow.model, holds: allow.holds, ..escalation }
    };
    assert!(escalations().count() >= 7);
    let mut wrong = failing(escalations().map(allowed).collect(), Some(Approval::yes())).await;
    wrong.extend(failing(escalations().collect(), Some(Approval::no())).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the events from a plugin's refusal on, no matter in which session the refusal was.
fn from_the_refusal_on(ran: &Ran) -> Option<Vec<AgentEvent>> {
    let refuses = |told: &AgentEvent| {
        matches!(
            told,
            AgentEvent::Rejected { .. } | AgentEvent::ToolRejected { .. } | AgentEvent::ResultWithheld { .. }
        )
    };
    let events = ran.harness.events();
    let refused = events.iter().position(|told| refuses(told) || in_a_sub_agent(told).is_some_and(refuses))?;
    Some(events[refused..].to_vec())
}

fn begins_a_turn(told: &AgentEvent) -> bool {
    matches!(told, AgentEvent::TurnStarted { .. })
}

/// Returns true if a plugin refused an event and no session of the run sent a request to a model after that.
fn all_has_ended(ran: &Ran) -> bool {
    let ends = |told: &AgentEvent| begins_a_turn(told) || in_a_sub_agent(told).is_some_and(begins_a_turn);
    let nothing_follows = from_the_refusal_on(ran).is_some_and(|events| !events.iter().any(ends));
    ran.is(Status::Rejected) && ran.outcome.rejection.is_some() && nothing_follows
}

/// Returns true if an event of the sub-agent was refused, the sub-agent sent no request to a model after that, and the
/// user's session continued with that result.
fn the_sub_agent_alone_has_ended(ran: &Ran) -> bool {
    let Some(events) = from_the_refusal_on(ran) else { return false };
    let mut below = events.iter().filter_map(in_a_sub_agent);
    let is_refused = |told: &AgentEvent| matches!(told, AgentEvent::SessionEnded { status: Status::Rejected, .. });
    ran.is(Status::Success)
        && ran.is_result("the sub-agent ended as rejected: ", true)
        && below.clone().any(is_refused)
        && !below.any(begins_a_turn)
        && events.iter().any(begins_a_turn)
}

/// Returns a row for each event that a plugin can refuse. In each row, the plugin refuses the event with `stop`.
fn stopping() -> Vec<Row> {
    let refused = rows().into_iter().filter(|row| row.answer == "reject");
    let stopping: Vec<Row> = refused
        .map(|mut row| {
            row.behaviour["stop"] = json!(true);
            row.holds = all_has_ended;
            row
        })
        .collect();
    // Every event that can be refused has a row. The only exception is `custom-event`, because the embedding program
    // that sends it must end the run itself.
    let events: BTreeSet<&str> = stopping.iter().map(|row| row.event).collect();
    let permitted = permitted();
    let can_refuse =
        |event: &&EventKind| permitted.get(event.name()).is_some_and(|answers| answers.contains(&"reject".into()));
    let expected: BTreeSet<&str> = EventKind::ALL.iter().filter(can_refuse).map(|event| event.name()).collect();
    assert_eq!(events, expected.into_iter().filter(|event| *event != "custom-event").collect());
    stopping
}

/// Runs each row in a sub-agent of the user's session, with this `stop` in the plugin's entry. Describes the rows for
/// which `holds` returns false.
async fn failing_below(stop: Stop, holds: fn(&Ran) -> bool) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for row in stopping() {
        groups.entry(if row.holds_back() { row.event } else { "other" }).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for rows in groups.into_values() {
        let mut plugins = plugins_of(rows.iter().map(|row| row.scenario().below()));
        for plugin in &mut plugins {
            plugin.stop = stop;
        }
        let config = Config::from_entries(plugins, Settings::default()).unwrap();
        let host = Host::builder(config).build().await.unwrap();
        for row in rows {
            let delegates = calls([("agent", json!({ "prompt": "do it" }))]);
            let answers = [delegates].into_iter().chain((row.model)()).chain([says("Done.")]);
            let mut harness = Harness::with_host(host.clone(), answers);
            harness.config.session = Some(row.session());
            (row.prepare)(&mut harness);
            harness.config.max_depth = harness.config.max_depth.max(1);
            let outcome = harness.run().await;
            let messages = stored(&outcome);
            let ran = Ran { harness: &harness, outcome: &outcome, messages };
            if !holds(&ran) {
                wrong.push(format!("{}: {outcome:?}\n  {:?}\n  {:?}", row.session(), ran.messages, harness.events()));
            }
        }
    }
    wrong
}

#[tokio::test]
async fn a_refusal_with_stop_ends_the_run_on_every_event_that_can_be_refused() {
    let wrong = failing(stopping(), None).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A subscription to some events changes when other events happen and how a text is shown, so this test subscribes to
/// all events.
#[tokio::test]
async fn a_refusal_with_stop_ends_the_run_also_if_every_other_event_has_subscribers() {
    let rows = stopping();
    let config = Config::from_entries(plugins_of(rows.iter().map(Row::scenario)), Settings::default()).unwrap();
    let host = Host::builder(config).build().await.unwrap();
    let mut wrong = Vec::new();
    for row in rows {
        let mut harness = Harness::with_host(host.clone(), (row.model)());
        harness.config.session = Some(row.session());
        (row.prepare)(&mut harness);
        let outcome = harness.run().await;
        let messages = stored(&outcome);
        let ran = Ran { harness: &harness, outcome: &outcome, messages };
        if !(row.holds)(&ran) {
            wrong.push(format!("{}: {outcome:?}\n  {:?}\n  {:?}", row.session(), ran.messages, harness.events()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_refusal_with_stop_in_a_sub_agent_ends_the_run_on_every_event_that_can_be_refused() {
    let wrong = failing_below(Stop::Run, all_has_ended).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_refusal_with_a_stop_of_the_session_ends_the_sub_agent_alone_on_every_event_that_can_be_refused() {
    let wrong = failing_below(Stop::Session, the_sub_agent_alone_has_ended).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The answers that `custom-event` permits.
const CUSTOM: [&str; 4] = ["allow", "modify", "escalate", "reject"];

#[tokio::test]
async fn a_program_is_told_what_plugins_make_of_its_own_event() {
    let rows = CUSTOM.map(|answer| row("custom-event", answer, value(json!({ "b": 2 })), done, |_| true));
    let directory = tempfile::tempdir().unwrap();
    let host = host(&rows, &Arc::default(), directory.path(), None).await;
    for row in rows {
        let spec = SessionSpec::new("hookhost", Path::new("/")).id(row.session());
        let session = host.open_session(spec).unwrap();
        let event = Custom { name: "deploy".into(), payload: json!({ "a": 1 }).into() };
        let outcome = session.custom_event(event.clone()).await.outcome;
        match (row.answer, outcome) {
            ("allow", Decision::Allowed { value }) => assert_eq!(value, event),
            ("modify", Decision::Allowed { value }) => assert_eq!(value.payload, "{\"b\":2}"),
            ("escalate" | "reject", Decision::Rejected(_)) => {}
            (answer, outcome) => panic!("{answer}: {outcome:?}"),
        }
    }
}
