//! Installs the hook in the settings of agents, removes the hook, and checks the installation.
//!
//! Each adapter defines the content of its agent's files as data ([`plan`](crate::plan)), and this module edits the files. A
//! person's file keeps its comments, its order and its formatting. A file is either replaced completely or left unchanged, and a
//! receipt stores the old content. [`prepare`] determines the new content of each file, and [`apply`] writes all files or none.
//!
//! Each module uses only the modules above it:
//!
//! | module | purpose |
//! |---|---|
//! | [`error`] | the error for a file that is not changed, with the reason and the next step |
//! | [`ours`] | recognises the entries that name the hook program |
//! | [`json`] | edits JSON files in place |
//! | [`mcp_servers`] | puts the proxy in front of the MCP servers in a JSON file |
//! | [`mcp_servers_toml`] | puts the proxy in front of the MCP servers in a TOML file |
//! | [`settings_file`] | a person's file, which is read once and replaced completely |
//! | [`receipt`] | the old content of each changed file, and a digest of the new content |
//! | [`uninstall`] | reverses a plan |
//! | [`process`] | runs other programs for a limited time |
//! | [`version`] | the installed version of an agent |
//! | [`find`] | finds installed agents |
//! | [`configured`] | the hook's commands in an agent's file |
//! | [`check`] | the result of one check |
//! | [`doctor`] | checks that the hook is installed and is reached |
//! | [`prove`] | proves that the hook denies |
//! | [`project_hooks`] | the hooks in a project's files, whoever wrote them |

pub mod check;
pub mod configured;
pub mod doctor;
pub mod error;
pub mod find;
pub mod json;
pub mod mcp_servers;
pub mod mcp_servers_toml;
pub mod ours;
pub mod process;
pub mod project_hooks;
pub mod prove;
pub mod receipt;
pub mod settings_file;
pub mod uninstall;
pub mod version;

pub use error::FileRefusal;

use crate::plan::{FilePlan, JsonDialect, Plan};
use receipt::{Content, FileReceipt, Installation, Receipt, Receipts};
use settings_file::{SettingsFile, digest, remove_directories};
use std::path::PathBuf;

/// The planned change of a file.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// The file as it was read.
    pub file: SettingsFile,
    /// The new content.
    pub after: Vec<u8>,
    /// True if the file is a program.
    pub is_program: bool,
}

impl FileChange {
    /// Returns true if the content changes.
    pub fn is_needed(&self) -> bool {
        self.file.content.as_ref() != Some(&self.after)
    }
}

/// Determines the change of each file of an agent's plan. `dialect` is the JSON dialect that the agent accepts, and
/// `earlier` is the receipt of an earlier installation.
///
/// # Errors
/// If a file cannot be read, is not in the agent's format, or must not be written. It is also an error if the entire content of a
/// file should belong to hookhost, but another program or a person has written the file.
pub fn prepare(
    plan: &Plan,
    of: &Installation<'_>,
    dialect: JsonDialect,
    earlier: Option<&Receipt>,
) -> Result<Vec<FileChange>, FileRefusal> {
    plan.files.iter().map(|file| prepare_file(file, of, dialect, earlier)).collect()
}

fn prepare_file(
    plan: &FilePlan,
    of: &Installation<'_>,
    dialect: JsonDialect,
    earlier: Option<&Receipt>,
) -> Result<FileChange, FileRefusal> {
    let agent = of.agent;
    let file = SettingsFile::read(plan.path(), of.root())?;
    let change = match plan {
        FilePlan::Whole { content, is_program, .. } => {
            check_ours(&file, content, *is_program, earlier)?;
            FileChange { file, after: content.clone().into_bytes(), is_program: *is_program }
        }
        FilePlan::Json { entries, .. } => {
            let after =
                json::with_entries(file.text()?, entries, dialect, agent).map_err(|why| why.refused(plan.path()))?;
            FileChange { file, after: after.into_bytes(), is_program: false }
        }
    };
    if change.is_needed() {
        change.file.check_writable()?;
    }
    Ok(change)
}

/// Refuses a file whose entire content should belong to hookhost, if it has neither the planned content nor the content
/// of an earlier installation. Somebody else has written such a file, and it may contain another protection of the
/// agent.
fn check_ours(
    file: &SettingsFile,
    planned: &str,
    is_program: bool,
    earlier: Option<&Receipt>,
) -> Result<(), FileRefusal> {
    let Some(now) = &file.content else { return Ok(()) };
    let written = earlier.and_then(|earlier| earlier.files.iter().find(|written| written.path == file.named));
    if now == planned.as_bytes() || written.is_some_and(|written| digest(now) == written.after) {
        return Ok(());
    }
    let next = match planned.lines().last() {
        Some(line) if is_program => format!("add the line `{line}` to it, or move it away and try again"),
        _ => "see what is in it, move it away, and try again".to_owned(),
    };
    Err(FileRefusal::new(&file.named, "exists, and hookhost has not written it", next))
}

/// Writes a receipt with the old contents, and then the files. If a file cannot be written, the files written before
/// are restored.
///
/// # Errors
/// If a file or the receipt cannot be written, or if a file has changed since it was read.
pub fn apply(
    changes: &[FileChange],
    receipts: &Receipts,
    of: &Installation<'_>,
    agent_version: Option<String>,
) -> Result<(), FileRefusal> {
    let earlier = receipts.read(of)?;
    if earlier.is_some() && !changes.iter().any(FileChange::is_needed) {
        return Ok(());
    }
    let mut receipt = of.receipt(agent_version);
    receipt.files = changes.iter().map(|change| file_receipt(change, earlier.as_ref())).collect();
    // Keep the receipts of files that an older version of hookhost wrote, but that the current plan does not contain.
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

/// Returns the receipt of a file. After a repeated installation, the receipt still contains the content from before the
/// first installation.
fn file_receipt(change: &FileChange, earlier: Option<&Receipt>) -> FileReceipt {
    let path = change.file.named.clone();
    let after = digest(&change.after);
    let now = change.file.content.as_deref();
    let old = earlier.and_then(|earlier| earlier.files.iter().find(|old| old.path == path));
    match old {
        Some(old) => {
            let is_as_written = now.is_some_and(|now| digest(now) == old.after);
            // The user may have restored the original, or an earlier installation ended before it wrote the file.
            let is_as_before = now.map(Content::of) == old.before;
            let is_known = is_as_written || is_as_before;
            FileReceipt { after, changed_between: old.changed_between || !is_known, ..old.clone() }
        }
        None => {
            // If the file already contains the hook and there is no receipt, the original content is unknown.
            let is_ours =
                now.is_some_and(|now| *now == *change.after || ours::names_program(&String::from_utf8_lossy(now)));
            let before = now.filter(|_| !is_ours).map(Content::of);
            FileReceipt { path, before, after, changed_between: is_ours, made_directories: Vec::new() }
        }
    }
}

fn write_all(changes: &[FileChange], receipt: &mut Receipt) -> Result<(), FileRefusal> {
    let mut done: Vec<(&FileChange, Vec<PathBuf>)> = Vec::new();
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

/// Restores a file that was just written, unless somebody has changed it since.
fn put_back(change: &FileChange, made: &[PathBuf]) {
    let Ok(now) = change.file.reread() else { return };
    if now.content.as_ref() != Some(&change.after) {
        return;
    }
    // An error is ignored here, because the caller reports the error of the file that failed first.
    let _ = match &change.file.content {
        Some(before) => now.replace(before, false).map(drop),
        None => now.remove(),
    };
    remove_directories(made);
}
