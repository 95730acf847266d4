//! Parsing of slices.

use crate::{Parse, ParseElem, ParseLiteral, ParseSlice, RuleResult, steps};

impl<T> Parse for [T] {
    type PositionRepr = usize;

    fn start(&self) -> usize {
        0
    }

    #[inline]
    fn is_eof(&self, at: usize) -> bool {
        at >= self.len()
    }

    fn position_repr(&self, at: usize) -> usize {
        at
    }
}

impl<'input, T: 'input + Copy> ParseElem<'input> for [T] {
    type Element = T;

    #[inline]
    fn parse_elem(&'input self, at: usize) -> RuleResult<T> {
        let element = steps::take().and_then(|()| self.get(at));
        element.map_or(RuleResult::Failed, |element| RuleResult::Matched(at + 1, *element))
    }
}

impl ParseLiteral for [u8] {
    #[inline]
    fn parse_string_literal(&self, at: usize, literal: &str) -> RuleResult<()> {
        let rest = steps::take().and_then(|()| self.get(at..));
        let is_there = rest.is_some_and(|rest| rest.starts_with(literal.as_bytes()));
        if is_there { RuleResult::Matched(at + literal.len(), ()) } else { RuleResult::Failed }
    }
}

impl<'input, T: 'input> ParseSlice<'input> for [T] {
    type Slice = &'input [T];

    #[inline]
    fn parse_slice(&'input self, from: usize, to: usize) -> &'input [T] {
        &self[from..to]
    }
}
