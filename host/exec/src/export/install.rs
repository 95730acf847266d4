//! Writes an export into the agent's file, and removes exactly what was written.
//!
//! A record in the state directory has the content from before, and the settings that were added. If nobody has changed the file since, it
//! gets its old content back, byte for byte. Otherwise only the added settings are removed.

use super::{Export, Setting, edit};
use crate::policy::{FileFormat, Gap};
use hookhost_agents::install::FileRefusal;
use hookhost_agents::install::json::NotEditable;
use hookhost_agents::install::receipt::Content;
use hookhost_agents::install::settings_file::{SettingsFile, digest, remove_directories};
use hookhost_agents::plan::Scope;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the format of records.
const FORMAT: u32 = 1;

/// What was written into a file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ExportRecord {
    format: u32,
    path: PathBuf,
    /// The content before, or `None` if there was no file.
    before: Option<Content>,
    /// SHA-256 of the content that was written.
    after: String,
    settings: Vec<Setting>,
    made_directories: Vec<PathBuf>,
}

/// The place of the records of exports.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// hookhost's state directory.
    pub state: &'a Path,
    /// The directory of the project, for exports of a project.
    pub project: &'a Path,
}

impl Records<'_> {
    fn path(&self, agent: &str, scope: Scope) -> PathBuf {
        let name = match scope {
            Scope::Project => {
                let project = digest(self.project.as_os_str().as_encoded_bytes());
                format!("{agent}.project-{}.json", project.get(..16).unwrap_or_default())
            }
            scope => format!("{agent}.{}.json", scope.name()),
        };
        self.state.join("sandbox/exported").join(name)
    }

    /// Returns the file of the record, and what it says if it exists.
    fn read(&self, agent: &str, scope: Scope) -> Result<(SettingsFile, Option<ExportRecord>), FileRefusal> {
        let file = SettingsFile::read(&self.path(agent, scope), None)?;
        let next = "move it away, and take the paths out of the agent's file by hand";
        let record = match file.content.is_some() {
            true => Some(serde_json::from_str(file.text()?).map_err(|error| {
                FileRefusal::new(&file.named, format!("is no record of an export ({error})"), next)
            })?),
            false => None,
        };
        match &record {
            Some(ExportRecord { format, .. }) if *format != FORMAT => {
                Err(FileRefusal::new(&file.named, format!("is a record of the format {format}"), next))
            }
            _ => Ok((file, record)),
        }
    }

    /// Symbolic links in a project must not lead out of it.
    fn root(&self, scope: Scope) -> Option<&Path> {
        (scope == Scope::Project).then_some(self.project)
    }
}

/// Writes an export into the agent's file, in place of an earlier export. Returns what the file does not say as the export wants it.
///
/// # Errors
/// If the file is not in its format, or cannot be written. The file and the record are then as before.
pub fn install(export: &Export, records: &Records<'_>) -> Result<Vec<Gap>, FileRefusal> {
    let (kept, earlier) = records.read(export.agent, export.scope)?;
    if earlier.as_ref().is_some_and(|earlier| earlier.path != export.file) {
        // A variable leads the agent to another file now.
        uninstall(export.agent, export.scope, records)?;
        return install(export, records);
    }
    let file = SettingsFile::read(&export.file, records.root(export.scope))?;
    let refused = |why: NotEditable| why.refused(&export.file);
    let before = match &earlier {
        Some(earlier) => without(&file, earlier)?,
        None => file.content.clone(),
    };
    let text = String::from_utf8(before.clone().unwrap_or_default())
        .map_err(|_| FileRefusal::new(&export.file, "is not UTF-8", "save it as UTF-8, and try again"))?;
    let added = edit::added(export.format, &text, &export.settings).map_err(refused)?;
    let mut gaps: Vec<Gap> = Vec::new();
    let mut gap = |sentence: String| gaps.push(Gap { path: export.file.clone(), sentence });
    for setting in &added.refused {
        gap(format!(
            "{} has another `{}`, which is left as it is: `{}` does not count",
            export.file.display(),
            setting.at.join("."),
            setting.value
        ));
    }
    let has = edit::value(export.format, &text).map_err(refused)?;
    for (_, sentence) in export.overriding.iter().filter(|(key, _)| has.get(key).is_some()) {
        gap((*sentence).to_owned());
    }
    if added.settings.is_empty() {
        uninstall(export.agent, export.scope, records)?;
        return Ok(gaps);
    }
    let after = added.text.into_bytes();
    if earlier.is_some() && file.content.as_ref() == Some(&after) {
        return Ok(gaps);
    }
    let mut record = ExportRecord {
        format: FORMAT,
        path: export.file.clone(),
        before: before.as_deref().map(Content::of),
        after: digest(&after),
        settings: added.settings,
        made_directories: earlier.map(|earlier| earlier.made_directories).unwrap_or_default(),
    };
    write(&kept, &record)?;
    match file.replace(&after, false) {
        Ok(made) if made.is_empty() => {}
        Ok(made) => {
            record.made_directories = made;
            write(&SettingsFile::read(&kept.named, None)?, &record)?;
        }
        Err(error) => {
            // The error of the agent's file is the one to report.
            let _ = SettingsFile::read(&kept.named, None).and_then(|now| match &kept.content {
                Some(content) => now.replace(content, false).map(drop),
                None => now.remove(),
            });
            return Err(error);
        }
    }
    Ok(gaps)
}

