//! Bounds on the texts that are parsed. The parser recurses once per nesting level and takes microseconds per word, so a single pass
//! without recursion counts both first.

/// Maximum length of a command, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Maximum length without here-documents, in bytes. The parser is slow at each character of other text.
const MAX_TEXT: usize = 32 * 1024;
/// Maximum number of words and operators, without here-documents.
const MAX_WORDS: usize = 3000;
/// Maximum nesting of brackets, quotes and substitutions.
const MAX_DEPTH: usize = 24;
/// Maximum nesting of subshells, and of brackets in a here-document that is part of a quoted substitution. The parser tries several readings
/// of the content of each.
const MAX_SUBSHELLS: usize = 8;
/// Maximum nesting of indices, `${a[${b[1]}]}`. Each may be an assignment, so the parser reads it twice.
const MAX_INDICES: usize = 2;
/// Maximum number of indices inside others.
const MAX_INNER_INDICES: usize = 16;
/// Maximum number of indices that a `}` closes. The parser takes that `}` for part of an index that is still open.
const MAX_UNCLOSED_INDICES: usize = 2;
/// Maximum number of round brackets that are open at a position, in any quotes and in here-documents, if a substitution and a here-document
/// are in the text. The parser takes such a document for part of a word, and tries several readings of each bracket in it.
const MAX_OPEN_BRACKETS: usize = 10;
/// Number of words that a substitution counts as, by the work of reading it.
const WORDS_OF_A_SUBSTITUTION: usize = 5;
/// Number of words that the end of a command counts as, because the rules check each command.
const WORDS_OF_A_COMMAND: usize = 4;
/// Maximum number of words that open a compound command, in any position.
const MAX_COMPOUNDS: usize = 64;
/// Maximum work for one text. Loops, calls of functions and nested texts count each time; a parsed or substituted byte is one unit. A text
/// within the bounds above takes far less unless it multiplies itself.
pub const MAX_WORK: usize = 256 * 1024;

const OPENING: [&str; 9] = ["if", "while", "until", "for", "case", "select", "function", "[[", "!"];

/// Returns an error if `work` exceeds [`MAX_WORK`].
pub(super) fn check_work(work: usize) -> Result<(), String> {
    if work > MAX_WORK { Err("what it runs multiplies itself".into()) } else { Ok(()) }
}

/// Refuses an entry of the shell's directory stack, `~12`, with too large a number: the parser would panic.
pub(super) fn check_tildes(text: &str) -> Result<(), String> {
    /// Fewer digits than the largest number of 32 bits has.
    const MAX_DIGITS: usize = 9;
    let is_long = |rest: &str| {
        let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        rest.bytes().take_while(u8::is_ascii_digit).count() > MAX_DIGITS
    };
    if text.split('~').skip(1).any(is_long) {
        return Err(format!("a number after `~` has more than {MAX_DIGITS} digits"));
    }
    Ok(())
}

/// Returns how many indices, `${a[`, have no `]` before the next `}`. It counts in here-documents, too, because the parser reads one in a
/// quoted substitution as a word.
fn unclosed_indices(text: &[u8]) -> usize {
    let mut count = 0;
    // Indices open at the current position.
    let mut open = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'$' if text.get(at) == Some(&b'{') => {
                at += 1;
                let name =
                    text.iter().skip(at).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                at += name;
                open += usize::from(name > 0 && text.get(at) == Some(&b'['));
            }
            b']' => open = 0,
            b'}' => count += std::mem::take(&mut open),
            _ => {}
        }
    }
    count + open
}

