//! Loads rules again if a configuration file or a plugin's file changes during a run.
//!
//! The operating system reports a changed file. All rules are then read and checked in the background. If the new rules are valid, they
//! replace the loaded rules between two events. Otherwise the loaded rules stay. The user gets a message in both cases.

use crate::args::ConfigArgs;
use crate::{configuration, loading};
use anyhow::anyhow;
use hookhost::command::{ProjectFile, TrustStore, rule_files};
use hookhost::config::{Config, FILE_NAME};
use hookhost::{Host, RuleSource};
use hookhost_agent::agent::{AgentEvent, Reporter};
use hookhost_resident::RulePauses;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Interval at which the files are checked. There are three reasons for checking at intervals. The record of approvals and the rules that are
/// off are not watched, because the log in the same directory changes all the time. A rule that is off comes back without a change of a
/// file. Moreover, a watcher reports nothing more about a directory that was removed and created again.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Time for which the files must stay unchanged before they are read. An editor or `hookhost allow` may write a file several times in a
/// row.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Maximum time from a change to its reload, so that a file that keeps changing cannot postpone the reload forever.
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);

/// Loads changed rules until this value is dropped.
#[derive(Debug)]
pub(crate) struct ConfigWatcher {
    task: JoinHandle<()>,
    reloader: Arc<Reloader>,
}

impl ConfigWatcher {
    /// Returns the configuration that was loaded last.
    pub(crate) fn config(&self) -> Config {
        self.reloader.loaded()
    }
}

impl Drop for ConfigWatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Loads changes, one after another.
struct Reloader {
    host: Host,
    args: ConfigArgs,
    workspace: PathBuf,
    reporter: Arc<dyn Reporter>,
    loaded: Mutex<Config>,
    state: tokio::sync::Mutex<State>,
}

/// The known state of the files.
struct State {
    watched: WatchedFiles,
    /// Time and size of each file when the files were last read. Empty before the first reading.
    seen: Vec<Option<(SystemTime, u64)>>,
    /// The rules that were off when the files were last read.
    off: RulePauses,
    last_problem: Option<String>,
    /// The last message about files that differ from the approved content.
    unapproved: Option<String>,
}

/// The watched directories, and the relevant file names in them. Directories are watched instead of files, because a program can replace a
/// file with a new file of the same name.
struct WatchedFiles {
    watcher: RecommendedWatcher,
    files: BTreeSet<PathBuf>,
    names: Arc<Mutex<BTreeSet<OsString>>>,
    changed: Arc<Notify>,
}

/// Watches the files of `config`, which `host` has loaded.
pub(crate) fn watch(
    host: Host,
    args: &ConfigArgs,
    workspace: &Path,
    config: Config,
    reporter: Arc<dyn Reporter>,
) -> Option<ConfigWatcher> {
    let mut watched = match WatchedFiles::new() {
        Ok(watched) => watched,
        Err(error) => {
            say(&*reporter, format!("changed rules will not apply during this run: {error}"));
            return None;
        }
    };
    watched.add(args, workspace, &config);
    let changed = Arc::clone(&watched.changed);
    // The files may have changed after they were loaded and before the watch began, so they are read once more.
    changed.notify_one();
    // The user has already seen the message about these files when the configuration was read.
    let unapproved = loading::config_again(args, workspace, &config).ok().and_then(|(_, changes)| changes);
    let state = State { watched, seen: Vec::new(), off: RulePauses::default(), last_problem: None, unapproved };
    let reloader = Arc::new(Reloader {
        host,
        args: args.clone(),
        workspace: workspace.to_owned(),
        reporter,
        loaded: Mutex::new(config),
        state: state.into(),
    });
    // When a person approves a call, the rules are read from the files again.
    reloader.host.rules().follow(&reloader);
    let task = tokio::spawn(follow(Arc::clone(&reloader), changed));
    Some(ConfigWatcher { task, reloader })
}

async fn follow(reloader: Arc<Reloader>, changed: Arc<Notify>) {
    loop {
        let noticed = tokio::time::timeout(CHECK_INTERVAL, changed.notified()).await.is_ok();
        if !noticed && !reloader.state.lock().await.is_changed() {
            continue;
        }
        let quiet = async { while tokio::time::timeout(DEBOUNCE, changed.notified()).await.is_ok() {} };
        let _ = tokio::time::timeout(MAX_DEBOUNCE, quiet).await;
        let mut state = reloader.state.lock().await;
        reloader.take_up(&mut state).await;
    }
}

impl State {
    /// Returns true if the files have changed since they were read, or if other rules are off.
    fn is_changed(&self) -> bool {
        self.watched.stamps() != self.seen || rules_off() != self.off
    }
}

