//! Finds the end of a value that is assigned to a name, so that the whole value is masked but nothing after the value.

use std::ops::Range;

/// Minimum length of a secret, in bytes.
const MIN_LENGTH: usize = 8;
/// Number of bytes of a value that are checked. The rest of a value is masked without a check. Otherwise a text in which many values begin
/// would be read to its end for each of them.
const MAX_JUDGED: usize = 64;

/// Returns the start of the value that is assigned to the name that ends at `at`. The value follows `=`, `:`, `:=` or `=>`. The name and
/// the value may be in quotes, which may be escaped. The form `["TOKEN"] = …` is accepted, too.
pub(crate) fn beginning(text: &str, at: usize) -> Option<usize> {
    let skip = |at: usize, most: usize, which: &[u8]| {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take(most).take_while(|byte| which.contains(byte)).count()
    };
    let sign = skip(skip(at, 4, b"\"'`\\]"), 5, b" \t\r\n");
    let rest = &text[sign..];
    let length = match rest.as_bytes() {
        [b':', b'=', ..] | [b'=', b'>', ..] => 2,
        [b':' | b'=', ..] => 1,
        _ => return None,
    };
    let quote = skip(skip(sign + length, 5, b" \t\r\n"), 3, b"\\");
    Some(skip(quote, 1, b"\"'`"))
}

/// Returns the value that begins at `start`, if `check` returns true for it.
pub(crate) fn place(text: &str, start: usize, check: fn(&str) -> bool) -> Option<Range<usize>> {
    let before = &text[..start];
    let quote = before.chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    let escaped = quote.is_some_and(|_| before[..start - 1].ends_with('\\'));
    let rest = &text[start..];
    let judged = &rest[..end(&rest[..boundary(rest, MAX_JUDGED)], quote, escaped)];
    if judged.len() < MIN_LENGTH || !check(judged) {
        return None;
    }
    Some(start..start + end(rest, quote, escaped))
}

/// Returns the end of a value. A quoted value ends at its quote or at the end of the line. A bare value ends at white space and at
/// characters that end values in code, shells and YAML.
fn end(text: &str, quote: Option<char>, escaped: bool) -> usize {
    let end = match quote {
        Some(quote) => text.find([quote, '\n']),
        None => text.find(|c: char| c.is_whitespace() || "\"'`,;<>(){}[]".contains(c)),
    };
    let end = end.unwrap_or(text.len());
    // If the opening quote is escaped, the closing quote is escaped, too.
    if escaped { text[..end].trim_end_matches('\\').len() } else { end }
}

fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::{beginning, place};

    #[test]
    fn names_and_values_meet_in_many_ways() {
        for (text, value) in [
            ("=v", "v"),
            (": v", "v"),
            ("\": \"v", "v"),
            ("'] = 'v", "v"),
            (":='v", "v"),
            (" => v", "v"),
            (r#"\": \"v"#, "v"),
            ("=", ""),
        ] {
            assert_eq!(beginning(text, 0).map(|at| &text[at..]), Some(value), "{text}");
        }
        for text in ["Stream", " v", "", "s: v", "          = v"] {
            assert_eq!(beginning(text, 0), None, "{text}");
        }
    }

    fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        place(text, name.len(), |_| true).map(|place| &text[place])
    }

    #[test]
    fn a_value_ends_where_its_kind_of_quote_says() {
        assert_eq!(value("p=12345678 9", "p="), Some("12345678"));
        assert_eq!(value("p='1234 5678' 9", "p='"), Some("1234 5678"));
        assert_eq!(value("p=\"it's long\"", "p=\""), Some("it's long"));
        assert_eq!(value(r#"\"p\": \"12345678\", 9"#, r#"\"p\": \""#), Some("12345678"));
        assert_eq!(value("p=\"12345678\n9", "p=\""), Some("12345678"));
        assert_eq!(value("p=1234567", "p="), None);
    }

    #[test]
    fn it_is_judged_by_its_beginning_and_taken_whole() {
        let text = format!("p={}é{}", "a".repeat(63), "b".repeat(1000));
        assert_eq!(value(&text, "p=").map(str::len), Some(1065));
    }
}
