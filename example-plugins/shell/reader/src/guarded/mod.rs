//! Guarded files are the files that decide which rules apply to an agent. They are hookhost's own files, and the agents' files for hooks,
//! proxies and environment variables. The build script makes the table of these files from `guarded.toml`.

use super::ascii::Ascii as _;
use super::lower;
use super::path::{Normal, below, home_of};
use super::path_context::is_temporary;
use super::word::UNKNOWN;
use super::writes::{Extent, Write};

mod changes;

pub use changes::Changes;

include!(concat!(env!("OUT_DIR"), "/guarded.rs"));

/// The owner name of hookhost's own files.
pub const HOOKHOST: &str = "hookhost";

/// The file with a project's rules. A command that moves or removes the project's directory also affects this file.
const PROJECT_FILE: &str = "hookhost.toml";

/// The file that contains hookhost's keys.
const KEYS: &str = "keys.toml";

/// Maximum length of a file name on common systems, in bytes.
const MAX_NAME: usize = 255;
/// Directory names that are too common to identify a guarded file. For example, a command that removes `Documents` is probably not aimed at
/// an agent, and `bin/*` matches programs of any kind.
const SHARED: [&str; 3] = ["documents", "bin", HOOKHOST];
/// Minimum number of units that a pattern must have in common with a guarded path in order to match the path. A letter is two units, and a
/// whole name is four units. With this minimum, `*.json` does not match `opencode.json`.
const MIN_KNOWN: usize = 4;
/// Like [`MIN_KNOWN`], for a pattern directly below a home. `~/.*/*.json` must match, because it matches the files of every agent.
const MIN_KNOWN_IN_HOME: usize = 1;

/// A file or a directory tree that no action of an agent may write.
#[derive(Debug)]
pub struct Guarded {
    /// The owner: `hookhost`, or the name of an agent.
    pub owner: &'static str,
    /// The path as the table spells it: `.claude/settings*.json`.
    pub path: &'static str,
    /// The components of the path, in lower case.
    parts: &'static [&'static str],
    /// True if the path starts at the root directory.
    rooted: bool,
    /// True if the entry is a directory and guards everything in it.
    tree: bool,
    above: Above,
    when: When,
}

/// The directories above a guarded file whose removal or renaming is treated as a change of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Above {
    Anywhere,
    InHome,
    Never,
}

/// The condition under which an entry of the table applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// The entry applies only outside of the workspace, because the name is too common.
    Outside,
    /// The entry applies only if the written text names one of the variables that select other settings. Other writes to such a file are
    /// harmless.
    Names,
}

/// Returns all entries, sorted by their first path component.
#[must_use]
pub fn all() -> &'static [Guarded] {
    GUARDED
}

/// Returns the name of each owner once, `hookhost` included.
#[must_use]
pub fn owners() -> Vec<&'static str> {
    let mut owners: Vec<_> = GUARDED.iter().map(|guarded| guarded.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// Returns the default directory of a variable, below `~`, or `None` if the variable has no default.
pub(crate) fn directory_of_variable(name: &str) -> Option<&'static str> {
    let (_, directory) = VARIABLES.iter().find(|(variable, _)| *variable == name)?;
    (!directory.is_empty()).then_some(*directory)
}

/// Returns true if the text names a variable that makes hookhost or an agent use other settings.
#[must_use]
pub fn names_variable(text: &str) -> bool {
    VARIABLES.iter().any(|(variable, _)| text.contains(variable))
}

/// Returns true if the path is hookhost's file of keys or the directory that contains it.
#[must_use]
pub fn is_keys(path: &Normal, workspace: &str) -> bool {
    let is_one = |guarded: &&Guarded| guarded.when == When::Always && guarded.parts.last() == Some(&KEYS);
    let found = |path: &Normal| at(path, Reach::default(), workspace);
    let is_own = found(path).iter().any(|guarded| guarded.is_hosts() && guarded.tree);
    let within = match path {
        Normal::Absolute(text) => Normal::Absolute(format!("{text}/{KEYS}")),
        Normal::Below(text) => Normal::Below(format!("{text}/{KEYS}")),
    };
    found(path).iter().any(is_one) || (is_own && found(&within).iter().any(|one| is_one(one) && one.parts.len() > 2))
}

