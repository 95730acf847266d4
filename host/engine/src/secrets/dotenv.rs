//! Reads a file of variables: `NAME=value`, one per line, with quotes, comments and `export`.

/// Returns the variables of a file with their values, in order. Lines of another form are left out.
pub(super) fn variables(text: &str) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let after = rest.len().min(line.len() + 1);
        let Some((name, begin)) = assignment(line) else {
            rest = &rest[after..];
            continue;
        };
        let value = &rest[begin..];
        // A quoted value may have several lines.
        match value
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\'' | '`'))
            .and_then(|quote| quoted(value, quote))
        {
            Some((inner, length)) => {
                variables.push((name.to_owned(), inner));
                let end = begin + length;
                rest = &rest[end + rest[end..].find('\n').map_or(rest.len() - end, |line| line + 1)..];
            }
            None => {
                let bare = line[begin..].split(" #").next().unwrap_or_default();
                variables.push((name.to_owned(), bare.trim().to_owned()));
                rest = &rest[after..];
            }
        }
    }
    variables
}

/// Returns the name in a line that assigns a value, and the position of the value.
fn assignment(line: &str) -> Option<(&str, usize)> {
    let at = line.find('=')?;
    let name = line[..at].trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    let value = &line[at + 1..];
    is_name(name).then(|| (name, at + 1 + value.len() - value.trim_start().len()))
}

/// Returns the text in quotes at the beginning of `text`, and its length with the quotes. Returns `None` if the quotes are not closed.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((inner, at + 1)),
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => inner.push('\n'),
                'r' => inner.push('\r'),
                't' => inner.push('\t'),
                other => inner.push(other),
            },
            c => inner.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn each_usual_way_to_write_a_value_is_read() {
        let text = "# A=comment\nA=plain\nexport B = spaced # comment\r\nC=\"a\\\"b\\nc\" # d\nD='x # y'\nE=\nF=\"two\nlines\"\nno line\nG=a#b\nH='open\nI=end";
        let expected = [
            ("A", "plain"),
            ("B", "spaced"),
            ("C", "a\"b\nc"),
            ("D", "x # y"),
            ("E", ""),
            ("F", "two\nlines"),
            ("G", "a#b"),
            ("H", "'open"),
            ("I", "end"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(variables(text), expected);
    }
}
