//! What is too much to be read. The parser recurses once for each level of nesting and takes some microseconds for each
//! word, so both are counted first, by one pass without recursion.

/// Maximum length of a command, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Maximum length without its here-documents, in bytes: the parser is slow at each character of other text.
const MAX_TEXT: usize = 32 * 1024;
/// Maximum number of words and operators, without here-documents.
const MAX_WORDS: usize = 3000;
/// Maximum nesting of brackets, quotes and substitutions.
const MAX_DEPTH: usize = 24;
/// Maximum nesting of subshells: for each of these the parser tries several readings of what it holds.
const MAX_SUBSHELLS: usize = 8;
/// Maximum nesting of indices, `${a[${b[1]}]}`: each may be an assignment, and is read both ways.
const MAX_INDICES: usize = 2;
/// Maximum number of indices within others.
const MAX_INNER_INDICES: usize = 16;
/// Maximum number of indices that a `}` closes: to the parser it is a part of the index, which is still open.
const MAX_UNCLOSED_INDICES: usize = 2;
/// Words as which a substitution counts: that is about the work of reading it.
const WORDS_OF_A_SUBSTITUTION: usize = 5;
/// Words as which the end of a command counts: rules are asked about each command.
const WORDS_OF_A_COMMAND: usize = 4;
/// Maximum number of words that open a compound command, wherever they are.
const MAX_COMPOUNDS: usize = 64;
/// Maximum work of reading a text, with loops, calls of functions and nested texts counted each time. A byte that is
/// parsed or filled in is one unit. Text within the bounds above takes far less, unless it multiplies itself.
pub const MAX_WORK: usize = 256 * 1024;

/// Times that the parsers may ask what is at a place, in all texts that a command nests: so many, and so many for each byte of it. A
/// here-document that is full of expansions needs fewer, as a test of the rules shows.
const STEPS: u32 = 100_000;
const STEPS_OF_A_BYTE: u32 = 32;

const OPENING: [&str; 9] = ["if", "while", "until", "for", "case", "select", "function", "[[", "!"];

/// What `work` units too many are said to be.
pub(super) fn check_work(work: usize) -> Result<(), String> {
    if work > MAX_WORK { Err("what it runs multiplies itself beyond what can be gone through".into()) } else { Ok(()) }
}

/// The steps that the parsers may take for `text`.
pub(super) fn steps_for(text: &str) -> u32 {
    u32::try_from(text.len()).map_or(STEPS, |length| STEPS.saturating_add(length.saturating_mul(STEPS_OF_A_BYTE)))
}

/// The reason why a text is unreadable where the parsers have so many `left`.
pub(super) fn check_steps(left: u32) -> Result<(), String> {
    if left == 0 { Err("the parser tries too many readings of what it nests".into()) } else { Ok(()) }
}

/// Refuses a directory of the shell's stack, `~12`, whose number is greater than any stack: the parser panics.
pub(super) fn check_tildes(text: &str) -> Result<(), String> {
    /// Fewer than a number of 32 bits can have.
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

/// How many indices, `${a[`, have no `]` before the next `}`, wherever they are: the parser reads a here-document in a quoted
/// substitution as a word, too.
fn unclosed_indices(text: &[u8]) -> usize {
    let mut count = 0;
    // Those that are open at this place.
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

/// Whether the parser can read `text` within bounds; else why not.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("it is {} bytes long, and no more than {MAX_LENGTH} are read", text.len()));
    }
    check_tildes(text)?;
    let bytes = text.as_bytes();
    if text.contains("${") && unclosed_indices(bytes) > MAX_UNCLOSED_INDICES {
        return Err(format!("more than {MAX_UNCLOSED_INDICES} indices are not closed"));
    }
    let mut scan = Scan {
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
        skipped: 0,
        arithmetic: None,
        is_lost: false,
        refused: None,
    };
    while scan.at < scan.bytes.len() {
        scan.step();
        if let Some(why) = scan.refused {
            return Err(why.into());
        }
        if scan.open.len() > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        if scan.subshells > MAX_SUBSHELLS {
            return Err(format!("subshells are nested more than {MAX_SUBSHELLS} levels deep"));
        }
        if scan.indices > MAX_INDICES {
            return Err(format!("indices are nested more than {MAX_INDICES} levels deep"));
        }
        if scan.unclosed_indices > MAX_UNCLOSED_INDICES {
            return Err(format!("more than {MAX_UNCLOSED_INDICES} indices are not closed"));
        }
        if scan.inner_indices > MAX_INNER_INDICES {
            return Err(format!("more than {MAX_INNER_INDICES} indices are nested in others"));
        }
        if scan.words > MAX_WORDS || scan.compounds > MAX_COMPOUNDS {
            return Err("it holds too many commands".into());
        }
    }
    if text.len() - scan.skipped.min(text.len()) > MAX_TEXT {
        return Err(format!("it is longer than {MAX_TEXT} bytes beside its here-documents"));
    }
    Ok(())
}

