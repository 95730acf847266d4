//! What serves a program from outside while it runs, in threads of its own: the watch.

use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{ExecError, Notice};
use crate::notices::NoticeReceiver;
use crate::settings::Settings;
use crate::watch::Watcher;

/// The services of a run.
#[derive(Debug)]
pub(crate) struct Services {
    notices: NoticeReceiver,
    watcher: Option<Watcher>,
}

impl Services {
    /// Starts what the settings ask for, before the program starts.
    pub(crate) fn start(settings: &Settings<'_>) -> Result<Self, ExecError> {
        let (notices, sender) = NoticeReceiver::new()?;
        Ok(Self { watcher: Watcher::start(&settings.watch, sender)?, notices })
    }

    /// Prepares for a run without namespaces.
    pub(crate) fn use_landlock(&self) {
        self.watcher.iter().for_each(Watcher::write_in_place);
    }

    /// Passes waiting notices on.
    pub(crate) fn notify(&mut self, notify: &mut dyn FnMut(&Notice)) {
        self.notices.take().iter().for_each(notify);
    }

    /// Ends everything, when all processes inside have ended.
    pub(crate) fn finish(mut self, notify: &mut dyn FnMut(&Notice)) {
        if let Some(watcher) = self.watcher.take() {
            watcher.finish();
        }
        self.notify(notify);
    }
}

impl AsFd for Services {
    /// Is readable when notices wait.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notices.as_fd()
    }
}
