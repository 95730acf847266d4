//! Stores the reminders of plugins beside a session's messages, so that they outlive the process.

use hookhost::capability::Reminder;
use hookhost::files::{self, Guard, Links};
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(super) const FILE: &str = "reminders.json";

/// Maximum size of the file: 16 MiB.
const MAX: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredReminder {
    /// Number of model calls before the reminder.
    turn: u32,
    #[serde(flatten)]
    reminder: Reminder,
}

pub(super) fn text(reminders: &[(u32, Reminder)]) -> String {
    let kept = reminders.iter().map(|(turn, reminder)| StoredReminder { turn: *turn, reminder: reminder.clone() });
    serde_json::to_string_pretty(&kept.collect::<Vec<_>>()).unwrap_or_default() + "\n"
}

/// Reads the reminders of a session's directory; none if the file does not exist. An error is one sentence for the
/// user.
pub(super) fn read(directory: &Path) -> Result<Vec<(u32, Reminder)>, String> {
    let path = directory.join(FILE);
    let bytes = match files::read(&path, Guard::OnlyMineToWrite, Links::Followed, MAX) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        read => read.map_err(|error| error.to_string()),
    };
    let kept = bytes
        .and_then(|bytes| serde_json::from_slice::<Vec<StoredReminder>>(&bytes).map_err(|error| error.to_string()));
    let kept = kept.map_err(|reason| {
        format!("{} cannot be read, {reason}: what plugins had the model reminded of is forgotten", path.display())
    })?;
    Ok(kept.into_iter().map(|StoredReminder { turn, reminder }| (turn, reminder)).collect())
}
