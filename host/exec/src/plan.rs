//! The plan of the mounts that keep guarded paths out of reach.
//!
//! A [`Guard`] names a path and its treatment. [`MountPlan::new`] looks the paths up, and arranges them: every
//! directory above a guarded path is pinned, so that nobody inside can rename it, and mounts come shallow first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links on the way to one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// What happens to a path inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// The path can be read, but not changed, replaced or removed. It includes everything below a directory.
    ReadOnly,
    /// An empty file or directory without permissions is in the place of the path.
    Hidden,
    /// A socket that must not be reachable.
    Masked,
    /// An exception inside a `ReadOnly` directory.
    Writable,
}

/// A path that the kernel guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The absolute path. It is left out if it does not exist.
    pub path: PathBuf,
    /// What happens to the path inside.
    pub treatment: Treatment,
    /// Why the path is guarded, for people.
    pub reason: String,
}

/// The reason why guards cannot be arranged.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A path is not absolute.
    #[error("the guarded path {} is not absolute: name it from / on", .0.display())]
    Relative(PathBuf),
    /// A directory that the program needs would not be there.
    #[error("{} is hidden, but the program needs {} below it: run it elsewhere, or hide less", hidden.display(), needed.display())]
    HidesDirectory {
        /// The hidden directory.
        hidden: PathBuf,
        /// The working directory, or the home directory.
        needed: PathBuf,
    },
    /// The file system root cannot be guarded as a whole.
    #[error("/ itself cannot be guarded: guard directories below it")]
    Root,
    /// The system cannot tell what a path is.
    #[error("it cannot be found out what {} is ({error}), so it cannot be guarded", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// What one mount does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MountKind {
    /// Mounts a directory on itself: it stays writable, but cannot be renamed.
    Pin,
    /// Mounts as the treatment says.
    Guard(Treatment),
}

/// One mount of a plan.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct PlannedMount {
    /// The path, without symbolic links.
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
    pub(crate) kind: MountKind,
    pub(crate) is_directory: bool,
}

/// The mounts for a list of guards, in the order in which they are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MountPlan {
    mounts: Vec<PlannedMount>,
    links: Vec<PlannedLink>,
    #[serde(with = "path_bytes")]
    directory: PathBuf,
}

/// A symbolic link on the way to a guarded path. It gets a mount of its own, so that nobody inside can replace it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct PlannedLink {
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
}

impl MountPlan {
    /// Returns the guarded paths that are no directories.
    #[cfg(target_os = "linux")]
    pub(crate) fn guarded_files(&self) -> impl Iterator<Item = &Path> {
        let is_guarded = |kind| matches!(kind, MountKind::Guard(Treatment::ReadOnly | Treatment::Hidden));
        let files = self.mounts.iter().filter(move |mount| !mount.is_directory && is_guarded(mount.kind));
        files.map(|mount| mount.path.as_path())
    }

    /// Plans the mounts for `guards`, for a program that starts in `directory` and whose user has the home `home`.
    ///
    /// It looks every path up, as the user who runs it. A path that does not exist is left out. If a path is named
    /// twice, the stricter treatment wins.
    ///
    /// # Errors
    /// [`PlanError`] if a path is relative or cannot be looked up, if `/` is guarded, or if a hidden directory
    /// contains `directory` or `home`.
    pub fn new(guards: &[Guard], directory: &Path, home: &Path) -> Result<Self, PlanError> {
        let mut found = Vec::new();
        let mut links = BTreeSet::new();
        for guard in guards {
            if let Some(real) = real_path(&guard.path, &mut links)? {
                let is_directory = real.is_dir();
                found.push((real, guard.treatment, is_directory));
            }
        }
        let directory = real_path(directory, &mut links)?.unwrap_or_else(|| directory.to_owned());
        let home = real_path(home, &mut links)?;
        let mut plan = arrange(&found, links, &directory, home.as_deref())?;
        plan.directory = directory;
        Ok(plan)
    }

