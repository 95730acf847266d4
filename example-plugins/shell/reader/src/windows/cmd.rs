//! Reads syntax that only `cmd.exe` has: the condition of `if` and the switches of `start`.

use crate::ascii::Ascii as _;
use crate::word::Word;

/// Returns the number of leading words of `start` and similar commands that are switches, values of switches, or a title.
pub(super) fn switches(args: &[Word]) -> usize {
    let mut at = 0;
    while let Some(word) =
        args.get(at).filter(|word| word.text.is_empty() || word.text.starts_with(['/', '-']) || word.text.has(b' '))
    {
        let takes_value = ["/d", "-verb", "-windowstyle", "-workingdirectory"];
        at += if takes_value.iter().any(|switch| switch.eq_ignore_ascii_case(&word.text)) { 2 } else { 1 };
    }
    at
}

/// Returns the index of a word, or the number of words if it is missing.
pub(super) fn position(args: &[Word], word: &str) -> usize {
    args.iter().position(|arg| arg.text.eq_ignore_ascii_case(word)).unwrap_or(args.len())
}

/// Returns the number of words in the condition of an `if`.
pub(super) fn condition(args: &[Word]) -> usize {
    let is = |at: usize, words: &str| {
        args.get(at).is_some_and(|arg| words.split(' ').any(|word| word.eq_ignore_ascii_case(&arg.text)))
    };
    let mut at = 0;
    while is(at, "/i not") {
        at += 1;
    }
    let has_operator = is(at + 1, "== equ neq lss leq gtr geq");
    at + if has_operator { 3 } else { 1 + usize::from(is(at, "exist defined errorlevel")) }
}
