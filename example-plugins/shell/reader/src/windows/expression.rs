//! Evaluates texts that `cmd.exe` and PowerShell compute, because the result may be the name of a command. Supports variables, joined
//! strings, `-f`, `-join`, `-replace` and `[char]`.

use crate::ascii::Ascii as _;
use litemap::LiteMap;
use std::iter::Peekable;
use std::str::Chars;

/// Maximum number of variables with known values, and maximum number of bytes that these values may add to a text.
const MAX_VALUES: usize = 64;
const MAX_ADDED: usize = 64 * 1024;
/// Maximum number of texts in one list.
const MAX_TEXTS: usize = 64;
/// Maximum length of a computed text, in bytes, and maximum nesting of brackets.
const MAX_MADE: usize = 1024;
const MAX_DEPTH: usize = 6;

/// The values of variables, by name in lower case.
#[derive(Default)]
pub(super) struct Values {
    known: LiteMap<String, String>,
    added: usize,
}

impl Values {
    pub(super) fn set(&mut self, name: &str, value: Option<String>) {
        let name = name.to_ascii_lowercase();
        match value.filter(|_| self.known.len() < MAX_VALUES) {
            Some(value) => self.known.insert(name, value),
            None => self.known.remove(&name),
        };
    }

    /// Returns the value of the variable `$x`, `${x}`, `$env:x`, `%x%` or `!x!` at the beginning of a text, and the length of that
    /// spelling.
    fn at(&self, text: &str) -> Option<(&str, usize)> {
        let rest = text.get(1..)?;
        let (name, length) = match (text.as_bytes()[0], rest.strip_prefix('{')) {
            (b'$', Some(rest)) => (&rest[..rest.find('}')?], rest.find('}')? + 3),
            (b'$', None) => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
                let name = &rest[..end.unwrap_or(rest.len())];
                (name, 1 + name.len())
            }
            (mark, _) => (&rest[..rest.find(char::from(mark))?], rest.find(char::from(mark))? + 2),
        };
        let name = name.to_ascii_lowercase();
        // `%x%` and `$env:x` are the same variable.
        let value = self.known.get(&name).or_else(|| self.known.get(name.strip_prefix("env:")?));
        value.map(|value| (value.as_str(), length))
    }

    /// Fills in known variables. Returns `None` if the text cannot contain a variable.
    pub(super) fn filled(&mut self, text: &str) -> Option<String> {
        if self.known.is_empty() || !text.has_one_of(b"$%!") {
            return None;
        }
        let (mut made, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['$', '%', '!']) {
            made.push_str(&rest[..at]);
            rest = &rest[at..];
            // Names are short, so it is enough to search a prefix of limited length. This keeps the search linear.
            let head = &rest[..rest.floor_char_boundary(MAX_TEXTS)];
            match self.at(head).map(|(value, length)| (value.to_owned(), length)) {
                Some((value, length)) if self.added + value.len() <= MAX_ADDED => {
                    self.added += value.len();
                    made.push_str(&value);
                    rest = &rest[length..];
                }
                _ => {
                    made.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
        }
        Some(made + rest)
    }
}

/// Returns the values of the expression `text`, or `None` if the values are unknown.
pub(super) fn evaluated(text: &str, values: &mut Values) -> Option<Vec<String>> {
    let mut expression = Expression { chars: text.chars().peekable(), values, depth: 0 };
    let texts = expression.list()?;
    expression.chars.peek().is_none().then_some(texts)
}

struct Expression<'a> {
    chars: Peekable<Chars<'a>>,
    values: &'a mut Values,
    depth: usize,
}

