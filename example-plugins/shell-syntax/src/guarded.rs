//! The files that decide under which rules an agent runs: hookhost's own, and those in which agents name their hooks. The table is
//! made of `guarded.toml`.

use super::ascii::Ascii as _;
use super::known::kind;
use super::path::{Normal, home_of};
use super::places::is_temporary;
use super::word::{UNKNOWN, Word};
use super::{Command, Location, Places, lower};

include!(concat!(env!("OUT_DIR"), "/guarded.rs"));

/// The owner of the files that are hookhost's own.
pub const HOOKHOST: &str = "hookhost";

/// Maximum length of a file's name on the common systems, in bytes.
const MAX_NAME: usize = 255;
/// A directory in which an agent's files are few of many: what takes it away is no matter of an agent's.
const SHARED: &str = "documents";
/// Minimum length of what is known of the first of a path's names where the rest is a pattern: `*.json` is not `opencode.json`.
const MIN_KNOWN: usize = 2;

/// A file, or a directory with everything in it, that nothing which an agent asks for may write.
#[derive(Debug)]
pub struct Guarded {
    /// Whose it is: `hookhost`, or an agent by its name.
    pub owner: &'static str,
    /// As the table has it: `.claude/settings*.json`.
    pub path: &'static str,
    /// Its names, in lower case.
    parts: &'static [&'static str],
    /// Whether the first of them lies in the root.
    rooted: bool,
    /// Whether it is a directory, with everything in it.
    tree: bool,
    above: Above,
}

/// Where the directories above a file take it with them when they are removed or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Above {
    Anywhere,
    InHome,
    Never,
}

/// All of them, in the order of their first names.
#[must_use]
pub fn all() -> &'static [Guarded] {
    GUARDED
}

/// The names of those whose files are guarded, each once, `hookhost` among them.
#[must_use]
pub fn owners() -> Vec<&'static str> {
    let mut owners: Vec<_> = GUARDED.iter().map(|guarded| guarded.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// Where an agent's directory is, unless its variable says otherwise: below `~`.
pub(crate) fn directory_of_variable(name: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|(variable, _)| *variable == name).map(|(_, directory)| *directory)
}

/// How a path is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// Whether everything below it is written, too.
    pub whole: bool,
    /// Whether it is a pattern of a shell.
    pub wild: bool,
    /// Whether it supposes that the target of a copy is a directory.
    pub supposed: bool,
}

/// All that is guarded at `path`.
#[must_use]
pub fn at(path: &Normal, reach: Reach) -> Vec<&'static Guarded> {
    let Reach { whole, wild, supposed } = reach;
    let (text, is_absolute) = match path {
        Normal::Absolute(text) => (text, true),
        Normal::Below(text) => (text, false),
    };
    let lower = lower(text);
    let names: Vec<&str> = lower.split('/').skip_while(|name| name.is_empty()).collect();
    let home =
        if whole { home_of(text).map(|home| home.split('/').filter(|name| !name.is_empty()).count()) } else { None };
    // What is copied to a directory for temporary files, or cleaned up there, is no agent's settings.
    let is_scratch = is_absolute && is_temporary(text);
    if supposed && is_scratch {
        return Vec::new();
    }
    let whole = whole && !is_scratch;
    let mut found = Vec::new();
    for from in 0..names.len() {
        let names = &names[from..];
        let is_in_home = if is_absolute { home == Some(from) } else { from == 0 };
        found.extend(beginning_with(names[0], wild).iter().filter(|guarded| {
            let takes = whole && (guarded.above == Above::Anywhere || (guarded.above == Above::InHome && is_in_home));
            (!guarded.rooted || (is_absolute && from == 0)) && guarded.fits(names, takes, wild)
        }));
    }
    found
}

