//! Shows texts of agents, models and plugins so that every character can be seen.
//!
//! A character that is invisible, or that reorders the text around it, could make a command look like another one. It is shown as its number
//! in a box.

use hookhost::is_unseen;
use maud::{Markup, html};

/// Maximum length of a text on one line of a list, in characters.
pub(crate) const ON_A_LINE: usize = 160;

/// Shows a text that stands on one line. Line breaks and tabs are boxed, too.
pub(crate) fn shown(text: &str) -> Markup {
    boxed(text, is_unseen)
}

/// Shows a text in a block, which keeps line breaks and tabs.
pub(crate) fn shown_block(text: &str) -> Markup {
    boxed(text, |character| is_unseen(character) && !matches!(character, '\n' | '\t'))
}

/// Shows the beginning of a text on one line.
pub(crate) fn shown_short(text: &str) -> Markup {
    let mut short = text.chars().take(ON_A_LINE).collect::<String>();
    if short.len() < text.len() {
        short.push('…');
    }
    shown(&short)
}

fn boxed(text: &str, is_boxed: impl Fn(char) -> bool) -> Markup {
    let mut parts = Vec::new();
    let mut seen = 0;
    for (place, character) in text.char_indices().filter(|(_, character)| is_boxed(*character)) {
        parts.push((text.get(seen..place).unwrap_or_default(), Some(character)));
        seen = place + character.len_utf8();
    }
    parts.push((text.get(seen..).unwrap_or_default(), None));
    html! {
        @for (seen, unseen) in parts {
            (seen)
            @if let Some(character) = unseen {
                span.unseen { "U+" (format!("{:04X}", u32::from(character))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{shown, shown_block, shown_short};

    #[test]
    fn every_unseen_character_is_boxed_and_markup_is_text() {
        assert_eq!(shown("a <b> & \"c\"").into_string(), "a &lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(
            shown("rm \u{202e}fdp.x\u{0}\u{200b}").into_string(),
            "rm <span class=\"unseen\">U+202E</span>fdp.x<span class=\"unseen\">U+0000</span><span class=\"unseen\">U+200B</span>"
        );
        assert_eq!(shown("a\nb").into_string(), "a<span class=\"unseen\">U+000A</span>b");
        assert_eq!(shown_block("a\n\tb\r").into_string(), "a\n\tb<span class=\"unseen\">U+000D</span>");
        for text in
            ["\u{1f468}\u{200d}\u{1f469}", "\u{e0041}", "e\u{301}", "\u{ad}", "\u{2028}", "\u{feff}", "ﷺ", "日本"]
        {
            let shown = shown(text).into_string();
            assert!(!shown.chars().any(hookhost::is_unseen), "{shown}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let shown = shown_short(&"é".repeat(500)).into_string();
        assert_eq!(shown.chars().count(), 161);
        assert!(shown.ends_with("é…"));
    }
}
