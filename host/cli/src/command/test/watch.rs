//! Notices changes of the files on which the results depend: case files, configuration files and plugins.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// Interval at which the files are compared.
const INTERVAL: Duration = Duration::from_millis(300);

/// Time and size of each file that is there.
type Stamps = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

/// The files, as they were before a run.
pub(super) struct WatchedFiles {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
    seen: Stamps,
}

impl WatchedFiles {
    /// Notes files, and the directories of the cases, whose files can become more.
    pub(super) fn note(files: Vec<PathBuf>, directories: Vec<PathBuf>) -> Self {
        let seen = stamps(&files, &directories);
        Self { directories, files, seen }
    }

    /// Waits for a change, and until the files stay as they are for one interval. Returns `false` if `cancel` is cancelled.
    pub(super) async fn changed(self, cancel: &CancellationToken) -> bool {
        let Self { directories, files, mut seen } = self;
        let mut is_changed = false;
        loop {
            tokio::select! {
                () = cancel.cancelled() => return false,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let now = stamps(&files, &directories);
            if now != seen {
                (seen, is_changed) = (now, true);
            } else if is_changed {
                return true;
            }
        }
    }
}

fn stamps(files: &[PathBuf], directories: &[PathBuf]) -> Stamps {
    let within = directories.iter().flat_map(|directory| super::case_files(directory).unwrap_or_default());
    let stamp = |file: PathBuf| {
        let metadata = std::fs::metadata(&file).ok();
        let stamp = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        (file, stamp)
    };
    files.iter().cloned().chain(within).map(stamp).collect()
}
