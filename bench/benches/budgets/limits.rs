//! Measures the lowest cost that storing records can have on this machine, without the engine.

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A file to which records are appended. When the file has the size at which the log would begin a journal again, the file is overwritten
/// from its beginning.
pub(crate) struct AppendFile {
    file: File,
    bytes: usize,
}

impl AppendFile {
    const MAX: usize = 16 << 20;

    pub(crate) fn new(directory: &Path) -> Self {
        Self { file: tempfile::tempfile_in(directory).unwrap(), bytes: 0 }
    }

    pub(crate) fn append(&mut self, record: &[u8]) {
        if self.bytes >= Self::MAX {
            self.file.set_len(0).unwrap();
            self.file.rewind().unwrap();
            self.bytes = 0;
        }
        self.file.write_all(record).unwrap();
        self.bytes += record.len();
    }
}

/// The time for which records are collected before they are written in one transaction. The log uses the same time.
const DELAY: Duration = Duration::from_millis(20);

/// Two threads append records to one file each, while a third thread moves the records with their hashes into a table
/// of SQLite. All records that come within [`DELAY`] are moved in one transaction.
pub(crate) struct MovedRecords {
    files: [AppendFile; 2],
    table: Connection,
}

impl MovedRecords {
    /// A record with the size of the record of an event in these sessions.
    const RECORD: &str = const { str_of(&[b'x'; 730]) };

    pub(crate) fn new(directory: &Path) -> Self {
        let table = Connection::open(directory.join("moved.db")).unwrap();
        table.pragma_update(None, "journal_mode", "WAL").unwrap();
        table.pragma_update(None, "synchronous", "NORMAL").unwrap();
        table.execute("CREATE TABLE moved (seq INTEGER PRIMARY KEY, hash BLOB, line TEXT)", []).unwrap();
        Self { files: [AppendFile::new(directory), AppendFile::new(directory)], table }
    }

    /// Returns the time from the first of `records` records until all of them are in the table.
    pub(crate) fn batch(&mut self, records: u32) -> Duration {
        let each = records.div_ceil(2);
        let (all, appended) = (2 * each, AtomicU32::new(0));
        let began = Instant::now();
        thread::scope(|scope| {
            for file in &mut self.files {
                scope.spawn(|| {
                    for _ in 0..each {
                        file.append(Self::RECORD.as_bytes());
                        appended.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let mut moved = 0;
            while moved < all {
                let rests = Instant::now();
                while rests.elapsed() < DELAY && appended.load(Ordering::Relaxed) < all {
                    thread::sleep(Duration::from_millis(1));
                }
                let ready = appended.load(Ordering::Relaxed);
                insert(&self.table, ready - moved);
                moved = ready;
            }
        });
        began.elapsed() * records / all
    }
}

fn insert(table: &Connection, records: u32) {
    let transaction = table.unchecked_transaction().unwrap();
    let mut statement = table.prepare_cached("INSERT INTO moved (hash, line) VALUES (?1, ?2)").unwrap();
    for _ in 0..records {
        statement.execute((&Sha256::digest(MovedRecords::RECORD)[..], MovedRecords::RECORD)).unwrap();
    }
    transaction.commit().unwrap();
}

const fn str_of(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("it is ASCII"),
    }
}
