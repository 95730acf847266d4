//! The supervisor's end of the watch.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::channel::{Channel, Order, Report, to_memory};
use crate::error::{ExecError, Notice};
use crate::settings::{HELPER_WORD, WatchList};

/// The process that watches.
#[derive(Debug)]
pub(crate) struct WatchProcess {
    channel: Channel,
    process: Child,
}

/// A message of the watch.
#[derive(Debug)]
pub(crate) enum WatchMessage {
    Watching,
    Noticed(Notice),
    /// It has ended.
    Ended,
}

impl WatchProcess {
    /// Starts the watch. Returns `None` if there is nothing to watch.
    pub(crate) fn start(helper: &Path, list: &WatchList) -> Result<Option<Self>, ExecError> {
        if list.absent.is_empty() && list.restored.is_empty() {
            return Ok(None);
        }
        let (channel, socket) = Channel::pair()?;
        let process = Command::new(helper)
            .args([HELPER_WORD, "watch"])
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| ExecError::Helper { path: helper.to_owned(), error })?;
        // If the process ends at once, its end is seen below.
        _ = channel.send(&Order::Watch, &[to_memory(list)?.as_fd()]);
        Ok(Some(Self { channel, process }))
    }

    /// Waits for the next message.
    pub(crate) fn receive(&self) -> io::Result<WatchMessage> {
        loop {
            return Ok(match self.channel.receive::<Report>()? {
                Some((Report::Watching, _)) => WatchMessage::Watching,
                Some((Report::Noticed(notice), _)) => WatchMessage::Noticed(notice),
                Some((Report::Over, _)) | None => WatchMessage::Ended,
                Some(_) => continue,
            });
        }
    }

    /// Keeps restored files the same files from here on, because Landlock lets the program reach no other.
    pub(crate) fn write_in_place(&self) {
        _ = self.channel.send(&Order::WriteInPlace, &[]);
    }

    /// Tells the watch that all processes inside have ended. It looks once more then.
    pub(crate) fn finish(&self) {
        _ = self.channel.send(&Order::Finish, &[]);
    }
}

impl AsFd for WatchProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        // It ends by itself, which may take the kernel some milliseconds. Only its remains are taken.
        _ = self.process.try_wait();
    }
}
