//! Removes the hook. A file that nobody has changed since the installation is restored byte for byte. If somebody has
//! changed a file, only hookhost's entries are removed from the file.

use crate::install::error::FileRefusal;
use crate::install::json;
use crate::install::ours;
use crate::install::receipt::{Content, FileReceipt, Installation, Receipt};
use crate::install::settings_file::{SettingsFile, digest, remove_directories};
use crate::plan::{FilePlan, Plan};
use std::path::{Path, PathBuf};

/// A word that each entry of hookhost contains.
const OURS: &[u8] = b"hookhost";

/// The change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoAction {
    /// The file contains nothing of hookhost.
    Nothing,
    /// The file gets its old content, byte for byte.
    Restore(Vec<u8>),
    /// The file is removed, because it did not exist before the installation or contains only entries of hookhost.
    Remove,
    /// Only hookhost's entries are removed, because somebody has changed the file since the installation. This is the
    /// remaining text.
    RemoveEntries(Vec<u8>),
    /// The file stays, because somebody has changed it since the installation, and its entire content belonged to hookhost. A
    /// person has to decide what happens with the file.
    Leave,
}

/// Takes from the content of a file what was written after the hook.
pub type Beneath<'a> = &'a dyn Fn(&mut SettingsFile) -> Result<(), FileRefusal>;

/// A file and its change.
#[derive(Clone, Debug)]
pub struct FileUndo {
    /// The file as it was read.
    pub file: SettingsFile,
    /// The change.
    pub undo: UndoAction,
    made_directories: Vec<PathBuf>,
}

impl FileUndo {
    /// Returns the new content, or `None` if the file is removed or does not exist.
    pub fn after(&self) -> Option<&[u8]> {
        match &self.undo {
            UndoAction::Restore(content) | UndoAction::RemoveEntries(content) => Some(content),
            UndoAction::Remove => None,
            UndoAction::Nothing | UndoAction::Leave => self.file.content.as_deref(),
        }
    }

    fn apply(&self) -> Result<(), FileRefusal> {
        match &self.undo {
            UndoAction::Nothing | UndoAction::Leave => Ok(()),
            UndoAction::Restore(content) | UndoAction::RemoveEntries(content) => {
                self.file.replace(content, false).map(drop)
            }
            UndoAction::Remove => {
                self.file.remove()?;
                remove_directories(&self.made_directories);
                Ok(())
            }
        }
    }
}

/// Determines the change of each file in an agent's plan. If there is a receipt of the installation, also determines
/// the change of each file in the receipt.
///
/// # Errors
/// If a file cannot be read, is not in the agent's format, or must not be written.
pub fn prepare(plan: &Plan, of: &Installation<'_>, receipt: Option<&Receipt>) -> Result<Vec<FileUndo>, FileRefusal> {
    prepare_beneath(plan, of, receipt, &|_| Ok(()))
}

/// Determines the changes as [`prepare`] does, for files from which `beneath` takes what was written after the hook. The changes of
/// such a file can be shown, but not applied.
///
/// # Errors
/// The errors of [`prepare`], and of `beneath`.
pub fn prepare_beneath(
    plan: &Plan,
    of: &Installation<'_>,
    receipt: Option<&Receipt>,
    beneath: Beneath<'_>,
) -> Result<Vec<FileUndo>, FileRefusal> {
    let kept = |path: &Path| receipt?.files.iter().find(|file| file.path == path);
    let mut undoings = Vec::new();
    for file in &plan.files {
        let path = std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_owned());
        undoings.push(undoing(Some(file), of, &path, kept(&path), beneath)?);
    }
    for file in receipt.iter().flat_map(|receipt| &receipt.files) {
        if !undoings.iter().any(|undoing| undoing.file.named == file.path) {
            undoings.push(undoing(None, of, &file.path, Some(file), beneath)?);
        }
    }
    Ok(undoings)
}

/// Changes the files, the last file first. This order is necessary because a directory that was created for the first
/// file can be removed only when it is empty.
///
/// # Errors
/// If a file has changed since it was read, or cannot be written. In that case, this file and the files before it in
/// `undoings` are unchanged.
pub fn apply(undoings: &[FileUndo]) -> Result<(), FileRefusal> {
    undoings.iter().rev().try_for_each(FileUndo::apply)
}

fn undoing(
    plan: Option<&FilePlan>,
    of: &Installation<'_>,
    path: &Path,
    kept: Option<&FileReceipt>,
    beneath: Beneath<'_>,
) -> Result<FileUndo, FileRefusal> {
    let mut file = SettingsFile::read(path, of.root())?;
    beneath(&mut file)?;
    let undo = undo(plan, of.agent, &file, kept)?;
    if !matches!(undo, UndoAction::Nothing | UndoAction::Leave) {
        file.check_writable()?;
    }
    let made_directories = kept.map(|kept| kept.made_directories.clone()).unwrap_or_default();
    Ok(FileUndo { file, undo, made_directories })
}

fn undo(
    plan: Option<&FilePlan>,
    agent: &str,
    file: &SettingsFile,
    kept: Option<&FileReceipt>,
) -> Result<UndoAction, FileRefusal> {
    let Some(now) = &file.content else { return Ok(UndoAction::Nothing) };
    let before = match kept.and_then(|kept| kept.before.as_ref()).map(Content::bytes) {
        Some(Ok(before)) => Some(before),
        Some(Err(why)) => {
            let next = "take the entries that name hookhost-hook out by hand";
            return Err(FileRefusal::new(&file.named, format!("has a receipt that cannot be read ({why})"), next));
        }
        None => None,
    };
    if let Some(kept) = kept {
        if before.as_ref() == Some(now) {
            return Ok(UndoAction::Nothing);
        }
        if digest(now) == kept.after && !kept.changed_between {
            return Ok(before.map_or(UndoAction::Remove, UndoAction::Restore));
        }
    }
    // A file without this word has no entry of hookhost, so it need not be in the agent's format.
    if kept.is_none() && !now.windows(OURS.len()).any(|word| word == OURS) {
        return Ok(UndoAction::Nothing);
    }
    if let Some(FilePlan::Whole { content, .. }) = plan {
        return Ok(if now == content.as_bytes() { UndoAction::Remove } else { UndoAction::Leave });
    }
    let text = file.text()?;
    if plan.is_none() && !ours::names_program(text) {
        return Ok(UndoAction::Nothing);
    }
    let entries = match plan {
        Some(FilePlan::Json { entries, .. }) => entries.as_slice(),
        _ => &[],
    };
    let before_text = before.as_ref().and_then(|before| std::str::from_utf8(before).ok());
    let rest = json::without_entries(text, before_text, entries, agent).map_err(|why| why.refused(&file.named))?;
    Ok(match rest {
        rest if !rest.is_changed => UndoAction::Nothing,
        rest if rest.is_only_ours && kept.is_some_and(|kept| kept.before.is_none() && !kept.changed_between) => {
            UndoAction::Remove
        }
        rest => UndoAction::RemoveEntries(rest.text.into_bytes()),
    })
}
