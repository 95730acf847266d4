//! What is settled once although two processes could settle it: while a resident host starts or ends, hooks have processes of
//! their own. A claim is a file, locked as long as its event is under way; what it holds then is the answer.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer is kept for a second report.
const KEPT: Duration = Duration::from_secs(60);

/// The interval at which it is looked whether another process has settled an event.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The claims of a user's processes.
#[derive(Debug)]
pub struct Claims {
    directory: PathBuf,
    /// Until then everything is claimed, and later only what another process has claimed; absent: for ever.
    until: Option<Instant>,
    /// What this process has claimed: within it, the answer is known otherwise.
    mine: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Whose an event is.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This process settles it.
    Mine(Claimed),
    /// It was settled, with this answer.
    Settled(Vec<u8>),
}

/// An event that this process settles. Dropped without an answer, it is anybody's again.
#[derive(Debug)]
pub(crate) struct Claimed {
    file: File,
    _mine: Mine,
}

/// What this process claims, or is about to, until this is dropped.
#[derive(Debug)]
struct Mine {
    path: PathBuf,
    all: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Mine {
    /// Absent where this process claims it already.
    fn insert(path: &Path, all: &Arc<Mutex<HashSet<PathBuf>>>) -> Option<Self> {
        let is_new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        is_new.then(|| Self { path: path.to_owned(), all: Arc::clone(all) })
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

impl Claims {
    /// Claims in `directory`, which is the user's alone. A process that settles more than one event claims everything for
    /// `first` only, in which others may still be at work. Answers that are too old are removed.
    #[must_use]
    pub fn new(directory: PathBuf, first: Option<Duration>) -> Self {
        remove_old(&directory);
        Self { directory, until: first.map(|first| Instant::now() + first), mine: Arc::default() }
    }

    /// Claims what this key names, as soon as no other process is settling it. Absent where nobody else can be, or this cannot
    /// be found out.
    pub(crate) async fn claim(&self, key: &[&str]) -> Option<Claim> {
        let path = self.directory.join(name(key));
        let is_early = self.until.is_none_or(|until| Instant::now() < until);
        if !is_early && !path.exists() {
            return None;
        }
        let mine = Mine::insert(&path, &self.mine)?;
        let found = match locked(&path, &self.directory).await {
            Ok(file) => answered(&file).map(|answer| match answer {
                Some(answer) => Claim::Settled(answer),
                None => Claim::Mine(Claimed { file, _mine: mine }),
            }),
            Err(error) => Err(error),
        };
        found
            .inspect_err(|error| tracing::warn!(%error, "whether another process settles an event cannot be found out"))
            .ok()
    }
}

impl Claimed {
    /// Leaves the answer to anyone who reports the event again.
    pub(crate) fn settled(mut self, answer: &[u8]) {
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(answer));
        if let Err(error) = written {
            // Half an answer would be none.
            let _ = self.file.set_len(0);
            tracing::warn!(%error, "an answer cannot be left to other processes");
        }
    }
}

/// The answer of another process, if it is there and not too old.
fn answered(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut answer = Vec::new();
    file.read_to_end(&mut answer)?;
    Ok((is_young(file) && !answer.is_empty()).then_some(answer))
}

/// The file, locked by this process.
async fn locked(path: &Path, directory: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    loop {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        match file.try_lock() {
            // It may have been removed between the two.
            Ok(()) if is_at(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => tokio::time::sleep(POLL_INTERVAL).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => identity(file) == identity(there),
        _ => false,
    }
}

/// A clock that was set back makes an answer too old: the event is then settled once more.
fn is_young(file: &File) -> bool {
    let changed = file.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < KEPT))
}

fn remove_old(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && !is_young(&file)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// The name of a claim's file: nobody can find another event with the same one.
fn name(key: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in key {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    HEXLOWER.encode(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::{Claim, Claims};
    use std::time::Duration;

    async fn mine(claims: &Claims, key: &[&str]) -> super::Claimed {
        match claims.claim(key).await {
            Some(Claim::Mine(claimed)) => claimed,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_one_process_settles_another_waits_for_and_gets_the_same_answer() {
        let directory = tempfile::tempdir().unwrap();
        // Two processes.
        let (first, second) = (Claims::new(directory.path().into(), None), Claims::new(directory.path().into(), None));
        let claimed = mine(&first, &["s", "1"]).await;
        drop(mine(&second, &["s1"]).await);
        let waiting = second.claim(&["s", "1"]);
        tokio::pin!(waiting);
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        claimed.settled(b"no");
        assert!(matches!(waiting.await, Some(Claim::Settled(answer)) if answer == b"no"));
        assert!(matches!(first.claim(&["s", "1"]).await, Some(Claim::Settled(answer)) if answer == b"no"));
        // One that ends without an answer leaves it to the next.
        drop(mine(&first, &["s", "2"]).await);
        drop(mine(&second, &["s", "2"]).await);
    }

    #[tokio::test]
    async fn within_a_process_and_later_than_others_can_be_at_work_nothing_is_claimed() {
        let directory = tempfile::tempdir().unwrap();
        let claims = Claims::new(directory.path().into(), None);
        let _claimed = mine(&claims, &["s", "1"]).await;
        assert!(claims.claim(&["s", "1"]).await.is_none());
        let later = Claims::new(directory.path().into(), Some(Duration::ZERO));
        assert!(later.claim(&["s", "2"]).await.is_none());
        mine(&claims, &["s", "3"]).await.settled(b"yes");
        assert!(matches!(later.claim(&["s", "3"]).await, Some(Claim::Settled(_))));
    }

    #[test]
    fn an_answer_that_is_too_old_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (old, young) = (directory.path().join("old"), directory.path().join("young"));
        std::fs::write(&young, "no").unwrap();
        std::fs::write(&old, "no").unwrap();
        let hour = Duration::from_secs(3600);
        let file = std::fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(std::time::SystemTime::now() - hour).unwrap();
        let _ = Claims::new(directory.path().into(), None);
        assert!(young.exists() && !old.exists());
    }
}
