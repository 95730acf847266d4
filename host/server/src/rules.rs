//! Which rules count in which directory. The files that say so are looked at with each event, so that no event is settled under
//! rules that were replaced before it.

use data_encoding::HEXLOWER;
use hookhost::config::Config;
use hookhost::{Host, RuleSet};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the note begins that says that changed rules cannot be loaded.
pub const NOT_TAKEN_UP: &str = "changed rules are not taken up";

/// Upper bound of the directories whose rules are kept; those that were used last.
const MAX_DIRECTORIES: usize = 256;

/// Finds the configuration of a directory.
pub trait Configurations: Send + Sync {
    /// The configuration that counts in `directory`. `loaded` is the one that counted there before: where a file of it has
    /// stopped counting, that is an error, since a program that the agent runs could have removed it.
    ///
    /// # Errors
    /// One sentence, with the next step.
    fn find(&self, directory: &Path, loaded: Option<&Config>) -> Result<Found, String>;

    /// The files that say what counts in `directory`, whether or not they are there.
    fn files(&self, directory: &Path, loaded: Option<&Config>) -> Vec<PathBuf>;
}

/// A configuration that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// What counts.
    pub config: Config,
    /// What the user has to know about it, a sentence each: files that do not count, or are not as they were approved.
    pub notes: Vec<String>,
}

impl Found {
    /// This configuration, about which nothing has to be said.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, notes: Vec::new() }
    }

    /// The same with sentences for the user.
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
    /// What the user has to know about them.
    pub notes: Arc<[String]>,
    /// What tells this rule set from another one. Changed rules of the same set keep it.
    pub number: u64,
    /// What tells these rules from those that were loaded before.
    pub revision: u64,
    /// SHA-256 of the files that they come from, in hexadecimal.
    pub digest: Arc<str>,
    /// How long an event can take in which each plugin takes all of its time, without a person's.
    pub longest: Duration,
}

/// The rules of all directories.
pub struct RulesByDirectory {
    host: Host,
    configurations: Arc<dyn Configurations>,
    known: Mutex<HashMap<PathBuf, Arc<Known>>>,
    uses: AtomicU64,
    revisions: AtomicU64,
}

#[derive(Default)]
struct Known {
    used: AtomicU64,
    /// What was found last. Events read it at once; it is replaced by those who hold `state`.
    current: Mutex<Option<Arc<Current>>>,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    config: Option<Config>,
    loaded: Option<DirectoryRules>,
}

/// The rules of a directory, and how its files were when they were looked at.
struct Current {
    stamps: Vec<(PathBuf, Stamp)>,
    /// Or why there are none.
    rules: Result<DirectoryRules, String>,
}

impl Current {
    /// Whether the files are still as they were.
    fn counts(&self) -> bool {
        !self.stamps.is_empty() && self.stamps.iter().all(|(path, stamp)| stamp_of(path) == *stamp)
    }
}

impl Known {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Current>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found last, where it still counts.
    fn counting(&self) -> Option<Arc<Current>> {
        let current = self.current().clone();
        current.filter(|current| current.counts())
    }
}

/// What tells a file from a changed one: device, number, size and times of its last changes; absent where it is not there.
type Stamp = Option<(u64, u64, u64, [i64; 4])>;

impl RulesByDirectory {
    /// None yet.
    #[must_use]
    pub fn new(host: Host, configurations: Arc<dyn Configurations>) -> Self {
        Self { host, configurations, known: Mutex::default(), uses: AtomicU64::new(0), revisions: AtomicU64::new(0) }
    }

    /// The rules that count in `directory` now.
    ///
    /// # Errors
    /// One sentence, where none could ever be loaded there. Where changed rules cannot be loaded, those before stay, and the
    /// notes say why.
    pub async fn of(&self, directory: &Path) -> Result<DirectoryRules, String> {
        let known = self.known(directory);
        if let Some(current) = known.counting() {
            return current.rules.clone();
        }
        let mut state = known.state.lock().await;
        // Another event may have loaded them meanwhile.
        if let Some(current) = known.counting() {
            return current.rules.clone();
        }
        let (stamps, rules) = self.load(directory, &mut state).await;
        *known.current() = Some(Arc::new(Current { stamps, rules: rules.clone() }));
        rules
    }

