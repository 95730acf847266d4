//! Finds the commands that a sed script runs and the files that it writes: the commands `e` and `w`, and the flags `e` and `w` of `s`.

use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};
use super::{Command, Redirect, RedirectKind, wrappers};
use std::iter::Peekable;
use std::str::Chars;

/// The effects that a sed script has besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
struct SedEffects {
    texts: Vec<String>,
    files: Vec<String>,
}

impl Reader<'_> {
    pub(super) fn sed(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        let mut scripts: Vec<&str> = Vec::new();
        let (mut operand, mut at, mut is_file) = (None, 0, false);
        while let Some(word) = args.get(at) {
            let text = word.text.as_str();
            at += 1;
            if !text.starts_with('-') || text.len() < 2 {
                operand = operand.or(Some(text));
            } else if let Some(value) =
                ["-e", "--expression"].iter().find_map(|option| wrappers::attached(text, option))
            {
                let next = if value.is_empty() { args.get(at).map(|word| word.text.as_str()) } else { Some(value) };
                at += usize::from(value.is_empty());
                scripts.extend(next);
            } else if wrappers::attached(text, "-f") == Some("") || text == "--file" {
                (at, is_file) = (at + 1, true);
            }
        }
        if scripts.is_empty() && !is_file {
            scripts.extend(operand);
        }
        let script = scripts.join("\n");
        self.spend(script.len())?;
        let SedEffects { texts, files } = found(&script);
        for file in files {
            let redirects = vec![Redirect { kind: RedirectKind::Write, target: Word::literal(file) }];
            self.record(Command { redirects, place: inner.place.clone(), ..Command::default() })?;
        }
        for text in texts {
            // The command `e` without a text runs the content of the edited files.
            self.script.runs_unknown |= text.trim_start().starts_with(UNKNOWN) || text.trim().is_empty();
            self.text(name, &text.replace(UNKNOWN, "$_"))?;
        }
        Ok(())
    }
}

fn found(script: &str) -> SedEffects {
    let mut found = SedEffects::default();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' => drop(part(&mut chars, '/')),
            '\\' => {
                if let Some(close) = chars.next() {
                    part(&mut chars, close);
                }
            }
            's' => {
                let Some(close) = chars.next() else { break };
                part(&mut chars, close);
                let replacement = part(&mut chars, close);
                while let Some(flag) = chars.next_if(|c| !matches!(c, ';' | '\n' | '}' | '#')) {
                    match flag {
                        'e' => found.texts.push(replaced(&replacement)),
                        'w' => found.files.push(line(&mut chars)),
                        _ => {}
                    }
                }
            }
            'y' => {
                let Some(close) = chars.next() else { break };
                part(&mut chars, close);
                part(&mut chars, close);
            }
            'e' => found.texts.push(line(&mut chars)),
            'w' | 'W' => found.files.push(line(&mut chars)),
            'r' | 'R' | 'a' | 'i' | 'c' | '#' => drop(line(&mut chars)),
            'b' | 't' | 'T' | ':' => while chars.next_if(|c| !matches!(c, ';' | '\n')).is_some() {},
            _ => {}
        }
    }
    found
}

/// Reads up to the delimiter `close`, which a backslash escapes.
fn part(chars: &mut Peekable<Chars<'_>>, close: char) -> String {
    let mut text = String::new();
    let mut is_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                if next != Some(close) {
                    text.push('\\');
                }
                text.extend(next);
            }
            c if c == close && !is_class => return text,
            '[' if close == '/' => {
                is_class = chars.clone().skip(1).take_while(|c| *c != '\n').any(|c| c == ']');
                text.push(c);
            }
            c => {
                is_class &= c != ']';
                text.push(c);
            }
        }
    }
    text
}

/// Reads the rest of the line.
fn line(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        text.push(c);
    }
    text.trim().to_owned()
}

/// Returns a replacement in which the parts taken from the line are unknown.
fn replaced(text: &str) -> String {
    let mut made = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => made.push(UNKNOWN),
            '\\' => match chars.next() {
                Some('0'..='9') => made.push(UNKNOWN),
                Some('n') => made.push('\n'),
                Some(c) => made.push(c),
                None => {}
            },
            c => made.push(c),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::{SedEffects, found};

    #[test]
    fn what_is_run_and_written_is_found_among_the_commands() {
        let made = |texts: &[&str], files: &[&str]| SedEffects {
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            files: files.iter().map(|text| (*text).to_owned()).collect(),
        };
        for (script, texts, files) in [
            ("e rm -rf /", &["rm -rf /"][..], &[][..]),
            ("1,3e rm x", &["rm x"], &[]),
            ("/e x/!e ls", &["ls"], &[]),
            ("s/.*/rm -rf \\//e", &["rm -rf /"], &[]),
            ("s|a|b &|ge; p", &["b \u{1A}"], &[]),
            ("s/a/b/w out", &[], &["out"]),
            ("$!{w /etc/x\n}", &[], &["/etc/x"]),
            ("\\,e,d", &[], &[]),
            ("s/e/w/g", &[], &[]),
            ("/[/]e/p", &[], &[]),
            ("a\\\ne x", &["x"], &[]),
            (":e;be", &[], &[]),
            ("y/we/ew/", &[], &[]),
            ("s/x", &[], &[]),
            ("r e", &[], &[]),
        ] {
            assert_eq!(found(script), made(texts, files), "{script}");
        }
    }
}
