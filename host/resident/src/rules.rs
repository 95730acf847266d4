//! The rules of each directory. The files that contain the rules are checked at each event. Otherwise, an event could be decided
//! under rules that were replaced before the event.

use crate::pause::{Clocks, Pause};
use hookhost::config::Config;
use hookhost::{Host, RuleSet, RuleSource};
use std::collections::HashMap;
use std::fs;
use std::future::Future;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// The beginning of the note for the user if changed rules cannot be loaded.
pub const RELOAD_FAILED: &str = "changed rules cannot be loaded";

/// Maximum number of directories whose rules stay loaded. If there are more, the rules of the least recently used directory are
/// dropped.
const MAX_DIRECTORIES: usize = 256;

/// Finds the configuration of each directory.
pub trait ConfigurationSource: Send + Sync {
    /// Returns the active configuration of `directory`. `loaded` is the previously loaded configuration. It is an error if a file
    /// of the previous configuration is no longer active, because a program that the agent runs could have removed the file.
    ///
    /// # Errors
    /// One sentence about the problem, with the next step for the user.
    fn find(&self, directory: &Path, loaded: Option<&Config>) -> Result<FoundConfiguration, String>;

    /// Returns the files that determine the configuration of `directory`, even those that do not exist.
    fn files(&self, directory: &Path, loaded: Option<&Config>) -> Vec<PathBuf>;

    /// Returns true if the user has revoked the approval of a project's file.
    fn is_revoked(&self, _file: &Path) -> bool {
        false
    }
}

/// The configuration of a directory, with notes for the user.
#[derive(Clone, Debug)]
pub struct FoundConfiguration {
    /// The active configuration.
    pub config: Config,
    /// Notes for the user, one sentence each, about files that are not active or that differ from their approved content.
    pub notes: Vec<String>,
    /// The pause that lasts now. The configuration is then [paused](Config::paused).
    pub pause: Option<Pause>,
    /// The pauses of the rules that the configuration leaves out.
    pub rule_pauses: Vec<Pause>,
}

impl FoundConfiguration {
    /// Creates a result without notes.
    pub fn new(config: Config) -> Self {
        Self { config, notes: Vec::new(), pause: None, rule_pauses: Vec::new() }
    }

    /// Pauses the configuration if a pause lasts now.
    #[must_use]
    pub fn pause(self, pause: Option<Pause>) -> Self {
        let config = if pause.is_some() { self.config.paused() } else { self.config };
        Self { config, pause, ..self }
    }

    /// Sets the pauses of the rules that the configuration leaves out. It is found again when the first of them ends.
    #[must_use]
    pub fn rule_pauses(self, rule_pauses: Vec<Pause>) -> Self {
        Self { rule_pauses, ..self }
    }

    /// Sets the notes for the user.
    #[must_use]
    pub fn notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
}

/// The rules of a directory.
#[derive(Clone, Debug)]
pub struct DirectoryRules {
    /// The rules.
    pub rules: RuleSet,
    /// Notes for the user about the rules.
    pub notes: Arc<[String]>,
    /// Number of this rule set. It stays the same when the rules in the set are replaced by changed rules.
    pub number: u64,
    /// Number of this load of the rules. Each load gets a new number.
    pub revision: u64,
    /// Digest of everything that affects a decision about an event ([`Config::digest`]), in hexadecimal.
    pub digest: Arc<str>,
    /// The files that belong to the project and from which rules were loaded.
    pub project_files: Arc<[PathBuf]>,
    /// Maximum time that an event takes if no person is asked. It is reached if each plugin uses its maximum time.
    pub plugin_time: Duration,
}

/// The rules of all directories.
pub struct RulesByDirectory {
    loader: Arc<Loader>,
    entries: Mutex<HashMap<PathBuf, Arc<DirectoryEntry>>>,
    /// The file checks that have not begun yet, by the directories of the sessions.
    checks: Mutex<HashMap<Directories, Weak<FileCheck>>>,
    uses: AtomicU64,
}

/// Loads rules.
struct Loader {
    host: Host,
    configurations: Arc<dyn ConfigurationSource>,
    revisions: AtomicU64,
}