/// The effect of a command on a path that it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// The part of the path that the command writes.
    pub extent: Extent,
    /// True if the path is a shell pattern.
    pub wild: bool,
    /// True if the path rests on the assumption that the target of a copy is a directory.
    pub supposed: bool,
    /// True if the path begins in a home directory, even if the path of that directory is unknown.
    pub in_home: bool,
}

impl Reach {
    /// Returns the reach of a write to `path` by a command in the directory `cwd`.
    #[must_use]
    pub fn of(write: &Write, path: &Normal, cwd: Option<&str>) -> Self {
        let Write { path: word, extent, supposed } = write;
        // If an archive is unpacked in an unknown directory, this directory is not assumed to be a home.
        let is_nowhere =
            *extent == Extent::Filled && !word.home && matches!(path, Normal::Below(text) if text.is_empty());
        // After `cd */`, the current directory may be any directory that matches.
        let wild = word.glob || cwd.is_some_and(|cwd| cwd.has_one_of(b"*?["));
        let extent = if is_nowhere { Extent::File } else { *extent };
        Self { extent, wild, supposed: *supposed, in_home: word.home }
    }
}

/// Returns all entries of the table that a write to `path` affects.
#[must_use]
pub fn at(path: &Normal, reach: Reach, workspace: &str) -> Vec<&'static Guarded> {
    let (text, is_absolute) = match path {
        Normal::Absolute(text) => (text, true),
        Normal::Below(text) => (text, false),
    };
    // Files in a directory for temporary files are not an agent's settings.
    let is_scratch = is_absolute && is_temporary(text);
    if reach.supposed && is_scratch {
        return Vec::new();
    }
    let lower = lower(text);
    let names: Vec<&str> = lower.split('/').skip_while(|name| name.is_empty()).map(known_name).collect();
    let home = if is_absolute {
        home_of(text).map(|home| home.split('/').filter(|name| !name.is_empty()).count())
    } else {
        Some(0)
    };
    let takes = reach.extent != Extent::File && !is_scratch;
    let is_inside = is_absolute && below(&lower, &super::lower(workspace)).is_some();
    let mut found = Vec::new();
    for from in 0..names.len() {
        let names = &names[from..];
        let is_in_home = home == Some(from);
        let is_home_known = is_in_home && (is_absolute || reach.in_home);
        found.extend(beginning_with(names[0], reach.wild, is_home_known).iter().filter(|guarded| {
            let takes = takes && (guarded.above == Above::Anywhere || (guarded.above == Above::InHome && is_in_home));
            (!guarded.rooted || (is_absolute && from == 0))
                && (guarded.when != When::Outside || !is_inside)
                && guarded.fits(names, takes, is_home_known, reach)
        }));
    }
    // An archive that is unpacked in a home may overwrite any file there.
    if reach.extent == Extent::Filled && home == Some(names.len()) {
        found.extend(GUARDED.iter().filter(|guarded| !guarded.rooted && guarded.above != Above::Never));
    }
    if reach.extent == Extent::Moved && is_absolute && holds(&names, &super::lower(workspace), reach.wild) {
        found.extend(GUARDED.iter().find(|guarded| guarded.path == PROJECT_FILE));
    }
    found
}

/// Returns true if the path is the workspace or a directory above it.
fn holds(names: &[&str], workspace: &str, wild: bool) -> bool {
    let mut parts = workspace.split('/').filter(|part| !part.is_empty());
    !names.is_empty()
        && names
            .iter()
            .all(|name| !name.has(UNKNOWN as u8) && parts.next().is_some_and(|part| overlap(part, name, wild)))
}

/// Normalizes a name as Windows does. The name of a stream is removed, and so are dots and spaces at the end.
fn known_name(name: &str) -> &str {
    // A colon in `[[:alpha:]]` or after a drive letter does not begin the name of a stream.
    let stream = name.find(':').filter(|at| *at > 1 && !name.has(b'['));
    let stem = stream.map_or(name, |at| &name[..at]).trim_end_matches(['.', ' ']);
    if stem.is_empty() { name } else { stem }
}

