//! The rules of conditions, as tests.

mod absent;
mod bounds;
mod language;
mod mistakes;
mod oracle;
mod properties;
mod url;
mod uses;

use hookhost_conditions::{Condition, Fact, Facts, Truth, Value};
use serde_json::json;
use std::cell::RefCell;

/// An event with some facts. It remembers what it was asked for.
struct Event {
    arguments: serde_json::Value,
    asked: RefCell<Vec<String>>,
}

impl Event {
    fn new() -> Self {
        let arguments = json!({
            "environment": "prod", "replicas": 3, "ratio": 0.5, "force": true, "nothing": null,
            "tags": ["a", "b"], "nested": { "deep": [{ "name": "x" }] }, "same": { "deep": [{ "name": "x" }] },
        });
        Self { arguments, asked: RefCell::default() }
    }
}

static ARGS: [&str; 3] = ["push", "--force", "release/1.2"];

impl Facts for Event {
    fn value(&self, name: &str) -> Fact<'_> {
        self.asked.borrow_mut().push(name.to_owned());
        Fact::Is(match name {
            "git.branch" => Value::from("main"),
            "git.dirty" => Value::from(true),
            "command" => Value::from("git push --force release/1.2"),
            "args" => Value::strings(&ARGS),
            "path" => Value::from("src/generated/schema.rs"),
            "path.in_workspace" => Value::from(true),
            "url" => Value::from("https://user@Example.com:8443/x"),
            "arguments" => Value::from(&self.arguments),
            "session.depth" => Value::from(2_i64),
            "session.mode" => Value::from("plan"),
            "time.hour" => Value::from(i64::MAX),
            "env.CI" => Value::from("true"),
            // A host of another version.
            "time.minute" => Value::from("none"),
            "kube.context" | "session.sandboxed" => return Fact::Unreadable,
            _ => return Fact::Absent,
        })
    }

    fn call(&self, function: &str, arguments: &[Value<'_>]) -> Fact<'_> {
        self.asked.borrow_mut().push(format!("{function}{arguments:?}"));
        match (function, arguments) {
            ("has", [Value::String(label)]) => Fact::Is(Value::from(label == "read:secret")),
            ("since", [Value::String(label)]) if label == "tests" => Fact::Is(Value::from(90_i64)),
            ("count", [Value::String(_), Value::Int(window)]) => Fact::Is(Value::from(*window)),
            ("same_call", [Value::Int(times), Value::Int(_)]) => Fact::Is(Value::from(*times < 5)),
            ("written_by_agent", [Value::String(path)]) => Fact::Is(Value::from(path.starts_with("src/"))),
            ("created_by_agent", _) => Fact::Unreadable,
            _ => Fact::Absent,
        }
    }
}

#[track_caller]
fn compiled(text: &str) -> Condition {
    Condition::compile(text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"))
}

#[track_caller]
fn truth(text: &str) -> Truth {
    compiled(text).evaluate(&Event::new())
}

#[track_caller]
fn assert_all(expected: Truth, conditions: &[&str]) {
    for condition in conditions {
        assert_eq!(truth(condition), expected, "{condition}");
    }
}
