//! Characters that are invisible, or that change how the rest of a text looks.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Returns true if a character controls a terminal, reorders a text, breaks its line, or is invisible. With such a
/// character, a text can look like another text. These characters are the control and format characters, the line and
/// paragraph separators, and the characters that Unicode calls default ignorable, except the two variation selectors
/// of emoji.
///
/// ```
/// assert!(['\u{1b}', '\u{202e}', '\u{2028}', '\u{ad}', '\u{e0041}'].into_iter().all(hookhost::is_unseen));
/// assert!(!"a é 世 \u{fe0f}".chars().any(hookhost::is_unseen));
/// ```
#[must_use]
pub fn is_unseen(character: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    // Most characters are ASCII.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    matches!(get_general_category(character), Control | Format | LineSeparator | ParagraphSeparator)
        // The characters with `Default_Ignorable_Code_Point` in other categories, from DerivedCoreProperties.txt of
        // Unicode 16.
        || matches!(character, '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(character, '\u{2065}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}')
        || matches!(character, '\u{e0000}'..='\u{e0fff}')
}
