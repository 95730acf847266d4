//! A command line as words and operators, the way a POSIX shell splits it. PowerShell and cmd differ in what escapes.

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Word(Word),
    /// `>`, `>>`, `>|`, `&>`, `<>` and the like: the next word is written to.
    Into,
    /// `<`, `<<`, `<<<`: the next word is read.
    From,
    /// What ends a simple command: `;`, `&&`, `||`, `|`, `&`, parentheses and line ends.
    End,
    /// The text within `$(…)`, backticks, `<(…)`, or of a here-document: a command of its own, or the input of one.
    Nested(String),
}

/// A word after quotes are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether a wildcard stands in it outside quotes.
    pub(super) wild: bool,
}

/// How a shell escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// `\`; backticks hold a command.
    Posix,
    /// The backtick, or `^`; `\` separates folders.
    Windows,
}

struct Reader<'a> {
    /// What is not read yet.
    rest: &'a str,
    escape: Escape,
    pieces: Vec<Piece>,
    word: Option<Word>,
    /// The words that end the here-documents whose bodies begin on the next line.
    documents: Vec<String>,
    document_follows: bool,
}

/// Splits a command line. Every text splits somehow: an open quote ends with the text.
pub(super) fn split(command: &str, escape: Escape) -> Vec<Piece> {
    let mut reader = Reader {
        rest: command,
        escape,
        pieces: Vec::new(),
        word: None,
        documents: Vec::new(),
        document_follows: false,
    };
    while let Some(c) = reader.next() {
        reader.read(c);
    }
    reader.end_word();
    reader.pieces
}

