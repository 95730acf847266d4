//! Loads changed rules during a run: configuration files and the plugins' own files.
//!
//! The operating system reports a change. Then everything is read and checked aside. Between two events, it either replaces the loaded
//! rules or changes nothing; the user is told either way.

use crate::args::ConfigArgs;
use crate::{configuration, loading};
use anyhow::anyhow;
use hookhost::command::{ProjectFile, TrustStore};
use hookhost::config::{Config, FILE_NAME};
use hookhost::{Host, RuleSource};
use hookhost_agent::agent::{AgentEvent, Reporter};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Interval of checking the files and the record of approvals, after a change that could not be loaded or is not approved. The
/// record is not watched, since it shares a directory with the log, which changes all the time. A watcher also reports nothing more
/// about a directory that was removed and made again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Time that the files must stay unchanged before they are read: an editor, or `hookhost allow`, writes more than once.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Upper bound of the debounce, so that a file that keeps changing cannot postpone a reload for ever.
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);

/// Loads changes until it is dropped.
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
    watched: Watched,
    /// The files' stamps at the last reading; empty before the first.
    seen: Vec<Option<(SystemTime, u64)>>,
    last_problem: Option<String>,
    /// The last message about files that differ from their approval.
    unapproved: Option<String>,
}

/// The watched directories, and the relevant names in them. Directories are watched because a rewritten file may be a new one.
struct Watched {
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
    let mut watched = match Watched::new() {
        Ok(watched) => watched,
        Err(error) => {
            say(&*reporter, format!("changed rules will not count while this runs: {error}"));
            return None;
        }
    };
    watched.add(args, workspace, &config);
    let changed = Arc::clone(&watched.changed);
    // Changes between loading and watching are not reported, so the files are read once more.
    changed.notify_one();
    // The user was told about these when the configuration was read.
    let unapproved = loading::config_again(args, workspace, &config).ok().and_then(|(_, changes)| changes);
    let state = State { watched, seen: Vec::new(), last_problem: None, unapproved };
    let reloader = Arc::new(Reloader {
        host,
        args: args.clone(),
        workspace: workspace.to_owned(),
        reporter,
        loaded: Mutex::new(config),
        state: state.into(),
    });
    // A person's yes is judged under the rules in the files at that time.
    reloader.host.rules().follow(&reloader);
    let task = tokio::spawn(follow(Arc::clone(&reloader), changed));
    Some(ConfigWatcher { task, reloader })
}

async fn follow(reloader: Arc<Reloader>, changed: Arc<Notify>) {
    let mut is_retried = false;
    loop {
        let notified = changed.notified();
        if is_retried {
            let noticed = tokio::time::timeout(RETRY_INTERVAL, notified).await.is_ok();
            if !noticed && !reloader.state.lock().await.is_changed() {
                continue;
            }
        } else {
            notified.await;
        }
        let quiet = async { while tokio::time::timeout(DEBOUNCE, changed.notified()).await.is_ok() {} };
        let _ = tokio::time::timeout(MAX_DEBOUNCE, quiet).await;
        let mut state = reloader.state.lock().await;
        reloader.take_up(&mut state).await;
        is_retried = state.last_problem.is_some() || state.unapproved.is_some();
    }
}

impl State {
    /// Returns true if the files have changed since they were read.
    fn is_changed(&self) -> bool {
        self.watched.stamps() != self.seen
    }
}

impl Reloader {
    fn loaded(&self) -> Config {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files and loads their rules.
    async fn take_up(&self, state: &mut State) {
        let Self { host, args, workspace, reporter, .. } = self;
        // Taken before the files are read, so that a later change is noticed next time.
        state.seen = state.watched.stamps();
        let found = loading::config_again(args, workspace, &self.loaded());
        if let Ok((config, changes)) = &found {
            // Watched even if it cannot be loaded, since a plugin's file may be repaired.
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
                    say(&**reporter, format!("other rules count from now on: {changes}"));
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

fn say(reporter: &dyn Reporter, text: String) {
    reporter.report(&AgentEvent::Notice { text });
}

impl Watched {
    fn new() -> anyhow::Result<Self> {
        let names = Arc::<Mutex<BTreeSet<OsString>>>::default();
        let changed = Arc::new(Notify::new());
        let (of, notify) = (Arc::clone(&names), Arc::clone(&changed));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let names = of.lock().unwrap_or_else(PoisonError::into_inner);
            // An error can mean a missed event.
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

    /// Also watches the files of this configuration, and the places of files that would count if they were created.
    fn add(&mut self, args: &ConfigArgs, workspace: &Path, config: &Config) {
        let plugins = config.enabled().filter_map(|entry| entry.code.path().map(Path::to_owned));
        let mut files: Vec<PathBuf> = config.files().iter().cloned().chain(plugins).collect();
        if args.config.is_none() {
            files.extend(workspace.ancestors().map(|directory| directory.join(FILE_NAME)));
            files.extend(ProjectFile::find(workspace));
            if let Ok(places) = configuration::places() {
                files.push(places.user_file());
            }
        }
        for file in files {
            // A link is followed, since editors write its target.
            for file in [file.canonicalize().ok(), Some(file)].into_iter().flatten() {
                let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { continue };
                self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
                // Repeated each time: a directory that was created again is a new one. A missing one is tried again.
                let _ = self.watcher.watch(directory, RecursiveMode::NonRecursive);
                self.files.insert(file);
            }
        }
    }

    /// Returns time and size of each file and of the record of approvals.
    fn stamps(&self) -> Vec<Option<(SystemTime, u64)>> {
        let approvals = configuration::places().ok().map(|places| TrustStore::of(&places).file());
        let stamp = |file: &PathBuf| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        self.files.iter().chain(&approvals).map(stamp).collect()
    }
}
