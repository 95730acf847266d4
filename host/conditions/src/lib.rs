//! The conditions of rules in words: the expressions in `when` and `unless`, in a part of CEL, the Common Expression Language.
//!
//! [`Condition::compile`] checks names, types and bounds, so a mistake is found when a rule is loaded. [`Condition::evaluate`] asks
//! [`Facts`] only for what the result depends on.
//!
//! ```
//! use hookhost_conditions::{Condition, Fact, Facts, Truth, Value};
//!
//! struct OnMain;
//!
//! impl Facts for OnMain {
//!     fn value(&self, name: &str) -> Fact<'_> {
//!         match name {
//!             "git.branch" => Fact::Is(Value::from("main")),
//!             _ => Fact::Absent,
//!         }
//!     }
//!
//!     fn call(&self, _: &str, _: &[Value<'_>]) -> Fact<'_> {
//!         Fact::Absent
//!     }
//! }
//!
//! let condition = Condition::compile(r#"git.branch in ["main", "release"]"#).unwrap();
//! assert_eq!(condition.evaluate(&OnMain), Truth::True);
//!
//! let mistakes = Condition::compile(r#"git.brnch == "main""#).unwrap_err();
//! assert_eq!(mistakes[0].to_string(), "unknown name `git.brnch`: did you mean `git.branch`?");
//! assert_eq!(mistakes[0].range, 0..9);
//! ```
//!
//! # Absent and unreadable facts
//!
//! An absent fact is `null`. Only `x == null`, `x != null` and `has(arguments.x)` see it: all other comparisons are false, also `!=`, and
//! an absent boolean counts as false. `!` is ordinary negation, so `!(git.branch == "main")` is true without a repository, and
//! `git.branch != "main"` is false. The same holds for an argument that the call does not have, for an argument of another type, and for
//! arithmetic without a result, such as a division by zero. A whole number that is too large is unreadable.
//!
//! If a fact exists and cannot be read, then the condition is [`Truth::Unreadable`], unless the result does not depend on the fact.

// From the text to the result: `lexer`, `parser`, `check`, `code`, `evaluate`.
mod check;
mod code;
mod evaluate;
pub mod glob;
mod lexer;
mod parser;
mod pattern;
pub mod url;
mod value;
pub mod vocabulary;

pub use value::{Fact, Facts, Truth, Value};

use code::{Code, OpId};
use std::fmt;
use std::ops::Range;
use vocabulary::{Capability, Function, Name};

/// Maximum length of an expression, in bytes.
pub const MAX_EXPRESSION: usize = 4 * 1024;
/// Maximum number of operations within each other. Deeper expressions do not fit on the stack of a component, which has 48 KiB: each level
/// takes up to 600 bytes.
pub const MAX_LEVELS: usize = 48;
/// Maximum number of names, literals, operators and calls in an expression.
pub const MAX_NODES: usize = 2_000;
/// Maximum number of values in a list or map of an expression.
pub const MAX_LIST: usize = 256;
/// Maximum number of steps of an evaluation. A step is an operation, a value of a list, or 1 KiB of text that is read.
pub const MAX_STEPS: usize = 10_000;

/// A checked condition.
#[derive(Debug)]
pub struct Condition {
    code: Code,
    root: OpId,
    facts: Vec<Use>,
    calls: Vec<Use>,
}

impl Condition {
    /// Parses and checks an expression.
    ///
    /// # Errors
    /// Returns the first mistake of grammar, or else all unknown names and contradictions of types.
    pub fn compile(text: &str) -> Result<Self, Vec<ConditionError>> {
        let tree = parser::parse(text).map_err(|error| vec![*error])?;
        let check::Checked { code, root, facts, calls } = check::check(text, &tree)?;
        Ok(Self { code, root, facts, calls })
    }

    /// Returns what the condition can ask [`Facts`] for, each once.
    pub fn names(&self) -> impl Iterator<Item = &Use> {
        self.facts.iter().chain(&self.calls)
    }

    /// Evaluates the condition. It takes at most [`MAX_STEPS`], and returns [`Truth::Unreadable`] if it needs more.
    #[must_use]
    pub fn evaluate(&self, facts: &dyn Facts) -> Truth {
        evaluate::evaluate(self, facts)
    }
}

/// A name or function that a condition uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A name of the vocabulary.
    Name(&'static Name),
    /// A variable of the environment, with the prefix `env.`.
    Variable(String),
    /// A function that the plugin answers, with the label or the rule that the call names.
    Function(&'static Function, Option<String>),
}

impl Use {
    /// Returns the name that [`Facts`] is asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) => name.name,
            Self::Variable(name) => name,
            Self::Function(function, _) => function.name,
        }
    }

    /// Returns what the plugin needs to answer.
    #[must_use]
    pub fn needs(&self) -> Capability {
        match self {
            Self::Name(name) => name.needs,
            Self::Variable(_) => Capability::Facts,
            Self::Function(function, _) => function.needs,
        }
    }
}

/// A mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// The bytes of the expression that are wrong.
    pub range: Range<usize>,
    /// One sentence, without a capital letter and a full stop.
    pub message: String,
}

impl ConditionError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { range: span.range(), message: message.into() }
    }

    pub(crate) fn boxed(span: Span, message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new(span, message))
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ConditionError {}

/// A range of bytes, as small as an expression allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let short = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: short(start), end: short(end) }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    /// Returns the range from the beginning of this one to the end of another.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start()..self.end()
    }
}
