//! Describes an entry of the allowlist, for people and for programs.

use super::{one_line, truncate::counted};
use hookhost::Config;
use hookhost::config::{ActionKind, Entry, Grants, Limits, Rule, ToolPattern};
use hookhost::contract::Stop;
use hookhost::contract::rule::RuleOn;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Describes what a refusal with `stop` ends. Returns `None` if the refusal ends the whole run.
pub(crate) fn stop(stop: Stop) -> Option<&'static str> {
    match stop {
        Stop::Run => None,
        Stop::Session => Some("stop ends the session"),
    }
}

/// Describes the limits in one line, in the units of the configuration file.
pub(crate) fn limits(entry: &Entry) -> String {
    let limits = &entry.limits;
    let (compute, deadline) = (limits.compute(&entry.grants), limits.deadline(&entry.grants));
    let Limits { fuel, memory, table_elements, tables, instances, handles, .. } = limits;
    let Limits { input, output, log, http_body, capability_calls, .. } = limits;
    format!(
        "fuel {fuel}, compute {compute:?}, deadline {deadline:?}, memory {}, table-elements {table_elements}, \
         tables {tables}, instances {instances}, handles {handles}, input {}, output {}, log {}, http-body {}, \
         capability-calls {capability_calls}",
        size(memory.get()),
        size(input.get()),
        size(output.get()),
        size(log.get()),
        size(http_body.get()),
    )
}

/// Returns the limits as JSON, in bytes and microseconds.
pub(crate) fn limits_json(entry: &Entry) -> Value {
    let (limits, grants) = (&entry.limits, &entry.grants);
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    json!({
        "fuel": limits.fuel,
        "compute-micros": micros(limits.compute(grants)),
        "deadline-micros": micros(limits.deadline(grants)),
        "memory": limits.memory,
        "table-elements": limits.table_elements,
        "tables": limits.tables,
        "instances": limits.instances,
        "handles": limits.handles,
        "input": limits.input,
        "output": limits.output,
        "log": limits.log,
        "http-body": limits.http_body,
        "capability-calls": limits.capability_calls,
    })
}

/// Describes the grants in one line, or returns `nothing` if there are none.
pub(crate) fn grants(grants: &Grants) -> String {
    let granted: Vec<_> =
        grants_json(grants).into_iter().map(|(grant, value)| grant_in_words(&grant, &value)).collect();
    if granted.is_empty() { "no file, network or model".to_owned() } else { granted.join(", ") }
}

fn grant_in_words(grant: &str, value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let names: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            format!("{grant} ({})", names.join(", "))
        }
        Value::Object(values) => {
            let words = values.iter().map(|(key, value)| match (key.as_str(), value) {
                ("quota", value) => format!("quota {}", size(value.as_u64().unwrap_or(0) as usize)),
                (key, Value::String(text)) if key.starts_with('/') => format!("{key} = {text}"),
                (key, Value::String(text)) => format!("{key} {text}"),
                (key, value) => format!("{key} {value}"),
            });
            format!("{grant} ({})", words.collect::<Vec<_>>().join(", "))
        }
        _ => grant.to_owned(),
    }
}

/// Returns the grants under the keys of the configuration file. Grants that are not given are absent.
pub(crate) fn grants_json(grants: &Grants) -> Map<String, Value> {
    let Grants { state, read_dirs, write_dirs, env, http, model, transcript, approve, audit, .. } = grants;
    let Grants { capabilities, facts, labels, secrets, clock, random, .. } = grants;
    let mut granted = Map::new();
    if let Some(state) = state {
        granted.insert("state".into(), json!({ "quota": state.quota }));
    }
    for (key, directories) in [("read-dirs", read_dirs), ("write-dirs", write_dirs)] {
        if !directories.is_empty() {
            granted.insert(key.into(), json!(directories));
        }
    }
    if !capabilities.is_empty() {
        granted.insert("capabilities".into(), json!(capabilities));
    }
    for (key, names) in [("env", env), ("http", http)] {
        if !names.is_empty() {
            granted.insert(key.into(), json!(names));
        }
    }
    if !facts.is_empty() {
        granted.insert("facts".into(), json!(facts));
    }
    if let Some(secrets) = secrets {
        granted.insert("secrets".into(), json!(secrets));
    }
    if let Some(model) = model {
        granted.insert("model".into(), json!({ "name": model.name, "max-calls": model.max_calls }));
    }
    let flags = [
        ("transcript", transcript),
        ("labels", labels),
        ("approve", approve),
        ("audit", audit),
        ("clock", clock),
        ("random", random),
    ];
    for (key, _) in flags.into_iter().filter(|(_, granted)| **granted) {
        granted.insert(key.into(), Value::Bool(true));
    }
    granted
}

