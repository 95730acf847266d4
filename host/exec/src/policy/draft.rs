//! Collects guards. Of two guards of one path, the stricter one counts.

use super::places::{is_pattern, links_to, matching};
use super::{Absent, FileFormat, Gap, NetworkAccess, Places, Policy, RestoredFile};
use crate::plan::{Guard, Treatment};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The reason of a guard, as far as it decides whether the user may open the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Files that run later: opened by `write`.
    LaterRun,
    /// Settings of an agent: opened by `write`.
    Agent,
    /// Paths of a rule: opened by a change of the rule.
    Rule,
    /// Sockets: opened by `docker`, or not at all.
    Socket,
    /// Keys: never opened.
    Key,
    /// hookhost's own files: never opened.
    Hookhost,
}

#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) places: &'a Places<'a>,
    guards: BTreeMap<PathBuf, (Treatment, Origin, String)>,
    /// All guards of rules with their reasons, as an exception of one rule opens nothing that another one guards.
    by_rules: Vec<(PathBuf, String)>,
    absent: Vec<(Absent, Origin)>,
    restored: Vec<RestoredFile>,
    gaps: Vec<Gap>,
}

fn strictness(treatment: Treatment) -> u8 {
    match treatment {
        Treatment::Writable => 0,
        Treatment::ReadOnly => 1,
        Treatment::Masked => 2,
        Treatment::Hidden => 3,
    }
}

impl<'a> Draft<'a> {
    pub(crate) fn new(places: &'a Places<'a>) -> Self {
        Self {
            places,
            guards: BTreeMap::new(),
            by_rules: Vec::new(),
            absent: Vec::new(),
            restored: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Guards the existing paths that a pattern matches, and marks the pattern as one to watch if later files can match it.
    pub(crate) fn add(&mut self, pattern: &Path, treatment: Treatment, origin: Origin, reason: &str) {
        self.add_unless(pattern, &|_| false, treatment, origin, reason);
    }

    /// Does the same as [`Draft::add`], except for some paths.
    pub(crate) fn add_unless(
        &mut self,
        pattern: &Path,
        is_excepted: &dyn Fn(&Path) -> bool,
        treatment: Treatment,
        origin: Origin,
        reason: &str,
    ) {
        self.watch(pattern, treatment, origin, reason);
        for path in matching(pattern).into_iter().filter(|path| !is_excepted(path)) {
            self.add_existing(&path, treatment, origin, reason);
        }
    }

    /// Marks a pattern as one to watch if later files can match it.
    pub(crate) fn watch(&mut self, pattern: &Path, treatment: Treatment, origin: Origin, reason: &str) {
        let is_needed = is_pattern(pattern) || pattern.symlink_metadata().is_err();
        if is_needed && !self.absent.iter().any(|(other, _)| other.path == pattern) {
            self.absent.push((Absent { path: pattern.to_owned(), treatment, reason: reason.to_owned() }, origin));
        }
    }

    /// Guards an existing path, and each link on the way to it that the user could replace.
    pub(crate) fn add_existing(&mut self, path: &Path, treatment: Treatment, origin: Origin, reason: &str) {
        let (links, real) = links_to(path, &|directory| self.may_replace_in(directory));
        for link in links {
            let reason = format!("{reason}, through a link");
            self.put(link, Treatment::ReadOnly, origin, reason);
        }
        if real.symlink_metadata().is_ok() {
            self.put(real, treatment, origin, reason.to_owned());
        }
    }

    fn put(&mut self, path: PathBuf, treatment: Treatment, origin: Origin, reason: String) {
        if origin == Origin::Rule && treatment != Treatment::Writable {
            self.by_rules.push((path.clone(), reason.clone()));
        }
        let guard = self.guards.entry(path).or_insert_with(|| (treatment, origin, reason.clone()));
        if (strictness(treatment), origin) > (strictness(guard.0), guard.1) {
            *guard = (treatment, origin.max(guard.1), reason);
        }
    }

    /// Returns true if this user can replace the entries of a directory: an ordinary user not those of root's directories.
    fn may_replace_in(&self, directory: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // Everyone may write a directory such as /tmp.
            let is_roots = |metadata: &std::fs::Metadata| metadata.uid() == 0 && metadata.mode() & 0o022 == 0;
            self.places.user == 0 || !directory.metadata().is_ok_and(|metadata| is_roots(&metadata))
        }
        #[cfg(not(unix))]
        {
            let _ = directory;
            true
        }
    }

    /// Leaves a path to its owner that lies in a guarded directory.
    pub(crate) fn free(&mut self, path: &Path, owner: &str) {
        let Some(directory) = self
            .guards
            .range(..path.to_owned())
            .rev()
            .map(|(guarded, _)| guarded)
            .find(|guarded| path.starts_with(guarded))
        else {
            return;
        };
        if !matches!(self.guards.get(directory), Some((Treatment::ReadOnly, ..))) {
            return;
        }
        // A link could lead to any other guarded file.
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink()) {
            self.add_existing(path, Treatment::Writable, Origin::Agent, &format!("written by {owner}"));
        } else {
            let sentence = format!(
                "{owner} cannot make {} while it runs inside: if it needs the file, start it once outside",
                self.places.shown(path)
            );
            self.gap(path, sentence);
        }
    }