/// Those that may begin with a name, as far as it is known.
fn beginning_with(name: &str, wild: bool) -> &'static [Guarded] {
    if !may_begin(name.bytes().next()) {
        return &[];
    }
    let known = known_part(name, wild);
    let is_whole = known.len() == name.len();
    if !is_whole && known.len() < MIN_KNOWN {
        return &[];
    }
    let begin = GUARDED.partition_point(|guarded| guarded.parts[0] < known);
    // Few begin alike.
    let fits =
        |guarded: &&Guarded| if is_whole { guarded.parts[0] == known } else { guarded.parts[0].starts_with(known) };
    let count = GUARDED[begin..].iter().take_while(fits).count();
    &GUARDED[begin..begin + count]
}

/// Whether the first name of what is guarded may begin with this byte: soon said, and of most names no.
fn may_begin(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| FIRST_BYTES & (1 << (byte.to_ascii_lowercase() % 32)) != 0)
}

/// What of a name is known, from its beginning.
fn known_part(name: &str, wild: bool) -> &str {
    let end = name.find(|c| c == UNKNOWN || (wild && matches!(c, '*' | '?' | '[')));
    &name[..end.unwrap_or(name.len())]
}

impl Guarded {
    /// Whether it is hookhost's own.
    #[must_use]
    pub fn is_hosts(&self) -> bool {
        self.owner == HOOKHOST
    }

    /// Whether a path that ends with `names` is it, lies in it, or, with `takes`, is a directory above it that it names.
    fn fits(&self, names: &[&str], takes: bool, wild: bool) -> bool {
        let count = names.len().min(self.parts.len());
        let is_reached = match names.len().cmp(&self.parts.len()) {
            std::cmp::Ordering::Less => takes && names != [SHARED],
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => self.tree,
        };
        // The last names tell most apart.
        let mut pairs = names[..count].iter().zip(self.parts).rev();
        is_reached && pairs.all(|(name, part)| overlap(part, name, wild))
    }
}

/// Whether a name fits a part of the table, in which `*` stands for anything; what is unknown of the name may be anything, too.
fn overlap(part: &str, name: &str, wild: bool) -> bool {
    let known = known_part(name, wild);
    if known.len() == name.len() && !part.has(b'*') {
        return part == name;
    }
    let fixed = part.split('*').next().unwrap_or_default();
    let shared = known.len().min(fixed.len());
    if known.as_bytes()[..shared] != fixed.as_bytes()[..shared] {
        return false;
    }
    // A longer pattern is meant to be slow; a longer name is no file's.
    if name.len() > MAX_NAME {
        return known.len() < name.len();
    }
    both(part.as_bytes(), name.as_bytes(), wild)
}

