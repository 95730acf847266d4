//! The user's configuration of MCP servers, and the place of the lock file.

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

/// The section `[mcp-proxy]` of the user's own file. It is read again if the file changes.
#[derive(Debug)]
pub(crate) struct UserRules {
    file: PathBuf,
    lock_file: PathBuf,
    read: Mutex<Option<(Stamp, Section)>>,
}

/// Inode, size and time of a file, which show that it changed; `None` if it does not exist.
type Stamp = Option<(u64, u64, i64, i64)>;

impl UserRules {
    /// The rules for this directory.
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

/// Returns the lock file of the project whose hookhost.toml the user has approved; otherwise the user's own.
pub(crate) fn lock_file(directory: &Path) -> Result<PathBuf, CliError> {
    let places = configuration::places()?;
    let own = places.user_file();
    let config = configuration::find(None, directory)?.config;
    let of_project = config.files().iter().filter(|file| **file != own && directory.starts_with(parent(file)));
    let nearest = of_project.max_by_key(|file| file.components().count());
    Ok(nearest.map_or(places.config.as_path(), |file| parent(file)).join(FILE_NAME))
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap_or(file)
}
