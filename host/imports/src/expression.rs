//! Simple regular expressions as the texts that they match.

/// Maximum number of texts of an expression.
const MAX_TEXTS: usize = 32;

/// The texts that an expression finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) texts: Vec<String>,
    /// True if a text must begin there: `^`.
    pub(crate) is_start: bool,
    /// True if a text must end there: `$`.
    pub(crate) is_end: bool,
}

/// Returns the texts that an expression finds. `.*` and similar parts stand for any text, and are `*` in the texts. Returns `None` for
/// anything but literal characters, groups of literal alternatives, `\s`, `\b`, `^`, `$` and `.*`.
pub(crate) fn texts(expression: &str) -> Option<Texts> {
    let mut rest = expression;
    let is_start = rest.strip_prefix('^').map(|after| rest = after).is_some();
    let is_end = !rest.ends_with("\\$") && rest.strip_suffix('$').map(|before| rest = before).is_some();
    let mut texts = Vec::new();
    for branch in alternatives(rest)? {
        texts.extend(sequence(branch)?);
    }
    // In `^a|b`, the `^` belongs to `a` alone.
    let is_one = alternatives(rest)?.len() == 1;
    let is_useful = !texts.is_empty() && texts.iter().all(|text: &String| !text.trim_matches(['*', ' ']).is_empty());
    (is_useful && (is_one || !is_start && !is_end)).then_some(Texts { texts, is_start, is_end })
}

/// Splits an expression at the `|` outside of groups.
fn alternatives(expression: &str) -> Option<Vec<&str>> {
    let (mut depth, mut start, mut escaped, mut found) = (0_u32, 0, false, Vec::new());
    for (at, c) in expression.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            '|' if depth == 0 => {
                found.push(&expression[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&expression[start..]);
    (depth == 0 && !escaped).then_some(found)
}

/// Returns the texts of an expression without `|` outside of groups.
fn sequence(expression: &str) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        let (parts, length) = match c {
            '(' => {
                let end = group_end(rest)?;
                let inner = rest[1..end].trim_start_matches("?:");
                let mut parts = Vec::new();
                for branch in alternatives(inner)? {
                    parts.extend(sequence(branch)?);
                }
                (parts, end + 1)
            }
            '.' if rest[1..].starts_with(['*', '+']) => (vec!["*".to_owned()], 2),
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                let part = match escaped {
                    's' => " ".to_owned(),
                    'b' => String::new(),
                    c if c.is_alphanumeric() => return None,
                    c => c.to_string(),
                };
                (vec![part], 1 + escaped.len_utf8())
            }
            '.' | '*' | '+' | '?' | '[' | ']' | '{' | '}' | '^' | '$' | ')' => return None,
            c => (vec![c.to_string()], c.len_utf8()),
        };
        rest = &rest[length..];
        // `\s+` and ` +` are one space. `\s*` may be none.
        if parts == [" "] {
            rest = rest.trim_start_matches('+');
        }
        if rest.starts_with(['*', '+', '?', '{']) {
            return None;
        }
        texts = texts.iter().flat_map(|text| parts.iter().map(move |part| format!("{text}{part}"))).collect();
        if texts.len() > MAX_TEXTS {
            return None;
        }
    }
    Some(texts)
}

/// Returns the index of the `)` that ends the group at the beginning of an expression.
fn group_end(expression: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0_u32, false);
    expression.char_indices().find_map(|(at, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn a_simple_expression_is_read_as_its_texts() {
        for (expression, expected) in [
            (r"rm\s+-rf", &["rm -rf"][..]),
            ("git (commit|push)", &["git commit", "git push"]),
            (r"\b(npm|yarn) +install\b", &["npm install", "yarn install"]),
            (r"git push.*--force", &["git push*--force"]),
            (r"\.env$", &[".env"]),
            (r"\.(pem|key)$", &[".pem", ".key"]),
            ("^sudo", &["sudo"]),
            ("dd if=|mkfs", &["dd if=", "mkfs"]),
        ] {
            assert_eq!(texts(expression).unwrap().texts, expected, "{expression}");
        }
        let anchors = |expression| texts(expression).map(|texts| (texts.is_start, texts.is_end));
        assert_eq!(
            [anchors("^a$"), anchors("a"), anchors(r"a\$")],
            [Some((true, true)), Some((false, false)), Some((false, false))]
        );
    }

    #[test]
    fn any_other_expression_is_not_read() {
        for expression in
            ["[a-z]+", "a?", r"\d", "(?i)x", "a{2}", ".*", "^", "(a", "a)", r"x\s*y", "^a|b", "", "(?=x)", "a\\"]
        {
            assert_eq!(texts(expression), None, "{expression}");
        }
        assert_eq!(texts(&"(a|b)".repeat(9)), None);
    }
}