/// Whether one text fits both. Bit `n` of `reached` says whether what was seen of the name and `n` bytes of the part can be the same
/// text; the build refuses a part that has no room for its bits.
fn both(part: &[u8], name: &[u8], wild: bool) -> bool {
    let all = (2_u64 << part.len()) - 1;
    let stars = bits(part, |byte| byte == b'*');
    let mut reached = spread(1, stars);
    let mut at = 0;
    while let Some(byte) = name.get(at).copied() {
        at += 1;
        // A `]` that comes first belongs to the class; a class that does not end is a character like any other.
        let class = if wild && byte == b'[' {
            name.get(at + 1..).and_then(|rest| rest.iter().position(|byte| *byte == b']'))
        } else {
            None
        };
        // A star of the part takes what comes, and stays.
        let stay = reached & stars;
        reached = if (wild && byte == b'*') || char::from(byte) == UNKNOWN {
            // All from the first that is reached.
            if reached == 0 { 0 } else { all & !(reached & reached.wrapping_neg()).wrapping_sub(1) }
        } else if let Some(length) = class {
            at += 2 + length;
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

/// A bit for each byte of a part of which `is` is true.
fn bits(part: &[u8], is: impl Fn(u8) -> bool) -> u64 {
    part.iter().rev().fold(0, |bits, byte| (bits << 1) | u64::from(is(*byte)))
}

/// A star of the part may be nothing; no two of them follow each other.
fn spread(reached: u64, stars: u64) -> u64 {
    reached | ((reached & stars) << 1)
}

/// What a command changes of what is guarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A file of hookhost's.
    pub hookhost: bool,
    /// A file of an agent's.
    pub agents: bool,
}

impl Command {
    /// The files to which it gives another name, by which they could then be written.
    pub fn linked(&self) -> impl Iterator<Item = &Word> {
        let links = matches!(&*lower(&self.program), "ln" | "gln" | "link" | "mklink");
        let operands = self.args.iter().filter(move |word| links && !word.text.starts_with('-'));
        let count = operands.clone().count();
        operands.take(count.saturating_sub(1).max(1))
    }

    /// What it changes of what is guarded on this machine, as far as [`Command::writes`] and [`Command::linked`] know.
    #[must_use]
    pub fn changes(&self, places: &Places) -> Changes {
        let mut changes = Changes::default();
        if self.location == Location::Machine || !self.may_change() || self.only_says() {
            return changes;
        }
        let cwd = self.cwd.as_deref();
        let is_within = cwd.is_some_and(may_be_guarded);
        let written = self.writes().into_iter().map(|write| (write.path, write.whole, write.supposed));
        for (path, whole, supposed) in written.chain(self.linked().map(|word| (word.clone(), true, false))) {
            if !is_within && !may_lead_there(&path, whole) {
                continue;
            }
            let reach = Reach { whole, wild: path.glob, supposed };
            for guarded in at(&places.resolve(&path, cwd), reach) {
                changes.hookhost |= guarded.is_hosts();
                changes.agents |= !guarded.is_hosts();
            }
        }
        changes
    }

    /// Whether it is a cmdlet that says what it would do: `Remove-Item x -WhatIf`.
    fn only_says(&self) -> bool {
        let is_cmdlet =
            self.windows || self.program.halves(b'-').is_some_and(|(verb, _)| verb.starts_with(char::is_uppercase));
        is_cmdlet && self.redirects.is_empty() && self.args.iter().any(|word| word.text.eq_ignore_ascii_case("-whatif"))
    }

    /// Whether it is worth a closer look: most commands write nothing, or nothing that has a guarded name.
    fn may_change(&self) -> bool {
        let program = lower(&self.program);
        let is_writer = kind(&program).is_some() || self.linked().next().is_some();
        let mut words = self.args.iter().filter(|_| is_writer).chain(self.outputs());
        if self.told_to_write().next().is_some() {
            return true;
        }
        (is_writer || self.outputs().next().is_some())
            && (self.cwd.as_deref().is_some_and(may_be_guarded) || words.any(|word| may_be_guarded(&word.text)))
    }
}

/// Whether a part of a text may be the first name of what is guarded. An option may have a path right after its letter.
fn may_be_guarded(text: &str) -> bool {
    if text.starts_with('-') && text.has_one_of(b"./") {
        return true;
    }
    let bytes = text.as_bytes();
    let mut begin = 0;
    (0..=bytes.len()).any(|at| {
        if !matches!(bytes.get(at), None | Some(b'/' | b'\\' | b'=')) {
            return false;
        }
        let name = std::mem::replace(&mut begin, at + 1)..at;
        may_begin(bytes[name.clone()].first().copied()) && !beginning_with(&lower(&text[name]), true).is_empty()
    })
}

/// Whether a path that is written may be guarded, from a directory that is not: asked before it is known where it leads, which takes
/// longer to find out.
fn may_lead_there(path: &Word, whole: bool) -> bool {
    let text = lower(&path.text);
    let names: Vec<&str> = text.trim_start_matches(['/', '\\']).split(['/', '\\']).collect();
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return may_be_guarded(&path.text);
    }
    let may_fit = |from: usize, guarded: &Guarded| {
        guarded.fits(&names[from..], whole && guarded.above != Above::Never, path.glob)
    };
    (0..names.len()).any(|from| beginning_with(names[from], path.glob).iter().any(|guarded| may_fit(from, guarded)))
}

#[cfg(test)]
mod tests;
