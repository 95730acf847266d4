//! Patterns of paths and texts, compiled at load, whose cost is bounded by the length of what they are compared with.

use glob::MatchOptions;
use regex_lite::{Regex, RegexBuilder};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 1024;
/// Maximum number of wildcards in a glob.
const MAX_WILDCARDS: usize = 32;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED: usize = 32 * 1024;
/// Maximum depth of groups and repetitions of a regular expression. Its parser has 48 KiB of stack.
const MAX_NESTING: u32 = 16;

/// A pattern of a path: `*`, `?` and `[…]` match within a component, and `**` matches any number of components.
///
/// The crate `glob` compares component by component: for a whole path, its time would grow exponentially with the number of `*`.
#[derive(Debug)]
pub(crate) struct Glob {
    components: Vec<Component>,
    /// The length of the pattern in bytes, to which the time is proportional.
    pub(crate) length: usize,
}

#[derive(Debug)]
enum Component {
    /// Any number of components.
    Any,
    One(glob::Pattern),
}

impl Glob {
    /// # Errors
    /// Returns an error if the pattern is too long or is no glob.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        check_length(pattern)?;
        if pattern.matches(['*', '?', '[']).count() > MAX_WILDCARDS {
            return Err(format!("the pattern has more than {MAX_WILDCARDS} wildcards"));
        }
        // As in the crate, the slash after the last `**` means nothing.
        let components = match pattern.strip_suffix("**/") {
            Some(_) => pattern.trim_end_matches('/'),
            None => pattern,
        };
        let component = |component| match component {
            "**" => Ok(Component::Any),
            component => glob::Pattern::new(component).map(Component::One),
        };
        let components: Result<_, _> = components.split('/').map(component).collect();
        let components = components.map_err(|error| format!("this is no pattern of paths: {}", error.msg))?;
        Ok(Self { components, length: pattern.len() })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split('/').collect();
        // Where to continue if a component does not fit: after the last `**`, which then matches one component more.
        let mut retry = None;
        let (mut component, mut part) = (0, 0);
        loop {
            let fits = match self.components.get(component) {
                // At the end, `**` stands for at least one component.
                Some(Component::Any) if component + 1 == self.components.len() => return part < path.len(),
                Some(Component::Any) => {
                    component += 1;
                    retry = Some((component, part + 1));
                    continue;
                }
                Some(Component::One(pattern)) => path.get(part).is_some_and(|part| pattern.matches_with(part, OPTIONS)),
                None if part == path.len() => return true,
                None => false,
            };
            match (fits, retry) {
                (true, _) => (component, part) = (component + 1, part + 1),
                (false, Some((after, next))) if next < path.len() => {
                    (component, part) = (after, next);
                    retry = Some((after, next + 1));
                }
                (false, _) => return false,
            }
        }
    }
}

const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// A regular expression.
#[derive(Debug)]
pub(crate) struct Expression {
    regex: Regex,
    /// Approximate number of states, to which the time per byte is proportional.
    pub(crate) states: usize,
}

impl Expression {
    /// # Errors
    /// Returns an error if the pattern is too long, is no regular expression, or becomes too large.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        /// Bytes of a compiled state.
        const STATE: usize = 16;
        check_length(pattern)?;
        let compile = |size| RegexBuilder::new(pattern).size_limit(size).nest_limit(MAX_NESTING).build();
        let mut size = 256;
        loop {
            match compile(size) {
                Ok(regex) => return Ok(Self { regex, states: size / STATE }),
                Err(_) if size < MAX_COMPILED => size *= 2,
                Err(error) => return Err(format!("this is no regular expression: {error}")),
            }
        }
    }

    /// Returns true if a part of the text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

fn check_length(pattern: &str) -> Result<(), String> {
    match pattern.len() {
        0 => Err("the pattern is empty".to_owned()),
        length if length > MAX_PATTERN => {
            Err(format!("the pattern has {length} bytes; at most {MAX_PATTERN} are possible"))
        }
        _ => Ok(()),
    }
}
