//! Reads the user's configuration of MCP servers, and finds the lock file, which contains the approved definitions of tools.

use crate::configuration;
use crate::exit::CliError;
use hookhost_proxy::mcp::judge::PolicySource;
use hookhost_proxy::mcp::lock::FILE_NAME;
use hookhost_proxy::mcp::policy::{Policy, Section};
use hookhost_proxy::server_name::ServerName;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The section `[mcp-proxy]` of the user's own file. The section is read again when the file changes.
#[derive(Debug)]
pub(crate) struct UserRules {
    file: PathBuf,
    lock_file: PathBuf,
    read: Mutex<Option<(Stamp, Section)>>,
}

/// Inode, size and time of a file, or `None` if the file does not exist. If these values differ, the file has changed.
type Stamp = Option<(u64, u64, i64, i64)>;

impl UserRules {
    /// Reads the rules that apply in this directory.
    pub(crate) fn of(directory: &Path) -> Result<Self, CliError> {
        let file = configuration::places()?.user_file();
        Ok(Self { file, lock_file: lock_file(directory)?, read: Mutex::new(None) })
    }
}

impl PolicySource for UserRules {
    fn policy(&self, server: &ServerName) -> Result<Policy, String> {
        let found = fs::metadata(&self.file).ok();
        let stamp = found.map(|found| (found.ino(), found.size(), found.mtime(), found.mtime_nsec()));
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, section)) = read.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(section.policy(server));
        }
        let section = section().map_err(|stop| stop.message())?;
        let policy = section.policy(server);
        *read = Some((stamp, section));
        Ok(policy)
    }

    fn lock_file(&self) -> PathBuf {
        self.lock_file.clone()
    }
}

/// Reads the section of the user's own file.
pub(super) fn section() -> Result<Section, CliError> {
    let own = configuration::places()?.config;
    configuration::mcp_proxy(&configuration::find(None, &own)?.config)
}

/// Returns the project's lock file if the user has approved the project's hookhost.toml, otherwise the user's own lock file.
pub(crate) fn lock_file(directory: &Path) -> Result<PathBuf, CliError> {
    let places = configuration::places()?;
    let config = configuration::find(None, directory)?.config;
    let of_project = config.project_files().iter().filter(|file| directory.starts_with(parent(file)));
    let nearest = of_project.max_by_key(|file| file.components().count());
    Ok(nearest.map_or(places.config.as_path(), |file| parent(file)).join(FILE_NAME))
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap_or(file)
}