/// A directory whose rules were needed for an event.
struct DirectoryEntry {
    directory: PathBuf,
    loader: Arc<Loader>,
    used: AtomicU64,
    /// The last loaded rules. Events read them without waiting. Only a task that has locked `state` may replace them.
    current: Mutex<Option<Arc<LoadedRules>>>,
    state: tokio::sync::Mutex<LoadState>,
    /// This entry, for the task that loads its rules.
    this: Weak<Self>,
}

#[derive(Default)]
struct LoadState {
    config: Option<Config>,
    loaded: Option<DirectoryRules>,
    /// True if the loaded rules are fewer than usual, because of a pause.
    is_loosened: bool,
}

/// The directories that a session names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Directories {
    /// The directory in which the calls of the session run.
    pub cwd: PathBuf,
    /// The directory of the session's project.
    pub workspace: PathBuf,
}

/// A check of whether the files of a session's directory have changed. All events that request such a check before it begins share
/// the same check.
#[derive(Default)]
struct FileCheck {
    /// The directory of the rules, and its last loaded rules if they are still current.
    result: OnceLock<(PathBuf, Option<Arc<LoadedRules>>)>,
}

/// The rules of a directory, and the stamps of its files at the time of loading.
struct LoadedRules {
    stamps: Vec<(PathBuf, Stamp)>,
    /// The rules, or the reason why there are none.
    rules: Result<DirectoryRules, String>,
    /// The pauses because of which rules are not asked.
    pauses: Vec<Pause>,
}

impl LoadedRules {
    /// Returns true if the files are unchanged and all pauses still last.
    fn is_current(&self) -> bool {
        !self.stamps.is_empty()
            && self.stamps.iter().all(|(path, stamp)| stamp_of(path) == *stamp)
            && (self.pauses.is_empty() || {
                let now = Clocks::now();
                self.pauses.iter().all(|pause| pause.lasts(&now))
            })
    }
}

impl DirectoryEntry {
    fn current(&self) -> MutexGuard<'_, Option<Arc<LoadedRules>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last loaded rules if they are still current.
    fn up_to_date(&self) -> Option<Arc<LoadedRules>> {
        let current = self.current().clone();
        current.filter(|current| current.is_current())
    }

    /// Returns the current rules. Waits for a load in progress. A load goes on when the event that needed it has ended, because
    /// compiling plugins can take longer than an agent waits.
    async fn rules(&self) -> Result<DirectoryRules, String> {
        if let Some(current) = self.up_to_date() {
            return current.rules.clone();
        }
        let Some(this) = self.this.upgrade() else {
            return Err("the rules of the directory are no longer loaded".into());
        };
        let loaded = tokio::spawn(async move { this.load().await }).await;
        loaded.unwrap_or_else(|error| Err(format!("the rules could not be loaded: {error}")))
    }

    async fn load(&self) -> Result<DirectoryRules, String> {
        let mut state = self.state.lock().await;
        // Another event may have loaded the rules meanwhile.
        if let Some(current) = self.up_to_date() {
            return current.rules.clone();
        }
        let loaded = self.loader.load(&self.directory, &mut state).await;
        let rules = loaded.rules.clone();
        *self.current() = Some(Arc::new(loaded));
        rules
    }
}

/// The rules are refreshed before an approval takes effect, because the current rules must decide on the approval.
impl RuleSource for DirectoryEntry {
    fn refresh(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move { self.rules().await.map(drop) })
    }
}

impl Directories {
    /// Returns the directory whose rules are active. This is the directory in which a call runs if that directory lies in the
    /// project. Otherwise it is the directory of the project. The model can choose the directory of a call, and must not be able to
    /// avoid the rules of the project by this choice.
    pub(crate) fn of_rules(&self) -> PathBuf {
        let cwd = real(&self.cwd);
        if self.cwd == self.workspace {
            return cwd;
        }
        let workspace = real(&self.workspace);
        let leaves = cwd.components().any(|part| part == Component::ParentDir);
        if cwd.starts_with(&workspace) && !leaves { cwd } else { workspace }
    }
}

