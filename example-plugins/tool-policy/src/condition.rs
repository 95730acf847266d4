//! Conditions on the arguments of a call.

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;

/// A condition as the config has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Wanted {
    /// The path of an argument: `a.b.0`.
    argument: String,
    equals: Option<Value>,
    not: Option<Value>,
    matches: Option<String>,
    present: Option<bool>,
}

#[derive(Debug)]
pub(crate) struct Condition {
    path: Vec<String>,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Equals(Value),
    Not(Value),
    Matches(Regex),
    Present(bool),
}

impl Condition {
    pub(crate) fn new(wanted: &Wanted) -> Result<Self, String> {
        let argument = &wanted.argument;
        if argument.split('.').any(str::is_empty) {
            return Err(format!("`{argument}` names no argument: write a path such as `a.b`"));
        }
        let mut tests = Vec::new();
        tests.extend(wanted.equals.clone().map(Test::Equals));
        tests.extend(wanted.not.clone().map(Test::Not));
        tests.extend(wanted.present.map(Test::Present));
        if let Some(pattern) = &wanted.matches {
            let pattern = Regex::new(pattern).map_err(|error| format!("`{pattern}` is no pattern: {error}"))?;
            tests.push(Test::Matches(pattern));
        }
        let test = tests.pop().filter(|_| tests.is_empty());
        let test = test.ok_or_else(|| {
            format!("the condition on `{argument}` needs one of `equals`, `not`, `matches`, `present`")
        })?;
        Ok(Self { path: argument.split('.').map(str::to_owned).collect(), test })
    }

    pub(crate) fn fits(&self, arguments: &Value) -> bool {
        let value = self.path.iter().try_fold(arguments, |value, part| match value {
            Value::Object(members) => members.get(part),
            Value::Array(elements) => elements.get(part.parse::<usize>().ok()?),
            _ => None,
        });
        match (&self.test, value) {
            (Test::Equals(wanted), Some(value)) => value == wanted,
            (Test::Not(unwanted), value) => value != Some(unwanted),
            (Test::Matches(pattern), Some(Value::String(text))) => pattern.is_match(text),
            (Test::Matches(pattern), Some(value)) => pattern.is_match(&value.to_string()),
            (Test::Present(wanted), value) => value.is_some() == *wanted,
            (Test::Equals(_) | Test::Matches(_), None) => false,
        }
    }
}
