//! Converts errors of SQLite.

use crate::store::StoreError;
use crate::store::turns::has_locks;
use rusqlite::ErrorCode;
use std::path::Path;

impl StoreError {
    pub(crate) fn of(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        let problem = match error {
            rusqlite::Error::IntegralValueOutOfRange(_, seq) if !(1..i64::MAX).contains(seq) => {
                format!("it has the record {seq}, a number that hookhost never writes")
            }
            error => error.to_string(),
        };
        match error.sqlite_error_code() {
            // SQLite reports the same error if the file system does not support locks. In that case, waiting would not
            // help.
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) if has_locks(&path) => Self::Locked(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::NoLocks(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, problem },
            // The query took too many steps, because nothing else interrupts a query.
            Some(ErrorCode::OperationInterrupted) => {
                Self::Damaged { path, problem: "reading it takes more steps than a file of its size can need".into() }
            }
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::SystemIoFailure) if error.sqlite_error().is_some_and(is_for_lack_of_room) => {
                Self::Full(path)
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => Self::Io {
                path,
                problem: format!("{problem}; SQLite needs write access to it and to its directory, even to read it"),
            },
            // A table is missing, or a value does not have the type of its column.
            Some(ErrorCode::Unknown) => Self::Damaged { path, problem },
            None if !matches!(error, rusqlite::Error::SqliteFailure(..)) => Self::Damaged { path, problem },
            _ => Self::Io { path, problem },
        }
    }
}

/// Returns true if the shared memory of a WAL could not grow.
fn is_for_lack_of_room(error: &rusqlite::ffi::Error) -> bool {
    error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