/// Resolves the symbolic links of a path. The result is not cached, because the links may have other targets at the next event.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The device, the inode, the size and the change times of a file. If one of these values changes, the file has changed. `None` if
/// the file does not exist.
type Stamp = Option<(u64, u64, u64, [i64; 4])>;

impl RulesByDirectory {
    /// Creates an empty table.
    pub fn new(host: Host, configurations: Arc<dyn ConfigurationSource>) -> Self {
        let loader = Arc::new(Loader { host, configurations, revisions: AtomicU64::new(0) });
        Self { loader, entries: Mutex::default(), checks: Mutex::default(), uses: AtomicU64::new(0) }
    }

    /// Returns the current rules for a session that names these directories. `has_others` is true if other events may request the
    /// rules at the same time. In this case, these events share one check of the files, which begins only after all of them have
    /// requested the rules.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub async fn of_session(&self, named: Directories, has_others: bool) -> Result<DirectoryRules, String> {
        if !has_others {
            return self.of(&named.of_rules()).await;
        }
        let check = self.next_check(&named);
        // Other tasks that are ready can now join this check.
        tokio::task::yield_now().await;
        let (directory, current) = check.result.get_or_init(|| {
            // From here on, an event that requests the rules needs a new check.
            self.checks().remove(&named);
            let directory = named.of_rules();
            let current = self.entry(&directory).up_to_date();
            (directory, current)
        });
        match current {
            Some(current) => current.rules.clone(),
            None => self.of(directory).await,
        }
    }

    /// Returns a check of these directories' files that has not begun yet.
    fn next_check(&self, named: &Directories) -> Arc<FileCheck> {
        let mut checks = self.checks();
        if let Some(check) = checks.get(named).and_then(Weak::upgrade) {
            return check;
        }
        // Removes the checks of events that were cancelled.
        if checks.len() >= MAX_DIRECTORIES && checks.len().is_power_of_two() {
            checks.retain(|_, check| check.strong_count() > 0);
        }
        let check = Arc::default();
        checks.insert(named.clone(), Arc::downgrade(&check));
        check
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<Directories, Weak<FileCheck>>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current rules of `directory`. If changed rules cannot be loaded, the previous rules stay active, and the notes
    /// for the user contain the reason.
    ///
    /// # Errors
    /// One sentence, if rules of the directory have never been loaded successfully.
    pub async fn of(&self, directory: &Path) -> Result<DirectoryRules, String> {
        let entry = self.entry(directory);
        let rules = entry.rules().await?;
        rules.rules.follow(&entry);
        Ok(rules)
    }

    /// Returns the number of directories whose rules are loaded.
    pub fn count(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn entry(&self, directory: &Path) -> Arc<DirectoryEntry> {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut all = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(directory) {
            known.used.store(now, Ordering::Relaxed);
            return Arc::clone(known);
        }
        if all.len() >= MAX_DIRECTORIES {
            let oldest = all.iter().min_by_key(|(_, known)| known.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                all.remove(&oldest);
            }
        }
        let known = Arc::new_cyclic(|this| DirectoryEntry {
            this: this.clone(),
            directory: directory.to_owned(),
            loader: Arc::clone(&self.loader),
            used: AtomicU64::new(now),
            current: Mutex::default(),
            state: tokio::sync::Mutex::default(),
        });
        all.insert(directory.to_owned(), Arc::clone(&known));
        known
    }

    /// Returns true if the user has revoked the approval of a project's file.
    pub(crate) fn is_revoked(&self, file: &Path) -> bool {
        self.loader.configurations.is_revoked(file)
    }
}

impl Loader {
    async fn load(&self, directory: &Path, state: &mut LoadState) -> LoadedRules {
        // The stamps are taken before the files are read, because then any later change is noticed at the next event.
        let before = stamps(self.configurations.files(directory, state.config.as_ref()));
        let found = self.configurations.find(directory, state.config.as_ref());
        let pauses = found
            .as_ref()
            .map_or_else(|_| Vec::new(), |found| found.pause.iter().chain(&found.rule_pauses).cloned().collect());
        let loaded = match found {
            Ok(found) => self.apply(found, state).await,
            Err(why) => Err(why),
        };
        let now = self.configurations.files(directory, state.config.as_ref());
        let mut stamped: Vec<_> = before.into_iter().filter(|(path, _)| now.contains(path)).collect();
        let known: Vec<_> = stamped.iter().map(|(path, _)| path.clone()).collect();
        // Files that only the new configuration names are added.
        stamped.extend(stamps(now.into_iter().filter(|path| !known.contains(path))));
        let mut problem = None;
        if let Err(why) = loaded {
            tracing::warn!(directory = %directory.display(), why, "changed rules cannot be loaded");
            match &mut state.loaded {
                // A pause must not become longer because the rules after it cannot be loaded.
                Some(kept) if !state.is_loosened => {
                    kept.notes = [format!("{RELOAD_FAILED}, so the previous rules stay active: {why}")].into();
                }
                _ => problem = Some(why),
            }
        }
        let rules = match problem {
            Some(why) => Err(why),
            None => state.loaded.clone().ok_or_else(String::new),
        };
        LoadedRules { stamps: stamped, rules, pauses }
    }

    async fn apply(&self, found: FoundConfiguration, state: &mut LoadState) -> Result<(), String> {
        // Revision 0 belongs to the rules for the canary.
        let revision = self.revisions.fetch_add(1, Ordering::Relaxed) + 1;
        let loaded = match &state.loaded {
            Some(loaded) => {
                let reloaded = self.host.reload_rules(&loaded.rules, &found.config).await;
                reloaded.map(|_| (loaded.rules.clone(), loaded.number))
            }
            None => self.host.load_rules(&found.config).await.map(|rules| (rules, revision)),
        };
        let (rules, number) = loaded.map_err(|error| error.to_string())?;
        let mut notes = found.notes;
        if found.pause.is_none() {
            notes.extend(state.config.as_ref().and_then(|before| removed_plugins(before, &found.config)));
        }
        let digest = found.config.digest().to_string().into();
        let project_files = found.config.project_files().into();
        let plugin_time = found.config.enabled().map(|entry| entry.limits.deadline(&entry.grants)).sum();
        state.loaded =
            Some(DirectoryRules { rules, notes: notes.into(), number, revision, digest, project_files, plugin_time });
        state.config = Some(found.config);
        state.is_loosened = found.pause.is_some() || !found.rule_pauses.is_empty();
        Ok(())
    }
}

impl std::fmt::Debug for RulesByDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RulesByDirectory").field("directories", &self.count()).finish_non_exhaustive()
    }
}

