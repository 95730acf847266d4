//! Parsing of strings.

use crate::{Parse, ParseElem, ParseLiteral, ParseSlice, RuleResult, steps};
use std::fmt::{self, Display, Formatter};

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCol {
    /// The line, starting at 1.
    pub line: usize,
    /// The character in the line, starting at 1.
    pub column: usize,
    /// Number of bytes before the position.
    pub offset: usize,
}

impl Display for LineCol {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

impl Parse for str {
    type PositionRepr = LineCol;

    fn start(&self) -> usize {
        0
    }

    #[inline]
    fn is_eof(&self, at: usize) -> bool {
        at >= self.len()
    }

    fn position_repr(&self, at: usize) -> LineCol {
        let before = &self[..at];
        let line_begin = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.matches('\n').count() + 1;
        LineCol { line, column: before[line_begin..].chars().count() + 1, offset: at }
    }
}

impl<'input> ParseElem<'input> for str {
    type Element = char;

    #[inline]
    fn parse_elem(&'input self, at: usize) -> RuleResult<char> {
        let next = steps::take().and_then(|()| self[at..].chars().next());
        next.map_or(RuleResult::Failed, |next| RuleResult::Matched(at + next.len_utf8(), next))
    }
}

impl ParseLiteral for str {
    #[inline]
    fn parse_string_literal(&self, at: usize, literal: &str) -> RuleResult<()> {
        self.as_bytes().parse_string_literal(at, literal)
    }
}

impl<'input> ParseSlice<'input> for str {
    type Slice = &'input str;

    #[inline]
    fn parse_slice(&'input self, from: usize, to: usize) -> &'input str {
        &self[from..to]
    }
}
