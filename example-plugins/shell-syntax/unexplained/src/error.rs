//! Where a text cannot be parsed.

use crate::{Parse, RuleResult};
use std::fmt::{self, Debug, Display, Formatter};

/// What could have been there, which nobody notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedSet(());

impl ExpectedSet {
    /// Nothing.
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
    /// How far it could be.
    pub location: L,
    /// What could have been there.
    pub expected: ExpectedSet,
}

impl<L: Display> Display for ParseError<L> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "error at {}: expected {}", self.location, self.expected)
    }
}

impl<L: Display + Debug> std::error::Error for ParseError<L> {}

/// How far a text could be parsed.
#[doc(hidden)]
#[derive(Debug)]
pub struct ErrorState {
    /// The farthest place at which it was another one.
    pub max_err_pos: usize,
    /// How many rules only look ahead: what they do not find does not count.
    pub suppress_fail: usize,
}

impl ErrorState {
    /// Nothing was parsed.
    #[must_use]
    pub fn new(begin: usize) -> Self {
        Self { max_err_pos: begin, suppress_fail: 0 }
    }

    /// Before the text is parsed a second time.
    pub fn reparse_for_error(&mut self) {
        self.suppress_fail = 0;
    }

    /// Notes that the text is another one there.
    #[inline(always)]
    pub fn mark_failure(&mut self, at: usize, _: &'static str) -> RuleResult<()> {
        if self.suppress_fail == 0 && at > self.max_err_pos {
            self.max_err_pos = at;
        }
        RuleResult::Failed
    }

    /// What is told of it.
    pub fn into_parse_error<I: Parse + ?Sized>(self, input: &I) -> ParseError<I::PositionRepr> {
        ParseError { location: input.position_repr(self.max_err_pos), expected: ExpectedSet(()) }
    }
}