/// Describes a rule in words on one line: what it is about, and its answer.
pub(crate) fn rule(rule: &Rule) -> String {
    let row = &rule.row;
    let mut about = list(row.on.iter().map(RuleOn::name));
    for (key, values) in row.matchers() {
        about.push_str(&format!(", {key} {}", list(values.iter())));
    }
    if !row.after.is_empty() {
        about.push_str(&format!(", after {}", list(row.after.iter())));
    }
    for (key, condition) in [("within", &row.within), ("when", &row.when), ("unless", &row.unless)] {
        about.extend(condition.iter().map(|condition| format!(", {key} {condition}")));
    }
    about.extend(row.mode.iter().map(|mode| format!(", in the mode {mode}")));
    let observed = if row.observe { ", only observed" } else { "" };
    let answers = row.answers().into_iter().map(|answer| format!("{}s", answer.name()));
    let text = [&row.reject, &row.ask, &row.note, &row.remind, &row.redact, &row.label].into_iter().flatten().next();
    let text = text.map(|text| format!(": {text}")).unwrap_or_default();
    one_line(&format!("{} {} ({about}{observed}){text}", row.id, answers.collect::<String>()))
}

/// Counts what is in force: `2 plugins and 3 rules`.
pub(crate) fn in_force(config: &Config) -> String {
    let plugins = config.enabled().filter(|entry| entry.name != Entry::RULES).count();
    let counts = [(plugins, "plugin"), (config.rules().len(), "rule")];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    match counts.split_last() {
        None => counted(0, "rule"),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Describes the tool calls that an entry applies to, in the terms of the configuration file. The text is empty if there is
/// no restriction.
pub(crate) fn narrowing(actions: Option<&BTreeSet<ActionKind>>, tools: Option<&[ToolPattern]>) -> String {
    let actions = actions.map(|actions| format!("actions {}", list(actions)));
    let tools = tools.map(|tools| format!("tools {}", list(tools)));
    actions.into_iter().chain(tools).collect::<Vec<_>>().join(", ")
}

fn list<T: ToString>(things: impl IntoIterator<Item = T>) -> String {
    things.into_iter().map(|thing| thing.to_string()).collect::<Vec<_>>().join(" ")
}

/// Prints a number of bytes in the largest unit that divides it.
pub(crate) fn size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits)) {
        Some((bits, unit)) => format!("{}{unit}", bytes >> bits),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost::config::{Digest, ModelGrant, StateGrant};

    #[test]
    fn grants_are_shown_in_the_words_of_the_file() {
        assert_eq!(grants(&Grants::default()), "no file, network or model");
        let mut given = Grants::default();
        given.state = Some(StateGrant::default());
        given.env = vec!["CI".into(), "LANG".into()];
        given.read_dirs = [("/policy".to_owned(), "/home/me/policy".into())].into();
        given.model = Some(ModelGrant::new("small"));
        given.transcript = true;
        assert_eq!(
            grants(&given),
            "state (quota 1MiB), read-dirs (/policy = /home/me/policy), env (CI, LANG), \
             model (name small, max-calls 10), transcript"
        );
    }

    #[test]
    fn every_grant_is_reported() {
        let mut given = Grants::default();
        given.state = Some(StateGrant::default());
        given.model = Some(ModelGrant::new("small"));
        (given.env, given.http) = (vec!["CI".into()], vec!["example.com".into()]);
        given.capabilities.insert("customers".into());
        given.facts.insert(hookhost::contract::FactName::GitBranch);
        given.labels = true;
        given.secrets = Some(hookhost::config::SecretsGrant::default());
        given.read_dirs = [("/policy".to_owned(), "/home/me/policy".into())].into();
        given.write_dirs = [("/out".to_owned(), "/home/me/out".into())].into();
        (given.transcript, given.approve, given.audit) = (true, true, true);
        (given.clock, given.random) = (true, true);
        let told = grants_json(&given);
        let debug = format!("{given:#?}");
        let fields = debug.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
        let fields: Vec<_> = fields.filter(|(field, _)| !field.starts_with(' ')).map(|(field, _)| field).collect();
        assert!(fields.len() > 9, "{debug}");
        for field in fields {
            assert!(told.contains_key(&field.replace('_', "-")), "`{field}` is granted and not told");
        }
    }

    #[test]
    fn limits_are_shown_in_the_words_of_the_file() {
        assert_eq!(
            limits(&Entry::new("a", "/a.wasm", Digest::of_bytes(b""))),
            "fuel 100000000, compute 100ms, deadline 100ms, memory 16MiB, table-elements 20000, tables 10, \
             instances 50, handles 256, input 1MiB, output 2MiB, log 64KiB, http-body 1MiB, capability-calls 10000"
        );
        assert_eq!(size(1_000), "1000 B");
    }
}
