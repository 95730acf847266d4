//! Guarded files: the files that decide which rules apply to an agent. These are hookhost's own files and the agents' files for hooks,
//! proxies and environment variables. The build script makes the table from `guarded.toml`.

use super::ascii::Ascii as _;
use super::code::language;
use super::path::{Normal, below, home_of};
use super::path_class::is_temporary;
use super::read::{Reader, Unreadable};
use super::unwrap::runs_others;
use super::word::{UNKNOWN, Word};
use super::wrappers::READERS;
use super::writes::{Extent, Write, values, within};
use super::writing_programs::{Kind, kind};
use super::{Command, Location, Places, lower};

include!(concat!(env!("OUT_DIR"), "/guarded.rs"));

/// The owner name of hookhost's own files.
pub const HOOKHOST: &str = "hookhost";
/// The file with a project's rules. A command that moves or removes the project's directory affects it, too.
const OF_PROJECT: &str = "hookhost.toml";

/// The file that contains hookhost's keys.
const KEYS: &str = "keys.toml";

/// Maximum length of a file name on common systems, in bytes.
const MAX_NAME: usize = 255;
/// Directory names that are too common to identify a guarded file. Removing `Documents` is not about an agent, and `bin/*` matches
/// anybody's programs.
const SHARED: [&str; 3] = ["documents", "bin", HOOKHOST];
/// Minimum number of units that a pattern must have in common with a guarded path. A letter counts two units, a whole name four. So
/// `*.json` does not match `opencode.json`.
const MIN_KNOWN: usize = 4;
/// The same minimum for a pattern directly below a home: `~/.*/*.json` matches every agent's files.
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

/// The places where removing or moving a parent directory counts as a change of the file.
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
    /// Only outside of the workspace, because the name is too common.
    Outside,
    /// Only if the written text names one of the variables. Other writes to such a file are harmless.
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

/// Returns true if the text names a variable that points hookhost or an agent to other settings.
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

/// The way in which a command writes a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// The part of the path that the command writes.
    pub extent: Extent,
    /// True if the path is a shell pattern.
    pub wild: bool,
    /// True if the path assumes that the target of a copy is a directory.
    pub supposed: bool,
    /// True if the path begins in a home directory, wherever that is.
    pub in_home: bool,
}

impl Reach {
    /// Derives the reach of a write to `path` from the directory `cwd`.
    #[must_use]
    pub fn of(write: &Write, path: &Normal, cwd: Option<&str>) -> Self {
        let Write { path: word, extent, supposed } = write;
        // An archive that is unpacked in an unknown directory says nothing about a home.
        let is_nowhere =
            *extent == Extent::Filled && !word.home && matches!(path, Normal::Below(text) if text.is_empty());
        // After `cd */`, any matching directory may be the current one.
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
    // An archive unpacked in a home may contain any file of a home.
    if reach.extent == Extent::Filled && home == Some(names.len()) {
        found.extend(GUARDED.iter().filter(|guarded| !guarded.rooted && guarded.above != Above::Never));
    }
    if reach.extent == Extent::Moved && is_absolute && holds(&names, &super::lower(workspace), reach.wild) {
        found.extend(GUARDED.iter().find(|guarded| guarded.path == OF_PROJECT));
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

/// Normalizes a name as Windows does: removes a stream, and dots and spaces at the end.
fn known_name(name: &str) -> &str {
    // A colon in `[[:alpha:]]` or after a drive letter begins no stream.
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
        // An unknown name can only match an entry at the top of a home.
        let is_nothing = name.bytes().all(|byte| byte == UNKNOWN as u8);
        return if is_nothing && !is_in_home { &[] } else { GUARDED };
    }
    if !may_begin(name.bytes().next()) {
        return &[];
    }
    let is_whole = known.len() == name.len();
    let begin = GUARDED.partition_point(|guarded| guarded.parts[0] < known);
    // A linear search is enough: few entries begin alike.
    let fits =
        |guarded: &&Guarded| if is_whole { guarded.parts[0] == known } else { guarded.parts[0].starts_with(known) };
    let count = GUARDED[begin..].iter().take_while(fits).count();
    &GUARDED[begin..begin + count]
}

/// Fast check: returns true if the first component of an entry may begin with this byte. Most names fail it.
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
    /// Returns true if the entry is hookhost's own.
    #[must_use]
    pub fn is_hosts(&self) -> bool {
        self.owner == HOOKHOST
    }

    /// Returns true if the entry applies only if the written text names one of the variables ([`names_variable`]).
    #[must_use]
    pub fn is_of_variables(&self) -> bool {
        self.when == When::Names
    }

    /// Returns true if a path that ends with `names` matches this entry or lies in it. With `takes`, a directory above it matches, too.
    fn fits(&self, names: &[&str], takes: bool, is_in_home: bool, reach: Reach) -> bool {
        let count = names.len().min(self.parts.len());
        let is_reached = match names.len().cmp(&self.parts.len()) {
            std::cmp::Ordering::Less => takes && !(names.len() == 1 && SHARED.contains(&names[0])),
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => self.tree,
        };
        // Compare from the end, because the last names differ most.
        let mut pairs = names[..count].iter().zip(self.parts).rev();
        let least = if is_in_home && !reach.supposed { MIN_KNOWN_IN_HOME } else { MIN_KNOWN };
        is_reached
            && pairs.all(|(name, part)| overlap(part, name, reach.wild))
            && known(&names[..count], reach.wild) >= least
    }
}

/// Counts the known units of a path whose names may be patterns. A name without wildcards counts as much as two letters.
fn known(names: &[&str], wild: bool) -> usize {
    let mut all = 0;
    for (at, name) in names.iter().enumerate() {
        if known_part(name, wild).len() == name.len() {
            all += if SHARED.contains(name) && at + 1 < names.len() { 0 } else { MIN_KNOWN };
            continue;
        }
        // Ignore the extension unless the directory is known: an extension says little.
        let is_last = at + 1 == names.len() && all < 2;
        let stem = name.rsplit_once('.').filter(|(stem, _)| is_last && !stem.is_empty());
        let stem = stem.map_or(*name, |(stem, _)| stem);
        all += letters(stem, wild);
    }
    all
}

/// Counts the units of a pattern: two for a letter, one for `?` or a wide class, none for `*` and unknown characters.
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

/// Returns true if a name can match a component of the table. `*` in the component matches anything, and so does an unknown character of
/// the name.
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
    // No file has a name this long. A pattern this long is an attempt to make matching slow, so it counts as a match.
    if name.len() > MAX_NAME {
        return known.len() < name.len();
    }
    both(part.as_bytes(), name.as_bytes(), wild)
}

