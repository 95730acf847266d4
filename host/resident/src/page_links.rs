//! The page of the host, which another crate serves.

use hookhost_client::frame::LinkPurpose;
use std::path::Path;
use std::time::Duration;

/// Makes links to a page.
pub trait PageLinks: Send + Sync {
    /// Returns a link that can be opened once, soon. `directory` is the directory whose rules the page shows.
    ///
    /// # Errors
    /// One sentence.
    fn link(&self, directory: &Path, purpose: LinkPurpose) -> Result<String, String>;

    /// Returns the time since the page was last used, or zero if a tab is open. A page in use keeps the host running.
    fn unused(&self) -> Duration;
}
