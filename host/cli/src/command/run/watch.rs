//! Takes up changed rules while a run lasts: files that say what counts, and the plugins' own.
//!
//! The operating system tells that one of them changed; then all is read and checked aside, and
//! either takes the place of what was loaded, between two events, or changes nothing. Both are
//! said.

use crate::args::ConfigArgs;
use crate::{configuration, loading};
use anyhow::anyhow;
use hookhost::Host;
use hookhost::command::{ProjectFile, TrustStore};
use hookhost::config::{Config, FILE_NAME};
use hookhost_agent::agent::{AgentEvent, Reporter};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Interval of checking the files and the record of approvals, while there is a change that could
/// not be taken up or that is not approved. The record is not watched, since the log is in the same
/// directory and changes all the time; and a watcher reports nothing more of a directory that was
/// removed and made again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How long the files must stay unchanged before they are read: an editor, or `hookhost allow`, writes more than once.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Upper bound of the debounce, so that a file that keeps changing cannot postpone a reload for ever.
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);

/// As long as it is there, changes are taken up.
#[derive(Debug)]
pub(crate) struct ConfigWatcher {
    task: JoinHandle<()>,
    loaded: Arc<Mutex<Config>>,
}

impl ConfigWatcher {
    /// The configuration that was taken up last.
    pub(crate) fn config(&self) -> Config {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ConfigWatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is watched: directories, since a rewritten file may be another one, and the names in them that matter.
struct Watched {
    watcher: RecommendedWatcher,
    files: BTreeSet<PathBuf>,
    names: Arc<Mutex<BTreeSet<OsString>>>,
    changed: Arc<Notify>,
}

/// Watches what `config`, which `host` has loaded, is read from.
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
            say(&*reporter, format!("changed rules are not taken up while this runs: {error}"));
            return None;
        }
    };
    watched.add(args, workspace, &config);
    let (args, workspace) = (args.clone(), workspace.to_owned());
    // These were told when the configuration was read.
    let told = loading::config_again(&args, &workspace, &config).ok().and_then(|(_, changes)| changes);
    let loaded = Arc::new(Mutex::new(config));
    let task = tokio::spawn(follow(watched, host, args, workspace, Arc::clone(&loaded), told, reporter));
    Some(ConfigWatcher { task, loaded })
}

async fn follow(
    mut watched: Watched,
    host: Host,
    args: ConfigArgs,
    workspace: PathBuf,
    loaded: Arc<Mutex<Config>>,
    mut unapproved: Option<String>,
    reporter: Arc<dyn Reporter>,
) {
    let now_loaded = || loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut last_problem: Option<String> = None;
    // Changes between loading and watching are not reported.
    watched.changed.notify_one();
    let mut seen = watched.stamps();
    loop {
        let changed = watched.changed.notified();
        match (&last_problem, &unapproved) {
            (None, None) => changed.await,
            _ => {
                let noticed = tokio::time::timeout(RETRY_INTERVAL, changed).await.is_ok();
                if !noticed && watched.stamps() == seen {
                    continue;
                }
            }
        }
        let quiet = async { while tokio::time::timeout(DEBOUNCE, watched.changed.notified()).await.is_ok() {} };
        let _ = tokio::time::timeout(MAX_DEBOUNCE, quiet).await;
        // Before the files are read: what changes from here on is looked at next.
        seen = watched.stamps();
        let found = loading::config_again(&args, &workspace, &now_loaded());
        if let Ok((config, changes)) = &found {
            // Also where it cannot be loaded: a plugin's file may be repaired.
            watched.add(&args, &workspace, config);
            if let Some(changes) = changes.as_ref().filter(|changes| unapproved.as_ref() != Some(changes)) {
                say(&*reporter, changes.clone());
            }
            unapproved.clone_from(changes);
        }
        let taken_up = match found {
            Ok((config, _)) => loading::reload(&host, &config).await.map(|changes| (config, changes)),
            Err(stop) => Err(stop),
        };
        match taken_up {
            Ok((config, changes)) => {
                if !changes.is_empty() {
                    say(&*reporter, format!("other rules count from now on: {changes}"));
                } else if last_problem.is_some() {
                    say(&*reporter, "the rules can be loaded again, and are those that count".to_owned());
                }
                *loaded.lock().unwrap_or_else(PoisonError::into_inner) = config;
                last_problem = None;
            }
            Err(stop) => {
                let problem =
                    format!("changed rules are not taken up, those that were loaded stay: {}", stop.message());
                if last_problem.as_ref() != Some(&problem) {
                    say(&*reporter, problem.clone());
                    last_problem = Some(problem);
                }
            }
        }
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
            // Without paths something was missed.
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

    /// Watches also what this configuration is read from, and where a file may come to be that would count.
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
            // A link is followed: its target is what is written.
            for file in [file.canonicalize().ok(), Some(file)].into_iter().flatten() {
                let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { continue };
                self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
                // Each time: a directory that was created again is another one. What is not there is looked for again.
                let _ = self.watcher.watch(directory, RecursiveMode::NonRecursive);
                self.files.insert(file);
            }
        }
    }

    /// When each of the files, and the record of approvals, was last written.
    fn stamps(&self) -> Vec<Option<(SystemTime, u64)>> {
        let approvals = configuration::places().ok().map(|places| TrustStore::of(&places).file());
        let stamp = |file: &PathBuf| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        self.files.iter().chain(&approvals).map(stamp).collect()
    }
}