/// Returns the maximum number of round brackets that are open at a position, in any quotes.
fn open_brackets(text: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Checks that the parser can read `text` within the bounds. Returns the reason if it cannot.
pub(crate) fn check(text: &str) -> Result<(), String> {
    at_most(text.len(), MAX_LENGTH, "bytes")?;
    check_tildes(text)?;
    let bytes = text.as_bytes();
    if text.contains("${") {
        at_most(unclosed_indices(bytes), MAX_UNCLOSED_INDICES, "indices that are not closed")?;
    }
    if text.contains("<<") && (text.contains("$(") || text.contains('`')) {
        at_most(open_brackets(bytes), MAX_OPEN_BRACKETS, "open brackets")?;
    }
    let mut scan = Scan::new(bytes);
    scan.check()?;
    at_most(text.len() - scan.skipped.min(text.len()), MAX_TEXT, "bytes beside its here-documents")
}

const NESTING: &str = "levels of nesting";

/// Returns an error if there are more than `most` of something.
fn at_most(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count > most { Err(format!("it has more than {most} {what}")) } else { Ok(()) }
}

/// Checks that the parser ends each substitution in the body of a here-document at the same place as the shell. Returns the reason if not.
pub(super) fn check_document(body: &str) -> Result<(), String> {
    let mut scan = Scan::new(body.as_bytes());
    scan.open.push(Open::Document);
    while scan.at < scan.bytes.len() && scan.refused.is_none() && scan.open.len() <= MAX_DEPTH {
        scan.step();
    }
    at_most(scan.open.len(), MAX_DEPTH, NESTING)?;
    scan.refused.map_or(Ok(()), |why| Err(why.into()))
}

/// A construct that is open at the current position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
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

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
    subshells: usize,
    /// The open indices, and the number of all nested ones.
    indices: usize,
    inner_indices: usize,
    unclosed_indices: usize,
    words: usize,
    compounds: usize,
    /// The here-documents whose bodies begin after the current line.
    documents: Vec<Document>,
    /// Number of here-documents that were pending when the open backquote began.
    outside: usize,
    /// Nesting depth when `<(`, `a=(` or `@(` followed a here-document on the same line.
    part_depth: Option<usize>,
    /// Bytes of the bodies of here-documents, which are skipped.
    skipped: usize,
    arithmetic: Option<Arithmetic>,
    /// True if the parser may take the following text for arithmetic wrongly, or the other way round.
    is_lost: bool,
    /// The reason why the parser would read the text differently from the shell.
    refused: Option<&'static str>,
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
    /// Number of constructs that were open when it began.
    depth: usize,
    /// True for `$((…))`.
    is_value: bool,
    /// True if another construct was opened in it. The parser then no longer knows that it is in arithmetic.
    is_nested: bool,
    /// True if a `<<` in it was read as a shift.
    has_shift: bool,
}