/// Returns true if some text matches both patterns. Bit `n` of `reached` is set if the name so far and the first `n` bytes of the component
/// can be the same text. The build script refuses components that are too long for the bits.
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
            // Every state from the first reached one on becomes reachable.
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

/// Returns the index in `rest` at which a character class ends, where `rest` follows the opening `[`. A `]` in first place and a named
/// class such as `[:alpha:]` belong to the class. Returns `None` if the class is not closed; its `[` is then an ordinary character.
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

/// Lets each `*` match the empty text, too. The table never has two of them in a row.
fn spread(reached: u64, stars: u64) -> u64 {
    reached | ((reached & stars) << 1)
}

/// The guarded files that a command changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// True if the command changes a file of hookhost.
    pub hookhost: bool,
    /// True if the command changes a file of an agent.
    pub agents: bool,
    /// True if the command names hookhost's keys, perhaps only to read them.
    pub keys: bool,
}

/// Directories that other programs use, too. Naming one of them says little.
const COMMON: [&str; 6] = [".config", ".local", ".cargo", ".cache", ".github", ".vscode"];
/// Limit for [`Reader::suppose_guarded`]: maximum number of guarded paths, and of commands with an unknown operand.
const MAX_SUPPOSED: usize = 8;

impl Reader<'_> {
    /// Handles programs whose target is unknown from its first character (`rm "$x"`). If the text names a guarded path elsewhere, adds the
    /// same command with that path.
    pub(super) fn suppose_guarded(&mut self) -> Result<(), Unreadable> {
        let is_open = |word: &Word| word.text.starts_with(UNKNOWN);
        let may_write = |command: &&Command| {
            let kind = kind(&lower(&command.program)).filter(|kind| *kind != Kind::Git && command.program != "mkdir");
            command.location != Location::Machine
                && (kind.is_some() && command.args.iter().any(is_open) || command.outputs().any(is_open))
        };
        let open: Vec<Command> = self.script.commands.iter().filter(may_write).take(MAX_SUPPOSED).cloned().collect();
        if open.is_empty() {
            return Ok(());
        }
        self.spend(self.text.len())?;
        let mut found = Vec::new();
        for (path, is_directory) in named(self.text, self.places) {
            // A path that the command names itself is not its unknown operand.
            let is_named = |command: &&Command| {
                let read = command.redirects.iter().map(|redirect| &redirect.target);
                command.args.iter().chain(read).any(|word| word.text == path.text)
            };
            for command in open.iter().filter(|command| !is_named(command)) {
                let mut supposed = Command { exact: false, ..command.clone() };
                let targets = supposed.redirects.iter_mut().map(|redirect| &mut redirect.target);
                for word in supposed.args.iter_mut().chain(targets).filter(|word| word.text.starts_with(UNKNOWN)) {
                    let rest = word.text.trim_start_matches(UNKNOWN);
                    let text = match (is_directory, rest.starts_with('/')) {
                        (true, true) => format!("{}{rest}", path.text),
                        (true, false) => format!("{}/{UNKNOWN}{rest}", path.text),
                        (false, _) if rest.is_empty() => path.text.clone(),
                        (false, _) => continue,
                    };
                    *word = Word { text, span: None, ..path.clone() };
                }
                let changes = supposed.changes(self.places);
                found.extend((changes.hookhost || changes.agents).then_some(supposed));
            }
        }
        found.into_iter().try_for_each(|command| self.push(command))
    }
}