/// Returns the entries whose first component may match the name, as far as the name is known.
fn beginning_with(name: &str, wild: bool, is_in_home: bool) -> &'static [Guarded] {
    let known = known_part(name, wild);
    // `CLAUDE~1` may be `.claude`.
    if short_name(name).is_some() {
        return GUARDED;
    }
    if known.is_empty() {
        // A completely unknown name can only match an entry that is directly in a home.
        let is_nothing = name.bytes().all(|byte| byte == UNKNOWN as u8);
        return if is_nothing && !is_in_home { &[] } else { GUARDED };
    }
    if !may_begin(name.bytes().next()) {
        return &[];
    }
    let is_whole = known.len() == name.len();
    let begin = GUARDED.partition_point(|guarded| guarded.parts[0] < known);
    // A linear search is enough, because few entries begin with the same letter.
    let fits =
        |guarded: &&Guarded| if is_whole { guarded.parts[0] == known } else { guarded.parts[0].starts_with(known) };
    let count = GUARDED[begin..].iter().take_while(fits).count();
    &GUARDED[begin..begin + count]
}

/// Fast check that returns true if the first component of an entry may begin with this byte. For most names, it returns false.
fn may_begin(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| FIRST_BYTES & (1 << (byte.to_ascii_lowercase() % 32)) != 0)
}

/// Returns the part of a name before the first unknown or wildcard character.
fn known_part(name: &str, wild: bool) -> &str {
    let end = name.find(|c| c == UNKNOWN || (wild && matches!(c, '*' | '?' | '[')));
    &name[..end.unwrap_or(name.len())]
}

/// Returns the stem and the extension of a Windows short name: `claude~1`, `settin~2.jso`.
fn short_name(name: &str) -> Option<(&str, &str)> {
    let (stem, rest) = name.halves(b'~')?;
    let (number, ending) = rest.halves(b'.').unwrap_or((rest, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !stem.is_empty() && stem.len() <= 6).then_some((stem, ending))
}

/// Returns true if Windows may make this short name from a component of the table.
fn is_short_of(part: &str, (stem, ending): (&str, &str)) -> bool {
    let part = part.trim_start_matches('.');
    let (name, ending_of_part) = part.rsplit_once('.').unwrap_or((part, ""));
    let letters = name.chars().filter(|c| !matches!(c, '.' | ' '));
    letters.take(stem.len()).eq(stem.chars()) && ending_of_part.starts_with(ending)
}

impl Guarded {
    /// Returns true if the entry is for a file of hookhost itself.
    #[must_use]
    pub fn is_hosts(&self) -> bool {
        self.owner == HOOKHOST
    }

    /// Returns true if the entry applies only if the written text names one of the variables ([`names_variable`]).
    #[must_use]
    pub fn is_of_variables(&self) -> bool {
        self.when == When::Names
    }

    /// Returns true if a path that ends with `names` matches this entry, or lies in the directory that the entry guards. If `takes` is
    /// true, a directory above the guarded path also matches.
    fn fits(&self, names: &[&str], takes: bool, is_in_home: bool, reach: Reach) -> bool {
        let count = names.len().min(self.parts.len());
        let is_reached = match names.len().cmp(&self.parts.len()) {
            std::cmp::Ordering::Less => takes && !(names.len() == 1 && SHARED.contains(&names[0])),
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => self.tree,
        };
        // The names are compared from the end, because the last names differ most.
        let mut pairs = names[..count].iter().zip(self.parts).rev();
        let least = if is_in_home && !reach.supposed { MIN_KNOWN_IN_HOME } else { MIN_KNOWN };
        is_reached
            && pairs.all(|(name, part)| overlap(part, name, reach.wild))
            && known(&names[..count], reach.wild) >= least
    }
}

/// Counts the known units of a path whose names may be patterns. A name without wildcards counts as two letters.
fn known(names: &[&str], wild: bool) -> usize {
    let mut all = 0;
    for (at, name) in names.iter().enumerate() {
        if known_part(name, wild).len() == name.len() {
            all += if SHARED.contains(name) && at + 1 < names.len() { 0 } else { MIN_KNOWN };
            continue;
        }
        // The extension is ignored unless the directory is known, because many files have the same extension.
        let is_last = at + 1 == names.len() && all < 2;
        let stem = name.rsplit_once('.').filter(|(stem, _)| is_last && !stem.is_empty());
        let stem = stem.map_or(*name, |(stem, _)| stem);
        all += letters(stem, wild);
    }
    all
}

/// Counts the units of a pattern. A letter has two units, `?` or a wide class has one unit, and `*` and unknown characters have none.
fn letters(pattern: &str, wild: bool) -> usize {
    let mut all = 0;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        all += match c {
            '*' if wild => 0,
            UNKNOWN => 0,
            '?' if wild => 1,
            '[' if wild && let Some(end) = class_end(rest.as_bytes()) => {
                let class = &rest[..end];
                rest = &rest[end + 1..];
                if class.len() > 3 || class.has_one_of(b"!^-") { 1 } else { 2 }
            }
            _ => 2,
        };
    }
    all
}