impl<'a> Reader<'a> {
    fn read(&mut self, c: char) {
        match c {
            '\\' if self.escape == Escape::Posix => match self.next() {
                Some('\n') | None => {}
                Some(c) => self.push(c),
            },
            '`' | '^' if self.escape == Escape::Windows => {
                if let Some(c) = self.next() {
                    self.push(c);
                }
            }
            '\'' => {
                self.open();
                let quoted = self.until('\'');
                self.push_text(quoted);
            }
            '"' => self.double_quoted(),
            '`' => {
                let inner = self.until('`').to_owned();
                self.nested(inner);
            }
            '$' if self.skip('(') => {
                let inner = self.parenthesised();
                self.nested(inner);
            }
            '$' if self.rest.starts_with('\'') => {}
            '#' if self.word.is_none() => self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..],
            '\n' => {
                self.end_word();
                self.pieces.push(Piece::End);
                self.here_documents();
            }
            ' ' | '\t' | '\r' => self.end_word(),
            ';' | '|' | '(' | ')' => self.end(),
            '&' => {
                if self.skip('>') {
                    self.end_word();
                    self.redirect_out();
                } else {
                    self.end();
                }
            }
            '>' => {
                // `2>` : the number is no word.
                if self.word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
                    self.word = None;
                }
                self.end_word();
                self.redirect_out();
            }
            '<' => {
                self.end_word();
                self.redirect_in();
            }
            '*' | '?' | '[' => {
                self.push(c);
                if let Some(word) = &mut self.word {
                    word.wild = true;
                }
            }
            c => {
                self.push(c);
                self.plain();
            }
        }
    }

    /// Letters and the like, which mean themselves everywhere, are taken together.
    fn plain(&mut self) {
        let is_special = |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '-' | '_' | ',' | ':');
        let (plain, rest) = self.rest.split_at(self.rest.find(is_special).unwrap_or(self.rest.len()));
        self.rest = rest;
        self.push_text(plain);
    }

    fn double_quoted(&mut self) {
        self.open();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' if self.escape == Escape::Posix => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some('\n') | None => {}
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '`' if self.escape == Escape::Windows => {
                    if let Some(c) = self.next() {
                        self.push(c);
                    }
                }
                '`' => {
                    let inner = self.until('`').to_owned();
                    self.nested(inner);
                }
                '$' if self.skip('(') => {
                    let inner = self.parenthesised();
                    self.nested(inner);
                }
                c => {
                    self.push(c);
                    self.plain();
                }
            }
        }
    }

    fn redirect_out(&mut self) {
        self.rest = self.rest.trim_start_matches(['>', '|']);
        if self.skip('&') {
            // `2>&1` duplicates, `>&file` writes.
            if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                self.pieces.push(Piece::From);
                return;
            }
        }
        if self.skip('(') {
            let inner = self.parenthesised();
            self.pieces.push(Piece::Nested(inner));
            return;
        }
        self.pieces.push(Piece::Into);
    }

    fn redirect_in(&mut self) {
        if self.skip('(') {
            let inner = self.parenthesised();
            self.pieces.push(Piece::Nested(inner));
        } else if self.skip('>') {
            self.pieces.push(Piece::Into);
        } else {
            if self.skip('<') {
                let text = self.skip('<');
                self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
                self.document_follows = !text;
            }
            self.pieces.push(Piece::From);
        }
    }

    /// The bodies of the here-documents that the line before has announced.
    fn here_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line = self.until('\n');
                if line.trim() == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            self.pieces.push(Piece::Nested(body));
            self.pieces.push(Piece::End);
        }
    }

    /// Up to `end`, which is skipped.
    fn until(&mut self, end: char) -> &'a str {
        let (text, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    fn next(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let c = rest.next();
        self.rest = rest.as_str();
        c
    }

    fn skip(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to the parenthesis that closes, quotes and inner ones observed.
    fn parenthesised(&mut self) -> String {
        let (mut text, mut depth, mut quote) = (String::new(), 1_u32, None);
        while let Some(c) = self.next() {
            match (c, quote) {
                ('\\', None | Some('"')) if self.escape == Escape::Posix => {
                    text.push(c);
                    text.extend(self.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(c);
        }
        text
    }

    /// What a nested command prints becomes part of the word, and is not known.
    fn nested(&mut self, inner: String) {
        self.open();
        self.pieces.push(Piece::Nested(inner));
        self.push('$');
    }

    fn open(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push_text(&mut self, text: &str) {
        self.word.get_or_insert_default().text.push_str(text);
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            if std::mem::take(&mut self.document_follows) {
                self.documents.push(word.text.clone());
            }
            self.pieces.push(Piece::Word(word));
        }
    }

    fn end(&mut self) {
        self.end_word();
        self.pieces.push(Piece::End);
    }
}

#[cfg(test)]
mod tests {
    use super::{Escape, Piece, split};

    fn texts(command: &str) -> Vec<String> {
        let text = |piece| match piece {
            Piece::Word(word) => word.text,
            Piece::Into => ">".into(),
            Piece::From => "<".into(),
            Piece::End => ";".into(),
            Piece::Nested(inner) => format!("({inner})"),
        };
        split(command, Escape::Posix).into_iter().map(text).collect()
    }

    #[test]
    fn quotes_and_escapes_are_gone_from_words() {
        assert_eq!(texts(r#"rm 'a b' "c d" e\ f in"fr"'a'/x # no"#), ["rm", "a b", "c d", "e f", "infra/x"]);
        assert_eq!(texts("echo \"a\\\"b\\c\" $'x'"), ["echo", "a\"b\\c", "x"]);
    }

    #[test]
    fn operators_split_commands_and_redirections_are_told_apart() {
        assert_eq!(texts("a>b 2>>c;d&&e|f"), ["a", ">", "b", ">", "c", ";", "d", ";", ";", "e", ";", "f"]);
        assert_eq!(texts("a 2>&1 &>b >|c <d <>e"), ["a", "<", "1", ">", "b", ">", "c", "<", "d", ">", "e"]);
    }

    #[test]
    fn nested_commands_are_texts_of_their_own() {
        assert_eq!(texts("a $(b \"c)\" (d)) `e`"), ["a", "(b \"c)\" (d))", "$", "(e)", "$"]);
        assert_eq!(texts("cat <<'X' >f\nbody\nX\nrm g"), ["cat", "<", "X", ">", "f", ";", "(body\n)", ";", "rm", "g"]);
    }

    #[test]
    fn an_open_quote_ends_with_the_text() {
        assert_eq!(texts("rm 'infra/x"), ["rm", "infra/x"]);
        assert_eq!(texts("rm $(cat"), ["rm", "(cat)", "$"]);
        assert_eq!(texts("a\\"), ["a"]);
    }
}