/// Returns the guarded paths, and directories that contain guarded files, that the text names as whole words. The flag is true for a
/// directory.
fn named(text: &str, places: &Places) -> Vec<(Word, bool)> {
    let is_end = |c: char| c.is_whitespace() || "\"'`;|&<>(){}=,".contains(c);
    let mut found: Vec<(Word, bool)> = Vec::new();
    for part in text.split(is_end).filter(|part| may_be_guarded(part)) {
        let part = part.trim_end_matches('/');
        let name = lower(part.rsplit('/').next().unwrap_or_default());
        let is_at = |path: &str| {
            let reach = Reach { in_home: part.starts_with('~'), ..Reach::default() };
            at(&places.spelt(path, None), reach, places.workspace()).iter().any(|guarded| guarded.when == When::Always)
        };
        let may_hold = (name.starts_with('.') && !COMMON.contains(&&*name)) || name == HOOKHOST;
        let is_directory = may_hold && is_at(&format!("{part}/{UNKNOWN}"));
        let word = Word { home: part.starts_with('~'), ..Word::literal(part) };
        if found.len() < MAX_SUPPOSED && (is_directory || is_at(part)) && !found.iter().any(|(other, _)| *other == word)
        {
            found.push((word, is_directory));
        }
    }
    found
}

impl Command {
    /// Returns the files that the command may let others write, although it is not known to write them itself. These are files that get a
    /// second name (`ln`, `docker run -v`) and files given to a program that is not known to be read-only.
    #[must_use]
    pub fn exposes(&self) -> Vec<Write> {
        let exposed = |path: Word, extent| Write { path, extent, supposed: false };
        let program = lower(&self.program);
        match &*program {
            "ln" | "gln" | "link" | "mklink" => {
                let operands = self.args.iter().filter(|word| !word.text.starts_with('-'));
                let count = operands.clone().count();
                let linked = operands.take(count.saturating_sub(1).max(1));
                linked.map(|word| exposed(word.clone(), Extent::Whole)).collect()
            }
            "script" | "docker" | "podman" | "nerdctl" | "kubectl" | "oc"
                if program == "script" || self.args.first().is_some_and(|word| word.text == "cp") =>
            {
                self.args
                    .iter()
                    .filter(|word| !word.text.has(b' '))
                    .map(|word| exposed(word.clone(), Extent::File))
                    .collect()
            }
            "docker" | "podman" | "nerdctl" => {
                let mounts = values(&self.args, &["-v", "--volume", "--mount"]);
                mounts.iter().filter_map(mounted).map(|word| exposed(word, Extent::Whole)).collect()
            }
            "scp" | "rsync" | "sftp" => {
                self.args.iter().filter_map(on_this_machine).map(|word| exposed(word, Extent::File)).collect()
            }
            _ if self.is_unknown(&program) => {
                self.args.iter().flat_map(pieces).map(|word| exposed(word, Extent::File)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if the effect of the program on its files is unknown. Programs outside the installed directories and interpreters are
    /// excluded: their effect depends on a text that is not read here.
    fn is_unknown(&self, program: &str) -> bool {
        let path = self.program_word.text.as_str();
        let is_installed = !path.has_one_of(b"/\\")
            || ["/usr/", "/bin/", "/sbin/", "/opt/"].iter().any(|begin| path.starts_with(begin));
        !program.is_empty()
            && is_installed
            && !self.resolved
            && READERS.of_first_word(program).next().is_none()
            && kind(program).is_none()
            && language(program).is_none()
            && !runs_others(program)
    }

    /// Returns the guarded files on this machine that the command changes, according to [`Command::writes`] and [`Command::exposes`].
    #[must_use]
    pub fn changes(&self, places: &Places) -> Changes {
        let mut changes = Changes { keys: self.names_keys(places), ..Changes::default() };
        if self.location == Location::Machine || !self.may_change() || self.only_says() {
            return changes;
        }
        let cwds = [self.cwd.as_deref(), self.perhaps.as_deref()];
        let is_within = cwds.into_iter().flatten().any(may_be_guarded);
        for write in self.writes().into_iter().chain(self.exposes()) {
            let is_of_directory = matches!(write.extent, Extent::Moved | Extent::Filled);
            if !is_within && !is_of_directory && !may_lead_there(&write.path, write.extent.is_whole()) {
                continue;
            }
            for cwd in &cwds[..1 + usize::from(self.perhaps.is_some())] {
                let path = places.resolve(&write.path, *cwd);
                for guarded in at(&path, Reach::of(&write, &path, *cwd), places.workspace()) {
                    if guarded.is_of_variables() && !self.names_variable() {
                        continue;
                    }
                    changes.hookhost |= guarded.is_hosts();
                    changes.agents |= !guarded.is_hosts();
                }
            }
        }
        changes
    }

    fn names_keys(&self, places: &Places) -> bool {
        let sources = self.redirects.iter().map(|redirect| &redirect.target);
        let may_be = |word: &&Word| word.glob || lower(&word.text).contains(KEYS);
        let named = self.args.iter().chain(sources).filter(may_be).map(|word| (word.clone(), Extent::File));
        let mut words = named.chain(self.read_whole().into_iter().map(|word| (word, Extent::Whole)));
        words.any(|(word, extent)| {
            let reach = Reach { wild: word.glob, extent, ..Reach::default() };
            let path = places.resolve(&word, self.cwd.as_deref());
            at(&path, reach, places.workspace())
                .iter()
                .any(|guarded| guarded.when == When::Always && guarded.parts.last() == Some(&KEYS))
        })
    }

    /// Returns the directories that the command reads or copies recursively.
    fn read_whole(&self) -> Vec<Word> {
        let has = |letters: &[u8], long: &str| {
            let is_cluster = |text: &str| text.starts_with('-') && !text.starts_with("--");
            let texts = || self.args.iter().map(|word| word.text.as_str());
            texts().any(|text| text == long || (is_cluster(text) && text.has_one_of(letters)))
        };
        let is_option = |word: &&Word| word.text.starts_with('-');
        let mut operands: Vec<Word> = self.args.iter().filter(|word| !is_option(word)).cloned().collect();
        match self.program.as_str() {
            // The last operand is the target.
            "cp" | "gcp" | "scp" | "rsync" if has(b"rRa", "--recursive") || has(b"", "--archive") => {
                operands.pop();
            }
            "tar" | "gtar" | "bsdtar" => {
                if let Some(from) = values(&self.args, &["-C", "--directory"]).pop() {
                    let within = operands.iter().filter(|word| **word != from).map(|word| within(&from, word));
                    operands = within.collect();
                }
            }
            "7z" | "rg" | "ag" | "ditto" => {}
            "zip" if has(b"r", "--recurse-paths") => {}
            "grep" | "egrep" | "diff" if has(b"rR", "--recursive") => {}
            "find" => {
                let mut names = values(&self.args, &["-name", "-iname"]).into_iter();
                let is_read = has(b"", "-exec") || self.downstream.iter().any(|program| program == "xargs");
                let may_fit = is_read && names.all(|name| overlap(KEYS, &lower(&name.text), true));
                let roots = self.args.iter().skip_while(is_option).take_while(|word| !is_option(word));
                operands = roots.filter(|_| may_fit).cloned().collect();
            }
            _ => operands.clear(),
        }
        operands
    }

    fn names_variable(&self) -> bool {
        self.args.iter().chain(&self.input).any(|word| names_variable(&word.text))
    }

    /// Returns true for a cmdlet that only prints its effect: `Remove-Item x -WhatIf`.
    fn only_says(&self) -> bool {
        let is_cmdlet =
            self.windows || self.program.halves(b'-').is_some_and(|(verb, _)| verb.starts_with(char::is_uppercase));
        is_cmdlet && self.redirects.is_empty() && self.args.iter().any(|word| word.text.eq_ignore_ascii_case("-whatif"))
    }

    /// Fast check before the full analysis. Most commands write nothing, or nothing with a guarded name.
    fn may_change(&self) -> bool {
        let program = lower(&self.program);
        let is_writer = match kind(&program) {
            // These may affect a directory that contains guarded files.
            Some(Kind::Find | Kind::Move | Kind::Rename | Kind::Unpack(..)) => return true,
            Some(_) => true,
            None => READERS.of_first_word(&program).next().is_none(),
        };
        let mut words = self.args.iter().filter(|_| is_writer).chain(self.outputs());
        if self.told_to_write().next().is_some() {
            return true;
        }
        (is_writer || self.outputs().next().is_some())
            && (self.cwd.iter().chain(&self.perhaps).any(|cwd| may_be_guarded(cwd))
                || words.any(|word| may_be_guarded(&word.text)))
    }
}

/// Returns the host path that a container may write: the source in `a:b` or in `type=bind,source=a,target=b`. `None` if the mount is
/// read-only.
fn mounted(value: &Word) -> Option<Word> {
    let text = value.text.as_str();
    let mut fields = text.split(',');
    if text.ends_with(":ro")
        || text.contains(":ro,")
        || fields.any(|field| matches!(field, "readonly" | "ro" | "readonly=true"))
    {
        return None;
    }
    let mut fields = text.split(',').filter_map(|field| field.halves(b'='));
    let source = match fields.find(|(name, _)| matches!(*name, "source" | "src")) {
        Some((_, source)) => source,
        None => text.split(':').next()?,
    };
    Some(Word { home: source.starts_with('~'), ..value.with_text(source) })
}

/// Returns the path of a word that addresses this machine as a remote host: `localhost:x`.
fn on_this_machine(word: &Word) -> Option<Word> {
    let (machine, path) = word.text.halves(b':')?;
    let machine = machine.rsplit('@').next()?;
    let is_this = matches!(machine, "localhost" | "127.0.0.1" | "[") || machine.starts_with("127.");
    let path = path.trim_start_matches(":1]:");
    is_this.then(|| Word { home: path.starts_with('~'), ..word.with_text(path) })
}

/// Returns the parts of a word that may be paths: `x`, `-ox`, `--output=x`, `key=x`, `a:x`.
fn pieces(word: &Word) -> impl Iterator<Item = Word> + '_ {
    let text = word.text.as_str();
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let parts = text.split(['=', ':', ',', '@']).skip(1);
    // A part with spaces is text, not a path.
    let texts = std::iter::once(text).chain(attached).chain(parts).filter(|text| !text.has_one_of(b" \n"));
    texts.map(move |text| Word { home: text.starts_with('~'), ..word.with_text(text) })
}

/// Returns true if a part of the text may begin a guarded path. An option may have a path directly after its letter.
fn may_be_guarded(text: &str) -> bool {
    if text.starts_with('-') && text.has_one_of(b"./") {
        return true;
    }
    let bytes = text.as_bytes();
    let mut begin = 0;
    (0..=bytes.len()).any(|at| {
        // A drive letter is part of the path.
        let is_end = match bytes.get(at) {
            None | Some(b'/' | b'\\' | b'=' | b',') => true,
            Some(b':') => at > begin + 1,
            _ => false,
        };
        if !is_end {
            return false;
        }
        let name = std::mem::replace(&mut begin, at + 1)..at;
        let is_pattern = || bytes[name.clone()].iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'~'));
        let may_begin = may_begin(bytes[name.clone()].first().copied()) || is_pattern();
        may_begin && !beginning_with(known_name(&lower(&text[name])), true, false).is_empty()
    })
}

/// Fast check: returns true if a written path may be guarded, seen from a directory that is not. It runs before the path is resolved, which
/// takes longer.
fn may_lead_there(path: &Word, whole: bool) -> bool {
    let text = lower(&path.text);
    let names: Vec<&str> = text.trim_start_matches(['/', '\\']).split(['/', '\\']).collect();
    if path.glob || path.home || !path.is_known() || names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return may_be_guarded(&path.text) || !path.is_known();
    }
    let names: Vec<&str> = names.into_iter().map(known_name).collect();
    let extent = if whole { Extent::Whole } else { Extent::File };
    let may_fit = |from: usize, guarded: &Guarded| {
        let takes = whole && guarded.above != Above::Never;
        guarded.fits(&names[from..], takes, true, Reach { extent, ..Reach::default() })
    };
    (0..names.len()).any(|from| beginning_with(names[from], false, true).iter().any(|guarded| may_fit(from, guarded)))
}

#[cfg(test)]
mod tests;
