//! The page of the host, which another crate serves.

use std::path::Path;
use std::time::Duration;

/// Makes links to a page.
pub trait PageLinks: Send + Sync {
    /// Returns a link that can be opened once, soon. `directory` is the directory whose rules the page shows.
    /// `registers_passkey` lets the tab register the first passkey.
    ///
    /// # Errors
    /// One sentence.
    fn link(&self, directory: &Path, registers_passkey: bool) -> Result<String, String>;

    /// Returns the time since the page was last used, or zero if a tab is open. A page in use keeps the host running.
    fn unused(&self) -> Duration;
}
