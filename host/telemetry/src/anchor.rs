//! Anchors: hashes of the log's last record, kept where whoever can write the log cannot write.
//!
//! The log alone cannot show that its end is missing, or that all of it was rewritten. An anchor can: it is a line with the
//! number and the hash of a record, in a file or in a git repository. If the place is out of reach of the agent, for example
//! a repository that is pushed to another machine, then no record before the anchor can change unnoticed.

use hookhost::audit::{Heads, Report};
use hookhost::config::Digest;
use hookhost::store::{FollowFrom, FollowedLog, Log, LogError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name of the file of anchors in a git repository.
pub const FILE: &str = "hookhost-anchors.jsonl";

/// Time that each call of git gets.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval at which a running git is asked whether it has ended.
const GIT_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum size of a file of anchors, in bytes. Ten years of hourly anchors are a tenth of this.
const MAX_FILE: u64 = 256 << 20;

/// A record of a log, as it was at some time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Anchor {
    /// The hash of the first record, which identifies the log.
    pub log: Digest,
    /// The number of the record.
    pub seq: u64,
    /// The hash of the record.
    pub head: Digest,
    /// When the anchor was made, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The name of the machine.
    pub machine: String,
}

/// A file or a git repository for anchors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorPlace {
    file: PathBuf,
    /// The root of the git repository, if the file is in one.
    repository: Option<PathBuf>,
}

/// The anchors of a place, as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    /// The anchors, without repetitions, in the order of the logs and of their records.
    pub anchors: Vec<Anchor>,
    /// Number of lines that are no anchor. The last line does not count if its writer was interrupted.
    pub unreadable: u64,
}

/// The result of a check of a log against anchors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CheckedAnchors {
    /// Number of anchored records of this log.
    pub of_this_log: u64,
    /// How many of them are in the log. The others are flaws of the report, or in archives that were not there.
    pub found: u64,
    /// Number of anchored records of other logs.
    pub of_other_logs: u64,
    /// The reason why the anchors prove nothing, if there is one beyond the flaws of the report.
    pub problem: Option<String>,
}

/// The reason why an anchor cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnchorError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is no such directory.
    #[error("there is no directory {path}: make it, for example with `git init {path}`, or name another place", path = .0.display())]
    NoDirectory(PathBuf),
    /// The directory is not a git repository.
    #[error(
        "{path} is a directory but no git repository: run `git init {path}`, or name a file in it, such as \
         {path}/anchors.jsonl",
        path = .0.display()
    )]
    NoRepository(PathBuf),
    /// There are no anchors yet.
    #[error("there are no anchors at {path}: make the first with `hookhost audit anchor {path}`", path = .0.display())]
    NoAnchors(PathBuf),
    /// The file cannot be used.
    #[error("{} cannot be used: {problem}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// The anchor is in the file, and git could not commit it. The next anchor commits both.
    #[error("the anchor is written to {} but not committed: {problem}", path.display())]
    NotCommitted {
        /// The file.
        path: PathBuf,
        /// What git says.
        problem: String,
    },
    /// git could not be asked.
    #[error("git cannot read the anchors of {}: {problem}", path.display())]
    Git {
        /// The repository.
        path: PathBuf,
        /// What git says.
        problem: String,
    },
}

impl Anchor {
    /// Returns the anchor of the last record of the log at this path. Records that are only in a journal have no final
    /// number yet, so they are left to the next anchor.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn of(log: &Path, time: u64) -> Result<Self, LogError> {
        let (followed, _) = FollowedLog::open(log, FollowFrom::End)?;
        let position = followed.position();
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(Self { log: position.log, seq: position.seq, head: position.hash, time, machine })
    }
}