    /// How many directories are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no directory is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn known(&self, directory: &Path) -> Arc<Known> {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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
        let known = Arc::new(Known { used: AtomicU64::new(now), ..Known::default() });
        all.insert(directory.to_owned(), Arc::clone(&known));
        known
    }

    async fn load(
        &self,
        directory: &Path,
        state: &mut State,
    ) -> (Vec<(PathBuf, Stamp)>, Result<DirectoryRules, String>) {
        // Before the files are read: what changes from here on is looked at with the next event.
        let before = stamps(self.configurations.files(directory, state.config.as_ref()));
        let found = self.configurations.find(directory, state.config.as_ref());
        let loaded = match found {
            Ok(found) => self.take_up(found, state).await,
            Err(why) => Err(why),
        };
        let now = self.configurations.files(directory, state.config.as_ref());
        let mut stamped: Vec<_> = before.into_iter().filter(|(path, _)| now.contains(path)).collect();
        let known: Vec<_> = stamped.iter().map(|(path, _)| path.clone()).collect();
        // A file that only the new configuration names.
        stamped.extend(stamps(now.into_iter().filter(|path| !known.contains(path))));
        let mut problem = String::new();
        if let Err(why) = loaded {
            tracing::warn!(directory = %directory.display(), why, "changed rules are not taken up");
            match &mut state.loaded {
                Some(kept) => {
                    kept.notes = [format!("{NOT_TAKEN_UP}, those that were loaded stay: {why}")].into();
                }
                None => problem = why,
            }
        }
        (stamped, state.loaded.clone().ok_or(problem))
    }

    async fn take_up(&self, found: Found, state: &mut State) -> Result<(), String> {
        // 0 is the canary's.
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
        notes.extend(state.config.as_ref().and_then(|before| no_longer_asked(before, &found.config)));
        let digest = digest_of(found.config.files()).into();
        let longest = found.config.enabled().map(|entry| entry.limits.deadline(&entry.grants)).sum();
        state.loaded = Some(DirectoryRules { rules, notes: notes.into(), number, revision, digest, longest });
        state.config = Some(found.config);
        Ok(())
    }
}

impl std::fmt::Debug for RulesByDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RulesByDirectory").field("directories", &self.len()).finish_non_exhaustive()
    }
}

/// Says which plugins a changed configuration does not have any more: one that was emptied is as good as one that was removed.
fn no_longer_asked(before: &Config, now: &Config) -> Option<String> {
    let gone = before.enabled().filter(|entry| now.enabled().all(|other| other.name != entry.name));
    let gone: Vec<&str> = gone.map(|entry| entry.name.as_str()).collect();
    let is_last = now.enabled().next().is_none();
    let nobody = if is_last { ": no plugin is asked now" } else { "" };
    (!gone.is_empty())
        .then(|| format!("hookhost: the configuration was changed and no longer has {}{nobody}", gone.join(", ")))
}

/// What tells the files of a configuration from others. Components are in it by the digests that the files name.
fn digest_of<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let mut digest = Sha256::new();
    for file in files {
        let text = fs::read(file).unwrap_or_default();
        digest.update(Sha256::digest(file.as_os_str().as_encoded_bytes()));
        digest.update(Sha256::digest(text));
    }
    HEXLOWER.encode(&digest.finalize())
}

fn stamps(files: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, Stamp)> {
    let stamped = |path: PathBuf| {
        let stamp = stamp_of(&path);
        (path, stamp)
    };
    files.into_iter().map(stamped).collect()
}

fn stamp_of(path: &Path) -> Stamp {
    // The time of the change of the file's entry, too: that of its content can be set.
    fs::metadata(path).ok().map(|file| {
        let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
        (file.dev(), file.ino(), file.size(), times)
    })
}
