//! Notices on the desktop. A notice says how many questions wait and how to see them. It contains no command of an agent, and no button,
//! because every program of the user could press it.

use crate::sink::{Entry, Sent, Sink};
use hookhost::audit::Record;
use hookhost::contract::{Cause, OutcomeKind};
use hookhost::store::Position;
use hookhost_agents::clock::now;
use serde::Deserialize;
use std::collections::VecDeque;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Command;

/// Maximum number of notices within [`BURST`]. Further questions wait for the next notice, which counts them all.
const MAX_NOTICES: usize = 2;

const BURST: Duration = Duration::from_secs(10);

/// Age at which a question is no longer announced. It waited before this program ran.
const MAX_AGE: u64 = 60_000;

/// Time that the notifying program may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a notice is shown about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoticeKind {
    /// A question waits for an answer.
    Question,
    /// A call was rejected that a person can let pass once.
    Overridable,
}

impl NoticeKind {
    fn of(record: &Record) -> Option<Self> {
        let Record::Event(event) = record else { return None };
        match (event.outcome, event.cause) {
            (OutcomeKind::Escalated, _) => Some(Self::Question),
            (OutcomeKind::Rejected, Some(Cause::Overridable)) => Some(Self::Overridable),
            _ => None,
        }
    }
}

/// The sink of notices.
#[derive(Debug)]
pub(crate) struct Notices {
    on: Vec<NoticeKind>,
    shown: VecDeque<Instant>,
    /// Questions and calls that no notice has counted.
    waiting: [u64; 2],
    /// The program, in place of that of the system.
    program: Option<String>,
}

impl Notices {
    pub(crate) fn new(on: Vec<NoticeKind>) -> Self {
        Self { on, shown: VecDeque::new(), waiting: [0, 0], program: None }
    }

    /// Returns true if another notice may be shown now.
    fn has_room(&mut self) -> bool {
        while self.shown.front().is_some_and(|shown| shown.elapsed() > BURST) {
            self.shown.pop_front();
        }
        self.shown.len() < MAX_NOTICES
    }

    /// Shows a notice that is marked as a test.
    pub(crate) async fn test(&self) -> Result<(), String> {
        self.run("This is a test.").await.tested()
    }

    async fn show(&mut self) -> Sent {
        if self.waiting == [0, 0] || !self.has_room() {
            return Sent::All;
        }
        let text = text(self.waiting);
        let sent = self.run(&text).await;
        if !matches!(sent, Sent::Misconfigured { .. }) {
            self.shown.push_back(Instant::now());
            self.waiting = [0, 0];
        }
        sent
    }

    async fn run(&self, text: &str) -> Sent {
        let mut command = self.command(text);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let ended = match command.spawn() {
            Ok(mut child) => tokio::time::timeout(TIMEOUT, child.wait()).await,
            Err(error) => {
                return Sent::Misconfigured {
                    because: format!("no notice can be shown: {error}; install notify-send"),
                };
            }
        };
        match ended {
            Ok(Ok(status)) if status.success() => Sent::All,
            // A notice that comes late is of no use, so it is not tried again.
            _ => Sent::AllBut { refused: 1, because: "the desktop did not take the notice".to_owned() },
        }
    }

    fn command(&self, text: &str) -> Command {
        if cfg!(target_os = "macos") && self.program.is_none() {
            let mut command = Command::new("/usr/bin/osascript");
            // The text is an argument of the script, never a part of it.
            let script = "on run argv\ndisplay notification (item 1 of argv) with title \"hookhost\"\nend run";
            command.args(["-e", script, text]);
            return command;
        }
        let mut command = Command::new(self.program.as_deref().unwrap_or("notify-send"));
        command.args(["--app-name=hookhost", "--", "hookhost", text]);
        command
    }
}

fn text([questions, overridable]: [u64; 2]) -> String {
    let mut parts = Vec::new();
    match questions {
        0 => {}
        1 => parts.push("A question waits.".to_owned()),
        count => parts.push(format!("{count} questions wait.")),
    }
    match overridable {
        0 => {}
        1 => parts.push("A call was rejected that you can let pass once.".to_owned()),
        count => parts.push(format!("{count} calls were rejected that you can let pass once.")),
    }
    parts.push("Run: hookhost approvals".to_owned());
    parts.join(" ")
}

impl Sink for Notices {
    fn name(&self) -> &str {
        "desktop"
    }

    fn begin(&mut self, _: Option<&Position>) {
        self.waiting = [0, 0];
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        let before = self.waiting;
        let newest = now().saturating_sub(MAX_AGE);
        for entry in entries.iter().filter(|entry| entry.record.time() >= newest) {
            match NoticeKind::of(&entry.record).filter(|kind| self.on.contains(kind)) {
                Some(NoticeKind::Question) => self.waiting[0] += 1,
                Some(NoticeKind::Overridable) => self.waiting[1] += 1,
                None => {}
            }
        }
        let sent = self.show().await;
        if matches!(sent, Sent::Misconfigured { .. }) {
            // The records come again.
            self.waiting = before;
        }
        sent
    }

    async fn tick(&mut self) {
        let _ = self.show().await;
    }
}

#[cfg(test)]
mod tests;