impl AnchorPlace {
    /// Finds out what the path is: a git repository, or a file that exists or can be made.
    ///
    /// # Errors
    /// If the directory does not exist, or the path is a directory without a git repository.
    pub fn open(path: &Path) -> Result<Self, AnchorError> {
        if path.is_dir() {
            if !path.join(".git").exists() {
                return Err(AnchorError::NoRepository(path.to_owned()));
            }
            return Ok(Self { file: path.join(FILE), repository: Some(path.to_owned()) });
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !directory.is_dir() {
            return Err(AnchorError::NoDirectory(directory.to_owned()));
        }
        Ok(Self { file: path.to_owned(), repository: None })
    }

    /// Returns the file of the anchors.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds an anchor: appends one line, flushes it to the disk, and commits the file if it is in a git repository. If
    /// the last anchor of the file is of the same record, nothing is written, and what is not committed yet is committed.
    ///
    /// # Errors
    /// If the file cannot be written, or git cannot commit it.
    pub fn add(&self, anchor: &Anchor) -> Result<bool, AnchorError> {
        let of = |problem: io::Error| AnchorError::Io { path: self.file.clone(), problem };
        let known = read_file(&self.file).map_err(of)?;
        let is_new =
            known.is_none_or(|text| parsed(&text).anchors.iter().all(|known| !known.is_of_same_record(anchor)));
        if is_new {
            append(&self.file, anchor).map_err(of)?;
        }
        self.commit(anchor)?;
        Ok(is_new)
    }

    /// Reads the anchors: those of the file, and in a repository also those of its last commit, in case the file was
    /// changed afterwards.
    ///
    /// # Errors
    /// If there is no file, or it cannot be read.
    pub fn read(&self) -> Result<Anchors, AnchorError> {
        let of = |problem: io::Error| AnchorError::Io { path: self.file.clone(), problem };
        let mut texts: Vec<String> = read_file(&self.file).map_err(of)?.into_iter().collect();
        if let Some(repository) = &self.repository {
            let name = format!("HEAD:./{FILE}");
            // Without a commit there is nothing to read.
            if git(repository, &["rev-parse", "--quiet", "--verify", &name]).is_ok() {
                let committed = git(repository, &["cat-file", "blob", &name]);
                texts.push(committed.map_err(|problem| AnchorError::Git { path: repository.clone(), problem })?);
            }
        }
        if texts.is_empty() {
            return Err(AnchorError::NoAnchors(self.repository.clone().unwrap_or_else(|| self.file.clone())));
        }
        let mut all = Anchors::default();
        for text in texts {
            let Anchors { anchors, unreadable } = parsed(&text);
            all.anchors.extend(anchors);
            all.unreadable += unreadable;
        }
        all.anchors.sort();
        all.anchors.dedup();
        Ok(all)
    }

    /// Commits the file, and nothing else that is staged or changed. No hook of the repository runs, and git asks nobody.
    fn commit(&self, anchor: &Anchor) -> Result<(), AnchorError> {
        let Some(repository) = &self.repository else { return Ok(()) };
        let failed = |problem: String| AnchorError::NotCommitted { path: self.file.clone(), problem };
        git(repository, &["add", "--force", "--", FILE]).map_err(failed)?;
        if git(repository, &["diff", "--cached", "--quiet", "--", FILE]).is_ok() {
            return Ok(());
        }
        let message = format!("Anchor record {} of the log {}", anchor.seq, short(anchor.log));
        let commit = ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", &message, "--only", "--", FILE];
        git(repository, &commit).map_err(failed).map(drop)
    }
}

impl Anchor {
    fn is_of_same_record(&self, other: &Self) -> bool {
        (self.log, self.seq, self.head) == (other.log, other.seq, other.head)
    }
}

impl Anchors {
    /// Returns the hashes that a log must contain.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn heads(&self, log: &Log) -> Result<Heads, LogError> {
        let mut heads = Heads::default();
        // A log whose first record cannot be read is none of those that were anchored.
        if let Some(Ok(first)) = log.lines()?.next() {
            let of_log = self.anchors.iter().filter(|anchor| anchor.log == first.hash());
            heads.anchored = of_log.map(|anchor| (anchor.seq, anchor.head)).collect();
        }
        Ok(heads)
    }

    /// Returns what the anchors say about a log that was verified with these [heads](Self::heads).
    #[must_use]
    pub fn checked(&self, heads: &Heads, report: &Report) -> CheckedAnchors {
        let records: BTreeSet<_> = self.anchors.iter().map(|anchor| (anchor.log, anchor.seq, anchor.head)).collect();
        let of_this_log = heads.anchored.len();
        let problem = if self.unreadable > 0 {
            Some(format!("{} lines of the anchors cannot be read: somebody changed them", self.unreadable))
        } else if of_this_log == 0 {
            Some("no anchor is of this log: it was replaced or rewritten from its first record on, or these are the anchors of another log".to_owned())
        } else {
            None
        };
        CheckedAnchors {
            of_this_log: of_this_log as u64,
            found: report.anchors_found,
            of_other_logs: (records.len() - of_this_log) as u64,
            problem,
        }
    }

    /// Returns the newest anchor of the log with this first hash.
    #[must_use]
    pub fn newest(&self, log: Digest) -> Option<&Anchor> {
        self.anchors.iter().filter(|anchor| anchor.log == log).max_by_key(|anchor| (anchor.seq, anchor.time))
    }
}

fn short(digest: Digest) -> String {
    digest.to_string().chars().take(12).collect()
}

/// Returns the text of the file; `None` if there is none.
fn read_file(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn parsed(text: &str) -> Anchors {
    let mut read = Anchors::default();
    let is_cut = !text.is_empty() && !text.ends_with('\n');
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for (index, line) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(anchor) => read.anchors.push(anchor),
            Err(_) if is_cut && index + 1 == lines.len() => {}
            Err(_) => read.unreadable += 1,
        }
    }
    read
}

/// Appends one line, and returns when it is on the disk.
fn append(path: &Path, anchor: &Anchor) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let mut line = serde_json::to_string(anchor)?;
    line.push('\n');
    // An interrupted writer may have left an incomplete line.
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, '\n');
        }
    }
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    if is_new && let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Runs git in a repository, without hooks, file monitors or questions. Returns its output.
fn git(repository: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository);
    for setting in ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "gc.auto=0"] {
        command.args(["-c", setting]);
    }
    // Variables of an outer git would lead to another repository.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "hookhost").env(format!("GIT_{role}_EMAIL"), "hookhost@localhost");
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    // Both pipes are read while git runs, because git would wait if one of them were full.
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: Option<Box<dyn io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.map(|pipe| pipe.take(MAX_FILE).read_to_string(&mut text));
            text
        })
    };
    let stdout = read(stdout.map(|pipe| Box::new(pipe) as _));
    let stderr = read(stderr.map(|pipe| Box::new(pipe) as _));
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if began.elapsed() > GIT_TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("git did not end within {} s", GIT_TIMEOUT.as_secs()));
            }
            None => std::thread::sleep(GIT_INTERVAL),
        }
    };
    let text = stdout.join().unwrap_or_default();
    if status.success() {
        return Ok(text);
    }
    let said = stderr.join().unwrap_or_default();
    Err(said.lines().next().map_or_else(|| format!("git failed ({status})"), str::to_owned))
}

#[cfg(test)]
pub(crate) mod tests;