/// If a here-document begins on the line of a substitution, the parser loses the words of the substitution or adds the following ones to
/// it.
const DOCUMENT: &str = "a here-document begins on the line of a substitution after or around it";
const DELIMITER: &str = "a here-document has a delimiter that cannot be told";
const PATTERN: &str = "a bracket after one of `!@?+*` may be a pattern";
const QUOTE: &str = "a quote may be a character here";
const PROCESS: &str = "a process substitution in `${…}`";
pub(super) const CONTINUED: &str = "a line that continues in the next one ends a word";
const BRACKETS: &str = "it nests too much to be read";
const COMMENT: &str = "`#` may be a character here";
/// The parser takes `<<` for arithmetic if arithmetic is the last construct opened and not closed, at any nesting.
const SHIFT: &str = "`<<` may be arithmetic here";

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8]) -> Self {
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
    fn check(&mut self) -> Result<(), String> {
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

    fn step(&mut self) {
        let byte = self.bytes[self.at];
        let quoted = matches!(self.open.last(), Some(Open::Quote | Open::Document));
        match byte {
            b'\\' => self.at += 1,
            b'"' if quoted => self.close(Open::Quote),
            b'"' => self.open.push(Open::Quote),
            b'`' if self.open.contains(&Open::Backtick) => {
                if self.documents.len() > self.outside {
                    self.refused = Some(DOCUMENT);
                }
                self.close(Open::Backtick);
            }
            b'`' => {
                self.words += WORDS_OF_A_SUBSTITUTION;
                self.outside = self.documents.len();
                self.open.push(Open::Backtick);
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
                self.open.push(Open::Round);
            }
            b'$' if self.next() == Some(b'{') => {
                self.at += 1;
                self.opens();
                self.open.push(Open::Name);
            }
            // `$[…]`, the old arithmetic. The parser ends it at the first bracket.
            b'$' if self.next() == Some(b'[') => {
                self.opens();
                self.is_lost = true;
            }
            b'[' if self.in_name() => {
                self.inner_indices += usize::from(self.indices > 0);
                self.indices += 1;
                self.open.push(Open::Index);
            }
            b']' if self.open.last() == Some(&Open::Index) => self.close_index(),
            b'}' => {
                while self.open.last() == Some(&Open::Index) {
                    self.unclosed_indices += 1;
                    self.close_index();
                }
                let what = if self.open.last() == Some(&Open::Name) { Open::Name } else { Open::Curly };
                if what == Open::Name && !self.documents.is_empty() {
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
                let is_in_round = self.open.contains(&Open::Round);
                if is_in_round && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                if self.next() == Some(b'(') && (self.at == 0 || self.bytes[self.at - 1] != b'$') {
                    match &mut self.arithmetic {
                        Some(arithmetic) => arithmetic.is_nested = true,
                        // In a substitution, the parser never finds the end of such arithmetic.
                        None if is_in_round => self.is_lost = true,
                        None => self.begin_arithmetic(false),
                    }
                }
                let is_part = self.at > 0 && b"<>@!?+*=".contains(&self.bytes[self.at - 1]);
                if is_part && !self.documents.is_empty() {
                    self.part_depth.get_or_insert(self.open.len());
                }
                self.subshells += 1;
                self.open.push(Open::Subshell);
            }
            b')' => {
                if self.open.contains(&Open::Round) && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                if self.open.last() == Some(&Open::Subshell) {
                    self.subshells -= 1;
                    self.close(Open::Subshell);
                } else {
                    self.close(Open::Round);
                }
                self.end_arithmetic();
            }
            b'{' => self.open.push(Open::Curly),
            b'#' if self.has_comments() => self.hash(),
            b'<' if self.next() == Some(b'<') => self.document(),
            b'\n' => {
                self.words += WORDS_OF_A_COMMAND;
                let is_within = self.part_depth.take().is_some_and(|depth| self.open.len() > depth);
                if is_within || (self.outside > 0 && self.open.contains(&Open::Backtick)) {
                    self.refused = Some(DOCUMENT);
                }
                self.skip_documents();
            }
            b';' => self.words += WORDS_OF_A_COMMAND,
            // Half, because these mostly come in pairs.
            b'&' | b'|' => self.words += WORDS_OF_A_COMMAND / 2,
            b' ' | b'\t' | b'>' | b'<' => self.words += 1,
            byte if byte.is_ascii_alphabetic() || byte == b'[' || byte == b'!' => self.word(),
            _ => {}
        }
        self.at += 1;
    }

    /// Handles the bracket of `@(…)` and `!(…)`. The parser takes both for patterns, but a shell without `extglob` reads `!(…)` as a list
    /// of commands. The parser also finds the end of a pattern without regard to quotes, even in arithmetic.
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
        !matches!(self.open.iter().rfind(|open| **open != Open::Curly), Some(Open::Name | Open::Index))
    }

    /// Handles a `#`. After a bracket or a backquote of the same word it is an ordinary character.
    fn hash(&mut self) {
        match self.before() {
            Some(b')' | b'`') => self.refused = Some(COMMENT),
            _ if self.begins_word() => self.comment(),
            _ => {}
        }
    }

    /// Skips a comment. Refuses one that the parser may take for words, and any in arithmetic, where `#` is an ordinary character.
    fn comment(&mut self) {
        let from = self.at;
        let ends: &[u8] = if self.open.contains(&Open::Backtick) { b"\n`" } else { b"\n" };
        let rest = &self.bytes[from..];
        let text = &rest[..rest.iter().position(|byte| ends.contains(byte)).unwrap_or(rest.len())];
        let is_known = match self.open.iter().rfind(|open| !matches!(open, Open::Curly | Open::Subshell)) {
            None | Some(Open::Backtick) => true,
            Some(Open::Round) => {
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
        self.open.first() == Some(&Open::Document)
    }

    /// Returns true if the parser, too, reads a comment here in a substitution. For the parser, the blanks before the `#` alternate between
    /// ending and beginning a word.
    fn is_comment_to_parser(&self) -> bool {
        let before = &self.bytes[..self.at];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match &before[..before.len() - blanks] {
            // This may end a subshell or a substitution, or be an ordinary character.
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

    /// Returns true in arithmetic, outside of any substitution in it.
    fn is_in_arithmetic(&self) -> bool {
        self.arithmetic.as_ref().is_some_and(|arithmetic| {
            self.open[arithmetic.depth + 1..].iter().all(|open| matches!(open, Open::Subshell | Open::Curly))
        })
    }

    /// Returns true if the shell may take a `'` here for a character, and the text up to the next `'` contains something that the shell
    /// would run or that closes a construct. This can happen in `"${x:-'…'}"`, in an index, after `$[` and in backquotes. The parser takes
    /// the `'` for a quote.
    fn may_be_no_quote(&self) -> bool {
        let outer = self.open.iter().rfind(|open| !matches!(open, Open::Name | Open::Index | Open::Curly));
        let ends: &[u8] = match (outer, self.open.last()) {
            (Some(Open::Quote | Open::Document), _) | (_, Some(Open::Index)) => b"$`}\"",
            _ if self.is_lost => b"$`}\"",
            _ if self.open.contains(&Open::Backtick) => b"`",
            _ => return false,
        };
        let begin = self.at + 1 + usize::from(self.bytes[self.at] == b'$');
        let rest = self.bytes.get(begin..).unwrap_or_default();
        rest.iter().take_while(|byte| **byte != b'\'').any(|byte| ends.contains(byte))
    }

    fn begin_arithmetic(&mut self, is_value: bool) {
        self.arithmetic = Some(Arithmetic { depth: self.open.len(), is_value, is_nested: false, has_shift: false });
    }

    /// Updates the arithmetic after a closing bracket. `((a); b)` is two subshells, but the parser still takes it for arithmetic.
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

    /// Returns true directly in `${` or in an index there.
    fn in_name(&self) -> bool {
        matches!(self.open.last(), Some(Open::Name | Open::Index))
    }

    fn close_index(&mut self) {
        self.indices -= 1;
        self.close(Open::Index);
    }

    fn close(&mut self, what: Open) {
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

    /// Returns the previous byte and ignores escaped line ends. Any other escaped byte counts as a letter.
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

    /// Skips a word of letters, and counts it if it opens a compound command.
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
            _ if self.is_lost || self.open.contains(&Open::Name) => self.refused = Some(SHIFT),
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
        // Of several blanks in a substitution, the parser takes one for the delimiter. After an empty delimiter it never stops.
        let is_misread = blanks > 1 && self.open.contains(&Open::Round);
        match delimiter.filter(|delimiter| !delimiter.is_empty() && !is_misread) {
            Some(delimiter) => self.documents.push(Document { delimiter, is_quoted, strips_tabs }),
            None => self.refused = Some(DELIMITER),
        }
    }

    /// Moves to the end of a here-document's delimiter and returns it without quotes. Returns `None` if it contains a substitution, whose
    /// letters the shell takes as they are.
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
            let is_word = self.open.contains(&Open::Round) && self.open.contains(&Open::Quote);
            let mut brackets = 0_usize;
            let mut is_continued = false;
            while self.at < self.bytes.len() {
                let from = self.at + 1;
                let line = self.bytes.get(from..).unwrap_or_default();
                let line = &line[..line.iter().position(|b| *b == b'\n').unwrap_or(line.len())];
                self.at = from + line.len();
                self.skipped += line.len();
                // A backquote ends the substitution and the here-document.
                if line.contains(&b'`') && self.open.contains(&Open::Backtick) {
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
                // The shell joins this line with the next one. The joined line may be the delimiter where the next line alone is not, or
                // the reverse.
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

#[cfg(test)]
mod tests {
    use super::{check, check_document};

    #[test]
    fn what_closes_a_name_within_its_index_closes_nothing_for_the_parser() {
        assert!(check("echo ${x%%[*} ${y#[}").is_ok());
        assert!(check(&"${a[${a[}".repeat(8)).unwrap_err().contains("indices"));
    }

    #[test]
    fn indices_that_are_open_in_a_document_within_a_word_are_counted() {
        let of = |body: &str| check(&format!("echo \"$(cat <<'EOF'\n{body}\nEOF\n)\""));
        assert!(of("{a[${a[${a[}${a[${a[}$$").unwrap_err().contains("indices"));
        assert!(of("${a[").is_ok() && of("${a[0]} ${b[@]} ${c[${d[1]}]} ${e%%[*} ${f#[} ${g/[/x}").is_ok());
    }

    #[test]
    fn ordinary_scripts_are_within_bounds() {
        let script = "#!/bin/sh\n# it's (a) {comment\n[ -f x ] && echo \"$(cat x | wc -l)\" '(' \\(\n".repeat(50);
        assert_eq!(check(&script), Ok(()));
        let lines = "print((((((1))))))  # if if if '\n".repeat(1500);
        assert_eq!(check(&format!("cat > x.py <<'EOF'\n{lines}EOF\necho done")), Ok(()));
    }

    #[test]
    fn what_the_parser_would_read_otherwise_than_the_shell_says_so() {
        for text in [
            "cat <<E $(rm -rf /)\nx\nE",
            "cat <<E ${x:-$(rm -rf /)}\nx\nE",
            "cat <<E > ${x}\nx\nE",
            "cat <<E \"$(rm -rf /)\"\nx\nE",
            "cat $'\\'' <<E $(rm -rf /) ''\nx\nE",
            "echo $(cat <<E)\nx\nE\nrm -rf /",
            "echo $((cat <<E) a\nE\n)",
            "echo $(( $((1)) << b ))\nrm -rf /\nb\n",
            "echo $(( $((1)) << b\n)); rm -rf /\nb\n",
            "(( $((1)) << 2 ))\nrm -rf /\n2\n",
            "echo $[ $[1] <<2 ]\nrm -rf /\n2\n",
            "echo ${x:$((1))<<2}\nrm -rf /\n2\n",
            "echo $(( ((1)) )); ((a); cat <<E\n'\nE\nrm -rf /\n); echo '",
            "x=$( ((1)) ); cat <<E\n'\nE\nrm -rf /\necho '",
            "echo $(( $(cat <<E\n'\nE\nrm -rf /\n) + 1 )) '",
            "echo $(cat <<  E\nE\nrm -rf /\n\n)",
            "cat <<'' ",
            "cat <<$(E) $((",
            "cat <<\"a\nb\"\na\n",
            "echo `cat <<E`\nrm -rf /\nE",
            "$(($(())#<< )",
            "!(rm -rf /)",
            "if !(rm -rf /); then :; fi",
            "[[ a == @(\")\"|b) ]]; rm -rf /; echo \"x\"",
            "echo $( # )'\nrm -rf /\n) #'",
            "echo $(a  # )'\nrm -rf /\n) #'",
            "echo ${x:-$( # )'\nrm -rf /\n) '}\\'}",
            "echo ${x:+$(( 1 # ))}\nrm -rf /\n: ))}",
            "cat <<E <(echo & )# || rm -rf / #\nE",
            "cat <<E <(:\n)<(rm -rf /)\nE\n",
            "echo <(:)\\\n#; rm -rf /",
            "echo $(x)\\\n#; cat <<E $(rm -rf /)\nx\nE",
            "echo `: # '`; cat <<E $(rm -rf /) #'`\nx\nE",
            "echo `<<E #\n`; cat <<E $(rm -rf /)\nE\n",
            "cat <<E `x\n`$(rm -rf /)\nE\n",
            "echo $(x)#; cat <<E $(rm -rf /)\nx\nE",
            "a=(b)#; rm -rf /",
            "a=(b)\\\n#; rm -rf /",
            "cat <<E\nx\\\nE\ncat <<'F'\nE\nrm -rf /\nF",
            "echo `:`#; cat <<E $(rm -rf /)\nx\nE",
            "echo \\ #; cat <<E $(rm -rf /)\nx\nE",
            "echo \\;#; cat <<E $(rm -rf /)\nx\nE",
            "(( 1 $'))\nrm -rf /; #'))",
            "(( 1 !('))\nrm -rf /; #'))",
            "$(}  #<<''))$(",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
        for text in [
            "git commit -m \"$(cat <<'EOF'\nIt's $(done) ((\nEOF\n)\" && echo $(date)",
            "cat > \"${file}\" <<EOF\n$(x) ((\nEOF\necho $(( 1 << 2 )) $((x<<1))",
            "for ((i = 0; i < 3; i++)); do cat <<E\n$i\nE\ndone",
            "(( x = 1 << 2 )) && cat <<E\nx\nE",
            "(cat <<E)\nx\nE",
            "cat <<E $x `date` <(date)\nx\nE",
            "cat <<E | sort\nx\nE\necho $(date)",
            "x=$(echo $(cat <<E | sort\nx\nE\n))",
            "case $x in +([0-9])) [[ $x == @(a|b) ]] && ! (false);; esac; find . \\! \\( -name x \\)",
            "echo $((2*(3+4))) $(( !(x) )); (( !(x) )) && echo 'hey!(x)' \"a!(b)\"",
            "cat <<-  \\EOF <<\"A B\" <<'C'\nEOF\nA B\nC\necho $(date)",
            "echo $(\n  # it's (as they say) of two blanks\n\n# and of none\n    date)",
            "echo $(date # now\n) $(date) # it's",
            "echo ${#x} ${x#'a'} a#b `date # now`",
            "(( x = 1 )) # it's\necho $(( $(date +'%s') - 1 ))",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_document_in_which_the_parser_would_end_a_substitution_elsewhere_says_so() {
        for body in [
            "$( : # )\nrm -rf /\n)",
            "`$( : # ')\nrm -rf /\n)`",
            "$(cat <<'E'\n(\nE\nrm -rf /)",
            "${x:-$( : # )\nrm -rf /\n)}",
        ] {
            assert!(check_document(body).is_err(), "{body}");
        }
        for body in
            ["# It's $(date), \"now\"\n## (`date`) # 1", "$(date # now\n)", "\\$(# ) '", "${x:-a} ${#x} $((1 << 2))"]
        {
            assert_eq!(check_document(body), Ok(()), "{body}");
        }
    }

    #[test]
    fn what_is_too_much_says_so() {
        for bomb in ["$(", "(", "{ ", "`$(", "\"$(", "${a:-", "f() { "] {
            assert!(check(&bomb.repeat(1000)).unwrap_err().contains("levels"), "{bomb}");
        }
        assert_eq!(check("echo ${a[${b[1]}]} ${x%[} ${y#[[:alpha:]]}"), Ok(()));
        assert_eq!(check(&format!("f() {{ {} }}", "[[ -f x ]] || [ -d y ]; ".repeat(30))), Ok(()));
        assert!(check("${a[${a[${a[1]}]}]}").unwrap_err().contains("indices"));
        assert!(check("a[0]=${a[a[0]=${a[a[0]=${a[1]}]}]}").unwrap_err().contains("indices"));
        assert!(check(&"${a[${a[1]}]}".repeat(20)).unwrap_err().contains("indices"));
        for bomb in ["if ", "while ", "a; ", "a | ", "case x in ", "! ", "<<E "] {
            assert!(check(&bomb.repeat(20_000)).is_err(), "{bomb}");
        }
        assert!(check(&format!("echo {}", "a".repeat(40_000))).unwrap_err().contains("beside"));
        assert!(check(&"a".repeat(70_000)).unwrap_err().contains("bytes"));
    }
}
