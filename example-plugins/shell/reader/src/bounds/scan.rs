//! The pass over a text that counts the parser's work. It also finds constructs that the parser would read differently from a shell.

use super::{
    MAX_COMPOUNDS, MAX_DEPTH, MAX_INDICES, MAX_INNER_INDICES, MAX_SUBSHELLS, MAX_UNCLOSED_INDICES, MAX_WORDS, NESTING,
    OPENING, WORDS_OF_A_COMMAND, WORDS_OF_A_SUBSTITUTION, at_most,
};

/// A construct that is open at the current position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenConstruct {
    /// `$(`
    Round,
    /// `(`
    Subshell,
    Curly,
    /// `${`
    Name,
    /// `[` within `${`
    Index,
    Quote,
    /// The body of a here-document, which behaves like a quote without an end.
    Document,
    Backtick,
}

pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) open: Vec<OpenConstruct>,
    subshells: usize,
    /// The number of indices that are open, and the number of nested indices so far.
    indices: usize,
    inner_indices: usize,
    unclosed_indices: usize,
    words: usize,
    compounds: usize,
    /// The here-documents whose bodies begin after the current line.
    documents: Vec<Document>,
    /// Number of here-documents whose bodies had not begun yet when the open backquote began.
    outside: usize,
    /// The nesting depth at a `<(`, `a=(` or `@(` that follows a here-document on the same line.
    part_depth: Option<usize>,
    /// Bytes of the bodies of here-documents, which are skipped.
    pub(super) skipped: usize,
    arithmetic: Option<Arithmetic>,
    /// True if the parser and the shell may disagree whether the following text is arithmetic.
    is_lost: bool,
    /// The reason why the parser would read the text differently from the shell.
    pub(super) refused: Option<&'static str>,
}

/// A here-document whose body begins at the end of the line.
struct Document {
    delimiter: Vec<u8>,
    /// True if the delimiter is quoted. The shell then expands nothing in the body.
    is_quoted: bool,
    /// True for `<<-`: tabs may precede the delimiter.
    strips_tabs: bool,
}

/// An open `$((…))` or `((…))`.
struct Arithmetic {
    /// Number of constructs that were open when the arithmetic began.
    depth: usize,
    /// True for `$((…))`.
    is_value: bool,
    /// True if another construct was opened within the arithmetic. After that, the parser no longer knows that it is in arithmetic.
    is_nested: bool,
    /// True if a `<<` within the arithmetic was read as a shift.
    has_shift: bool,
}

