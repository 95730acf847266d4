//! New rows and questions, for all open tabs. One task reads the log while any tab is open; a tab that is slow loses rows, is told how
//! many, and reads them again with the next view.

use crate::log_rows::{EventRow, LogReader};
use crate::views::approvals::{Waiting, question};
use crate::views::layout::event_row;
use futures_util::Stream;
use hookhost::Host;
use hookhost::store::{FollowFrom, FollowedLog};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
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

/// Number of changes that wait for a slow tab. It misses older ones.
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
    is_reading: Arc<AtomicBool>,
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

impl LiveFeed {
    pub(crate) fn new(reader: LogReader, host: Host) -> Self {
        let (sender, _) = broadcast::channel(CAPACITY);
        Self { reader, host, sender, is_reading: Arc::default(), waiting: Arc::default() }
    }

    /// Returns the number of open streams.
    pub(crate) fn streams(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Returns the changes from now on, as server-sent events. `after` is the last record that the tab has, if it comes back.
    pub(crate) fn stream(self: &Arc<Self>, after: Option<u64>) -> impl Stream<Item = String> + use<> {
        let receiver = self.sender.subscribe();
        if !self.is_reading.swap(true, Ordering::AcqRel) {
            let feed = Arc::clone(self);
            tokio::spawn(async move { feed.read().await });
        }
        let mut first = ": hookhost\n\n".to_owned();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        first.push_str(&Change::Waiting(waiting.len()).to_event());
        drop(waiting);
        if let Some(after) = after {
            match self.reader.after(after, RESUMED_ROWS) {
                Ok(rows) => first.extend(rows.iter().map(|row| row_change(row).to_event())),
                Err(why) => first.push_str(&Change::Problem(why).to_event()),
            }
        }
        let window = tokio::time::interval_at(Instant::now() + Duration::from_secs(1), Duration::from_secs(1));
        let tab = LiveTab { receiver, first: Some(first), window, sent: 0, more: 0, quiet: Duration::ZERO };
        futures_util::stream::unfold(tab, |mut tab| async move { Some((tab.next().await?, tab)) })
    }

    /// Reads the log and the questions until no tab is open.
    async fn read(self: Arc<Self>) {
        let mut interval = tokio::time::interval(LOG_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut log: Option<FollowedLog> = None;
        let mut known: HashSet<String> = HashSet::new();
        let mut turn = 0;
        while self.is_wanted() {
            interval.tick().await;
            let path = self.reader.path().to_owned();
            let read = tokio::task::spawn_blocking(move || next_rows(log, &path));
            let (next, changes) = read.await.unwrap_or_default();
            log = next;
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
    fn is_wanted(&self) -> bool {
        if self.sender.receiver_count() > 0 {
            return true;
        }
        self.is_reading.store(false, Ordering::Release);
        // A tab that came just now would wait for ever.
        self.sender.receiver_count() > 0 && !self.is_reading.swap(true, Ordering::AcqRel)
    }

    async fn read_questions(&self, known: &mut HashSet<String>) {
        let Ok(open) = self.host.questions().await else { return };
        let waiting: Vec<Waiting> = open.iter().map(Waiting::new).collect();
        let codes: HashSet<String> = waiting.iter().map(|waiting| waiting.code.clone()).collect();
        for new in waiting.iter().filter(|waiting| !known.contains(&waiting.code)) {
            self.send(Change::Question(new.code.clone(), question(new).into_string()));
        }
        known.difference(&codes).for_each(|gone| self.send(Change::Gone(gone.clone())));
        if *known != codes {
            self.send(Change::Waiting(codes.len()));
        }
        *known = codes;
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
    }

    fn send(&self, change: Change) {
        // Without a tab, nobody misses it.
        let _ = self.sender.send(change);
    }
}

fn row_change(row: &EventRow) -> Change {
    Change::Row(row.seq, event_row(row).into_string())
}

/// Reads the records that were stored since the last call. Opens the log first, also if another file took its place.
fn next_rows(log: Option<FollowedLog>, path: &std::path::Path) -> (Option<FollowedLog>, Vec<Change>) {
    let log = log.filter(|log| !log.is_replaced());
    let mut log = match log.map_or_else(|| FollowedLog::open(path, FollowFrom::End).map(|(log, _)| log), Ok) {
        Ok(log) => log,
        Err(error) => return (None, vec![Change::Problem(error.to_string())]),
    };
    match log.next_records(CAPACITY / 2) {
        Ok(lines) => {
            let rows = lines.iter().filter_map(EventRow::of_line);
            let changes = rows.map(|row| row_change(&row)).collect();
            (Some(log), changes)
        }
        Err(error) => (Some(log), vec![Change::Problem(error.to_string())]),
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
                    Err(RecvError::Lagged(missed)) => self.more += missed,
                    Err(RecvError::Closed) => return None,
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
    use super::Change;

    #[test]
    fn a_text_of_an_agent_cannot_end_an_event_of_the_stream() {
        let event = Change::Question("c0de".into(), "<pre>a\n\nevent: gone\r\ndata: x</pre>".into()).to_event();
        assert_eq!(event, "event: question\ndata: c0de <pre>a&#10;&#10;event: gone&#13;&#10;data: x</pre>\n\n");
    }
}