impl Reloader {
    fn loaded(&self) -> Config {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files and loads the rules in them.
    async fn take_up(&self, state: &mut State) {
        let Self { host, args, workspace, reporter, .. } = self;
        // Take the stamps before reading the files, so that a change during the reading is noticed next time.
        (state.seen, state.off) = (state.watched.stamps(), rules_off());
        let found = loading::config_again(args, workspace, &self.loaded());
        if let Ok((config, changes)) = &found {
            // Watch the files even if the rules cannot be loaded, because the user may repair a plugin's file.
            state.watched.add(args, workspace, config);
            if let Some(changes) = changes.as_ref().filter(|changes| state.unapproved.as_ref() != Some(changes)) {
                say(&**reporter, changes.clone());
            }
            state.unapproved.clone_from(changes);
        }
        let taken_up = match found {
            Ok((config, _)) => loading::reload(host, &config).await.map(|changes| (config, changes)),
            Err(stop) => Err(stop),
        };
        match taken_up {
            Ok((config, changes)) => {
                if !changes.is_empty() {
                    say(&**reporter, format!("other rules apply from now on: {changes}"));
                } else if state.last_problem.is_some() {
                    say(&**reporter, "the rules can be loaded again, and are the same as before".to_owned());
                }
                *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = config;
                state.last_problem = None;
            }
            Err(stop) => {
                let problem =
                    format!("the changed rules cannot be loaded, so the earlier ones stay: {}", stop.message());
                if state.last_problem.as_ref() != Some(&problem) {
                    say(&**reporter, problem.clone());
                    state.last_problem = Some(problem);
                }
            }
        }
    }
}

impl RuleSource for Reloader {
    fn refresh(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async {
            let mut state = self.state.lock().await;
            if state.is_changed() {
                self.take_up(&mut state).await;
            }
            Ok(())
        })
    }
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Returns the rules that are off now.
fn rules_off() -> RulePauses {
    configuration::places().map(|places| RulePauses::current(&places.state)).unwrap_or_default()
}

fn say(reporter: &dyn Reporter, text: String) {
    reporter.report(&AgentEvent::Notice { text });
}

impl WatchedFiles {
    fn new() -> anyhow::Result<Self> {
        let names = Arc::<Mutex<BTreeSet<OsString>>>::default();
        let changed = Arc::new(Notify::new());
        let (of, notify) = (Arc::clone(&names), Arc::clone(&changed));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let names = of.lock().unwrap_or_else(PoisonError::into_inner);
            // After an error of the watcher, a change may have been missed.
            let matters = event.map_or(true, |event| {
                !event.kind.is_access()
                    && (event.need_rescan()
                        || event.paths.iter().any(|path| path.file_name().is_some_and(|name| names.contains(name))))
            });
            if matters {
                notify.notify_one();
            }
        });
        let watcher = watcher.map_err(|error| anyhow!("{error}"))?;
        Ok(Self { watcher, files: BTreeSet::new(), names, changed })
    }

    /// Also watches the files of this configuration, and the paths at which a new file would belong to the configuration.
    fn add(&mut self, args: &ConfigArgs, workspace: &Path, config: &Config) {
        let plugins = config.enabled().filter_map(|entry| entry.code.path().map(Path::to_owned));
        let mut files: Vec<PathBuf> = config.files().iter().cloned().chain(plugins).collect();
        if args.config.is_none() {
            files.extend(workspace.ancestors().map(|directory| directory.join(FILE_NAME)));
            files.extend(ProjectFile::find(workspace));
            if let Ok(places) = configuration::places() {
                files.extend(places.user_files());
            }
        }
        if let Ok(places) = configuration::places() {
            files.extend(rule_files(workspace, args.config.as_deref(), &places));
        }
        for file in files {
            // Also watches the target of a symbolic link, because editors write the target.
            for file in [file.canonicalize().ok(), Some(file)].into_iter().flatten() {
                let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { continue };
                self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
                // Watches each directory again at every reload, because it may have been removed and created again, or may have been
                // missing before.
                let _ = self.watcher.watch(directory, RecursiveMode::NonRecursive);
                self.files.insert(file);
            }
        }
    }

    /// Returns the time and size of each file and of the record of approvals.
    fn stamps(&self) -> Vec<Option<(SystemTime, u64)>> {
        let approvals = configuration::places().ok().map(|places| TrustStore::of(&places).file());
        let stamp = |file: &PathBuf| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        self.files.iter().chain(&approvals).map(stamp).collect()
    }
}
