//! Calls with literal arguments, in the syntax of Starlark: `f(a = "x", b = ["y", ["z"]])`. Everything else is returned as its text.

/// Maximum depth of lists.
const MAX_DEPTH: usize = 8;

/// A statement outside of all blocks.
#[derive(Debug, PartialEq)]
pub(crate) struct Statement<'a> {
    /// The byte at which it begins.
    pub(crate) at: usize,
    pub(crate) text: &'a str,
    /// The call, if the statement is one and all of its arguments have names and literal values.
    pub(crate) call: Option<Call<'a>>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Vec<(&'a str, Literal)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    List(Vec<Self>),
}

impl Literal {
    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        if let Self::List(values) = self { Some(values) } else { None }
    }
}

/// Returns the statements of a file. An indented line belongs to the statement before it.
///
/// # Errors
/// Returns the byte of a bracket or a text that does not end.
pub(crate) fn statements(text: &str) -> Result<Vec<Statement<'_>>, (usize, &'static str)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut rest = Reader { text, at: 0 };
    while rest.at < text.len() {
        let start = rest.at;
        let line = text[start..].lines().next().unwrap_or_default();
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            rest.at = end_of_line(text, start);
            continue;
        }
        rest.skip_statement()?;
        match found.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => last.1 = rest.at,
            _ => found.push((start, rest.at)),
        }
    }
    let statement = |(at, end): (usize, usize)| {
        let text = text[at..end].trim_end();
        Statement { at, text, call: call(text) }
    };
    Ok(found.into_iter().map(statement).collect())
}

fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn call(text: &str) -> Option<Call<'_>> {
    let mut reader = Reader { text, at: 0 };
    let name = reader.name()?;
    reader.expect('(')?;
    let mut arguments = Vec::new();
    while reader.expect(')').is_none() {
        let key = reader.name()?;
        reader.expect('=')?;
        arguments.push((key, reader.literal(0)?));
        if reader.expect(',').is_none() {
            reader.expect(')')?;
            break;
        }
    }
    reader.skip_blank();
    (reader.at == text.len()).then_some(Call { name, arguments })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks, line ends and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at = end_of_line(self.text, self.at);
        }
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.skip_blank();
        self.rest().starts_with(wanted).then(|| self.at += wanted.len_utf8())
    }

    fn name(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        (end > 0).then_some(&rest[..end])
    }

    fn literal(&mut self, depth: usize) -> Option<Literal> {
        self.skip_blank();
        if self.rest().starts_with(['"', '\'']) {
            return self.string().map(Literal::Text);
        }
        self.expect('[').filter(|()| depth < MAX_DEPTH)?;
        let mut values = Vec::new();
        while self.expect(']').is_none() {
            values.push(self.literal(depth + 1)?);
            if self.expect(',').is_none() {
                self.expect(']')?;
                break;
            }
        }
        Some(Literal::List(values))
    }

    /// Reads a text in quotes. Returns `None` if it does not end, or if it has an escape other than those for quotes and blanks.
    fn string(&mut self) -> Option<String> {
        let end = string_end(self.rest())?;
        let quotes = quotes(self.rest());
        let inner = &self.rest()[quotes.len()..end - quotes.len()];
        self.at += end;
        let (mut text, mut characters) = (String::new(), inner.chars());
        while let Some(c) = characters.next() {
            match if c == '\\' { characters.next()? } else { c } {
                'n' if c == '\\' => text.push('\n'),
                't' if c == '\\' => text.push('\t'),
                '\n' if c == '\\' => {}
                escaped if c == '\\' && escaped.is_ascii_alphanumeric() => return None,
                other => text.push(other),
            }
        }
        Some(text)
    }

    /// Skips everything to the end of the line on which all brackets are closed.
    fn skip_statement(&mut self) -> Result<(), (usize, &'static str)> {
        let mut open: Vec<usize> = Vec::new();
        while let Some(c) = self.rest().chars().next() {
            match c {
                '"' | '\'' => match string_end(self.rest()) {
                    Some(end) => {
                        self.at += end;
                        continue;
                    }
                    None => return Err((self.at, "the text that begins here does not end")),
                },
                '#' => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                    continue;
                }
                '(' | '[' | '{' => open.push(self.at),
                ')' | ']' | '}' => {
                    open.pop();
                }
                '\n' if open.is_empty() => {
                    self.at += 1;
                    return Ok(());
                }
                _ => {}
            }
            self.at += c.len_utf8();
        }
        open.first().map_or(Ok(()), |at| Err((*at, "the bracket that begins here is not closed")))
    }
}

/// Returns the quotes at the beginning of a text: one or three.
fn quotes(text: &str) -> &str {
    let is_long = text.starts_with("\"\"\"") || text.starts_with("'''");
    &text[..if is_long { 3 } else { 1 }]
}

/// Returns the index after a text in quotes.
fn string_end(text: &str) -> Option<usize> {
    let quotes = quotes(text);
    let mut escaped = false;
    for (at, c) in text.char_indices().filter(|(at, _)| *at >= quotes.len()) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if text[at..].starts_with(quotes) {
            return Some(at + quotes.len());
        } else if c == '\n' && quotes.len() == 1 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Literal, statements};

    #[test]
    fn a_call_with_literal_arguments_is_read() {
        let text = "# rules\nf(\n  a = 'x', # one\n  b = [\"y\\\"\", [\"\"\"z\n\"\"\",]],\n)\ng()\n";
        let found = statements(text).unwrap();
        assert_eq!((found.len(), found[0].at, found[1].text), (2, 8, "g()"));
        let call = found[0].call.as_ref().unwrap();
        assert_eq!(call.name, "f");
        let one = |text: &str| Literal::Text(text.into());
        assert_eq!(call.arguments[1], ("b", Literal::List(vec![one("y\""), Literal::List(vec![one("z\n")])])));
    }

    #[test]
    fn every_other_statement_is_one_text() {
        let found = statements(
            "X = ['€']\ndef f():\n    g(a = 'b')\n\n    return 1\nf(X)\nf(a = X)\nf(a = '\\x41')\nf(a = 'é').b\n",
        )
        .unwrap();
        let texts: Vec<&str> = found.iter().map(|statement| statement.text.lines().next().unwrap()).collect();
        assert_eq!(texts, ["X = ['€']", "def f():", "f(X)", "f(a = X)", "f(a = '\\x41')", "f(a = 'é').b"]);
        assert!(found.iter().all(|statement| statement.call.is_none()));
    }

    #[test]
    fn what_does_not_end_has_a_position() {
        assert_eq!(statements("f(\n g(\n").unwrap_err().0, 1);
        assert_eq!(statements("a = 'x\n").unwrap_err(), (4, "the text that begins here does not end"));
        let deep = format!("f(a = {}{})", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(statements(&deep).unwrap()[0].call, None);
    }
}