impl Expression<'_> {
    fn blanks(&mut self) {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':')) {
            word.push(c.to_ascii_lowercase());
        }
        word
    }

    /// Reads operands with operators between them.
    fn list(&mut self) -> Option<Vec<String>> {
        let mut texts = self.operands()?;
        loop {
            self.blanks();
            match self.chars.peek() {
                Some('+') => {
                    self.chars.next();
                    let more = self.operands()?;
                    match (texts.as_mut_slice(), more.as_slice()) {
                        ([text], [more]) => text.push_str(more),
                        _ => texts.extend(more),
                    }
                }
                Some('-') => {
                    self.chars.next();
                    let operator = self.word();
                    let given = self.operands()?;
                    texts = match (operator.trim_start_matches(['c', 'i']), given.as_slice()) {
                        ("f", _) => vec![formatted(texts.first()?, &given)?],
                        ("join", [between]) => vec![texts.join(between)],
                        ("replace", [old, new]) => replaced(&texts, old, new)?,
                        ("replace", [old]) => replaced(&texts, old, "")?,
                        _ => return None,
                    };
                }
                Some('.') => {
                    self.chars.next();
                    let method = self.word();
                    let given = self.brackets()?;
                    texts = match (method.as_str(), given.as_slice()) {
                        ("replace", [old, new]) => changed(&texts, old, new)?,
                        ("tolower" | "toupper" | "tostring" | "trim", []) => texts,
                        _ => return None,
                    };
                }
                _ => return Some(texts),
            }
            if texts.len() > MAX_TEXTS || texts.iter().map(String::len).sum::<usize>() > MAX_MADE {
                return None;
            }
        }
    }

    /// Reads one or more operands, separated by commas.
    fn operands(&mut self) -> Option<Vec<String>> {
        let mut texts = self.operand()?;
        loop {
            self.blanks();
            if self.chars.next_if_eq(&',').is_none() {
                return Some(texts);
            }
            texts.extend(self.operand()?);
            if texts.len() > MAX_TEXTS {
                return None;
            }
        }
    }

    fn operand(&mut self) -> Option<Vec<String>> {
        self.blanks();
        match *self.chars.peek()? {
            quote @ ('\'' | '"') => {
                self.chars.next();
                let mut text = String::new();
                loop {
                    match self.chars.next()? {
                        c if c == quote => break,
                        '`' if quote == '"' => text.extend(self.chars.next()),
                        c => text.push(c),
                    }
                }
                if quote == '"' && text.has(b'$') {
                    text = self.values.filled(&text).unwrap_or(text);
                    // The variable of a home directory is the only known variable here.
                    if text[usize::from(begins_with_home(&text))..].has(b'$') {
                        return None;
                    }
                }
                Some(vec![text])
            }
            '$' => {
                self.chars.next();
                let name = format!("${}", self.word());
                if begins_with_home(&name) {
                    return Some(vec![name]);
                }
                let (value, length) = self.values.at(&name)?;
                (length == name.len()).then(|| vec![value.to_owned()])
            }
            '(' | '@' => {
                self.chars.next_if_eq(&'@');
                self.brackets()
            }
            '[' => {
                self.chars.next();
                let of = self.word();
                self.blanks();
                let closes = self.chars.next_if_eq(&']').is_some();
                // `[char[]](82,109)`
                let is_many = !closes && self.chars.by_ref().take(3).eq("[]]".chars());
                let given = self.operand().filter(|_| closes || is_many)?;
                match of.as_str() {
                    "string" => Some(given),
                    "char" => given.iter().map(|text| Some(char::from_u32(text.parse().ok()?)?.to_string())).collect(),
                    _ => None,
                }
            }
            '-' => {
                self.chars.next();
                let joins = self.word() == "join";
                let given = self.operands()?;
                joins.then(|| vec![given.concat()])
            }
            c if c.is_ascii_digit() => Some(vec![self.word()]),
            // `Join-Path build x`
            'j' | 'J' => {
                let is_join = self.word() == "join" && self.chars.next_if_eq(&'-').is_some() && self.word() == "path";
                let (above, below) = (self.operand().filter(|_| is_join)?, self.operand()?);
                Some(vec![format!("{}\\{}", above.first()?, below.first()?)])
            }
            _ => None,
        }
    }

    fn brackets(&mut self) -> Option<Vec<String>> {
        self.blanks();
        self.chars.next_if_eq(&'(')?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.blanks();
        if self.chars.next_if_eq(&')').is_some() {
            return Some(Vec::new());
        }
        self.depth += 1;
        let texts = self.list()?;
        self.depth -= 1;
        self.blanks();
        self.chars.next_if_eq(&')').map(|_| texts)
    }
}

