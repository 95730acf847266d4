//! Notices of threads, for the thread that serves the program.

use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Notice;

/// Maximum number of notices about one path or host. A program inside could cause any number.
const MAX_NOTICES_PER_SUBJECT: usize = 10;

/// Maximum number of paths and hosts with notices in one run.
const MAX_SUBJECTS: usize = 100;

/// Maximum number of notices that wait. Further ones are dropped.
const MAX_WAITING: usize = 256;

/// An event that wakes a thread that polls. Clones are the same event.
#[derive(Clone, Debug)]
pub(crate) struct WakeEvent(Arc<OwnedFd>);

impl WakeEvent {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub(crate) fn set(&self) {
        // It fails only if the event is set many times already.
        _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn clear(&self) {
        _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end at which threads leave notices.
#[derive(Clone, Debug)]
pub(crate) struct NoticeSender {
    sender: SyncSender<Notice>,
    event: WakeEvent,
}

impl NoticeSender {
    pub(crate) fn send(&self, notice: Notice) {
        _ = self.sender.try_send(notice);
        self.event.set();
    }
}

/// The end from which the supervisor takes notices. Its descriptor is readable when there are any.
#[derive(Debug)]
pub(crate) struct NoticeReceiver {
    receiver: Receiver<Notice>,
    event: WakeEvent,
    counts: HashMap<String, usize>,
}

impl NoticeReceiver {
    pub(crate) fn new() -> io::Result<(Self, NoticeSender)> {
        let event = WakeEvent::new()?;
        let (sender, receiver) = sync_channel(MAX_WAITING);
        Ok((Self { receiver, event: event.clone(), counts: HashMap::new() }, NoticeSender { sender, event }))
    }

    /// Takes the waiting notices, except for repetitions.
    pub(crate) fn take(&mut self) -> Vec<Notice> {
        self.event.clear();
        let arrived: Vec<Notice> = self.receiver.try_iter().collect();
        arrived.into_iter().filter(|notice| self.is_wanted(notice)).collect()
    }

    /// Returns false for a notice about something that was named often.
    pub(crate) fn is_wanted(&mut self, notice: &Notice) -> bool {
        let subject = match notice {
            Notice::Quarantined { path, .. }
            | Notice::KeysRestored { path, .. }
            | Notice::TextRestored { path, .. }
            | Notice::NotWatched { path, .. } => path.display().to_string(),
            Notice::HostRefused { host, .. } => host.clone(),
            _ => return true,
        };
        if !self.counts.contains_key(&subject) && self.counts.len() >= MAX_SUBJECTS {
            return false;
        }
        let count = self.counts.entry(subject).or_default();
        *count += 1;
        *count <= MAX_NOTICES_PER_SUBJECT
    }
}

impl AsFd for NoticeReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_a_few_times() {
        let (mut receiver, sender) = NoticeReceiver::new().unwrap();
        for _ in 0..30 {
            sender.send(Notice::NotWatched { path: "/a".into(), because: "it is a test".to_owned() });
        }
        sender.send(Notice::NotWatched { path: "/b".into(), because: "it is a test".to_owned() });
        assert_eq!(receiver.take().len(), MAX_NOTICES_PER_SUBJECT + 1);
        assert!(receiver.take().is_empty());
    }
}
