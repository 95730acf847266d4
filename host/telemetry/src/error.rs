//! The errors of telemetry.

use hookhost::files::FileError;
use hookhost::store::LogError;
use std::path::PathBuf;

/// The reason why telemetry cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The log cannot be followed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file of positions cannot be used.
    #[error("the positions of telemetry in {} cannot be used: {problem}", path.display())]
    Positions {
        /// The file.
        path: PathBuf,
        /// The message of SQLite or of the operating system.
        problem: String,
    },
    /// A file that a setting names cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A setting cannot be used.
    #[error("[telemetry]: {0}")]
    Setting(String),
    /// Another process sends the records.
    #[error(
        "another process sends the records, usually your resident host: `hookhost telemetry` shows how far it is, `hookhost serve --stop` \
         ends it"
    )]
    Busy,
    /// The thread of telemetry cannot be started.
    #[error("the thread of telemetry cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}
