//! A compiled schema: what the library `jsonschema` checks with.

use super::{MAX_PATTERN, MAX_PROBLEMS, SchemaError};
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

pub(super) struct Validator(jsonschema::Validator);

/// Something that is wrong with a value.
pub(super) struct Problem<'a>(ValidationError<'a>);

/// With the value's part that is wrong, and where it is.
pub(super) fn in_full(Problem(error): &Problem<'_>) -> String {
    match error.instance_path().to_string() {
        path if path.is_empty() => error.to_string(),
        path => format!("at {path}: {error}"),
    }
}

/// Without the value.
pub(super) fn masked(Problem(error): &Problem<'_>) -> String {
    error.masked().to_string()
}

impl Validator {
    /// Patterns are matched by the engine that takes linear time: a pattern with look-around or a
    /// back-reference is refused.
    pub(super) fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(2 * MAX_PATTERN);
        jsonschema::options()
            .with_pattern_options(patterns)
            .offline()
            // It would compile what a value says.
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
        // The two ways of asking agree. If they ever do not, the value does not fit.
        if found.is_empty() { vec!["does not fit the schema".into()] } else { found }
    }
}
