//! Compares the replies with the files `fixtures/AGENT/*.json`. Each file contains a message of an agent, and the reply for each outcome.
//! After an intended change, `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents` writes the new replies, so that a review shows what
//! changed.

use hookhost_agents::{Adapter, Answer, HookCall, HookEvent, Message, Outcome, Reply, by_name, degrade};
use hookhost_contract::{Asker, Escalation, Question, Refusal, Rejection, Stop, Task, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A message, and the replies to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    /// The origin of the message: `recorded`, `documented` or `made`, followed by the source. For example, `recorded: Claude Code 2.1.330`.
    source: String,
    /// The hook point on the command line, if the message does not name its hook point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<String>,
    /// The environment variables of the hook.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
    /// The message.
    pub(crate) input: Value,
    /// The kind of event into which the message is decoded.
    pub(crate) means: String,
    /// The content of the event, such as the tool and its arguments, or the text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    about: Value,
    /// The reply to each outcome.
    replies: Map<String, Value>,
    /// The further parts of the message. For each part, the replies are for outcomes of this part while the outcomes of all other parts are
    /// neutral.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    further: Vec<Further>,
}

/// A further event of a message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Further {
    point: String,
    means: String,
    about: Value,
    replies: Map<String, Value>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns the agent, the name and the file of each fixture.
pub(crate) fn fixtures() -> Vec<(String, String, PathBuf)> {
    let mut all = Vec::new();
    for agent in fs::read_dir(directory()).unwrap() {
        let agent = agent.unwrap().path();
        let name = agent.file_name().unwrap().to_string_lossy().into_owned();
        for file in fs::read_dir(&agent).unwrap() {
            let file = file.unwrap().path();
            all.push((name.clone(), file.file_stem().unwrap().to_string_lossy().into_owned(), file));
        }
    }
    all.sort();
    all
}

/// Returns the outcomes that an event can have, each with a name.
fn outcomes(event: &HookEvent) -> Vec<(&'static str, Outcome)> {
    let refusal = || Refusal::new("force-push rewrites shared history").code("git.force-push");
    let rejected = |refusal| Outcome::new(Answer::Rejected(Rejection::verdict("no-force-push", refusal, Stop::Run)));
    let task = |prompt: &str| Task { prompt: prompt.to_owned(), title: None };
    let mut all = vec![
        ("neutral", Outcome::new(Answer::Neutral)),
        ("context", Outcome::new(Answer::Neutral).context("notes says: use pnpm here")),
        ("notice", Outcome::new(Answer::Neutral).notice("the plugin notes failed on this event")),
    ];
    let mut add = |name, outcome| all.push((name, outcome));
    match event {
        HookEvent::BeforeToolCall(call) | HookEvent::PermissionRequest(call) => {
            let mut changed = call.arguments.clone();
            changed["command"] = json!("git push --force-with-lease");
            let question = Question::new(Asker::Plugin("careful".into()), Escalation::new("push?").code("git.push"));
            let questions = vec![question];
            let result = ToolResult::text("nothing to do");
            add("rejected", rejected(refusal()));
            add("rejected-retryable", rejected(refusal().retryable()));
            add("rejected-and-stopped", rejected(refusal().stop()));
            add("rejected-with-context", rejected(refusal()).context("notes says: use pnpm here"));
            add("approved", Outcome::new(Answer::Approved { by: "careful".into() }));
            add("changed", Outcome::new(Answer::Changed { arguments: changed.clone(), by: vec!["careful".into()] }));
            add("responded", Outcome::new(Answer::Responded { result, by: "careful".into() }));
            add("asked", Outcome::new(Answer::Ask { questions: questions.clone(), arguments: None }));
            add("asked-about-a-change", Outcome::new(Answer::Ask { questions, arguments: Some(changed) }));
        }
        HookEvent::AfterToolCall { .. } => {
            add("replaced", Outcome::new(Answer::ReplacedResult(ToolResult::text("[masked]"))));
            add("rejected", rejected(refusal()));
            add("rejected-and-stopped", rejected(refusal().stop()));
        }
        HookEvent::PromptSubmit { .. } | HookEvent::FinalText { .. } | HookEvent::AfterCompaction { .. } => {
            add("replaced", Outcome::new(Answer::Replaced("[masked]".into())));
            add("rejected", rejected(refusal()));
            add("rejected-and-stopped", rejected(refusal().stop()));
        }
        HookEvent::SubagentStart { .. } | HookEvent::BeforeCompaction => {
            add("rejected", rejected(refusal()));
            add("rejected-and-stopped", rejected(refusal().stop()));
        }
        HookEvent::BeforeInference(_) => {
            add("replaced", Outcome::new(Answer::Replaced("the answer of a plugin".into())));
            add("rejected", rejected(refusal()));
        }
        HookEvent::SessionStart { .. }
        | HookEvent::Stop { .. }
        | HookEvent::SubagentEnd { .. }
        | HookEvent::AgentError { .. } => {
            add("goes-on", Outcome::new(Answer::GoOn(vec![task("run the tests"), task("fix what fails")])));
        }
        _ => {}
    }
    all
}

