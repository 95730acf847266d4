//! What is too much to be read. The parser recurses once for each level of nesting and takes some microseconds for each
//! word, so both are counted first, by one pass without recursion.

/// The longest command that is read, in bytes.
pub const LENGTH: usize = 64 * 1024;
/// The longest that it may be beside its here-documents: of other text the parser looks at each character for long.
const TEXT: usize = 32 * 1024;
/// The most words and operators, here-documents left out.
const WORDS: usize = 3000;
/// The deepest nesting of brackets, quotes and substitutions.
const DEPTH: usize = 24;
/// The deepest nesting of subshells: for each of these the parser tries several readings of what it holds.
const SUBSHELLS: usize = 8;
/// The deepest nesting of indices, `${a[${b[1]}]}`: each may be an assignment, and is read both ways.
const INDICES: usize = 2;
/// The most indices that stand in others.
const INNER_INDICES: usize = 16;
/// The most words that open a compound command, wherever they stand.
const COMPOUNDS: usize = 64;
/// The most work that reading a text may be, loops, calls of functions and nested texts counted each time. A byte that is
/// parsed or filled in is one unit. What the bounds above let through is far below, unless it multiplies itself.
pub const WORK: usize = 256 * 1024;

const OPENING: [&str; 9] = ["if", "while", "until", "for", "case", "select", "function", "[[", "!"];

/// What `work` units too many are said to be.
pub(super) fn check_work(work: usize) -> Result<(), String> {
    if work > WORK { Err("what it runs multiplies itself beyond what can be gone through".into()) } else { Ok(()) }
}

/// Whether the parser can read `text` within bounds; else why not.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.len() > LENGTH {
        return Err(format!("it is {} bytes long, and no more than {LENGTH} are read", text.len()));
    }
    let bytes = text.as_bytes();
    let mut scan = Scan {
        bytes,
        at: 0,
        open: Vec::new(),
        subshells: 0,
        indices: 0,
        inner_indices: 0,
        words: 0,
        compounds: 0,
        documents: Vec::new(),
        skipped: 0,
    };
    while scan.at < scan.bytes.len() {
        scan.step();
        if scan.open.len() > DEPTH {
            return Err(format!("it is nested more than {DEPTH} levels deep"));
        }
        if scan.subshells > SUBSHELLS {
            return Err(format!("subshells are nested more than {SUBSHELLS} levels deep"));
        }
        if scan.indices > INDICES {
            return Err(format!("indices are nested more than {INDICES} levels deep"));
        }
        if scan.inner_indices > INNER_INDICES {
            return Err(format!("more than {INNER_INDICES} indices stand in others"));
        }
        if scan.words > WORDS || scan.compounds > COMPOUNDS {
            return Err("it holds too many commands".into());
        }
    }
    if text.len() - scan.skipped.min(text.len()) > TEXT {
        return Err(format!("it is longer than {TEXT} bytes beside its here-documents"));
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
    /// Those that are open, and all that stand in others.
    indices: usize,
    inner_indices: usize,
    words: usize,
    compounds: usize,
    /// Delimiters of the here-documents that begin at the end of the line.
    documents: Vec<&'a [u8]>,
    /// The bytes of those that were left out.
    skipped: usize,
}

impl Scan<'_> {
    fn step(&mut self) {
        let byte = self.bytes[self.at];
        let quoted = self.open.last() == Some(&Open::Quote);
        match byte {
            b'\\' => self.at += 1,
            b'"' if quoted => self.close(Open::Quote),
            b'"' => self.open.push(Open::Quote),
            b'`' if self.open.contains(&Open::Backtick) => self.close(Open::Backtick),
            b'`' => self.open.push(Open::Backtick),
            b'$' if self.next() == Some(b'(') => {
                self.at += 1;
                self.open.push(Open::Round);
            }
            b'$' if self.next() == Some(b'{') => {
                self.at += 1;
                self.open.push(Open::Name);
            }
            b'[' if self.in_name() => {
                self.inner_indices += usize::from(self.indices > 0);
                self.indices += 1;
                self.open.push(Open::Index);
            }
            b']' if self.open.last() == Some(&Open::Index) => self.close_index(),
            b'}' => {
                while self.open.last() == Some(&Open::Index) {
                    self.close_index();
                }
                let what = if self.open.last() == Some(&Open::Name) { Open::Name } else { Open::Curly };
                self.close(what);
            }
            _ if quoted => {}
            b'\'' => self.skip_to(b'\''),
            b'(' => {
                self.subshells += 1;
                self.open.push(Open::Subshell);
            }
            b')' if self.open.last() == Some(&Open::Subshell) => {
                self.subshells -= 1;
                self.close(Open::Subshell);
            }
            b')' => self.close(Open::Round),
            b'{' => self.open.push(Open::Curly),
            b'#' if self.begins_word() => {
                self.skip_to(b'\n');
                self.at -= 1;
            }
            b'<' if self.next() == Some(b'<') => self.document(),
            b'\n' => {
                self.words += 1;
                self.skip_documents();
            }
            b' ' | b'\t' | b';' | b'&' | b'|' | b'>' | b'<' => self.words += 1,
            byte if byte.is_ascii_alphabetic() || byte == b'[' || byte == b'!' => self.word(),
            _ => {}
        }
        self.at += 1;
    }

    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at + 1).copied()
    }

    /// Whether it stands behind `${`, or in an index there.
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
        let mut from = self.at + 1;
        while matches!(self.bytes.get(from), Some(b'-' | b' ' | b'\t' | b'\'' | b'"' | b'\\')) {
            from += 1;
        }
        let rest = &self.bytes[from..];
        let length = rest.iter().position(|b| b" \t\n'\";&|<>()".contains(b)).unwrap_or(rest.len());
        self.documents.push(&rest[..length]);
        self.at = from + length - 1;
        // The quote after the delimiter opens nothing.
        if matches!(self.next(), Some(b'\'' | b'"')) {
            self.at += 1;
        }
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
                if &line[start..] == delimiter {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn ordinary_scripts_are_within_bounds() {
        let script = "#!/bin/sh\n# it's (a) {comment\n[ -f x ] && echo \"$(cat x | wc -l)\" '(' \\(\n".repeat(50);
        assert_eq!(check(&script), Ok(()));
        let lines = "print((((((1))))))  # if if if '\n".repeat(1500);
        assert_eq!(check(&format!("cat > x.py <<'EOF'\n{lines}EOF\necho done")), Ok(()));
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
}