    /// Leaves a file to its owner, and marks its keys as restored.
    pub(crate) fn restore(&mut self, path: &Path, format: FileFormat, keys: Vec<String>, reason: String) {
        let (_, real) = links_to(path, &|_| false);
        self.guards.remove(&real);
        self.absent.retain(|(absent, _)| absent.path != path);
        if !self.restored.iter().any(|other| other.path == real) {
            self.restored.push(RestoredFile { exists: real.exists(), path: real, format, keys, reason });
        }
    }

    pub(crate) fn gap(&mut self, path: &Path, sentence: String) {
        if !self.gaps.iter().any(|gap| gap.sentence == sentence) {
            self.gaps.push(Gap { path: path.to_owned(), sentence });
        }
    }

    /// Opens a path that the user names in `write`, as far as its guards can be opened.
    pub(crate) fn open(&mut self, path: &Path) {
        let (_, real) = links_to(path, &|_| false);
        let below = |guarded: &Path| guarded.starts_with(&real) || guarded.starts_with(path);
        let fixed = self.guards.iter().find(|(guarded, (treatment, origin, _))| {
            (below(guarded) || real.starts_with(guarded))
                && *origin > Origin::Agent
                && *treatment != Treatment::Writable
        });
        if let Some((guarded, (_, _, reason))) = fixed {
            let sentence = format!(
                "`write` of [sandbox] names {}, and {} stays guarded ({reason}): name another path",
                self.places.shown(path),
                self.places.shown(guarded)
            );
            let guarded = guarded.clone();
            self.gap(&guarded, sentence);
        }
        self.guards.retain(|guarded, (_, origin, _)| !below(guarded) || *origin > Origin::Agent);
        self.absent.retain(|(absent, origin)| !below(&absent.path) || *origin > Origin::Agent);
        let above = self.guards.iter().find(|(guarded, _)| real.starts_with(guarded) && **guarded != real);
        if let Some((_, (Treatment::ReadOnly, Origin::LaterRun | Origin::Agent, _))) = above {
            if real.symlink_metadata().is_ok() {
                self.put(real, Treatment::Writable, Origin::LaterRun, "`write` of [sandbox]".to_owned());
            } else {
                let sentence = format!(
                    "`write` of [sandbox] names {}, which does not exist: make it first",
                    self.places.shown(path)
                );
                self.gap(path, sentence);
            }
        }
    }

    /// Returns true if a writable path lies only in directories that its own rule, or a guard that the user may open, has made read-only:
    /// an exception of a rule opens no settings, and nothing opens keys.
    fn is_exception(&self, path: &Path, origin: Origin, reason: &str) -> bool {
        let of_user = |origin| origin <= Origin::Agent;
        let mut above = path.ancestors().skip(1).filter_map(|directory| self.guards.get(directory));
        let is_of_others = |(guarded, other): &(PathBuf, String)| path.starts_with(guarded) && other != reason;
        if origin == Origin::Rule && self.by_rules.iter().any(is_of_others) {
            return false;
        }
        above.all(|(treatment, other, _)| {
            *treatment == Treatment::Writable || *other == origin || (of_user(*other) && of_user(origin))
        })
    }

    pub(crate) fn finish(mut self, network: NetworkAccess) -> Policy {
        let writable = self.guards.iter().filter(|(_, (treatment, ..))| *treatment == Treatment::Writable);
        let refused = writable.filter(|(path, (_, origin, reason))| !self.is_exception(path, *origin, reason));
        for path in refused.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.guards.remove(&path);
        }
        let guard = |(path, (treatment, _, reason))| Guard { path, treatment, reason };
        Policy {
            guards: self.guards.into_iter().map(guard).collect(),
            absent: self.absent.into_iter().map(|(absent, _)| absent).collect(),
            restored: self.restored,
            gaps: self.gaps,
            network,
            home: self.places.home.clone(),
            project: self.places.project.clone(),
        }
    }
}
