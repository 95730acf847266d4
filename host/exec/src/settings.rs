//! Settings of a run.

use std::path::{Path, PathBuf};

use crate::error::Notice;
use crate::plan::{Treatment, path_bytes};
use crate::policy::{Absent, NetworkAccess, Policy, RestoredFile};

/// The first word of the helper's command line.
pub(crate) const HELPER_WORD: &str = "exec-helper";

/// Settings of a run.
#[non_exhaustive]
pub struct Settings<'a> {
    /// The program that serves as the helper, by [`helper_exit`](crate::helper_exit).
    pub helper: &'a Path,
    /// Sockets and directories below the user's runtime directory (`/run/user/UID`) that stay. All others are hidden.
    /// Name the directory of a socket that may be replaced: inside, a socket alone stays the one of the start.
    pub kept: &'a [PathBuf],
    /// Is called with everything that a person should know, while the program runs.
    pub notify: &'a mut dyn FnMut(&Notice),
    /// Files that are watched while the program runs. Default: none.
    pub watch: WatchList,
    /// The network that the program reaches. Default: all of it.
    pub network: NetworkAccess,
}

impl<'a> Settings<'a> {
    /// Creates settings with the helper program and the receiver of notices, and defaults for everything else.
    pub fn new(helper: &'a Path, notify: &'a mut dyn FnMut(&Notice)) -> Self {
        Self { helper, kept: &[], notify, watch: WatchList::default(), network: NetworkAccess::All }
    }
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("helper", &self.helper)
            .field("kept", &self.kept)
            .field("watch", &self.watch)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// Files that are watched while a program runs, because a mount cannot guard them.
///
/// A guarded file that appears is moved into the quarantine, whoever made it: the kernel does not tell whether it comes
/// from inside. So nothing outside should install such a file during a run. A file that an agent writes itself gets
/// its guarded keys back after each change, and once more at the end. Both happen after the fact, within milliseconds;
/// a program outside can read the file before. A change through a memory mapping is found within a second.
///
/// A process of its own watches, which goes on while this one is stopped. If this one is killed, it looks once more.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct WatchList {
    /// Files that must not appear. Only those with [`Treatment::ReadOnly`] are moved: a key or a socket that appears
    /// belongs to the person.
    pub absent: Vec<Absent>,
    /// Files of which keys are restored.
    pub restored: Vec<RestoredFile>,
    /// The directory for what is moved away. It is made when it is needed, for its owner alone. An entry is called by
    /// the seconds since 1970 and its former name.
    #[serde(with = "path_bytes")]
    pub quarantine: PathBuf,
}

impl WatchList {
    /// Lists what a policy cannot guard by mounts. `state` is hookhost's state directory, which contains the quarantine.
    pub fn new(policy: &Policy, state: &Path) -> Self {
        let is_watched = |absent: &&Absent| absent.treatment == Treatment::ReadOnly;
        Self {
            absent: policy.absent.iter().filter(is_watched).cloned().collect(),
            restored: policy.restored.clone(),
            quarantine: state.join("sandbox/quarantine"),
        }
    }
}