/// Returns a note about the plugins that a changed configuration no longer contains. The user should know about them, because
/// emptying a file removes plugins just as deleting the file would.
fn removed_plugins(before: &Config, now: &Config) -> Option<String> {
    let gone = before.enabled().filter(|entry| now.enabled().all(|other| other.name != entry.name));
    let gone: Vec<&str> = gone.map(|entry| entry.name.as_str()).collect();
    let is_last = now.enabled().next().is_none();
    let nobody = if is_last { ": no plugin is asked now" } else { "" };
    (!gone.is_empty())
        .then(|| format!("hookhost: the configuration was changed and no longer has {}{nobody}", gone.join(", ")))
}

fn stamps(files: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, Stamp)> {
    let stamped = |path: PathBuf| {
        let stamp = stamp_of(&path);
        (path, stamp)
    };
    files.into_iter().map(stamped).collect()
}

fn stamp_of(path: &Path) -> Stamp {
    // The stamp includes the change time of the inode, because programs can set the modification time.
    fs::metadata(path).ok().map(|file| {
        let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
        (file.dev(), file.ino(), file.size(), times)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::AtomicUsize;
    use std::task::Poll;

    /// A source with a configuration without plugins, which counts as changed when one file changes.
    struct OneFile {
        file: PathBuf,
        found: AtomicUsize,
    }

    impl ConfigurationSource for OneFile {
        fn find(&self, _: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
            self.found.fetch_add(1, Ordering::Relaxed);
            Ok(FoundConfiguration::new(Config::empty()))
        }

        fn files(&self, _: &Path, _: Option<&Config>) -> Vec<PathBuf> {
            vec![self.file.clone()]
        }
    }

    /// Returns rules in a temporary directory.
    async fn rules() -> (tempfile::TempDir, Arc<OneFile>, Arc<RulesByDirectory>, Directories) {
        let directory = tempfile::tempdir().unwrap();
        let one = Arc::new(OneFile { file: directory.path().join("file"), found: AtomicUsize::new(0) });
        let host = Host::builder(Config::empty()).build().await.unwrap();
        let rules = Arc::new(RulesByDirectory::new(host, Arc::clone(&one) as Arc<dyn ConfigurationSource>));
        let named = Directories { cwd: directory.path().into(), workspace: directory.path().into() };
        (directory, one, rules, named)
    }

    #[tokio::test]
    async fn concurrent_events_share_a_check_and_later_ones_have_another() {
        let (_directory, _, rules, named) = rules().await;
        let first = rules.next_check(&named);
        assert!(Arc::ptr_eq(&first, &rules.next_check(&named)));
        let elsewhere = Directories { cwd: "/".into(), workspace: "/".into() };
        assert!(!Arc::ptr_eq(&first, &rules.next_check(&elsewhere)));
        rules.of_session(named.clone(), true).await.unwrap();
        assert!(first.result.get().is_some());
        assert!(!Arc::ptr_eq(&first, &rules.next_check(&named)));
    }

    #[tokio::test]
    async fn a_change_counts_for_each_event_that_asks_after_it() {
        let (_directory, one, rules, named) = rules().await;
        for change in 1..=5 {
            fs::write(&one.file, "x".repeat(change)).unwrap();
            let asked: Vec<_> = (0..20)
                .map(|_| {
                    let (rules, named) = (Arc::clone(&rules), named.clone());
                    tokio::spawn(async move { rules.of_session(named, true).await.unwrap().revision })
                })
                .collect();
            for asked in asked {
                assert_eq!(asked.await.unwrap(), change as u64);
            }
            assert_eq!(one.found.load(Ordering::Relaxed), change);
        }
    }

    #[tokio::test]
    async fn rules_are_loaded_also_if_the_event_that_needs_them_ends_before() {
        let (_directory, one, rules, named) = rules().await;
        let mut asked = Box::pin(rules.of(&named.cwd));
        assert!(poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_pending())).await);
        drop(asked);
        assert_eq!(one.found.load(Ordering::Relaxed), 0);
        let entry = rules.entry(&named.cwd);
        while entry.current().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(one.found.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn checks_of_cancelled_events_do_not_pile_up() {
        let (_directory, _, rules, _) = rules().await;
        for number in 0..10 * MAX_DIRECTORIES {
            let path = PathBuf::from(format!("/{number}"));
            drop(rules.next_check(&Directories { cwd: path.clone(), workspace: path }));
        }
        assert!(rules.checks().len() <= MAX_DIRECTORIES);
    }

    #[test]
    fn the_rules_of_a_call_are_those_of_its_project_wherever_the_call_says_that_it_runs() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let [project, below, link] = ["project", "project/src", "link"].map(|name| root.join(name));
        fs::create_dir_all(&below).unwrap();
        let rules = |cwd: &Path, workspace: &Path| {
            Directories { cwd: cwd.to_owned(), workspace: workspace.to_owned() }.of_rules()
        };
        assert_eq!(rules(&below, &project), below);
        for elsewhere in ["/tmp", "/", "/nowhere", "/nowhere/../tmp"] {
            assert_eq!(rules(Path::new(elsewhere), &project), project, "{elsewhere}");
        }
        assert_eq!(rules(&project.join("nowhere/../../.."), &project), project);
        symlink(&below, &link).unwrap();
        assert_eq!(rules(&link, &link), below);
        fs::remove_file(&link).unwrap();
        symlink("/", &link).unwrap();
        assert_eq!(rules(&link, &link), Path::new("/"));
        assert_eq!(rules(&link, &project), project);
    }
}
