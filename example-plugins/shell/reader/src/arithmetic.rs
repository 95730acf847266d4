//! Recognises arithmetic between `((` and `))` by its form. The text is read only once.

/// Returns true if `text` is an expression and not a list of commands. In an expression, values and operators alternate, and each bracket
/// is closed.
pub(super) fn is_expression(text: &str) -> bool {
    let mut chars = text.chars().filter(|c| !matches!(c, '$' | '{' | '}' | '"')).peekable();
    let mut open = Vec::new();
    let mut has_value = false;
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            c if c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '.' | '\u{1A}') => {
                if has_value {
                    return false;
                }
                while chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '@' | '.' | '\u{1A}')).is_some()
                {
                }
                has_value = true;
            }
            '(' | '[' => {
                if has_value != (c == '[') {
                    return false;
                }
                open.push(c);
                has_value = false;
            }
            ')' | ']' => {
                if !has_value || open.pop() != Some(if c == ')' { '(' } else { '[' }) {
                    return false;
                }
            }
            // The operators `++` and `--` may come before or after a value.
            '+' | '-' if chars.peek() == Some(&c) => {
                chars.next();
            }
            '!' | '~' | '+' | '-' if !has_value => {}
            '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '?' | ':' | ',' if has_value => {
                while chars.next_if(|c| matches!(c, '<' | '>' | '=' | '&' | '|' | '*')).is_some() {}
                has_value = false;
            }
            _ => return false,
        }
    }
    has_value && open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_expression;

    #[test]
    fn expressions_are_told_from_commands() {
        for text in [
            "1 + 2",
            "i++",
            "--i",
            "x = y << 2",
            "($x + 1) * 2",
            "a ? b : c",
            "a[1] + b[$i]",
            "16#ff",
            "-x",
            "!(a && b)",
            "x **= 2",
            "a, b",
            "${#x} > 3",
            "i = i + 1",
            "x & 3",
            "$# - 1",
        ] {
            assert!(is_expression(text), "{text}");
        }
        for text in ["rm -rf /", "reboot now", "a; b", "(a", "a)", "x +", "a b", "ls | sh x", "echo 'a'", ""] {
            assert!(!is_expression(text), "{text}");
        }
    }
}
