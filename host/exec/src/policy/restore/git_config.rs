//! Restores keys of git's configuration. Source of the syntax: the page `git-config`, section *Syntax*.

use super::{NotRestorable, present, start};
use std::ops::Range;

/// A variable of the configuration.
struct Entry<'t> {
    /// Section and name in lower case, and the subsection as it is.
    section: String,
    subsection: Option<String>,
    name: String,
    /// The text of the variable from its name to its end, without the end of the line.
    text: &'t str,
    range: Range<usize>,
}

impl Entry<'_> {
    fn is(&self, key: &str) -> bool {
        let fits = |pattern: &str, name: &str| pattern == "*" || pattern.eq_ignore_ascii_case(name);
        match (key.split('.').collect::<Vec<_>>().as_slice(), &self.subsection) {
            ([section, name], None) => fits(section, &self.section) && fits(name, &self.name),
            ([section, subsection, name], Some(own)) => {
                fits(section, &self.section) && (*subsection == "*" || subsection == own) && fits(name, &self.name)
            }
            _ => false,
        }
    }

    /// Returns the variable with its section, as lines at the end of a file.
    fn lines(&self) -> String {
        let section = match &self.subsection {
            Some(subsection) => {
                format!("{} \"{}\"", self.section, subsection.replace('\\', "\\\\").replace('"', "\\\""))
            }
            None => self.section.clone(),
        };
        format!("[{section}]\n\t{}\n", self.text)
    }
}

/// Returns the directory of hooks that a configuration names.
pub(crate) fn hooks_of(text: &str) -> Option<String> {
    let entry = entries(text)?.into_iter().rfind(|entry| entry.is("core.hooksPath"))?;
    let (_, value) = entry.text.split_once('=')?;
    let value = value.split([';', '#']).next()?.trim().trim_matches('"');
    (!value.is_empty()).then(|| value.to_owned())
}

/// See [`super::restored`].
pub(super) fn restored(before: &str, now: &str, keys: &[String]) -> Result<Option<String>, NotRestorable> {
    let guarded = |text| -> Option<Vec<Entry<'_>>> {
        let entries = entries(text)?;
        Some(entries.into_iter().filter(|entry| keys.iter().any(|key| entry.is(key))).collect())
    };
    let old = guarded(before).ok_or_else(|| start("is no configuration of git"))?;
    let new = guarded(now).ok_or_else(|| present("is no configuration of git"))?;
    let same = |(old, new): (&Entry<'_>, &Entry<'_>)| old.lines() == new.lines();
    if old.len() == new.len() && old.iter().zip(&new).all(same) {
        return Ok(None);
    }
    let mut text = now.to_owned();
    for entry in new.iter().rev() {
        text.replace_range(entry.range.clone(), "");
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.extend(old.iter().map(Entry::lines));
    Ok(Some(text))
}

/// Returns all variables of a text, or `None` if git could not read it.
fn entries(text: &str) -> Option<Vec<Entry<'_>>> {
    let bytes = text.as_bytes();
    let (mut found, mut section, mut at) = (Vec::new(), None, 0);
    if text.starts_with('\u{feff}') {
        at = '\u{feff}'.len_utf8();
    }
    while let Some(&byte) = bytes.get(at) {
        match byte {
            byte if byte.is_ascii_whitespace() => at += 1,
            b'#' | b';' => at = line_end(bytes, at),
            b'[' => {
                let (header, next) = header(text, at + 1)?;
                section = Some(header);
                at = next;
            }
            byte if byte.is_ascii_alphabetic() => {
                let (section, subsection) = section.clone()?;
                let rest = bytes.get(at..)?;
                let name =
                    rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'-')).unwrap_or(rest.len());
                let end = value_end(bytes, at + name)?;
                let name = text.get(at..at + name)?.to_ascii_lowercase();
                found.push(Entry { section, subsection, name, text: text.get(at..end)?.trim_end(), range: at..end });
                at = end;
            }
            _ => return None,
        }
    }
    Some(found)
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| from + end)
}

/// A section and its subsection.
type Header = (String, Option<String>);

/// Reads a header from the byte after its `[`. Returns it and the position after its `]`.
fn header(text: &str, from: usize) -> Option<(Header, usize)> {
    let rest = text.get(from..)?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)))?;
    let name = rest[..end].to_ascii_lowercase();
    if rest[end..].starts_with(']') {
        // The old spelling `[section.subsection]`.
        let header = name
            .split_once('.')
            .map_or((name.clone(), None), |(section, subsection)| (section.to_owned(), Some(subsection.to_owned())));
        return Some((header, from + end + 1));
    }
    let open = end + rest[end..].find('"')?;
    if !rest[end..open].bytes().all(|byte| byte == b' ' || byte == b'\t') {
        return None;
    }
    let (mut subsection, mut characters) = (String::new(), rest[open + 1..].char_indices());
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => {
                let close = open + 1 + at + 1;
                return rest[close..].starts_with(']').then_some(((name, Some(subsection)), from + close + 1));
            }
            '\\' => subsection.push(characters.next()?.1),
            '\n' => return None,
            c => subsection.push(c),
        }
    }
    None
}

/// Returns the end of a value: of its line, or of the last line that continues it.
fn value_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut is_quoted) = (from, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            // Git ends a value at a line end, and refuses one within quotes.
            b'\n' => return (!is_quoted).then_some(at),
            b'#' | b';' if !is_quoted => return Some(line_end(bytes, at)),
            b'"' => is_quoted = !is_quoted,
            b'\\' if bytes.get(at + 1) == Some(&b'\r') => at += 2,
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    (!is_quoted).then_some(bytes.len())
}
