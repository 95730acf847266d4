//! Answers hooks in place of the small hook program, the resident host and the test's plugin. The stand-in decodes each message, decides
//! by the rules of the test, adapts the outcome to what the agent can express, and encodes the outcome. So a changed adapter can be tried
//! with the real agent within seconds.
//!
//! The agent calls it as `hookhost-hook AGENT POINT`. It writes each message and the reply to `../recorded`, relative to the program.

use anyhow::{Context as _, Result, bail};
use hookhost_agents::{Answer, HookEvent, Message, Outcome, by_name, degrade, detect, message};
use hookhost_contract::{Asker, Escalation, EventKind, Question, Refusal, Rejection, Stop, Task, ToolResult};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

fn main() -> ExitCode {
    match answer() {
        Ok(exit) => ExitCode::from(exit),
        Err(error) => {
            eprintln!("stand-in: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn answer() -> Result<u8> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [agent, rest @ ..] = &words[..] else { bail!("usage: hookhost-hook AGENT [POINT]") };
    let named = by_name(agent).with_context(|| format!("there is no agent {agent}"))?;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let directory = env::current_dir()?;
    let variables: Vec<(String, String)> =
        message::VARIABLES.iter().filter_map(|&name| Some((name.to_owned(), env::var(name).ok()?))).collect();
    let mut message = Message::new(&bytes, &directory);
    message.point = rest.first().map(String::as_str).filter(|word| !word.starts_with("--"));
    message.variables = &variables;
    let adapter = detect(named, &message);
    // A message that cannot be decoded is recorded as a custom event.
    let (mut means, mut event, mut point) = (String::new(), EventKind::CustomEvent, words.get(1).cloned());
    let mut lost = Vec::new();
    // `current_exe` would not work with an agent that hides `/proc`.
    let program = env::args_os().next().context("without a name")?;
    let recorded = Path::new(&program).parent().context("without a directory")?.join("../recorded");
    let reply = match adapter.decode(&message) {
        Ok(call) => {
            (means, event, point) = (format!("{:?}", call.event), call.event.kind(), Some(call.point.clone()));
            let can = adapter.abilities(&call);
            let (outcome, degradations) = degrade(&call, decide(&call.event, &recorded), can);
            lost = degradations;
            adapter.encode(&call, &outcome)
        }
        Err(error) => {
            means.push_str(&error.why);
            adapter.fail(error.point.as_deref().or(message.point), &error.why)
        }
    };
    let record = json!({
        "arguments": words, "agent": adapter.agent().name, "variables": variables, "event": event, "point": point, "means": means, "degraded": lost,
        "message": serde_json::from_slice::<Value>(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))),
        "reply": { "exit": reply.exit, "stdout": reply.stdout, "stderr": reply.stderr },
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    fs::write(recorded.join(format!("{now}-{}.json", std::process::id())), serde_json::to_string_pretty(&record)?)?;
    std::io::stderr().write_all(reply.stderr.as_bytes())?;
    std::io::stdout().write_all(reply.stdout.as_bytes())?;
    Ok(reply.exit)
}

/// Decides by the rules of the test's plugin.
fn decide(event: &HookEvent, recorded: &Path) -> Outcome {
    let rejected = || {
        let refusal = Refusal::new("denied-by-policy: this file may not be written").code("policy.denied");
        Answer::Rejected(Rejection::verdict("agent-policy", refusal, Stop::Run))
    };
    let by = || "agent-policy".to_owned();
    match event {
        HookEvent::BeforeToolCall(call) | HookEvent::PermissionRequest(call) => {
            let text = call.arguments.to_string();
            if text.contains("denied.txt") {
                Outcome::new(rejected())
            } else if text.contains("stopped.txt") {
                let refusal = Refusal::new("stopped-by-policy: this ends the run").stop();
                Outcome::new(Answer::Rejected(Rejection::verdict("agent-policy", refusal, Stop::Run)))
            } else if text.contains("answered.txt") {
                Outcome::new(Answer::Responded { result: ToolResult::text("answer-of-policy"), by: by() })
            } else if text.contains("asked.txt") {
                let question = Question::new(Asker::Plugin(by()), Escalation::new("asked-by-policy: write it?"));
                Outcome::new(Answer::Ask { questions: vec![question], arguments: None })
            } else if text.contains("original") {
                let arguments = serde_json::from_str(&text.replace("original", "rewritten")).unwrap_or_default();
                Outcome::new(Answer::Changed { arguments, by: vec![by()] })
            } else {
                Outcome::new(Answer::Neutral).context("context-at-call")
            }
        }
        HookEvent::AfterToolCall { result, .. } => {
            let answer = if result.text.contains("masked-word") {
                let text = result.text.replace("masked-word", "[word masked]");
                Answer::ReplacedResult(ToolResult::text(text))
            } else {
                Answer::Neutral
            };
            Outcome::new(answer).context("context-at-result")
        }
        HookEvent::PromptSubmit { prompt } if prompt.contains("forbidden-prompt") => Outcome::new(rejected()),
        HookEvent::PromptSubmit { prompt } if prompt.contains("masked-word") => {
            Outcome::new(Answer::Replaced(prompt.replace("masked-word", "[word masked]")))
        }
        HookEvent::PromptSubmit { .. } => Outcome::new(Answer::Neutral).context("context-at-prompt"),
        HookEvent::SessionStart { .. } => {
            Outcome::new(Answer::Neutral).context("context-at-start").notice("notice-at-start")
        }
        HookEvent::FinalText { text } if text.contains("masked-word") => {
            Outcome::new(Answer::Replaced(text.replace("masked-word", "[word masked]")))
        }
        // Only once per home directory, because some agents do not report that a hook has already made them continue.
        HookEvent::Stop { .. } if fs::File::create_new(recorded.with_file_name("went-on")).is_ok() => {
            let task = Task { prompt: "[script more] one thing more".to_owned(), title: None };
            Outcome::new(Answer::GoOn(vec![task]))
        }
        _ => Outcome::new(Answer::Neutral),
    }
}