/// What is open at a place.
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
    Backtick,
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
    subshells: usize,
    /// The open ones, and the number of all nested ones.
    indices: usize,
    inner_indices: usize,
    unclosed_indices: usize,
    words: usize,
    compounds: usize,
    /// Delimiters of the here-documents that begin at the end of the line.
    documents: Vec<Vec<u8>>,
    /// How many of them began before the backquote that is open.
    outside: usize,
    /// The bytes of those that were left out.
    skipped: usize,
    arithmetic: Option<Arithmetic>,
    /// Whether the parser may wrongly take what follows for arithmetic, or the other way round.
    is_lost: bool,
    /// Why it cannot be read as the shell would.
    refused: Option<&'static str>,
}

/// `$((…))` or `((…))`, which are not closed yet.
struct Arithmetic {
    /// What was open when it began.
    depth: usize,
    /// Whether it follows a `$`.
    is_value: bool,
    /// Whether something else was opened in it: the parser forgets then that it is in arithmetic.
    is_nested: bool,
    /// Whether a `<<` in it was taken for a shift.
    has_shift: bool,
}

/// Where a here-document begins on the same line as a substitution, the parser loses the words of the substitution, or takes what
/// follows for words of it.
const DOCUMENT: &str =
    "a here-document begins on the line of a substitution that is opened after it, or that contains it";
const DELIMITER: &str = "a here-document has a delimiter that cannot be told";
const PATTERN: &str = "a bracket after one of `!@?+*` may be a pattern or a list of commands";
/// The parser takes `<<` for arithmetic if arithmetic was opened last and not closed, whatever the nesting is.
const SHIFT: &str = "`<<` may be arithmetic here, or begin a here-document";

