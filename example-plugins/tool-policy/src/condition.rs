//! Conditions on the arguments of a call.

use hookhost_contract::action::arguments::folded;
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;

/// A condition, as configured.
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

    /// Returns true if a value at the path matches. Some tools treat names that differ only in case as equal. So if there are several such
    /// names, it is enough that the value of one of them matches.
    pub(crate) fn fits(&self, arguments: &Value) -> bool {
        self.fits_below(Some(arguments), &self.path)
    }

    fn fits_below(&self, value: Option<&Value>, path: &[String]) -> bool {
        let Some((part, rest)) = path.split_first() else { return self.fits_value(value) };
        match value {
            Some(Value::Object(members)) => {
                let is_other = |name: &str| name != part && folded(name) == folded(part);
                self.fits_below(members.get(part), rest)
                    || members.iter().any(|(name, value)| is_other(name) && self.fits_below(Some(value), rest))
            }
            Some(Value::Array(elements)) => {
                self.fits_below(part.parse::<usize>().ok().and_then(|at| elements.get(at)), rest)
            }
            _ => self.fits_value(None),
        }
    }

    fn fits_value(&self, value: Option<&Value>) -> bool {
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