/// If a here-document begins on the line of a substitution, the parser makes one of two mistakes. It loses the words of the substitution,
/// or it adds the words after the substitution to the substitution.
const DOCUMENT: &str = "a here-document begins on the line of a substitution after or around it";
const DELIMITER: &str = "a here-document has a delimiter that cannot be told";
const PATTERN: &str = "a bracket after one of `!@?+*` may be a pattern";
const QUOTE: &str = "a quote may be a character here";
const PROCESS: &str = "a process substitution in `${…}`";
pub(crate) const CONTINUED: &str = "a line that continues in the next one ends a word";
const BRACKETS: &str = "it nests too much to be read";
const COMMENT: &str = "`#` may be a character here";
/// The parser reads `<<` as arithmetic if arithmetic is the construct that was opened last and is still open, at any nesting.
const SHIFT: &str = "`<<` may be arithmetic here";

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            open: Vec::new(),
            subshells: 0,
            indices: 0,
            inner_indices: 0,
            unclosed_indices: 0,
            words: 0,
            compounds: 0,
            documents: Vec::new(),
            outside: 0,
            part_depth: None,
            skipped: 0,
            arithmetic: None,
            is_lost: false,
            refused: None,
        }
    }

    /// Scans the whole text.
    pub(super) fn check(&mut self) -> Result<(), String> {
        while self.at < self.bytes.len() {
            self.step();
            if let Some(why) = self.refused {
                return Err(why.into());
            }
            if self.open.len() > MAX_DEPTH
                || self.subshells > MAX_SUBSHELLS
                || self.indices > MAX_INDICES
                || self.unclosed_indices > MAX_UNCLOSED_INDICES
                || self.inner_indices > MAX_INNER_INDICES
                || self.words > MAX_WORDS
                || self.compounds > MAX_COMPOUNDS
            {
                return self.too_much();
            }
        }
        Ok(())
    }

    /// Returns the error that names the exceeded bound.
    fn too_much(&self) -> Result<(), String> {
        at_most(self.open.len(), MAX_DEPTH, NESTING)?;
        at_most(self.subshells, MAX_SUBSHELLS, "levels of subshells")?;
        at_most(self.indices, MAX_INDICES, "levels of indices")?;
        at_most(self.unclosed_indices, MAX_UNCLOSED_INDICES, "indices that are not closed")?;
        at_most(self.inner_indices, MAX_INNER_INDICES, "indices in others")?;
        at_most(self.words, MAX_WORDS, "words and operators")?;
        at_most(self.compounds, MAX_COMPOUNDS, "compound commands")
    }

    pub(super) fn step(&mut self) {
        let byte = self.bytes[self.at];
        let quoted = matches!(self.open.last(), Some(OpenConstruct::Quote | OpenConstruct::Document));
        match byte {
            b'\\' => self.at += 1,
            b'"' if quoted => self.close(OpenConstruct::Quote),
            b'"' => self.open.push(OpenConstruct::Quote),
            b'`' if self.open.contains(&OpenConstruct::Backtick) => {
                if self.documents.len() > self.outside {
                    self.refused = Some(DOCUMENT);
                }
                self.close(OpenConstruct::Backtick);
            }
            b'`' => {
                self.words += WORDS_OF_A_SUBSTITUTION;
                self.outside = self.documents.len();
                self.open.push(OpenConstruct::Backtick);
            }
            b'$' if self.bytes[self.at..].starts_with(b"$\\\n") => self.refused = Some(CONTINUED),
            b'$' if !quoted && self.next() == Some(b'\'') && !self.is_in_arithmetic() && !self.may_be_no_quote() => {
                self.skip_escaped();
            }
            b'$' if self.next() == Some(b'(') => {
                self.words += WORDS_OF_A_SUBSTITUTION;
                self.at += 1;
                self.opens();
                if self.next() == Some(b'(') && self.arithmetic.is_none() {
                    self.begin_arithmetic(true);
                }
                self.open.push(OpenConstruct::Round);
            }
            b'$' if self.next() == Some(b'{') => {
                self.at += 1;
                self.opens();
                self.open.push(OpenConstruct::Name);
            }
            // This is `$[…]`, the old form of arithmetic. The parser ends it at the first bracket.
            b'$' if self.next() == Some(b'[') => {
                self.opens();
                self.is_lost = true;
            }
            b'[' if self.in_name() => {
                self.inner_indices += usize::from(self.indices > 0);
                self.indices += 1;
                self.open.push(OpenConstruct::Index);
            }
            b']' if self.open.last() == Some(&OpenConstruct::Index) => self.close_index(),
            b'}' => {
                while self.open.last() == Some(&OpenConstruct::Index) {
                    self.unclosed_indices += 1;
                    self.close_index();
                }
                let what = if self.open.last() == Some(&OpenConstruct::Name) {
                    OpenConstruct::Name
                } else {
                    OpenConstruct::Curly
                };
                if what == OpenConstruct::Name && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                self.close(what);
            }
            _ if quoted => {}
            b'\'' if self.is_in_arithmetic() || self.may_be_no_quote() => self.refused = Some(QUOTE),
            b'\'' => self.skip_to(b'\''),
            b'(' => {
                // `${x:-<(a)}` runs `a`, but the parser takes it for text.
                if self.in_name() && self.at > 0 && matches!(self.bytes[self.at - 1], b'<' | b'>') {
                    self.refused = Some(PROCESS);
                }
                self.pattern();
                let is_in_round = self.open.contains(&OpenConstruct::Round);
                if is_in_round && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                if self.next() == Some(b'(') && (self.at == 0 || self.bytes[self.at - 1] != b'$') {
                    match &mut self.arithmetic {
                        Some(arithmetic) => arithmetic.is_nested = true,
                        // Within a substitution, the parser never finds the end of arithmetic that begins here.
                        None if is_in_round => self.is_lost = true,
                        None => self.begin_arithmetic(false),
                    }
                }
                let is_part = self.at > 0 && b"<>@!?+*=".contains(&self.bytes[self.at - 1]);
                if is_part && !self.documents.is_empty() {
                    self.part_depth.get_or_insert(self.open.len());
                }
                self.subshells += 1;
                self.open.push(OpenConstruct::Subshell);
            }
            b')' => {
                if self.open.contains(&OpenConstruct::Round) && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                if self.open.last() == Some(&OpenConstruct::Subshell) {
                    self.subshells -= 1;
                    self.close(OpenConstruct::Subshell);
                } else {
                    self.close(OpenConstruct::Round);
                }
                self.end_arithmetic();
            }
            b'{' => self.open.push(OpenConstruct::Curly),
            b'#' if self.has_comments() => self.hash(),
            b'<' if self.next() == Some(b'<') => self.document(),
            b'\n' => {
                self.words += WORDS_OF_A_COMMAND;
                let is_within = self.part_depth.take().is_some_and(|depth| self.open.len() > depth);
                if is_within || (self.outside > 0 && self.open.contains(&OpenConstruct::Backtick)) {
                    self.refused = Some(DOCUMENT);
                }
                self.skip_documents();
            }
            b';' => self.words += WORDS_OF_A_COMMAND,
            // Each of these characters counts as half the end of a command, because they mostly come in pairs.
            b'&' | b'|' => self.words += WORDS_OF_A_COMMAND / 2,
            b' ' | b'\t' | b'>' | b'<' => self.words += 1,
            byte if byte.is_ascii_alphabetic() || byte == b'[' || byte == b'!' => self.word(),
            _ => {}
        }
        self.at += 1;
    }

    /// Handles the bracket of `@(…)` and `!(…)`. The parser reads both as patterns, but a shell without `extglob` reads `!(…)` as a list of
    /// commands. The parser also ignores quotes when it searches for the end of a pattern, even in arithmetic.
    fn pattern(&mut self) {
        let before = self.at.checked_sub(1).map(|at| self.bytes[at]);
        if !matches!(before, Some(b'@' | b'!' | b'?' | b'+' | b'*')) {
            return;
        }
        let is_value = self.arithmetic.is_some();
        let more: &[u8] = if is_value { b"'\"`\\#{" } else { b"'\"`\\#$<" };
        let (mut depth, mut rest) = (0_usize, self.bytes[self.at..].iter());
        let has_more = loop {
            match rest.next() {
                Some(b'(') => depth += 1,
                Some(b')') if depth == 1 => break false,
                Some(b')') => depth -= 1,
                Some(byte) if more.contains(byte) => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if (before == Some(b'!') && !is_value) || has_more {
            self.refused = Some(PATTERN);
        }
    }

    /// Returns true if `#` may begin a comment here. In `${…}` it is an ordinary character.
    fn has_comments(&self) -> bool {
        !matches!(
            self.open.iter().rfind(|open| **open != OpenConstruct::Curly),
            Some(OpenConstruct::Name | OpenConstruct::Index)
        )
    }

    /// Handles a `#`. After a bracket or a backquote of the same word it is an ordinary character.
    fn hash(&mut self) {
        match self.before() {
            Some(b')' | b'`') => self.refused = Some(COMMENT),
            _ if self.begins_word() => self.comment(),
            _ => {}
        }
    }

    /// Skips a comment. Refuses a comment that the parser may read as words. Also refuses each `#` in arithmetic, because `#` is an
    /// ordinary character there.
    fn comment(&mut self) {
        let from = self.at;
        let ends: &[u8] = if self.open.contains(&OpenConstruct::Backtick) { b"\n`" } else { b"\n" };
        let rest = &self.bytes[from..];
        let text = &rest[..rest.iter().position(|byte| ends.contains(byte)).unwrap_or(rest.len())];
        let is_known =
            match self.open.iter().rfind(|open| !matches!(open, OpenConstruct::Curly | OpenConstruct::Subshell)) {
                None | Some(OpenConstruct::Backtick) => true,
                Some(OpenConstruct::Round) => {
                    (self.is_comment_to_parser() && !self.is_document())
                        || !text.iter().any(|byte| b"'\"`\\$()<".contains(byte))
                }
                Some(_) => false,
            };
        if !is_known || self.arithmetic.is_some() || self.is_lost {
            self.refused = Some(COMMENT);
        }
        self.at += text.len() - 1;
    }

    /// Returns true if the scan is in the body of a here-document. The parser knows neither comments nor nested here-documents there.
    fn is_document(&self) -> bool {
        self.open.first() == Some(&OpenConstruct::Document)
    }

    /// Returns true if, in a substitution, the parser takes this `#` for the start of a comment, too. For the parser, the blanks before the
    /// `#` alternately end and begin a word.
    fn is_comment_to_parser(&self) -> bool {
        let before = &self.bytes[..self.at];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match &before[..before.len() - blanks] {
            // The `)` may end a subshell or a substitution, or may be an ordinary character.
            [.., b')' | b'\\'] | [.., b'\\', _] => false,
            [.., b'\n' | b';' | b'&' | b'|' | b'('] => blanks.is_multiple_of(2),
            _ => !blanks.is_multiple_of(2),
        }
    }

    /// Handles the start of a substitution.
    fn opens(&mut self) {
        if !self.documents.is_empty() {
            self.refused = Some(DOCUMENT);
        }
        if let Some(arithmetic) = &mut self.arithmetic {
            arithmetic.is_nested = true;
        }
    }

    /// Returns true if the scan is directly in arithmetic, not in a substitution within the arithmetic.
    fn is_in_arithmetic(&self) -> bool {
        self.arithmetic.as_ref().is_some_and(|arithmetic| {
            self.open[arithmetic.depth + 1..]
                .iter()
                .all(|open| matches!(open, OpenConstruct::Subshell | OpenConstruct::Curly))
        })
    }

    /// Returns true if the shell may read a `'` here as an ordinary character, while the parser reads it as a quote. This can happen in
    /// `"${x:-'…'}"`, in an index, after `$[` and in backquotes. The difference does not matter if the text up to the next `'` can neither
    /// run a command nor close a construct. In that case, the function returns false.
    fn may_be_no_quote(&self) -> bool {
        let outer = self
            .open
            .iter()
            .rfind(|open| !matches!(open, OpenConstruct::Name | OpenConstruct::Index | OpenConstruct::Curly));
        let ends: &[u8] = match (outer, self.open.last()) {
            (Some(OpenConstruct::Quote | OpenConstruct::Document), _) | (_, Some(OpenConstruct::Index)) => b"$`}\"",
            _ if self.is_lost => b"$`}\"",
            _ if self.open.contains(&OpenConstruct::Backtick) => b"`",
            _ => return false,
        };
        let begin = self.at + 1 + usize::from(self.bytes[self.at] == b'$');
        let rest = self.bytes.get(begin..).unwrap_or_default();
        rest.iter().take_while(|byte| **byte != b'\'').any(|byte| ends.contains(byte))
    }

    fn begin_arithmetic(&mut self, is_value: bool) {
        self.arithmetic = Some(Arithmetic { depth: self.open.len(), is_value, is_nested: false, has_shift: false });
    }

    /// Updates the arithmetic after a closing bracket. `((a); b)` consists of two subshells, but the parser still takes it for arithmetic.
    fn end_arithmetic(&mut self) {
        let next = self.next();
        let Some(arithmetic) = &mut self.arithmetic else { return };
        if self.open.len() == arithmetic.depth + 1 && next != Some(b')') {
            if arithmetic.has_shift {
                self.refused = Some(SHIFT);
            }
            arithmetic.is_nested = true;
            self.is_lost |= !arithmetic.is_value;
        }
        if self.open.len() <= arithmetic.depth {
            self.arithmetic = None;
        }
    }

    /// Skips to the end of `$'…'`, in which a backslash escapes the quote.
    fn skip_escaped(&mut self) {
        self.at += 2;
        while let Some(byte) = self.bytes.get(self.at)
            && *byte != b'\''
        {
            self.at += if *byte == b'\\' { 2 } else { 1 };
        }
    }

    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at + 1).copied()
    }

    /// Returns true if the scan is directly in `${`, or in an index in it.
    fn in_name(&self) -> bool {
        matches!(self.open.last(), Some(OpenConstruct::Name | OpenConstruct::Index))
    }

    fn close_index(&mut self) {
        self.indices -= 1;
        self.close(OpenConstruct::Index);
    }

    fn close(&mut self, what: OpenConstruct) {
        if self.open.last() == Some(&what) {
            self.open.pop();
        }
    }

    /// Skips to the next `byte`, or to the end.
    fn skip_to(&mut self, byte: u8) {
        let from = (self.at + 1).min(self.bytes.len());
        let length = self.bytes[from..].iter().position(|b| *b == byte).unwrap_or(self.bytes.len() - from);
        self.at = from + length;
    }

    fn begins_word(&self) -> bool {
        self.before().is_none_or(|byte| b" \t\n;&|()`".contains(&byte))
    }

    /// Returns the previous byte. Escaped line ends are skipped. Any other escaped byte is returned as a letter.
    fn before(&self) -> Option<u8> {
        let mut before = &self.bytes[..self.at];
        loop {
            let (last, rest) = before.split_last()?;
            let is_escaped = rest.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
            match (is_escaped, last) {
                (true, b'\n') => before = &rest[..rest.len() - 1],
                (true, _) => return Some(b'a'),
                (false, last) => return Some(*last),
            }
        }
    }

    /// Skips a word of letters. If the word opens a compound command, it is counted.
    fn word(&mut self) {
        let begins = self.begins_word() || b"{`!".contains(&self.bytes[self.at - 1]);
        let rest = &self.bytes[self.at..];
        let is_name = self.in_name();
        let length = rest.iter().position(|b| !b.is_ascii_alphabetic() && (is_name || (*b != b'[' && *b != b'!')));
        let word = &rest[..length.unwrap_or(rest.len())];
        if begins && OPENING.iter().any(|opening| opening.as_bytes() == word) {
            self.compounds += 1;
        }
        self.at += word.len().max(1) - 1;
    }

    /// Handles `<<WORD` and `<<-WORD`, but not `<<<`.
    fn document(&mut self) {
        self.words += 1;
        self.at += 1;
        if self.next() == Some(b'<') {
            self.at += 1;
            return;
        }
        let is_document = self.is_document();
        match &mut self.arithmetic {
            _ if self.is_lost || self.open.contains(&OpenConstruct::Name) => self.refused = Some(SHIFT),
            Some(arithmetic) if arithmetic.is_nested => self.refused = Some(SHIFT),
            Some(arithmetic) => {
                arithmetic.has_shift = true;
                return;
            }
            None if is_document => self.refused = Some(DOCUMENT),
            None => {}
        }
        let strips_tabs = self.next() == Some(b'-');
        self.at += usize::from(strips_tabs);
        let blanks = self.bytes[self.at + 1..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        self.at += blanks;
        let begin = self.at + 1;
        let delimiter = self.delimiter();
        let is_quoted =
            self.bytes.get(begin..=self.at).is_some_and(|word| word.iter().any(|byte| b"'\"\\".contains(byte)));
        // If several blanks precede the delimiter in a substitution, the parser takes one of the blanks for the delimiter. If the delimiter
        // is empty, the parser never stops.
        let is_misread = blanks > 1 && self.open.contains(&OpenConstruct::Round);
        match delimiter.filter(|delimiter| !delimiter.is_empty() && !is_misread) {
            Some(delimiter) => self.documents.push(Document { delimiter, is_quoted, strips_tabs }),
            None => self.refused = Some(DELIMITER),
        }
    }

    /// Moves to the end of a here-document's delimiter, and returns the delimiter without quotes. Returns `None` if the delimiter contains
    /// a substitution, which the shell does not expand there.
    fn delimiter(&mut self) -> Option<Vec<u8>> {
        let (mut delimiter, mut quote) = (Vec::new(), None);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' if quote.is_some() => return None,
                byte if quote == Some(byte) => quote = None,
                b'\'' | b'"' if quote.is_none() => quote = Some(byte),
                b'`' | b'$' if quote != Some(b'\'') => return None,
                b'\\' if quote != Some(b'\'') => {
                    self.at += 1;
                    delimiter.push(self.next().filter(|byte| *byte != b'\n')?);
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' if quote.is_none() => break,
                byte => delimiter.push(byte),
            }
            self.at += 1;
        }
        quote.is_none().then_some(delimiter)
    }

    /// Skips the bodies of the here-documents that begin here.
    fn skip_documents(&mut self) {
        for Document { delimiter, is_quoted, strips_tabs } in std::mem::take(&mut self.documents) {
            let is_word = self.open.contains(&OpenConstruct::Round) && self.open.contains(&OpenConstruct::Quote);
            let mut brackets = 0_usize;
            let mut is_continued = false;
            while self.at < self.bytes.len() {
                let from = self.at + 1;
                let line = self.bytes.get(from..).unwrap_or_default();
                let line = &line[..line.iter().position(|b| *b == b'\n').unwrap_or(line.len())];
                self.at = from + line.len();
                self.skipped += line.len();
                // A backquote ends the substitution and the here-document.
                if line.contains(&b'`') && self.open.contains(&OpenConstruct::Backtick) {
                    self.refused = Some(DOCUMENT);
                }
                for byte in line.iter().filter(|_| is_word) {
                    match byte {
                        b'(' => brackets += 1,
                        b')' => brackets = brackets.saturating_sub(1),
                        _ => {}
                    }
                    if brackets > MAX_SUBSHELLS {
                        self.refused = Some(BRACKETS);
                    }
                }
                let tabs = if strips_tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
                let line = &line[tabs..];
                // The shell joins this line with the next line, but the parser does not. So the shell and the parser may disagree whether
                // the next line is the delimiter.
                let begin = if is_quoted { None } else { line.strip_suffix(b"\\") };
                if begin.is_some_and(|begin| delimiter.starts_with(begin)) || (is_continued && *line == *delimiter) {
                    self.refused = Some(CONTINUED);
                }
                is_continued = begin.is_some();
                if *line == *delimiter {
                    break;
                }
            }
        }
    }
}
