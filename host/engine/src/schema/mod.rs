//! The JSON Schemas of tools. The host does not trust these schemas, because plugins, MCP servers and others write
//! them.
//!
//! A schema can refer to itself, so a check with a schema of a few kilobytes can take 2⁶⁰ steps. Therefore `shape`
//! checks the bounds of a schema before the schema is compiled, and `work` counts the steps of a check before the check
//! runs. Cheap checks run on the calling thread. All other checks run on a separate thread (`aside`), for which the
//! caller waits at most `DEADLINE`. The deadline also bounds work that `work` does not count.
//!
//! | bound of a schema, or of a value that is checked with it | maximum |
//! |---|---|
//! | size of the schema as text | [`MAX_BYTES`] bytes |
//! | number of its subschemas, and depth of their nesting | [`MAX_SUBSCHEMAS`], [`MAX_SCHEMA_NESTING`] levels |
//! | subschemas in a chain, and paths through the subschemas and references | [`MAX_CHAIN`], [`MAX_PATHS`] |
//! | number of its patterns, and size of a compiled pattern | [`MAX_PATTERNS`], [`MAX_PATTERN`] bytes |
//! | nesting of the value, and steps of its check | [`MAX_NESTING`] levels, [`MAX_WORK`] |
//! | steps of a check on the calling thread | [`MAX_WORK_AT_ONCE`] |
//! | time on a separate thread | [`DEADLINE`] |
//!
//! Failures fail closed: a schema that hookhost does not understand is refused, and a value that could not be checked
//! does not match.

mod aside;
mod shape;
#[cfg(test)]
mod tests;
#[cfg(feature = "json-schema")]
mod validator;
#[cfg(not(feature = "json-schema"))]
#[path = "without_validator.rs"]
mod validator;
mod work;

use aside::WorkFailure;
use serde_json::Value;
use shape::Shape;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use validator::{Problem, Validator};

pub use shape::{MAX_BYTES, MAX_CHAIN, MAX_NESTING as MAX_SCHEMA_NESTING, MAX_PATHS, MAX_PATTERNS, MAX_SUBSCHEMAS};
pub use work::{MAX_NESTING, MAX_WORK};

/// Time limit for compiling a schema, and for checking a value.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Maximum size of a compiled pattern, in bytes. During matching, the pattern's automaton may use twice as much memory.
pub const MAX_PATTERN: usize = 256 * 1024;

/// Maximum number of steps of a check on the calling thread. This many steps take 5 ms with the worst known schema, and
/// 1 ms with the schema of a usual tool, measured as for [`MAX_WORK`].
pub const MAX_WORK_AT_ONCE: u64 = 20_000;

/// Maximum depth of a check on the calling thread: the number of subschemas that apply to the same value, summed over the
/// levels of the value.
const SHALLOW: u64 = 200;

/// Maximum number of a value's problems that are reported.
const MAX_PROBLEMS: usize = 5;

/// The reason why a schema is not used. Its message completes a sentence that begins with the schema's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not a JSON Schema, or has a pattern that cannot be matched in linear time.
    #[error("is not a JSON Schema: {0}")]
    Invalid(String),
    /// The schema is larger than [`MAX_BYTES`].
    #[error("is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// The schema has too many parts of a kind.
    #[error("has {found} {what}, and {most} is the most")]
    TooMany {
        /// The kind of part.
        what: &'static str,
        /// The number of parts.
        found: String,
        /// The bound.
        most: u64,
    },
    /// A part of the schema refers to itself for the same value, so the check would not end.
    #[error("refers from {0} to itself without a step into the value, so that checking it would not end")]
    Endless(String),
    /// The work of a part of the schema cannot be bounded, for example because the part refers to another document.
    #[error("has {0}: write references as `#/$defs/NAME`")]
    Unbounded(String),
    /// This program was built without the feature `json-schema`.
    #[error("cannot be compiled, since this program was built without the feature `json-schema` of hookhost")]
    NotBuilt,
    /// Compiling took too long, or there was no thread for it.
    #[error("{0}")]
    GivenUp(String),
}

/// A compiled schema whose bounds were checked.
///
/// ```
/// use hookhost::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::compile(&json!({ "type": "object", "required": ["path"] }))?;
/// assert!(schema.problems(&json!({ "path": "a.txt" })).is_empty());
/// assert_eq!(schema.problems(&json!({})), [r#""path" is a required property"#]);
/// # Ok::<(), hookhost::schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema {
    inner: Arc<CompiledSchema>,
}

struct CompiledSchema {
    shape: Shape,
    validator: Validator,
    /// True if a check took too long. In this case, no further check begins.
    given_up: AtomicBool,
}

impl Schema {
    /// Checks the bounds and compiles the schema. Blocks the thread for some milliseconds, and for 5 s at most.
    ///
    /// # Errors
    /// If the value is not a JSON Schema, exceeds a bound, or takes too long to compile.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let shape = Shape::of(schema)?;
        let validator = if shape.is_simple() {
            Validator::compile(schema)
        } else {
            let schema = schema.clone();
            aside::run(DEADLINE, move || Validator::compile(&schema)).map_err(|missed| {
                SchemaError::GivenUp(match missed {
                    WorkFailure::Deadline => format!("took longer than {} s to compile", DEADLINE.as_secs()),
                    WorkFailure::Full => "cannot be compiled now: too many schemas take too long".into(),
                    WorkFailure::Died => "cannot be compiled".into(),
                })
            })?
        };
        Ok(Self { inner: Arc::new(CompiledSchema { shape, validator: validator?, given_up: AtomicBool::new(false) }) })
    }

    /// Returns at most five mistakes in a value, each with its location. The list is empty if the value matches. A
    /// value that could not be checked does not match.
    #[must_use]
    pub fn problems(&self, value: &Value) -> Vec<String> {
        self.checked(value, validator::in_full)
    }

    /// Returns the number of steps of a check, as counted before the check.
    ///
    /// # Errors
    /// If the check has more than [`MAX_WORK`] steps, or the value has more than [`MAX_NESTING`] levels. The text of the
    /// error continues the sentence `cannot be checked: `.
    pub fn steps(&self, value: &Value) -> Result<u64, String> {
        self.inner.shape.work(value).map(|work| work.steps)
    }

    /// Returns a description of the first mistake in a value. The description does not contain the value.
    pub(crate) fn masked_problem(&self, value: &Value) -> Option<String> {
        self.checked(value, validator::masked).into_iter().next()
    }

    fn checked(&self, value: &Value, told: fn(&Problem<'_>) -> String) -> Vec<String> {
        let compiled = &self.inner;
        if compiled.given_up.load(Ordering::Relaxed) {
            return vec!["cannot be checked: an earlier check took too long".into()];
        }
        let work = match compiled.shape.work(value) {
            Ok(work) => work,
            Err(why) => return vec![format!("cannot be checked: {why}")],
        };
        if work.steps <= MAX_WORK_AT_ONCE && work.deep <= SHALLOW {
            return compiled.validator.problems(value, told);
        }
        let (shared, value) = (Arc::clone(compiled), value.clone());
        aside::run(DEADLINE, move || shared.validator.problems(&value, told)).unwrap_or_else(|missed| {
            vec![match missed {
                WorkFailure::Full => "cannot be checked now: too many checks take too long".into(),
                WorkFailure::Deadline | WorkFailure::Died => {
                    compiled.given_up.store(true, Ordering::Relaxed);
                    format!("cannot be checked: it took longer than {} s", DEADLINE.as_secs())
                }
            }]
        })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("shape", &self.inner.shape).finish_non_exhaustive()
    }
}
