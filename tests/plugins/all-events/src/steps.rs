//! The steps that a behaviour runs before it answers. They have effects or use capabilities, and their results are logged.

use crate::behaviour::Behaviour;
use crate::facts::Facts;
use crate::files;
use hookhost_guest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Display;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    Steps(String),
    Log(String),
    Print(String),
    PrintError(String),
    Remind(TextOr<Reminder>),
    Report(TextOr<Finding>),
    Get(state::Scope, String),
    Set(state::Scope, String, String),
    SetFor(state::Scope, String, String, u64),
    Delete(state::Scope, String),
    Increment(state::Scope, String, i64),
    Fill(state::Scope, u32, usize, usize),
    Transcript(u32, u32),
    Model(String, String),
    Env(String),
    Clock,
    Random,
    Raw,
    Parent,
    #[serde(untagged)]
    File(files::Use),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TextOr<T> {
    Text(String),
    Record(T),
}

/// Runs all steps in order. If a step fails, the next steps still run.
pub(crate) fn run(behaviour: &Behaviour, facts: &mut Facts) {
    run_all(&behaviour.steps, facts);
}

fn run_all(steps: &[Value], facts: &mut Facts) {
    for written in steps {
        let filled = fill(written, facts);
        let result = match serde_json::from_value::<Step>(filled.clone()) {
            Ok(Step::Steps(steps)) => given(&steps, facts).map(Some),
            Ok(step) => perform(step),
            Err(error) => Err(format!("no such step: {error}")),
        };
        match result {
            Ok(None) => {}
            Ok(Some(result)) => {
                log::info(format!("{filled} = {result}"));
                facts.result(result);
            }
            Err(error) => {
                log::info(format!("{filled} = error: {error}"));
                facts.result(format!("error: {error}"));
            }
        }
    }
}

/// Runs the steps in a JSON string, and returns their results, one per line.
fn given(steps: &str, facts: &mut Facts) -> Result<String, String> {
    let steps: Vec<Value> = serde_json::from_str(steps).map_err(text)?;
    let results = steps.iter().map(|step| {
        run_all(std::slice::from_ref(step), facts);
        facts.last.clone()
    });
    Ok(results.collect::<Vec<_>>().join("\n"))
}

fn fill(step: &Value, facts: &Facts) -> Value {
    match step {
        Value::String(text) => Value::String(facts.fill(text)),
        Value::Array(values) => values.iter().map(|value| fill(value, facts)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), fill(value, facts))).collect(),
        other => other.clone(),
    }
}

/// Runs one step. Returns its result if it has one.
fn perform(step: Step) -> Result<Option<String>, String> {
    match step {
        Step::Steps(_) => return Err("steps within steps are run by the caller".into()),
        Step::Log(line) => log::info(line),
        Step::Print(line) => println!("{line}"),
        Step::PrintError(line) => eprintln!("{line}"),
        Step::Remind(TextOr::Text(body)) => effects::remind(&Reminder::new(body)),
        Step::Remind(TextOr::Record(reminder)) => effects::remind(&reminder),
        Step::Report(TextOr::Text(code)) => effects::report(&Finding::new(code, Severity::Info, "found by all-events")),
        Step::Report(TextOr::Record(finding)) => effects::report(&finding),
        Step::Env(name) => return std::env::var(name).map(Some).map_err(text),
        Step::File(file) => return file.perform(),
        Step::Clock => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(text)?;
            return Ok(Some(now.as_millis().to_string()));
        }
        Step::Random => return Ok(Some(random().to_string())),
        Step::Parent => return Ok(Some(event::parent_session().unwrap_or_else(|| "nobody".into()))),
        Step::Raw => return Ok(Some(event::raw().unwrap_or_else(|| "nothing".into()))),
        // A branch that is never taken is not compiled, so its capability is not imported.
        Step::Transcript(start, count) if cfg!(feature = "transcript") => return Ok(Some(transcript(start, count))),
        Step::Model(instructions, input) if cfg!(feature = "model") => return model(instructions, input).map(Some),
        Step::Transcript(..) | Step::Model(..) => return Err("all-events is built without that capability".into()),
        state if cfg!(feature = "state") => return with_state(state).map(Some),
        _ => return Err("all-events is built without that capability".into()),
    }
    Ok(None)
}

pub(crate) fn text(error: impl Display) -> String {
    error.to_string()
}

/// Asks WASI directly. The standard library draws its random keys once, and they would be part of the memory with which every instance
/// starts.
#[cfg(target_os = "wasi")]
fn random() -> u64 {
    wasip2::random::random::get_random_u64()
}

#[cfg(not(target_os = "wasi"))]
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

fn with_state(step: Step) -> Result<String, String> {
    match step {
        Step::Get(scope, key) => {
            let value = state::get(scope, &key).map_err(text)?;
            Ok(value.map_or_else(|| "nothing".into(), |value| String::from_utf8_lossy(&value).into_owned()))
        }
        Step::Set(scope, key, value) => state::set(scope, &key, value.as_bytes()).map(|()| "set".into()).map_err(text),
        Step::SetFor(scope, key, value, seconds) => {
            state::set_for(scope, &key, value.as_bytes(), seconds).map(|()| "set".into()).map_err(text)
        }
        Step::Delete(scope, key) => state::delete(scope, &key).map(|()| "deleted".into()).map_err(text),
        Step::Increment(scope, key, by) => state::increment(scope, &key, by).map(|sum| sum.to_string()).map_err(text),
        Step::Fill(scope, count, key, value) => {
            let (key, value) = ("k".repeat(key), vec![0; value]);
            let refused = |number: &u32| state::set(scope, &format!("{key}{number}"), &value).is_err();
            Ok(format!("{} of {count} refused", (0..count).filter(refused).count()))
        }
        other => Err(format!("{other:?} is no use of state")),
    }
}

fn transcript(start: u32, count: u32) -> String {
    let messages = transcript::read(start, count);
    let lines: Vec<_> = messages.iter().map(|message| format!("{}: {}", message.role, message.content)).collect();
    format!("{} of {}\n{}", lines.len(), transcript::length(), lines.join("\n"))
}

fn model(instructions: String, input: String) -> Result<String, String> {
    model::complete(&model::Request::new(instructions, input)).map_err(|error| format!("{error:?}"))
}
