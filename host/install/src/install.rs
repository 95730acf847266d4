//! A plan, carried out: first it is worked out what each file would be, then all of them are written, or none.

use crate::error::Refused;
use crate::json;
use crate::ours;
use crate::receipt::{Content, FileReceipt, Installation, Receipt, Receipts};
use crate::settings_file::{SettingsFile, digest, remove_directories};
use hookhost_adapters::install::{FilePlan, JsonDialect, Plan};
use std::path::{Path, PathBuf};

/// What a file would be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The file as it is.
    pub file: SettingsFile,
    /// What would be in it.
    pub after: Vec<u8>,
    /// Whether it is a program.
    pub is_program: bool,
}

impl Change {
    /// Whether anything would be written.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.file.content.as_ref() != Some(&self.after)
    }
}

/// Works out the change of each file of an agent's plan; `dialect` is the JSON that it reads, and `earlier` the receipt of an earlier
/// installation.
///
/// # Errors
/// If one of them cannot be read, is not what the agent reads, may not be written, or would be ours as a whole and is
/// somebody else's.
pub fn prepare(
    plan: &Plan,
    of: &Installation<'_>,
    dialect: JsonDialect,
    earlier: Option<&Receipt>,
) -> Result<Vec<Change>, Refused> {
    plan.files.iter().map(|file| prepare_file(file, of, dialect, earlier)).collect()
}

fn prepare_file(
    plan: &FilePlan,
    of: &Installation<'_>,
    dialect: JsonDialect,
    earlier: Option<&Receipt>,
) -> Result<Change, Refused> {
    let agent = of.agent;
    let file = SettingsFile::read(plan.path(), of.root())?;
    let change = match plan {
        FilePlan::Whole { content, is_program, .. } => {
            check_ours(&file, content, *is_program, earlier)?;
            Change { file, after: content.clone().into_bytes(), is_program: *is_program }
        }
        FilePlan::Json { entries, .. } => {
            let after =
                json::with_entries(file.text()?, entries, dialect, agent).map_err(|why| unusable(plan.path(), &why))?;
            Change { file, after: after.into_bytes(), is_program: false }
        }
        _ => {
            let next = "use the hookhost that belongs to this adapter";
            return Err(Refused::new(plan.path(), "is a file of a kind that this hookhost does not know", next));
        }
    };
    if change.is_needed() {
        change.file.check_writable()?;
    }
    Ok(change)
}

/// Refuses a file that would be ours as a whole and is neither what is planned nor what an earlier installation left: it is
/// somebody's own, such as a guard.
fn check_ours(file: &SettingsFile, planned: &str, is_program: bool, earlier: Option<&Receipt>) -> Result<(), Refused> {
    let Some(now) = &file.content else { return Ok(()) };
    let written = earlier.and_then(|earlier| earlier.files.iter().find(|written| written.path == file.named));
    if now == planned.as_bytes() || written.is_some_and(|written| digest(now) == written.after) {
        return Ok(());
    }
    let next = match planned.lines().last() {
        Some(line) if is_program => format!("add the line `{line}` to it, or move it away and try again"),
        _ => "see what is in it, move it away, and try again".to_owned(),
    };
    Err(Refused::new(&file.named, "is there, and hookhost has not written it", next))
}

/// A file cannot be edited.
pub(crate) fn unusable(path: &Path, why: &json::NotEditable) -> Refused {
    Refused::new(path, why.to_string(), "correct it, and try again")
}

/// Writes the files, after a receipt of what they are now. Where one cannot be written, those that were written are put back.
///
/// # Errors
/// If a file or the receipt cannot be written, or a file has changed since it was read. Then all files are as they were.
pub fn apply(
    changes: &[Change],
    receipts: &Receipts,
    of: &Installation<'_>,
    agent_version: Option<String>,
) -> Result<(), Refused> {
    let earlier = receipts.read(of)?;
    if earlier.is_some() && !changes.iter().any(Change::is_needed) {
        return Ok(());
    }
    let mut receipt = of.receipt(agent_version);
    receipt.files = changes.iter().map(|change| file_receipt(change, earlier.as_ref())).collect();
    // A file that an older version had written is not forgotten.
    for old in earlier.iter().flat_map(|earlier| &earlier.files) {
        if !receipt.files.iter().any(|file| file.path == old.path) {
            receipt.files.push(old.clone());
        }
    }
    receipts.write(of, &receipt)?;
    let written = write_all(changes, &mut receipt);
    let kept = written.and_then(|()| receipts.write(of, &receipt));
    if kept.is_err() {
        let _ = match &earlier {
            Some(earlier) => receipts.write(of, earlier),
            None => receipts.remove(of),
        };
    }
    kept
}

/// What is kept about a file. An installation over an earlier one keeps what was there before the first.
fn file_receipt(change: &Change, earlier: Option<&Receipt>) -> FileReceipt {
    let path = change.file.named.clone();
    let after = digest(&change.after);
    let now = change.file.content.as_deref();
    let old = earlier.and_then(|earlier| earlier.files.iter().find(|old| old.path == path));
    match old {
        Some(old) => {
            let is_as_written = now.is_some_and(|now| digest(now) == old.after);
            FileReceipt { after, changed_between: old.changed_between || !is_as_written, ..old.clone() }
        }
        None => {
            // Where the hook is there already and its receipt is lost, nobody knows what was there before.
            let is_ours =
                now.is_some_and(|now| *now == *change.after || ours::names_program(&String::from_utf8_lossy(now)));
            let before = now.filter(|_| !is_ours).map(Content::of);
            FileReceipt { path, before, after, changed_between: is_ours, made_directories: Vec::new() }
        }
    }
}

fn write_all(changes: &[Change], receipt: &mut Receipt) -> Result<(), Refused> {
    let mut done: Vec<(&Change, Vec<PathBuf>)> = Vec::new();
    for change in changes.iter().filter(|change| change.is_needed()) {
        match change.file.replace(&change.after, change.is_program) {
            Ok(made) => done.push((change, made)),
            Err(error) => {
                for (change, made) in done.iter().rev() {
                    put_back(change, made);
                }
                return Err(error);
            }
        }
    }
    for (change, made) in done {
        let file = receipt.files.iter_mut().find(|file| file.path == change.file.named);
        if let Some(file) = file.filter(|file| file.made_directories.is_empty()) {
            file.made_directories = made;
        }
    }
    Ok(())
}

/// Puts a file back that was written a moment ago, unless somebody has changed it since.
fn put_back(change: &Change, made: &[PathBuf]) {
    let Ok(now) = change.file.again() else { return };
    if now.content.as_ref() != Some(&change.after) {
        return;
    }
    // What cannot be undone either is in the receipt's place: the error names the file that failed first.
    // Where that fails too, the error of the file that failed first says enough.
    let _ = match &change.file.content {
        Some(before) => now.replace(before, false).map(drop),
        None => now.remove(),
    };
    remove_directories(made);
}
