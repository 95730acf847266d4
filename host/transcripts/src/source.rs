//! A transcript that is being read.

use crate::lines::{NextLine, next_line};
use crate::message::HookMessage;
use crate::omission::OmissionKind;
use hookhost_agents::json::MAX_BYTES;
use hookhost_files::{Guard, Links};
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of the buffer through which a transcript is read.
const BUFFER: usize = 256 * 1024;

/// A transcript that was found, but not opened yet.
#[derive(Clone, Debug)]
pub(crate) struct TranscriptFile {
    /// Path of the file or database.
    pub(crate) path: Arc<Path>,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub(crate) changed: u64,
}

/// The calls that were found in one step, and what was left out in it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) messages: Vec<HookMessage>,
    /// What was left out, with the details of the example.
    pub(crate) omissions: Vec<(OmissionKind, String)>,
}

impl Found {
    /// Notes that something is left out.
    pub(crate) fn omit(&mut self, kind: OmissionKind, example: impl Into<String>) {
        self.omissions.push((kind, example.into()));
    }
}

/// A transcript that is being read.
pub(crate) trait TranscriptSource: Send {
    /// Reads the next part of the transcript. Returns false if nothing is left.
    fn read_next(&mut self, found: &mut Found) -> bool;

    /// Returns the number of bytes that were read so far.
    fn position(&self) -> u64;
}

/// Reads the records of one transcript, of which each is one line.
pub(crate) trait RecordReader: Send {
    /// Returns true if the line shows that the transcript has the format of this reader.
    fn is_known(&self, line: &[u8]) -> bool;

    /// Returns true if the line may contain a call, or something that the reader has to remember for later calls.
    fn is_needed(&self, line: &[u8]) -> bool;

    /// Reads a line for which [`is_needed`](Self::is_needed) returned true.
    fn read(&mut self, line: &str, found: &mut Found) -> Result<(), serde_json::Error>;
}

/// A transcript with one record per line, or with one record in the whole file.
pub(crate) struct RecordFile<R> {
    path: Arc<Path>,
    file: BufReader<File>,
    reader: R,
    is_one_record: bool,
    line: Vec<u8>,
    number: u64,
    position: u64,
    /// True within a line that is too long.
    is_too_long: bool,
    is_known: bool,
}

impl<R: RecordReader> RecordFile<R> {
    /// Opens a transcript. `is_one_record` is true if the whole file is one record.
    pub(crate) fn open(path: &Arc<Path>, is_one_record: bool, reader: R) -> Result<Self, String> {
        let file = open(path)?;
        Ok(Self {
            path: Arc::clone(path),
            file: BufReader::with_capacity(BUFFER, file),
            reader,
            is_one_record,
            line: Vec::new(),
            number: 0,
            position: 0,
            is_too_long: false,
            is_known: false,
        })
    }

    fn place(&self) -> String {
        if self.is_one_record {
            self.path.display().to_string()
        } else {
            format!("{}:{}", self.path.display(), self.number)
        }
    }

    fn next(&mut self) -> std::io::Result<NextLine> {
        self.number += 1;
        if !self.is_one_record {
            return next_line(&mut self.file, &mut self.line, MAX_BYTES, &mut self.position, &mut self.is_too_long);
        }
        if self.number > 1 {
            return Ok(NextLine::End);
        }
        let read = self.file.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut self.line)?;
        self.position += read as u64;
        Ok(if read > MAX_BYTES { NextLine::TooLong } else { NextLine::Line })
    }

    fn read_line(&mut self, is_last: bool, found: &mut Found) {
        if self.line.trim_ascii().is_empty() {
            return;
        }
        self.is_known |= self.reader.is_known(&self.line);
        // Lines that matter are parsed. Of all others, only the ends are checked, because most of a transcript are results of tools.
        let is_valid = if self.reader.is_needed(&self.line) {
            let text = std::str::from_utf8(&self.line).map_err(drop);
            text.and_then(|text| self.reader.read(text, found).map_err(drop)).is_ok()
        } else {
            let line = self.line.trim_ascii();
            line.starts_with(b"{") && line.ends_with(b"}")
        };
        if !is_valid {
            let kind = if is_last { OmissionKind::IncompleteLine } else { OmissionKind::InvalidLine };
            found.omit(kind, self.place());
        }
    }
}

impl<R: RecordReader> TranscriptSource for RecordFile<R> {
    fn read_next(&mut self, found: &mut Found) -> bool {
        match self.next() {
            Ok(NextLine::Line) => self.read_line(false, found),
            Ok(NextLine::Unfinished) => self.read_line(true, found),
            Ok(NextLine::PartOfLine) => self.number -= 1,
            Ok(NextLine::TooLong) => {
                // The part of the line that was skipped may have shown the format.
                self.is_known = true;
                found.omit(OmissionKind::LongLine, self.place());
            }
            Ok(NextLine::End) => {
                if !self.is_known && self.position > 0 {
                    found.omit(OmissionKind::UnknownFormat, self.path.display().to_string());
                }
                return false;
            }
            Err(error) => {
                found.omit(OmissionKind::UnreadableFile, format!("{}: {error}", self.path.display()));
                return false;
            }
        }
        true
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// Opens a transcript, which must be a regular file. Anybody may have written it, because nothing in it is trusted.
pub(crate) fn open(path: &Path) -> Result<File, String> {
    hookhost_files::open(path, Guard::Anybodys, Links::Followed).map_err(|error| said(path, &error.to_string()))
}

/// Reads a small file that belongs to a transcript.
pub(crate) fn read_small(path: &Path) -> Option<Vec<u8>> {
    hookhost_files::read(path, Guard::Anybodys, Links::Followed, MAX_BYTES as u64).ok()
}

/// Returns the error of a file, with the path of the file if the error does not already contain it.
fn said(path: &Path, error: &str) -> String {
    let path = path.display().to_string();
    if error.contains(&path) { error.to_owned() } else { format!("{path}: {error}") }
}

/// Finds the files below `directory` that `wanted` accepts, at most `depth` directories below it. Links to directories are not
/// followed, because they can form a loop. A missing directory contains no files.
pub(crate) fn find_files(
    directory: &Path,
    depth: u32,
    wanted: &dyn Fn(&Path) -> bool,
    files: &mut Vec<TranscriptFile>,
    found: &mut Found,
) {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return;
        }
        Err(error) => return found.omit(OmissionKind::UnreadableFile, said(directory, &error.to_string())),
    };
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?.is_dir()))) {
            Ok(entry) => paths.push(entry),
            Err(error) => found.omit(OmissionKind::UnreadableFile, said(directory, &error.to_string())),
        }
    }
    paths.sort();
    for (path, is_directory) in paths {
        if is_directory {
            if depth > 0 {
                find_files(&path, depth - 1, wanted, files, found);
            }
        } else if wanted(&path) {
            files.extend(transcript_file(&path));
        }
    }
}

/// Returns a file with its size and the time of its last change. Returns `None` if it does not exist.
pub(crate) fn transcript_file(path: &Path) -> Option<TranscriptFile> {
    let metadata = std::fs::metadata(path).ok()?;
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let changed = changed.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    Some(TranscriptFile { path: path.into(), size: metadata.len(), changed })
}

/// Returns true if the file has this extension.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
