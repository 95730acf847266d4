//! What is settled once although two processes could settle it: while a resident host starts or ends, hooks have processes of
//! their own. A claim is a file, locked as long as its event is under way; what it holds then is the answer.

use crate::call_key::{CallId, KEPT};
use data_encoding::HEXLOWER;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Poll interval while another process settles an event.
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

/// A call that this process alone can settle as long as it holds this. Dropped without an answer, it is anybody's again.
#[derive(Debug)]
pub(crate) struct Claim {
    file: File,
    _mine: Mine,
}

/// The answer of another process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeptAnswer {
    /// The identifier of the event's record.
    pub(crate) event: Option<String>,
    pub(crate) answer: Vec<u8>,
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

    /// Claims a call, as soon as no other process is settling it. Absent where nobody else can be, or this cannot be found out.
    pub(crate) async fn claim(&self, call: &CallId) -> Option<Claim> {
        let path = self.path(call);
        let is_early = self.until.is_none_or(|until| Instant::now() < until);
        if !is_early && !path.exists() {
            return None;
        }
        let mine = Mine::insert(&path, &self.mine)?;
        let file = locked(&path, &self.directory).await;
        file.map(|file| Claim { file, _mine: mine })
            .inspect_err(|error| tracing::warn!(%error, "whether another process settles an event cannot be found out"))
            .ok()
    }

    /// Removes the answers to calls, where there are some.
    pub(crate) fn end(&self, calls: &[CallId]) {
        // Later than that no answer of another process counts any more.
        if self.until.is_some_and(|until| Instant::now() >= until + KEPT) {
            return;
        }
        for call in calls {
            let _ = fs::remove_file(self.path(call));
        }
    }

    fn path(&self, call: &CallId) -> PathBuf {
        self.directory.join(HEXLOWER.encode(call))
    }
}

impl Claim {
    /// The answer that another process gave under these terms, unless it is too old.
    pub(crate) fn answer(&self, terms: &[u8; 32]) -> Option<KeptAnswer> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).ok()?;
        let (head, answer) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n')?);
        let head = str::from_utf8(head).ok()?;
        let (of, rest) = head.split_once(' ')?;
        let (seconds, event) = rest.split_once(' ')?;
        let kept = Duration::from_secs(seconds.parse().ok()?).min(KEPT);
        let counts = of == HEXLOWER.encode(terms) && is_young(file, kept);
        let event = (!event.is_empty()).then(|| event.to_owned());
        counts.then(|| KeptAnswer { event, answer: answer[1..].to_vec() })
    }

    /// Leaves the answer to anyone who reports the call again under the same terms, for so long.
    pub(crate) fn settled(mut self, terms: &[u8; 32], kept: Duration, event: Option<&str>, answer: &[u8]) {
        let head = format!("{} {} {}\n", HEXLOWER.encode(terms), kept.as_secs(), event.unwrap_or_default());
        let bytes = [head.as_bytes(), answer].concat();
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(&bytes));
        if let Err(error) = written {
            // Half an answer would be none.
            let _ = self.file.set_len(0);
            tracing::warn!(%error, "an answer cannot be left to other processes");
        }
    }
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
fn is_young(file: &File, kept: Duration) -> bool {
    let changed = file.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < kept))
}

fn remove_old(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && !is_young(&file, KEPT)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Claim, Claims};
    use crate::call_key::{KEPT, digest};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    const TERMS: [u8; 32] = [7; 32];

    async fn claim(claims: &Claims, call: &str) -> Claim {
        let claim = claims.claim(&digest(&[call])).await.unwrap();
        assert_eq!(claim.answer(&TERMS), None);
        claim
    }

    /// The claims of two processes in one directory.
    fn two(directory: &Path) -> (Claims, Claims) {
        (Claims::new(directory.into(), None), Claims::new(directory.into(), None))
    }

    async fn answer(claims: &Claims, call: &str, terms: &[u8; 32]) -> Option<Vec<u8>> {
        claims.claim(&digest(&[call])).await.unwrap().answer(terms).map(|kept| kept.answer)
    }

    #[tokio::test]
    async fn what_one_process_settles_another_waits_for_and_gets_the_same_answer() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = two(directory.path());
        let claimed = claim(&first, "1").await;
        drop(claim(&second, "another").await);
        let call = digest(&["1"]);
        let waiting = second.claim(&call);
        tokio::pin!(waiting);
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        claimed.settled(&TERMS, KEPT, Some("s.1"), b"no");
        let kept = waiting.await.unwrap().answer(&TERMS).unwrap();
        assert_eq!((kept.event.as_deref(), &*kept.answer), (Some("s.1"), &b"no"[..]));
        assert_eq!(answer(&first, "1", &TERMS).await.as_deref(), Some(&b"no"[..]));
        // One that ends without an answer leaves it to the next.
        drop(claim(&first, "2").await);
        drop(claim(&second, "2").await);
    }

    #[tokio::test]
    async fn an_answer_counts_under_its_own_rules_alone_and_until_its_call_has_run() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = two(directory.path());
        claim(&first, "1").await.settled(&TERMS, KEPT, None, b"yes");
        assert_eq!(answer(&second, "1", &[8; 32]).await, None, "other rules");
        assert_eq!(answer(&second, "1", &TERMS).await.as_deref(), Some(&b"yes"[..]));
        second.end(&[digest(&["1"])]);
        assert_eq!(answer(&first, "1", &TERMS).await, None, "it has run");
    }

    #[tokio::test]
    async fn neither_a_clock_that_is_set_back_nor_one_that_is_set_forward_keeps_an_answer() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = two(directory.path());
        let hour = Duration::from_secs(3600);
        for written in [SystemTime::now() - hour, SystemTime::now() + hour] {
            claim(&first, "1").await.settled(&TERMS, KEPT, None, b"yes");
            let held = second.claim(&digest(&["1"])).await.unwrap();
            held.file.set_modified(written).unwrap();
            assert_eq!(held.answer(&TERMS), None);
            drop(held);
            second.end(&[digest(&["1"])]);
        }
    }

    #[tokio::test]
    async fn within_a_process_and_later_than_others_can_be_at_work_nothing_is_claimed() {
        let directory = tempfile::tempdir().unwrap();
        let claims = Claims::new(directory.path().into(), None);
        let _claimed = claim(&claims, "1").await;
        assert!(claims.claim(&digest(&["1"])).await.is_none());
        let later = Claims::new(directory.path().into(), Some(Duration::ZERO));
        assert!(later.claim(&digest(&["2"])).await.is_none());
        claim(&claims, "3").await.settled(&TERMS, KEPT, None, b"yes");
        assert_eq!(answer(&later, "3", &TERMS).await.as_deref(), Some(&b"yes"[..]));
    }

    #[test]
    fn an_answer_that_is_too_old_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (old, young) = (directory.path().join("old"), directory.path().join("young"));
        std::fs::write(&young, "no").unwrap();
        std::fs::write(&old, "no").unwrap();
        let hour = Duration::from_secs(3600);
        let file = std::fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - hour).unwrap();
        let _ = Claims::new(directory.path().into(), None);
        assert!(young.exists() && !old.exists());
    }
}
