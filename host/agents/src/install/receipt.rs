//! Receipts of installations. For each changed file, a receipt stores the content before the installation and a digest
//! of the content afterwards.
//!
//! hookhost writes a receipt before it writes the files, so the old contents are not lost if hookhost crashes in
//! between.

use crate::clock::now;
use crate::install::error::FileRefusal;
use crate::install::settings_file::{digest, read_text};
use crate::plan::Scope;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version of the format that this module writes.
const FORMAT: u32 = 1;

/// The directory of receipts.
#[derive(Clone, Debug)]
pub struct Receipts {
    directory: PathBuf,
}

/// One installation of one agent's hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Receipt {
    /// The version of this format.
    pub format: u32,
    /// The agent's name.
    pub agent: String,
    /// `user`, `project` or `managed`.
    pub scope: String,
    /// The project's root, for the scope `project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Time of the installation, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The agent's version at that time, if known.
    pub agent_version: Option<String>,
    /// The version of hookhost that installed the hook.
    pub hookhost_version: String,
    /// The changed files.
    pub files: Vec<FileReceipt>,
}

/// The receipt of a changed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileReceipt {
    /// The path by which the agent names the file.
    pub path: PathBuf,
    /// The content before the first installation, or `None` if the file did not exist.
    pub before: Option<Content>,
    /// SHA-256 of the content that was written last.
    pub after: String,
    /// True if the file was changed between two installations. In that case, `before` does not contain this change, so `before` is
    /// not restored.
    #[serde(default)]
    pub changed_between: bool,
    /// Directories that were created for the file, outermost first.
    #[serde(default)]
    pub made_directories: Vec<PathBuf>,
}

/// The content of a file, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// UTF-8 text.
    Text(String),
    /// Other content, in base64.
    Base64(String),
}

impl Content {
    /// Encodes the content of a file.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// Decodes the content.
    ///
    /// # Errors
    /// If the content was not created by [`Content::of`].
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
        }
    }
}

/// Identifies an installation and its receipt.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The scope.
    pub scope: Scope,
    /// The project's root, which is used only for [`Scope::Project`].
    pub project: &'a Path,
}

impl<'a> Installation<'a> {
    /// Identifies an agent's installation in this scope.
    pub fn new(agent: &'a str, scope: Scope, project: &'a Path) -> Self {
        Self { agent, scope, project }
    }

    /// Returns the project's root for [`Scope::Project`], otherwise `None`. Symbolic links in a project must not lead
    /// out of this root, because other people may have written the project's files.
    pub(crate) fn root(&self) -> Option<&'a Path> {
        (self.scope == Scope::Project).then_some(self.project)
    }

    fn file_name(&self) -> String {
        let Self { agent, scope, project } = self;
        match scope {
            Scope::Project => {
                let project = digest(project.as_os_str().as_encoded_bytes());
                format!("{agent}.project-{}.json", project.get(..16).unwrap_or_default())
            }
            _ => format!("{agent}.{}.json", scope.name()),
        }
    }

    pub(crate) fn receipt(&self, agent_version: Option<String>) -> Receipt {
        Receipt {
            format: FORMAT,
            agent: self.agent.to_owned(),
            scope: self.scope.name().to_owned(),
            project: (self.scope == Scope::Project).then(|| self.project.to_owned()),
            time: now(),
            agent_version,
            hookhost_version: env!("CARGO_PKG_VERSION").to_owned(),
            files: Vec::new(),
        }
    }
}

impl Receipts {
    /// Returns the receipts in this state directory.
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("installed") }
    }

    /// Reads the receipt of an installation. Returns `None` if there is no receipt.
    ///
    /// # Errors
    /// If the receipt cannot be read, or has another format version.
    pub fn read(&self, of: &Installation<'_>) -> Result<Option<Receipt>, FileRefusal> {
        let path = self.directory.join(of.file_name());
        let Some(text) = read_text(&path, None)? else { return Ok(None) };
        let next = "move it away: the hook can still be taken out of the agent's files";
        let receipt: Receipt = serde_json::from_str(&text)
            .map_err(|error| FileRefusal::new(&path, format!("is not a receipt of this version ({error})"), next))?;
        if receipt.format == FORMAT {
            Ok(Some(receipt))
        } else {
            Err(FileRefusal::new(&path, format!("is a receipt of the format {}", receipt.format), next))
        }
    }

    /// Returns all receipts that this version can read, sorted by their files' names.
    pub fn all(&self) -> Vec<Receipt> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        let texts = paths.iter().filter_map(|path| read_text(path, None).ok()?);
        let receipts = texts.filter_map(|text| serde_json::from_str(&text).ok());
        receipts.filter(|receipt: &Receipt| receipt.format == FORMAT).collect()
    }

    /// Writes a receipt, which replaces an older receipt of the same installation. Only the user can read the receipt,
    /// because a settings file can contain keys.
    ///
    /// # Errors
    /// If the receipt cannot be written. In that case, the older receipt stays.
    pub fn write(&self, of: &Installation<'_>, receipt: &Receipt) -> Result<(), FileRefusal> {
        let path = self.directory.join(of.file_name());
        write_private(&path, receipt).map_err(|error| FileRefusal::io(&path, "written", &error))
    }

    /// Removes a receipt, if there is one.
    ///
    /// # Errors
    /// If the receipt cannot be removed.
    pub fn remove(&self, of: &Installation<'_>) -> Result<(), FileRefusal> {
        let path = self.directory.join(of.file_name());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileRefusal::io(&path, "removed", &error)),
            _ => Ok(()),
        }
    }
}

/// Writes a JSON file that only the user can read. If this fails, an existing file stays unchanged.
pub(crate) fn write_private(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    hookhost_files::make_own_directory(directory)?;
    // The library creates temporary files with access for the user only, and renaming keeps these permissions.
    let mut file = tempfile::Builder::new().prefix(".hookhost-").tempfile_in(directory)?;
    serde_json::to_writer_pretty(file.as_file_mut(), value)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