    /// The directory in which the program starts.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The guarded paths with their treatments, without symbolic links and without repetitions.
    pub fn guarded(&self) -> impl Iterator<Item = (&Path, Treatment)> {
        self.mounts.iter().filter_map(|mount| match mount.kind {
            MountKind::Guard(treatment) => Some((mount.path.as_path(), treatment)),
            MountKind::Pin => None,
        })
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn mounts(&self) -> &[PlannedMount] {
        &self.mounts
    }

    /// Adds mounts after all others.
    #[cfg(target_os = "linux")]
    pub(crate) fn add(&mut self, mounts: Vec<PlannedMount>) {
        self.mounts.extend(mounts);
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn links(&self) -> &[PlannedLink] {
        &self.links
    }
}

/// Resolves a path, and adds the symbolic links on the way to `links`. Returns `None` if it does not exist.
fn real_path(path: &Path, links: &mut BTreeSet<PathBuf>) -> Result<Option<PathBuf>, PlanError> {
    if !path.is_absolute() {
        return Err(PlanError::Relative(path.to_owned()));
    }
    let unreadable = |error| PlanError::Unreadable { path: path.to_owned(), error };
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let mut pending = VecDeque::from(parts(path));
    let mut followed = Vec::new();
    let mut real = PathBuf::from("/");
    while let Some(part) = pending.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => _ = real.pop(),
            _ => {}
        }
        if !matches!(Path::new(&part).components().next(), Some(Component::Normal(_))) {
            continue;
        }
        let next = real.join(&part);
        let kind = match std::fs::symlink_metadata(&next) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error)),
        };
        if !kind.is_symlink() {
            real = next;
            continue;
        }
        let target = std::fs::read_link(&next).map_err(unreadable)?;
        followed.push(next);
        if followed.len() > MAX_LINKS {
            return Err(unreadable(io::Error::other("too many symbolic links")));
        }
        for part in parts(&target).into_iter().rev() {
            pending.push_front(part);
        }
    }
    links.extend(followed);
    Ok(Some(real))
}

/// Arranges resolved guards: (path, treatment, directory or not).
fn arrange(
    guards: &[(PathBuf, Treatment, bool)],
    links: BTreeSet<PathBuf>,
    directory: &Path,
    home: Option<&Path>,
) -> Result<MountPlan, PlanError> {
    let mut treatments: BTreeMap<&Path, (Treatment, bool)> = BTreeMap::new();
    for (path, treatment, is_directory) in guards {
        if path.parent().is_none() {
            return Err(PlanError::Root);
        }
        let strictest = treatments.entry(path).or_insert((*treatment, *is_directory));
        if strictness(*treatment) > strictness(strictest.0) {
            strictest.0 = *treatment;
        }
    }
    // Shallow first: a parent sorts before its children, because a path is compared part by part.
    let mut effective: BTreeMap<&Path, (Treatment, bool)> = BTreeMap::new();
    for (&path, &(treatment, is_directory)) in &treatments {
        let governing =
            path.ancestors().skip(1).find_map(|above| effective.get(above)).map(|(treatment, _)| *treatment);
        let is_needed = match governing {
            Some(Treatment::Hidden | Treatment::Masked) => false,
            Some(Treatment::ReadOnly) => treatment != Treatment::ReadOnly,
            Some(Treatment::Writable) | None => treatment != Treatment::Writable,
        };
        if is_needed {
            effective.insert(path, (treatment, is_directory));
        }
    }
    let governing = |path: &Path| {
        let (above, (treatment, _)) = path.ancestors().find_map(|above| effective.get_key_value(above))?;
        Some((*above, *treatment))
    };
    for needed in [Some(directory), home].into_iter().flatten() {
        if let Some((hidden, Treatment::Hidden | Treatment::Masked)) = governing(needed) {
            return Err(PlanError::HidesDirectory { hidden: hidden.to_owned(), needed: needed.to_owned() });
        }
    }
    // The directories above a guard or a link, the working directory and the home must keep their names.
    let above = effective.keys().copied().chain(links.iter().map(PathBuf::as_path)).filter_map(Path::parent);
    let pins: BTreeSet<&Path> = above
        .chain([Some(directory), home].into_iter().flatten())
        .flat_map(Path::ancestors)
        .filter(|path| path.parent().is_some() && !effective.contains_key(path))
        .filter(|path| governing(path).is_none_or(|(_, treatment)| treatment == Treatment::Writable))
        .collect();
    let pin = |path: &&Path| PlannedMount { path: path.to_path_buf(), kind: MountKind::Pin, is_directory: true };
    let mut mounts: Vec<PlannedMount> = pins.iter().map(pin).collect();
    mounts.extend(effective.iter().map(|(path, &(treatment, is_directory))| PlannedMount {
        path: path.to_path_buf(),
        kind: MountKind::Guard(treatment),
        is_directory,
    }));
    mounts.sort_by(|one, other| one.path.cmp(&other.path));
    let links = links
        .into_iter()
        .filter(|path| governing(path).is_none_or(|(_, treatment)| treatment == Treatment::Writable))
        .map(|path| PlannedLink { path })
        .collect();
    Ok(MountPlan { mounts, links, directory: PathBuf::new() })
}

/// Orders treatments, for a path that is named twice.
fn strictness(treatment: Treatment) -> u8 {
    match treatment {
        Treatment::Writable => 0,
        Treatment::ReadOnly => 1,
        Treatment::Masked => 2,
        Treatment::Hidden => 3,
    }
}

/// Writes a path as its bytes, because a path need not be UTF-8.
pub(crate) mod path_bytes {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}

/// As [`path_bytes`], for a path that may be missing.
pub(crate) mod optional_path_bytes {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Path::as_os_str).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<OsString>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

#[cfg(all(test, unix))]
mod tests;