fn write(file: &SettingsFile, record: &ExportRecord) -> Result<(), FileRefusal> {
    let text = serde_json::to_vec_pretty(record)
        .map_err(|error| FileRefusal::new(&file.named, format!("cannot be written ({error})"), "report this"))?;
    if let Some(directory) = file.named.parent() {
        // A settings file can contain keys, so nobody else may read its record.
        hookhost_files::make_own_directory(directory).map_err(|error| {
            FileRefusal::new(&file.named, format!("cannot be written ({error})"), "check its directory, and try again")
        })?;
    }
    file.replace(&text, false).map(drop)
}

/// Returns true if there is a record of an export.
pub fn is_installed(agent: &str, scope: Scope, records: &Records<'_>) -> bool {
    records.path(agent, scope).exists()
}

/// Takes an export from the content of a file that was read, if it is the agent's file. Writes nothing.
///
/// # Errors
/// If the record cannot be read, or the file is not in its format.
pub fn take_from(file: &mut SettingsFile, agent: &str, scope: Scope, records: &Records<'_>) -> Result<(), FileRefusal> {
    if let Some(record) = records.read(agent, scope)?.1.filter(|record| record.path == file.named) {
        file.content = without(file, &record)?;
    }
    Ok(())
}

/// Removes an export from the agent's file. Returns false if nothing was written there. Call it before the hook is removed from the same
/// file, so that both find the content that they wrote.
///
/// # Errors
/// If the file or the record cannot be read or written.
pub fn uninstall(agent: &str, scope: Scope, records: &Records<'_>) -> Result<bool, FileRefusal> {
    let (kept, record) = records.read(agent, scope)?;
    let Some(record) = record else { return Ok(false) };
    let file = SettingsFile::read(&record.path, records.root(scope))?;
    match without(&file, &record)? {
        after if after == file.content => {}
        Some(after) => drop(file.replace(&after, false)?),
        None => {
            file.remove()?;
            remove_directories(&record.made_directories);
        }
    }
    kept.remove()?;
    Ok(true)
}

/// Returns the content of a file without what a record says was added. `None` stands for no file.
fn without(file: &SettingsFile, record: &ExportRecord) -> Result<Option<Vec<u8>>, FileRefusal> {
    let Some(now) = &file.content else { return Ok(None) };
    let before = record.before.as_ref().map(Content::bytes).transpose();
    let before = before.map_err(|why| {
        FileRefusal::new(
            &file.named,
            format!("has a record that cannot be read ({why})"),
            "take the paths out of it by hand",
        )
    })?;
    if digest(now) == record.after {
        return Ok(before);
    }
    let format = FileFormat::of(&record.path);
    let refused = |why: NotEditable| why.refused(&file.named);
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default());
    let earlier = edit::value(format, &text).map_err(refused)?;
    let rest = edit::removed(format, file.text()?, &record.settings, &earlier).map_err(refused)?;
    let is_empty = matches!(rest.trim(), "" | "{}");
    Ok((!is_empty || before.is_some()).then(|| rest.into_bytes()))
}
