//! A compiled schema of the library `jsonschema`.

use super::{MAX_PATTERN, MAX_PROBLEMS, SchemaError};
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

pub(super) struct Validator(jsonschema::Validator);

/// A mistake in a value.
pub(super) struct Problem<'a>(ValidationError<'a>);

/// Describes the mistake. The description contains the wrong part of the value and its location.
pub(super) fn in_full(Problem(error): &Problem<'_>) -> String {
    match error.instance_path().to_string() {
        path if path.is_empty() => error.to_string(),
        path => format!("at {path}: {error}"),
    }
}

/// Describes the mistake. The description does not contain the value.
pub(super) fn masked(Problem(error): &Problem<'_>) -> String {
    error.masked().to_string()
}

impl Validator {
    /// Compiles a schema. Patterns are matched by an engine that takes linear time, so a pattern with look-around or a
    /// back-reference is an error.
    pub(super) fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(2 * MAX_PATTERN);
        jsonschema::options()
            .with_pattern_options(patterns)
            .offline()
            // To check the format `regex`, the library would compile an untrusted pattern from a value. So every string
            // passes.
            .with_format("regex", |_: &str| true)
            .build(schema)
            .map(Self)
            .map_err(|error| SchemaError::Invalid(error.to_string()))
    }

    pub(super) fn problems(&self, value: &Value, told: fn(&Problem<'_>) -> String) -> Vec<String> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        let errors = self.0.iter_errors(value).take(MAX_PROBLEMS);
        let found: Vec<String> = errors.map(|error| told(&Problem(error))).collect();
        // The two checks should agree. If they ever do not, reject the value.
        if found.is_empty() { vec!["does not fit the schema".into()] } else { found }
    }
}
