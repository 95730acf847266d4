//! A file with one JSON object a line. When the file is full, it is renamed and a new one is begun.

use crate::described::{Described, Severity, machine_id};
use crate::ocsf;
use crate::sink::{Entry, Sent, Sink};
use hookhost::config::Digest;
use hookhost::files;
use hookhost::store::Position;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Length of the end of the file in which lines are searched that were written before the position was saved. A batch is shorter.
const TAIL: u64 = 4 * 1024 * 1024;

/// The beginnings of lines in each format.
const BEGINNINGS: [&[u8]; 3] = [br#"{"time":"#, br#"{"seq":"#, br#"{"activity_id":"#];

/// The content of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LineFormat {
    /// The attributes that OTLP has, too.
    #[default]
    Metadata,
    /// The whole line of the log.
    Record,
    /// An event of the Open Cybersecurity Schema Framework.
    Ocsf,
}

/// The files of lines.
#[derive(Debug)]
pub(crate) struct LinesFile {
    path: PathBuf,
    format: LineFormat,
    has_content: bool,
    /// Size at which a file is full, in bytes.
    size: u64,
    /// Number of full files that are kept.
    keep: u32,
    opened: Option<(File, u64)>,
    /// The last lines that were written before the position was saved.
    written: HashSet<Digest>,
    machine: Option<(Digest, String)>,
}

impl LinesFile {
    pub(crate) fn new(path: PathBuf, format: LineFormat, has_content: bool, size: u64, keep: u32) -> Self {
        let written = HashSet::new();
        Self { path, format, has_content, size, keep, opened: None, written, machine: None }
    }

    fn text(&mut self, entry: &Entry) -> String {
        if self.format == LineFormat::Record {
            return entry.line.text().to_owned();
        }
        if self.machine.as_ref().is_none_or(|(log, _)| *log != entry.log) {
            self.machine = Some((entry.log, machine_id(&entry.log)));
        }
        let machine = self.machine.as_ref().map_or("", |(_, machine)| machine);
        let described = Described::of(entry, machine, self.has_content);
        match self.format {
            LineFormat::Ocsf => ocsf::event(entry, &described).to_string(),
            _ => as_json(described).to_string(),
        }
    }

    fn full_file(&self, number: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }

    /// Opens the file. Removes an incomplete line of ours at its end, and ends an incomplete line of others.
    fn open(&mut self) -> io::Result<&mut (File, u64)> {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        // The file was moved away by another program.
        if self.opened.is_some() && !is_there(&self.path) {
            self.opened = None;
        }
        if self.opened.is_none() {
            let mut file = self.opened_for_writing()?;
            let tail = tail(&mut file)?;
            let rest = &tail[tail.len() - incomplete(&tail)..];
            let is_ours = |begins: &&[u8]| rest.starts_with(begins) || begins.starts_with(rest);
            match rest {
                [] => {}
                _ if BEGINNINGS.iter().any(is_ours) => file.set_len(file.metadata()?.len() - rest.len() as u64)?,
                _ => file.write_all(b"\n")?,
            }
            let length = file.metadata()?.len();
            self.opened = Some((file, length));
        }
        self.opened.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn opened_for_writing(&self) -> io::Result<File> {
        if let Some(directory) = self.path.parent() {
            files::make_own_directory(directory)?;
        }
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let size = self.size;
        let added = text.len() as u64 + 1;
        let (_, length) = self.open()?;
        if *length > 0 && *length + added > size {
            self.rotate()?;
        }
        let (file, length) = self.open()?;
        let written = file.write_all(format!("{text}\n").as_bytes());
        match written {
            Ok(()) => *length += added,
            // A part of a line must not stay.
            Err(_) => file.set_len(*length)?,
        }
        written
    }

    fn rotate(&mut self) -> io::Result<()> {
        if let Some((file, _)) = self.opened.take() {
            file.sync_data()?;
        }
        if self.keep == 0 {
            return std::fs::remove_file(&self.path);
        }
        for number in (1..self.keep).rev() {
            match std::fs::rename(self.full_file(number), self.full_file(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.full_file(1))
    }

    /// Opens the file, and writes nothing.
    pub(crate) fn test(&self) -> Result<(), String> {
        self.opened_for_writing()
            .map(drop)
            .map_err(|error| format!("{} cannot be written: {error}", self.path.display()))
    }

    fn write_all(&mut self, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            let text = self.text(entry);
            if !self.written.is_empty() && self.written.contains(&Digest::of_bytes(text.as_bytes())) {
                continue;
            }
            self.write(&text)?;
            // If a later line of this batch fails, the batch comes again.
            self.written.insert(Digest::of_bytes(text.as_bytes()));
        }
        self.open()?.0.sync_data()
    }
}

impl Sink for LinesFile {
    fn name(&self) -> &str {
        "file"
    }

    fn begin(&mut self, _: Option<&Position>) {
        self.written.clear();
        for path in [self.full_file(1), self.path.clone()] {
            let Ok(bytes) = File::open(path).and_then(|mut file| tail(&mut file)) else { continue };
            // A line without its end is not there: it is removed when the file is opened, if it is one of ours.
            let whole = &bytes[..bytes.len() - incomplete(&bytes)];
            self.written.extend(whole.split(|&byte| byte == b'\n').map(Digest::of_bytes));
        }
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        match self.write_all(entries) {
            Ok(()) => {
                self.written.clear();
                Sent::All
            }
            Err(error) => {
                self.opened = None;
                Sent::Later { because: format!("{} cannot be written: {error}", self.path.display()), after: None }
            }
        }
    }
}

/// Returns the end of a file.
fn tail(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the length of the incomplete line at the end.
fn incomplete(tail: &[u8]) -> usize {
    tail.iter().rev().take_while(|&&byte| byte != b'\n').count()
}

/// Returns a description as one JSON object.
pub(crate) fn as_json(described: Described) -> Value {
    let mut object = Map::new();
    let time = i64::try_from(described.time).ok().and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    object.insert("time".into(), time.map(|time| format!("{time:.3}")).into());
    object.insert("name".into(), described.name.into());
    object.insert("severity".into(), severity(described.severity).into());
    object.extend(described.attributes.into_iter().map(|(name, value)| (name.to_owned(), value)));
    if let Some(body) = described.body {
        object.insert("body".into(), body.into());
    }
    Value::Object(object)
}

/// Returns the name of a severity in OTLP.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Debug => "DEBUG",
        Severity::Info => "INFO",
        Severity::Warn => "WARN",
        Severity::Error => "ERROR",
    }
}

#[cfg(test)]
mod tests;