/// Returns true if a name can match a component of the table. A `*` in the component and an unknown character in the name match any text.
fn overlap(part: &str, name: &str, wild: bool) -> bool {
    if let Some(short) = short_name(name) {
        return is_short_of(part, short);
    }
    let known = known_part(name, wild);
    if known.len() == name.len() && !part.has(b'*') {
        return part == name;
    }
    // As in a shell, a wildcard does not match a leading dot.
    if wild && part.starts_with('.') && name.starts_with(['*', '?', '[']) {
        return false;
    }
    let fixed = part.split('*').next().unwrap_or_default();
    let shared = known.len().min(fixed.len());
    if known.as_bytes()[..shared] != fixed.as_bytes()[..shared] {
        return false;
    }
    // No file has a name this long. A pattern this long is an attempt to make matching slow, so it is treated as a match.
    if name.len() > MAX_NAME {
        return known.len() < name.len();
    }
    both(part.as_bytes(), name.as_bytes(), wild)
}

/// Returns true if some text matches both patterns. In the loop, bit `n` of `reached` is set if the part of the name that was read so far
/// can match the same text as the first `n` bytes of the component. The build script refuses components that have more bytes than `reached`
/// has bits.
fn both(part: &[u8], name: &[u8], wild: bool) -> bool {
    let all = (2_u64 << part.len()) - 1;
    let stars = bits(part, |byte| byte == b'*');
    let mut reached = spread(1, stars);
    let mut at = 0;
    while let Some(byte) = name.get(at).copied() {
        at += 1;
        let class = if wild && byte == b'[' { class_end(&name[at..]) } else { None };
        // A `*` of the component accepts the byte and stays in its state.
        let stay = reached & stars;
        reached = if (wild && byte == b'*') || char::from(byte) == UNKNOWN {
            // Every state from the first reached state on becomes reachable.
            if reached == 0 { 0 } else { all & !(reached & reached.wrapping_neg()).wrapping_sub(1) }
        } else if let Some(length) = class {
            at += length + 1;
            stay | (reached << 1)
        } else if wild && byte == b'?' {
            stay | (reached << 1)
        } else {
            stay | ((reached & bits(part, |other| other == byte)) << 1)
        };
        reached = spread(reached & all, stars);
        if reached == 0 {
            return false;
        }
    }
    (reached >> part.len()) & 1 == 1
}

/// Returns the index in `rest` at which a character class ends. `rest` is the text after the opening `[`. A `]` in the first position and a
/// named class such as `[:alpha:]` belong to the class. Returns `None` if the class is not closed, because its `[` is then an ordinary
/// character.
fn class_end(rest: &[u8]) -> Option<usize> {
    let mut at = usize::from(rest.first().is_some_and(|byte| matches!(byte, b'!' | b'^')));
    at += usize::from(rest.get(at) == Some(&b']'));
    loop {
        match rest.get(at)? {
            b']' => return Some(at),
            b'[' if rest.get(at + 1) == Some(&b':') => {
                let named = rest[at + 2..].array_windows().position(|pair| pair == b":]");
                at += named.map_or(1, |length| length + 4);
            }
            _ => at += 1,
        }
    }
}

/// Returns a bit mask of the bytes of a component for which `is` returns true.
fn bits(part: &[u8], is: impl Fn(u8) -> bool) -> u64 {
    part.iter().rev().fold(0, |bits, byte| (bits << 1) | u64::from(is(*byte)))
}

/// Adds the states that are reached if a `*` matches the empty text. The table never has two `*` in a row.
fn spread(reached: u64, stars: u64) -> u64 {
    reached | ((reached & stars) << 1)
}

#[cfg(test)]
mod tests;