impl Scan<'_> {
    fn step(&mut self) {
        let byte = self.bytes[self.at];
        let quoted = self.open.last() == Some(&Open::Quote);
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
            b'$' if !quoted && self.next() == Some(b'\'') => self.skip_escaped(),
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
            // The old arithmetic, which the parser ends at the first bracket.
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
            b'\'' => self.skip_to(b'\''),
            b'(' => {
                self.pattern();
                let is_in_round = self.open.contains(&Open::Round);
                if is_in_round && !self.documents.is_empty() {
                    self.refused = Some(DOCUMENT);
                }
                if self.next() == Some(b'(') && (self.at == 0 || self.bytes[self.at - 1] != b'$') {
                    match &mut self.arithmetic {
                        Some(arithmetic) => arithmetic.is_nested = true,
                        // In a substitution the parser never finds its end.
                        None if is_in_round => self.is_lost = true,
                        None => self.begin_arithmetic(false),
                    }
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
            b'#' if self.begins_word() && !self.open.contains(&Open::Name) => {
                let from = self.at;
                self.skip_to(b'\n');
                // In arithmetic it is no comment to the parser.
                if self.arithmetic.is_some() && self.bytes[from..self.at].windows(2).any(|pair| pair == b"<<") {
                    self.refused = Some(SHIFT);
                }
                self.at -= 1;
            }
            b'<' if self.next() == Some(b'<') => self.document(),
            b'\n' => {
                self.words += WORDS_OF_A_COMMAND;
                self.skip_documents();
            }
            b';' => self.words += WORDS_OF_A_COMMAND,
            // Of two, most often.
            b'&' | b'|' => self.words += WORDS_OF_A_COMMAND / 2,
            b' ' | b'\t' | b'>' | b'<' => self.words += 1,
            byte if byte.is_ascii_alphabetic() || byte == b'[' || byte == b'!' => self.word(),
            _ => {}
        }
        self.at += 1;
    }

    /// `@(…)` and `!(…)`, before the bracket is looked at. The parser takes both for patterns; to a shell that was not told to, the
    /// second is a list of commands. And it looks for the end of a pattern without regard to quotes.
    fn pattern(&mut self) {
        let before = self.at.checked_sub(1).map(|at| self.bytes[at]);
        if !matches!(before, Some(b'@' | b'!' | b'?' | b'+' | b'*')) || self.arithmetic.is_some() {
            return;
        }
        let (mut depth, mut rest) = (0_usize, self.bytes[self.at..].iter());
        let has_more = loop {
            match rest.next() {
                Some(b'(') => depth += 1,
                Some(b')') if depth == 1 => break false,
                Some(b')') => depth -= 1,
                Some(b'\'' | b'"' | b'`' | b'$' | b'\\' | b'<' | b'#') => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if before == Some(b'!') || has_more {
            self.refused = Some(PATTERN);
        }
    }

    /// A substitution is opened.
    fn opens(&mut self) {
        if !self.documents.is_empty() {
            self.refused = Some(DOCUMENT);
        }
        if let Some(arithmetic) = &mut self.arithmetic {
            arithmetic.is_nested = true;
        }
    }

    fn begin_arithmetic(&mut self, is_value: bool) {
        self.arithmetic = Some(Arithmetic { depth: self.open.len(), is_value, is_nested: false, has_shift: false });
    }

    /// After a closing bracket. `((a); b)` are two subshells, but the parser still takes it for arithmetic.
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

    /// To the end of `$'…'`, where a backslash takes the quote away.
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

    /// Whether it follows `${`, or is in an index there.
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

    /// To the next `byte`, or to the end.
    fn skip_to(&mut self, byte: u8) {
        let from = (self.at + 1).min(self.bytes.len());
        let length = self.bytes[from..].iter().position(|b| *b == byte).unwrap_or(self.bytes.len() - from);
        self.at = from + length;
    }

    fn begins_word(&self) -> bool {
        self.at == 0 || b" \t\n;&|()".contains(&self.bytes[self.at - 1])
    }

    /// The rest of a word of letters; counted where it opens a compound command.
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

    /// `<<WORD` and `<<-WORD`, but not `<<<`.
    fn document(&mut self) {
        self.words += 1;
        self.at += 1;
        if self.next() == Some(b'<') {
            self.at += 1;
            return;
        }
        match &mut self.arithmetic {
            _ if self.is_lost || self.open.contains(&Open::Name) => self.refused = Some(SHIFT),
            Some(arithmetic) if arithmetic.is_nested => self.refused = Some(SHIFT),
            Some(arithmetic) => {
                arithmetic.has_shift = true;
                return;
            }
            None => {}
        }
        if self.next() == Some(b'-') {
            self.at += 1;
        }
        let blanks = self.bytes[self.at + 1..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        self.at += blanks;
        let delimiter = self.delimiter();
        // Of several blanks in a substitution the parser takes one for the delimiter; after an empty one it searches for ever.
        let is_misread = blanks > 1 && self.open.contains(&Open::Round);
        match delimiter.filter(|delimiter| !delimiter.is_empty() && !is_misread) {
            Some(delimiter) => self.documents.push(delimiter),
            None => self.refused = Some(DELIMITER),
        }
    }

    /// Goes to the end of a here-document's delimiter, which it returns without its quotes. `None` if there is a substitution in
    /// it, which the shell takes for its letters.
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

    /// Leaves out the bodies of the here-documents that begin here.
    fn skip_documents(&mut self) {
        for delimiter in std::mem::take(&mut self.documents) {
            while self.at < self.bytes.len() {
                let from = self.at + 1;
                let line = self.bytes.get(from..).unwrap_or_default();
                let line = &line[..line.iter().position(|b| *b == b'\n').unwrap_or(line.len())];
                self.at = from + line.len();
                self.skipped += line.len();
                let start = line.iter().position(|b| *b != b'\t').unwrap_or(line.len());
                if line[start..] == delimiter {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use proptest::prelude::*;

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
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_too_much_says_so() {
        for bomb in ["$(", "(", "{ ", "`$(", "\"$(", "${a:-", "f() { "] {
            assert!(check(&bomb.repeat(1000)).unwrap_err().contains("deep"), "{bomb}");
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

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// It panics where it believes that the end of a substitution is there and it is not, and looks for one end for ever.
        #[test]
        fn the_parser_comes_to_the_end_of_what_is_within_bounds(pieces in proptest::collection::vec(piece(), 0..16)) {
            let text = pieces.concat();
            if check(&text).is_ok() && let Some(ended) = crate::read::ended(&text) {
                let options = brush_parser::ParserOptions::default();
                let _ = brush_parser::uncached_tokenize_str(&ended, &options.tokenizer_options());
            }
        }
    }

    /// Of what here-documents, substitutions and arithmetic are made.
    fn piece() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "<<", "<<-", "<<<", " ", "  ", "''", "\"\"", "\\", "\n", "$(", "$((", "))", ")", "${", "}", "`", "E", "#",
            "'", "\"", "(", "((", "$[", "]", "[[", "a", ";", "\t", "@(", "!(", "{ ", "$", "&", "|", "<(",
        ])
    }
}