fn written(reply: &Reply) -> Value {
    // JSON is stored as a JSON value, so that it can be reviewed. This is done only if serializing the value gives the same text, so the
    // test also checks spaces and the order of keys.
    let value = serde_json::from_str::<Value>(&reply.stdout).ok();
    let value = value.filter(|value| serde_json::to_string(value).is_ok_and(|text| text == reply.stdout));
    let stdout = value.unwrap_or_else(|| json!(reply.stdout));
    json!({ "exit": reply.exit, "stdout": stdout, "stderr": reply.stderr })
}

fn about(event: &HookEvent) -> Value {
    match event {
        HookEvent::BeforeToolCall(call) | HookEvent::PermissionRequest(call) => {
            json!({ "id": call.id, "tool": call.name, "arguments": call.arguments, "origin": call.origin })
        }
        HookEvent::AfterToolCall { call, result } => json!({
            "id": call.id, "tool": call.name, "arguments": call.arguments, "origin": call.origin,
            "result": result.text, "is-error": result.is_error,
        }),
        HookEvent::PromptSubmit { prompt: text }
        | HookEvent::FinalText { text }
        | HookEvent::AfterInference { text }
        | HookEvent::AgentError { message: text }
        | HookEvent::AfterCompaction { summary: text } => json!(text),
        HookEvent::SubagentStart { id, prompt } => json!({ "id": id, "prompt": prompt }),
        HookEvent::SubagentEnd { id, text, is_continued } => {
            json!({ "id": id, "text": text, "continued": is_continued })
        }
        HookEvent::Stop { text, is_continued } => json!({ "text": text, "continued": is_continued }),
        HookEvent::SessionStart { is_resumed } => json!({ "resumed": is_resumed }),
        HookEvent::BeforeInference(inference) => serde_json::to_value(inference).unwrap(),
        _ => Value::Null,
    }
}

/// Returns the replies for each outcome of the part with this index, while the outcomes of all other parts are neutral.
fn replies(adapter: &Adapter, whole: &HookCall, index: usize) -> Map<String, Value> {
    let parts = whole.parts();
    let call = &parts[index];
    let can = adapter.abilities(call);
    let mut replies = Map::new();
    for (name, outcome) in outcomes(&call.event) {
        let (outcome, lost) = degrade(call, outcome, can);
        let reply = if parts.len() == 1 {
            adapter.encode(whole, &outcome)
        } else {
            let mut all = vec![Outcome::new(Answer::Neutral); parts.len()];
            all[index] = outcome;
            adapter.encode_all(whole, &all)
        };
        let mut reply = written(&reply);
        if !lost.is_empty() {
            reply["degraded"] = json!(lost);
        }
        replies.insert(name.to_owned(), reply);
    }
    let why = "hookhost could not settle this call: the resident host did not answer within 10 seconds";
    let (failed, unsettled) = (adapter.fail(Some(&call.point), why), adapter.unsettled(call, why));
    replies.insert("failed".to_owned(), written(&failed));
    if unsettled != failed {
        replies.insert("unsettled".to_owned(), written(&unsettled));
    }
    replies
}

fn further(adapter: &Adapter, call: &HookCall) -> Vec<Further> {
    let later = call.parts().into_iter().enumerate().skip(1);
    let further = later.map(|(index, part)| Further {
        means: part.event.kind().to_string(),
        about: about(&part.event),
        replies: replies(adapter, call, index),
        point: part.point,
    });
    further.collect()
}

#[test]
fn each_message_means_its_event_and_each_outcome_has_its_reply_byte_for_byte() {
    let writes = std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some();
    let mut wrong = Vec::new();
    for (agent, name, file) in fixtures() {
        let text = fs::read_to_string(&file).unwrap();
        let fixture: Fixture =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let kind = fixture.source.split(':').next().unwrap_or_default();
        assert!(matches!(kind, "recorded" | "documented" | "made"), "{agent}/{name}: where is it from?");
        let adapter = by_name(&agent).unwrap_or_else(|| panic!("there is no adapter `{agent}`"));
        let bytes = serde_json::to_vec(&fixture.input).unwrap();
        let variables: Vec<_> = fixture.variables.clone().into_iter().collect();
        let mut message = Message::new(&bytes, Path::new("/project"));
        (message.point, message.variables) = (fixture.point.as_deref(), &variables);
        let call = adapter.decode(&message).unwrap_or_else(|error| panic!("{agent}/{name}: {error}"));
        assert_eq!(serde_json::from_str::<Value>(&call.raw).unwrap(), fixture.input, "{agent}/{name}: a field is lost");
        let found = Fixture {
            means: call.event.kind().to_string(),
            about: about(&call.event),
            replies: replies(adapter, &call, 0),
            further: further(adapter, &call),
            ..fixture
        };
        let found = serde_json::to_string_pretty(&found).unwrap() + "\n";
        if writes {
            fs::write(&file, found).unwrap();
        } else if found != text {
            let line = found.lines().zip(text.lines()).find(|(found, kept)| found != kept);
            wrong.push(format!("{agent}/{name}: {line:?}"));
        }
    }
    assert!(wrong.is_empty(), "these replies are others now:\n{}", wrong.join("\n"));
}
