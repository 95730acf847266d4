//! New rows and questions, for all open tabs. One task reads the log while any tab is open. The stream of a tab that is too slow ends, so
//! that the tab opens another one and loads what it missed.

use crate::log_rows::{EventRow, LogReader};
use crate::views::approvals::{Waiting, question};
use crate::views::layout::event_row;
use futures_util::Stream;
use hookhost::Host;
use hookhost::store::{FollowFrom, FollowedLog, LogError, Position};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Interval at which the log is read.
const LOG_INTERVAL: Duration = Duration::from_millis(50);

/// Time until a log that could not be read is read again.
const PROBLEM_INTERVAL: Duration = Duration::from_secs(1);

/// Number of readings of the log for each reading of the questions.
const QUESTIONS_EVERY: u32 = 4;

/// Maximum number of rows that a tab gets in a second. Nobody reads more.
const ROWS_PER_SECOND: u32 = 20;

/// Maximum number of rows that a tab gets which comes back.
pub(crate) const RESUMED_ROWS: usize = 200;

/// Interval at which an idle stream sends something, so that a closed tab is noticed.
const ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Number of changes that wait for a slow tab. Its stream ends if there are more.
const CAPACITY: usize = 1024;

/// Something new.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// An event: its record and its row.
    Row(u64, String),
    /// A question: its code and its markup.
    Question(String, String),
    /// A question no longer waits.
    Gone(String),
    /// The number of questions that wait.
    Waiting(usize),
    /// The log cannot be read.
    Problem(String),
    /// Another log is in the place of the one whose rows the tab shows.
    OtherLog,
}

impl Change {
    /// Formats the change as a server-sent event.
    pub(crate) fn to_event(&self) -> String {
        match self {
            Self::Row(seq, row) => format!("id: {seq}\nevent: row\ndata: {}\n\n", one_line(row)),
            Self::Question(code, markup) => format!("event: question\ndata: {code} {}\n\n", one_line(markup)),
            Self::Gone(code) => format!("event: gone\ndata: {code}\n\n"),
            Self::Waiting(count) => format!("event: waiting\ndata: {count}\n\n"),
            Self::Problem(why) => format!("event: problem\ndata: {}\n\n", one_line(why)),
            Self::OtherLog => {
                "event: other-log\ndata: Another log took the place of the one that was shown.\n\n".to_owned()
            }
        }
    }
}

/// Data of a server-sent event has no line breaks. In markup, a number stands for one.
fn one_line(markup: &str) -> String {
    markup.replace('\r', "&#13;").replace('\n', "&#10;")
}

/// Sends new rows and questions to all open tabs.
pub(crate) struct LiveFeed {
    reader: LogReader,
    host: Host,
    sender: broadcast::Sender<Change>,
    is_reading: Mutex<bool>,
}

impl LiveFeed {
    pub(crate) fn new(reader: LogReader, host: Host) -> Self {
        let (sender, _) = broadcast::channel(CAPACITY);
        Self { reader, host, sender, is_reading: Mutex::default() }
    }