/// Returns true if a text begins with the variable of a home.
fn begins_with_home(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("$home").or_else(|| lower.strip_prefix("$env:userprofile"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['\\', '/']))
}

/// Evaluates `'{1}{0}' -f 'a','b'`.
fn formatted(format: &str, given: &[String]) -> Option<String> {
    let mut parts = format.split('{');
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.halves(b'}').unwrap_or((part, ""));
        let index = number.split([':', ',']).next().unwrap_or_default().trim().parse::<usize>();
        made.push_str(index.ok().and_then(|index| given.get(index)).map_or("", String::as_str));
        made.push_str(rest);
        if made.len() > MAX_MADE {
            return None;
        }
    }
    Some(made)
}

/// Replaces `old` with `new` in each text. Returns `None` if `old` has a special meaning as a pattern.
fn replaced(texts: &[String], old: &str, new: &str) -> Option<Vec<String>> {
    let is_plain = !old.has_one_of(b".*+?[(|^$\\");
    if is_plain { changed(texts, old, new) } else { None }
}

fn changed(texts: &[String], old: &str, new: &str) -> Option<Vec<String>> {
    let grown = |text: &String| text.len() + text.matches(old).count() * new.len();
    let is_short = !old.is_empty() && texts.iter().map(grown).sum::<usize>() <= MAX_MADE;
    is_short.then(|| texts.iter().map(|text| text.replace(old, new)).collect())
}

#[cfg(test)]
mod tests {
    use super::{Values, evaluated};

    #[test]
    fn texts_are_made_as_powershell_makes_them() {
        let mut values = Values::default();
        values.set("X", Some("Item".into()));
        for (text, expected) in [
            ("'Remove'+'-Item'", Some("Remove-Item")),
            ("'Remove' + \"-Item\"", Some("Remove-Item")),
            ("'{1}{0}' -f '-Item','Remove'", Some("Remove-Item")),
            ("'Remove','Item' -join '-'", Some("Remove-Item")),
            ("-join ('r','i')", Some("ri")),
            ("-join [char[]](114,105)", Some("ri")),
            ("[char]114 + [char]105", Some("ri")),
            ("'xri' -replace 'x'", Some("ri")),
            ("'xi'.Replace('x','r')", Some("ri")),
            ("'Remove-' + $x", Some("Remove-Item")),
            ("\"Remove-$x\"", Some("Remove-Item")),
            ("('a'+('b'+'c'))", Some("abc")),
            ("Join-Path 'build' \"x\"", Some("build\\x")),
            ("Join-Path $y 'x'", None),
            ("Join-Path $HOME 'x'", Some("$home\\x")),
            ("\"$HOME\\x\"", Some("$HOME\\x")),
            ("\"$HOME\\$y\"", None),
            ("'a'+$y", None),
            ("Get-Item x", None),
            ("'open", None),
            ("((((((((('a')))))))))", None),
            (&format!("'x'{}", ".Replace('x','xx')".repeat(40)), None),
            (&format!("'x'{}", " -f 'a'".repeat(40)), Some("x")),
            ("", None),
        ] {
            let found = evaluated(text, &mut values).map(|texts| texts.concat());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn variables_are_filled_in_and_do_not_multiply_without_end() {
        let mut values = Values::default();
        values.set("a", Some("rd".into()));
        values.set("env:b", Some("x".into()));
        for (text, expected) in [
            ("%A% /s", "rd /s"),
            ("!a!!a!", "rdrd"),
            ("$a ${a} $env:a $env:B", "rd rd rd x"),
            ("$ab 100% é$", "$ab 100% é$"),
        ] {
            assert_eq!(values.filled(text).as_deref(), Some(expected), "{text}");
        }
        values.set("a", Some("x".repeat(1000)));
        assert!(values.filled(&"$a".repeat(1000)).unwrap().len() < 80_000);
        assert_eq!(Values::default().filled("$a"), None);
    }
}
