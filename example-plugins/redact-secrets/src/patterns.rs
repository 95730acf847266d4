//! The patterns of secrets in the config. They are regular expressions that need linear time. If a pattern begins with fixed text, a text
//! is searched only at the positions at which this fixed text occurs.

use crate::scan::{Counts, mark};
use regex_lite::{Captures, Regex};
use serde::Deserialize;

/// A pattern, as configured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Configured {
    name: String,
    regex: String,
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    name: String,
    /// The text with which every match begins. If it is empty, a match may begin anywhere.
    beginning: String,
    /// The expression, anchored if there is a fixed beginning.
    regex: Regex,
}

impl Pattern {
    /// # Errors
    /// Returns an error if the name cannot be used in a mark, if the regex does not compile, or if it matches the empty text.
    pub(crate) fn new(configured: &Configured) -> Result<Self, String> {
        let Configured { name, regex: written } = configured;
        if name.is_empty() || name.contains(['[', ']', '\n']) {
            return Err(format!(
                "the pattern `{written}` is called `{name}`: give it a name without brackets, for the mark"
            ));
        }
        let compile = |regex: &str| {
            Regex::new(regex).map_err(|error| format!("the pattern `{name}` is no regular expression: {error}"))
        };
        let mut regex = compile(written)?;
        if regex.is_match("") {
            return Err(format!("the pattern `{name}` matches the empty text, and so every place of every text"));
        }
        let beginning = fixed_beginning(written);
        if !beginning.is_empty() {
            regex = compile(&format!("^(?:{written})"))?;
        }
        Ok(Self { name: name.clone(), beginning, regex })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text with all matches masked. If a match has the group `secret`, only this group is masked. Returns `None` if there are
    /// no matches.
    pub(crate) fn mask(&self, text: &str, is_kept: impl Fn(&str) -> bool, counts: &mut Counts) -> Option<String> {
        let mut masked = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some((from, captures)) = self.next(text, at) {
            let all = captures.get(0)?;
            // A match is never empty, so the loop advances.
            at = from + all.end().max(1);
            let secret = captures.name("secret").unwrap_or(all);
            if secret.is_empty() || is_kept(secret.as_str()) {
                continue;
            }
            masked.push_str(&text[copied..from + secret.start()]);
            masked.push_str(&mark(&self.name, counts));
            copied = from + secret.end();
        }
        if copied == 0 {
            return None;
        }
        masked.push_str(&text[copied..]);
        Some(masked)
    }

    /// Returns the next match from `at` on. The offset must be added to the positions in the match.
    fn next<'t>(&self, text: &'t str, at: usize) -> Option<(usize, Captures<'t>)> {
        if self.beginning.is_empty() {
            // The search gets the whole text and not a part, so that `\b` and `^` take the preceding text into account.
            return self.regex.captures_at(text, at).map(|captures| (0, captures));
        }
        let mut places = text.get(at..)?.match_indices(&self.beginning).map(|(place, _)| at + place);
        places.find_map(|place| Some((place, self.regex.captures(&text[place..])?)))
    }
}

/// Returns the plain characters at the beginning of a regex. Every match begins with these characters.
fn fixed_beginning(regex: &str) -> String {
    let end = regex.find(|c: char| !(c.is_alphanumeric() || "-_/:@=,;% ".contains(c))).unwrap_or(regex.len());
    let (plain, rest) = regex.split_at(end);
    if regex.contains('|') {
        return String::new();
    }
    // A repetition after the last character applies to this character, so the character does not belong to the fixed part.
    let repeated = rest.starts_with(['*', '?', '{', '+']);
    let last = plain.chars().next_back().map_or(0, char::len_utf8);
    plain[..plain.len() - if repeated { last } else { 0 }].to_owned()
}

#[cfg(test)]
mod tests {
    use super::fixed_beginning;

    #[test]
    fn a_beginning_is_what_every_match_begins_with() {
        for (regex, beginning) in [
            ("ACME-[0-9]{8}", "ACME-"),
            ("abc", "abc"),
            ("abc?d", "ab"),
            ("ab{2}", "a"),
            ("a|b", ""),
            ("[a-z]x", ""),
            (r"\bkey", ""),
            ("(?i)key", ""),
            ("é+x", ""),
        ] {
            assert_eq!(fixed_beginning(regex), beginning, "{regex}");
        }
    }
}
