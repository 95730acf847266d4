//! Rewrites spellings that shells accept but the parser does not accept. The new spelling means the same, and both the shells and the
//! parser accept it.

/// The current part of a `case`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// Before `in`.
    Head,
    /// Before a pattern or `esac`.
    Before,
    Pattern,
    Body,
}

/// Returns `text` with two changes, or `None` if nothing changes. The function adds a `(` before each pattern of a `case`, because the parser
/// needs this bracket inside `$(…)`. It also adds a space in the `;;` of `for ((;;))`.
pub(super) fn repaired(text: &str) -> Option<String> {
    if !text.contains("case ") && !text.contains(";;") {
        return None;
    }
    let mut made = String::with_capacity(text.len() + 8);
    let (mut cases, mut quote, mut arithmetic) = (Vec::new(), None, 0_usize);
    // For each open substitution, the quote around the substitution and the number of open brackets in it.
    let mut outer: Vec<(Option<char>, usize)> = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (_, '$') if rest.starts_with("$(") && !rest.starts_with("$((") => {
                outer.push((quote.take(), 0));
                length = 2;
            }
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                if cases.last() == Some(&Case::Before) {
                    opened(&mut made, &mut cases);
                }
                quote = Some(c);
            }
            (_, '(') if rest.starts_with("((") && before != '$' && cases.is_empty() => {
                (arithmetic, length) = (arithmetic + 1, 2);
            }
            (_, ')') if arithmetic > 0 && rest.starts_with("))") => (arithmetic, length) = (arithmetic - 1, 2),
            (_, ';') if arithmetic > 0 && rest.starts_with(";;") => {
                made.push_str("; ");
                rest = &rest[1..];
                continue;
            }
            (_, c) if c.is_ascii_alphabetic() && !is_of_word(before) => {
                length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                match (&rest[..length], cases.last().copied()) {
                    ("case", None | Some(Case::Body)) => cases.push(Case::Head),
                    ("in", Some(Case::Head)) => set(&mut cases, Case::Before),
                    ("esac", Some(Case::Before | Case::Body)) => drop(cases.pop()),
                    (_, Some(Case::Before)) => opened(&mut made, &mut cases),
                    _ => {}
                }
            }
            (_, '(') if cases.last() == Some(&Case::Before) => set(&mut cases, Case::Pattern),
            (_, ')') if cases.last() == Some(&Case::Pattern) => set(&mut cases, Case::Body),
            (_, ';') if cases.last() == Some(&Case::Body) && (rest.starts_with(";;") || rest.starts_with(";&")) => {
                length = if rest.starts_with(";;&") { 3 } else { 2 };
                set(&mut cases, Case::Before);
            }
            (_, c) if cases.last() == Some(&Case::Before) && !c.is_whitespace() => opened(&mut made, &mut cases),
            (_, '(') => {
                if let Some((_, open)) = outer.last_mut() {
                    *open += 1;
                }
            }
            (_, ')') => match outer.last_mut() {
                Some((_, open)) if *open > 0 => *open -= 1,
                Some((before, _)) => {
                    quote = *before;
                    outer.pop();
                }
                None => {}
            },
            _ => {}
        }
        made.push_str(&rest[..length]);
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    (made != text).then_some(made)
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$')
}

fn set(cases: &mut [Case], case: Case) {
    if let Some(last) = cases.last_mut() {
        *last = case;
    }
}

fn opened(made: &mut String, cases: &mut [Case]) {
    made.push('(');
    set(cases, Case::Pattern);
}

#[cfg(test)]
mod tests {
    use super::repaired;

    #[test]
    fn patterns_get_a_bracket_and_loops_a_blank() {
        for (text, expected) in [
            ("x=$(case $a in x) b;; *) c;; esac)", "x=$(case $a in (x) b;; (*) c;; esac)"),
            ("$(case a in\n  x|y)\n b\n ;;\nesac)", "$(case a in\n  (x|y)\n b\n ;;\nesac)"),
            ("$(case a in x) case b in y) c;; esac;; esac)", "$(case a in (x) case b in (y) c;; esac;; esac)"),
            ("\"$(case a in 'x') b;; esac)\"", "\"$(case a in ('x') b;; esac)\""),
            ("for ((;;)); do a; done", "for ((; ;)); do a; done"),
            ("for ((i=0;;)); do a; done", "for ((i=0; ;)); do a; done"),
        ] {
            assert_eq!(repaired(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["ls", "echo 'case x in y) ;;'", "case a in (x) b;; esac", "echo case"] {
            assert_eq!(repaired(text), None, "{text}");
        }
    }
}