    /// Returns the number of open streams.
    pub(crate) fn streams(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Returns the changes from now on, as server-sent events. `after` is the last record that the tab has, if it comes back.
    ///
    /// The log is open before this returns, so the tab gets each record that is written afterwards. It can get a record twice.
    pub(crate) async fn stream(self: &Arc<Self>, after: Option<u64>) -> impl Stream<Item = String> + use<> {
        let receiver = self.sender.subscribe();
        let mut first = vec![];
        let mut is_reading = self.is_reading.lock().await;
        if !*is_reading {
            let mut log = LiveLog::new(self.reader.path().to_owned());
            let opened = spawn_blocking(move || {
                let changes = log.next();
                (log, changes)
            });
            if let Ok((log, changes)) = opened.await {
                first = changes;
                *is_reading = true;
                let feed = Arc::clone(self);
                tokio::spawn(async move { feed.read(log).await });
            }
        }
        drop(is_reading);
        if let Ok(open) = self.host.questions().await {
            first.push(Change::Waiting(open.len()));
        }
        if let Some(after) = after {
            let reader = self.reader.clone();
            match spawn_blocking(move || reader.after(after, RESUMED_ROWS)).await {
                Ok(Ok(rows)) => first.extend(rows.iter().map(row_change)),
                Ok(Err(why)) => first.push(Change::Problem(why)),
                Err(error) => first.push(Change::Problem(error.to_string())),
            }
        }
        let first = std::iter::once(": hookhost\n\n".to_owned()).chain(first.iter().map(Change::to_event)).collect();
        let window = tokio::time::interval_at(Instant::now() + Duration::from_secs(1), Duration::from_secs(1));
        let tab = LiveTab { receiver, first: Some(first), window, sent: 0, more: 0, quiet: Duration::ZERO };
        futures_util::stream::unfold(tab, |mut tab| async move { Some((tab.next().await?, tab)) })
    }

    /// Reads the log and the questions until no tab is open.
    async fn read(self: Arc<Self>, mut log: LiveLog) {
        let mut interval = tokio::time::interval(LOG_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut known: HashSet<String> = HashSet::new();
        let mut turn = 0;
        while self.is_wanted().await {
            interval.tick().await;
            let read = spawn_blocking(move || {
                let changes = log.next();
                (log, changes)
            });
            let changes = match read.await {
                Ok((next, changes)) => {
                    log = next;
                    changes
                }
                Err(error) => {
                    log = LiveLog::new(self.reader.path().to_owned());
                    vec![Change::Problem(error.to_string())]
                }
            };
            let has_problem = changes.iter().any(|change| matches!(change, Change::Problem(_)));
            changes.into_iter().for_each(|change| self.send(change));
            if has_problem {
                tokio::time::sleep(PROBLEM_INTERVAL).await;
            }
            if turn == 0 {
                self.read_questions(&mut known).await;
            }
            turn = (turn + 1) % QUESTIONS_EVERY;
        }
    }

    /// Returns true while a tab is open. Otherwise the next tab begins the reading anew.
    async fn is_wanted(&self) -> bool {
        // A tab that came just now waits for the lock, and learns whether anybody reads.
        let mut is_reading = self.is_reading.lock().await;
        *is_reading = self.sender.receiver_count() > 0;
        *is_reading
    }

    async fn read_questions(&self, known: &mut HashSet<String>) {
        let Ok(open) = self.host.questions().await else { return };
        let codes: HashSet<String> = open.iter().map(|request| request.code.clone()).collect();
        for new in open.iter().filter(|request| !known.contains(&request.code)) {
            self.send(Change::Question(new.code.clone(), question(&Waiting::new(new)).into_string()));
        }
        known.difference(&codes).for_each(|gone| self.send(Change::Gone(gone.clone())));
        if *known != codes {
            self.send(Change::Waiting(codes.len()));
        }
        *known = codes;
    }

    fn send(&self, change: Change) {
        // Without a tab, nobody misses it.
        let _ = self.sender.send(change);
    }
}

fn row_change(row: &EventRow) -> Change {
    Change::Row(row.seq, event_row(row).into_string())
}

/// The log, followed from the time of the first reading on. It blocks the thread.
struct LiveLog {
    path: PathBuf,
    log: Option<FollowedLog>,
    /// The last record that was read.
    position: Option<Position>,
}

impl LiveLog {
    fn new(path: PathBuf) -> Self {
        Self { path, log: None, position: None }
    }

    /// Reads the records that were stored since the last call. Opens the log first, also if another file took its place.
    fn next(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Err(error) = self.read(&mut changes) {
            changes.push(Change::Problem(error.to_string()));
        }
        changes
    }

    fn read(&mut self, changes: &mut Vec<Change>) -> Result<(), LogError> {
        let mut log = match self.log.take().filter(|log| !log.is_replaced()) {
            Some(log) => log,
            None => {
                let from = self.position.map_or(FollowFrom::End, FollowFrom::After);
                let (log, is_other) = FollowedLog::open(&self.path, from)?;
                if is_other {
                    changes.push(Change::OtherLog);
                    FollowedLog::open(&self.path, FollowFrom::End)?.0
                } else {
                    log
                }
            }
        };
        let read = log.next_records(CAPACITY / 2);
        self.position = Some(log.position());
        self.log = Some(log);
        changes.extend(read?.iter().filter_map(EventRow::of_line).map(|row| row_change(&row)));
        Ok(())
    }
}

/// The stream of one tab.
struct LiveTab {
    receiver: broadcast::Receiver<Change>,
    first: Option<String>,
    /// Begins a new second.
    window: Interval,
    /// Rows that were sent in this second.
    sent: u32,
    /// Rows that were not sent in this second.
    more: u64,
    quiet: Duration,
}

impl LiveTab {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            tokio::select! {
                change = self.receiver.recv() => match change {
                    Ok(Change::Row(..)) if self.sent >= ROWS_PER_SECOND => self.more += 1,
                    Ok(change) => {
                        self.sent += u32::from(matches!(change, Change::Row(..)));
                        return Some(change.to_event());
                    }
                    // It may have missed a question, which no later change brings.
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
                },
                _ = self.window.tick() => {
                    self.quiet = if self.sent > 0 { Duration::ZERO } else { self.quiet + Duration::from_secs(1) };
                    self.sent = 0;
                    let more = std::mem::take(&mut self.more);
                    if more > 0 {
                        return Some(format!("event: more\ndata: {more}\n\n"));
                    }
                    if self.quiet >= ALIVE_INTERVAL {
                        self.quiet = Duration::ZERO;
                        return Some(": alive\n\n".to_owned());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Change, LiveFeed, LiveLog, ROWS_PER_SECOND};
    use crate::log_rows::LogReader;
    use futures_util::StreamExt as _;
    use hookhost::session::Session;
    use hookhost::{Config, Host};
    use serde_json::json;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    #[test]
    fn a_text_of_an_agent_cannot_end_an_event_of_the_stream() {
        let event = Change::Question("c0de".into(), "<pre>a\n\nevent: gone\r\ndata: x</pre>".into()).to_event();
        assert_eq!(event, "event: question\ndata: c0de <pre>a&#10;&#10;event: gone&#13;&#10;data: x</pre>\n\n");
    }

    async fn host(file: &Path) -> Host {
        Host::builder(Config::empty()).without_cache().store(file).build().await.unwrap()
    }

    async fn call(host: &Host, session: &Session, command: &str) {
        let _ = session.check_tool("bash", &json!({ "command": command })).await;
        host.flush().await.unwrap();
    }

    /// Reads from the stream until it has sent this text.
    async fn sent(stream: &mut (impl futures_util::Stream<Item = String> + Unpin), wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            text.push_str(&stream.next().await.unwrap());
        }
        text
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_tab_gets_each_row_that_is_written_after_its_stream_began() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let host = host(&file).await;
        let session = host.session("my-agent", "/work").unwrap();
        for number in 0..20 {
            // Each stream begins the reading of the log anew.
            let feed = Arc::new(LiveFeed::new(LogReader::new(file.clone()), host.clone()));
            let mut stream = Box::pin(feed.stream(None).await);
            let command = format!("row-{number}");
            call(&host, &session, &command).await;
            let read = sent(&mut stream, &command);
            tokio::time::timeout(std::time::Duration::from_secs(20), read).await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_stream_of_a_tab_that_missed_changes_ends() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let host = host(&file).await;
        let feed = Arc::new(LiveFeed::new(LogReader::new(file), host));
        let mut stream = Box::pin(feed.stream(None).await);
        let first = stream.next().await.unwrap();
        // The first changes say how many questions wait.
        assert!(first.contains("event: waiting\ndata: 0\n\n"), "{first}");
        for _ in 0..ROWS_PER_SECOND {
            feed.send(Change::Gone("a".into()));
        }
        assert!(stream.next().await.is_some());
        for _ in 0..=CAPACITY {
            feed.send(Change::Gone("b".into()));
        }
        assert_eq!(stream.next().await, None);
    }

    #[tokio::test]
    async fn a_tab_learns_that_another_log_took_the_place_of_the_one_it_shows() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let rows = |log: &mut LiveLog| log.next().iter().map(Change::to_event).collect::<String>();
        let first = host(&file).await;
        let session = first.session("my-agent", "/work").unwrap();
        call(&first, &session, "before").await;
        let mut log = LiveLog::new(file.clone());
        assert_eq!(rows(&mut log), "");
        call(&first, &session, "first").await;
        assert!(rows(&mut log).contains("first"));
        drop((session, first));
        // The same log in another file is followed as before.
        let aside = directory.path().join("aside.db");
        let moved = |from: &PathBuf, to: &PathBuf| {
            for end in ["", "-wal", "-shm"] {
                let path = |file: &PathBuf| format!("{}{end}", file.display());
                let _ = std::fs::copy(path(from), path(to));
                let _ = std::fs::remove_file(path(from));
            }
        };
        moved(&file, &aside);
        let gone = rows(&mut log);
        assert!(gone.contains("event: problem") && !gone.contains("other-log"), "{gone}");
        moved(&aside, &file);
        assert_eq!(rows(&mut log), "");
        moved(&file, &aside);
        let second = host(&file).await;
        let session = second.session("my-agent", "/work").unwrap();
        call(&second, &session, "second").await;
        let other = rows(&mut log);
        assert!(other.contains("event: other-log"), "{other}");
        call(&second, &session, "third").await;
        assert!(rows(&mut log).contains("third"));
    }
}
