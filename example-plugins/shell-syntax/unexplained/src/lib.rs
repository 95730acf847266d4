//! Runtime of the parsers that `peg` generates, under its names. The original crate records at each position what the text should have
//! been. A guard reports only where parsing stopped, so this crate compares and records nothing, and the expected texts are not in the
//! component: docs/decisions/0017-shell-parser.md
//!
//! It also counts the parser's steps and stops it after a maximum: [`steps`].

pub mod error;
mod slice;
pub mod steps;
pub mod str;

use std::fmt::Display;

/// The result of applying a grammar rule to a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleResult<T> {
    /// The rule matched. Contains the end of the match and its value.
    Matched(usize, T),
    /// The rule did not match.
    Failed,
}

/// An input that can be parsed.
pub trait Parse {
    /// A position in a form for people.
    type PositionRepr: Display;
    /// Returns the first position.
    fn start(&self) -> usize;
    /// Returns true if the input ends at this position.
    fn is_eof(&self, at: usize) -> bool;
    /// Converts a position to a form for people.
    fn position_repr(&self, at: usize) -> Self::PositionRepr;
}

/// An input with elements: `[…]` in a grammar.
pub trait ParseElem<'input>: Parse {
    /// An element of the input.
    type Element: Copy;
    /// Returns the element at a position.
    fn parse_elem(&'input self, at: usize) -> RuleResult<Self::Element>;
}

/// An input that may contain a literal: `"…"` in a grammar.
pub trait ParseLiteral: Parse {
    /// Matches `literal` at a position.
    fn parse_string_literal(&self, at: usize, literal: &str) -> RuleResult<()>;
}

/// An input with slices: `$(…)` in a grammar.
pub trait ParseSlice<'input>: Parse {
    /// A slice of the input.
    type Slice;
    /// Returns the slice between two positions.
    fn parse_slice(&'input self, from: usize, to: usize) -> Self::Slice;
}

/// Calls the closure of `#{…}`, at a place where its types are known.
#[doc(hidden)]
pub fn call_custom_closure<I, T>(call: impl FnOnce(I, usize) -> RuleResult<T>, input: I, at: usize) -> RuleResult<T> {
    call(input, at)
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorState;
    use crate::{Parse, ParseElem, ParseLiteral, ParseSlice, RuleResult, steps};

    #[test]
    fn a_parser_without_steps_finds_nothing() {
        steps::allow(3);
        assert_eq!("ab".parse_elem(0), RuleResult::Matched(1, 'a'));
        assert_eq!("ab".parse_string_literal(0, "x"), RuleResult::Failed);
        assert_eq!((steps::left(), [1_u8].as_slice().parse_elem(0)), (1, RuleResult::Matched(1, 1)));
        assert_eq!("ab".parse_elem(0), RuleResult::Failed);
        assert_eq!("ab".parse_string_literal(0, "a"), RuleResult::Failed);
        assert_eq!((steps::left(), [1_u8].as_slice().parse_elem(0)), (0, RuleResult::Failed));
        steps::allow(1);
        assert_eq!("ab".parse_string_literal(0, "a"), RuleResult::Matched(1, ()));
    }

    #[test]
    fn a_text_is_read_by_its_characters() {
        let text = "aé\nb";
        assert_eq!(text.parse_elem(1), RuleResult::Matched(3, 'é'));
        assert_eq!(text.parse_elem(5), RuleResult::Failed);
        assert_eq!(text.parse_string_literal(1, "é\n"), RuleResult::Matched(4, ()));
        assert_eq!(text.parse_string_literal(1, "é\nbc"), RuleResult::Failed);
        assert_eq!(text.parse_slice(1, 3), "é");
        assert_eq!(text.position_repr(5).to_string(), "2:2");
        assert!(text.is_eof(5) && !text.is_eof(4) && text.start() == 0);
    }

    #[test]
    fn a_list_is_read_by_its_elements() {
        let list = [1_u8, 2, 3];
        let list = list.as_slice();
        assert_eq!(list.parse_elem(1), RuleResult::Matched(2, 2));
        assert_eq!(list.parse_elem(3), RuleResult::Failed);
        assert_eq!(list.parse_slice(1, 3), [2, 3]);
        assert!(list.is_eof(3) && !list.is_eof(2) && list.start() == 0 && list.position_repr(2) == 2);
    }

    #[test]
    fn an_error_is_at_the_farthest_place_that_counts() {
        let mut state = ErrorState::new(0);
        assert_eq!(state.mark_failure(3, "x"), RuleResult::Failed);
        state.suppress_fail += 1;
        state.mark_failure(4, "x");
        state.suppress_fail -= 1;
        state.mark_failure(2, "x");
        state.reparse_for_error();
        let error = state.into_parse_error("abcdef");
        assert_eq!((error.location.offset, error.to_string().as_str()), (3, "error at 1:4: expected something else"));
        assert_eq!(error.expected.tokens().count(), 0);
    }
}
