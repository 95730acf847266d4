//! Errors of parsing.

use crate::{Parse, RuleResult};
use std::fmt::{self, Debug, Display, Formatter};

/// The expected tokens. Nobody records them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedSet(());

impl ExpectedSet {
    /// Returns no tokens.
    pub fn tokens(&self) -> std::iter::Empty<&'static str> {
        std::iter::empty()
    }
}

impl Display for ExpectedSet {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("something else")
    }
}

/// A text that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError<L> {
    /// The position up to which the text could be parsed.
    pub location: L,
    /// The expected tokens.
    pub expected: ExpectedSet,
}

impl<L: Display> Display for ParseError<L> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "error at {}: expected {}", self.location, self.expected)
    }
}

impl<L: Display + Debug> std::error::Error for ParseError<L> {}

/// The state that tracks how far a text could be parsed.
#[doc(hidden)]
#[derive(Debug)]
pub struct ErrorState {
    /// The farthest position at which a rule failed.
    pub max_err_pos: usize,
    /// Number of enclosing rules that only look ahead. Their failures do not count.
    pub suppress_fail: usize,
}

impl ErrorState {
    /// Returns the state before anything is parsed.
    #[must_use]
    pub fn new(begin: usize) -> Self {
        Self { max_err_pos: begin, suppress_fail: 0 }
    }

    /// Prepares for parsing the text a second time.
    pub fn reparse_for_error(&mut self) {
        self.suppress_fail = 0;
    }

    /// Records a failure at a position.
    #[inline(always)]
    pub fn mark_failure(&mut self, at: usize, _: &'static str) -> RuleResult<()> {
        if self.suppress_fail == 0 && at > self.max_err_pos {
            self.max_err_pos = at;
        }
        RuleResult::Failed
    }

    /// Returns the error that the caller gets.
    pub fn into_parse_error<I: Parse + ?Sized>(self, input: &I) -> ParseError<I::PositionRepr> {
        ParseError { location: input.position_repr(self.max_err_pos), expected: ExpectedSet(()) }
    }
}
