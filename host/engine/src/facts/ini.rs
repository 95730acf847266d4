//! Reads files of sections, keys and values: `[section]`, then `key = value` in each line. A line that begins with `#`
//! or `;` is a comment.

/// A key with its value, in the section `section`. All texts are as the file spells them, without the space around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    pub(super) section: &'a str,
    pub(super) key: &'a str,
    /// The value; empty if the line has no `=`.
    pub(super) value: &'a str,
}

/// Returns all settings of a file, in order.
pub(super) fn settings(text: &str) -> impl Iterator<Item = Setting<'_>> {
    let mut section = "";
    // Git skips the mark of UTF-8.
    text.trim_start_matches('\u{feff}').lines().filter_map(move |line| {
        let mut line = line.trim();
        if let Some((header, rest)) = line.strip_prefix('[').and_then(split_header) {
            section = header.trim();
            // Git accepts a key behind the header.
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            return None;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        Some(Setting { section, key: key.trim(), value: value.trim() })
    })
}

/// Returns the value of a key, where the last of several equal keys counts. Names of sections are compared exactly, and
/// names of keys without regard to case.
pub(super) fn value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let is_it = |setting: &Setting<'_>| setting.section == section && setting.key.eq_ignore_ascii_case(key);
    settings(text).filter(is_it).last().map(|setting| setting.value)
}

/// Splits the rest of a line behind `[` at the end of the header. A `]` within quotes does not end the header.
fn split_header(line: &str) -> Option<(&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, character) in line.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some((&line[..at], &line[at + 1..])),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn the_last_of_several_equal_keys_counts_and_comments_and_other_sections_do_not() {
        let text = "a = 0\n[x]\n# a = 1\n a = 2\n;a = 3\n[y] a = 4\n[x]\nA=5 = 6\nb\n[z ]\n";
        assert_eq!(value(text, "x", "a"), Some("5 = 6"));
        assert_eq!(value(text, "", "a"), Some("0"));
        assert_eq!(value(text, "y", "a"), Some("4"));
        assert_eq!(value(text, "x", "b"), Some(""));
        assert_eq!(value(text, "z", "a"), None);
    }

    #[test]
    fn a_bracket_within_quotes_is_a_part_of_the_section() {
        assert_eq!(value("[branch \"a]\\\"b\"]\nremote = r\n", "branch \"a]\\\"b\"", "remote"), Some("r"));
    }
}
