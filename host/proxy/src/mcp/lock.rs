//! The lock file `hookhost-mcp.lock`: the approved definitions of tools, whole, so that changes can be shown.
//!
//! The state directory separately keeps the definitions that are held back, for `hookhost mcp approve`.

use crate::jsonrpc::message::is_json;
use crate::server_name::ServerName;
use hookhost_contract::canonical;
use hookhost_files::{Guard, Links};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The name of the lock file.
pub const FILE_NAME: &str = "hookhost-mcp.lock";

/// The version of the file's format.
const FORMAT_VERSION: u32 = 1;

/// Maximum size of the file, in bytes: 16 MiB.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Maximum size of a definition that is kept whole, in bytes: 64 KiB.
const MAX_DEFINITION: usize = 64 * 1024;

/// Maximum size of such a definition in the file, in bytes: 256 KiB. The file is indented, which takes much space for deep nesting.
const MAX_INDENTED: usize = 256 * 1024;

/// Maximum size in the file of a member that is kept whole in a larger definition, in bytes: 8 KiB.
const MAX_MEMBER: usize = 8 * 1024;

/// Length of the kept beginning of a larger member, in characters.
const MAX_BEGINNING: usize = 1024;

/// Definitions by the names of their tools.
pub type Definitions = BTreeMap<String, Value>;

/// An error: the lock file or the file of held-back definitions cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the file {} cannot be {verb}: {why}", path.display())]
pub struct LockError {
    path: PathBuf,
    verb: &'static str,
    why: String,
}

impl LockError {
    fn new(path: &Path, verb: &'static str, why: &dyn fmt::Display) -> Self {
        Self { path: path.to_owned(), verb, why: why.to_string() }
    }
}

/// The approved definitions of all servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    version: u32,
    /// The definitions, by the names of their servers.
    pub servers: BTreeMap<String, Definitions>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: FORMAT_VERSION, servers: BTreeMap::new() }
    }
}

impl LockFile {
    /// Reads the file. If it does not exist, nothing is approved.
    ///
    /// # Errors
    /// If it cannot be read, or is of another format. It is then unknown what was approved.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let Some(text) = read(path)? else { return Ok(Self::default()) };
        let lock: Self = serde_json::from_str(&text).map_err(|error| LockError::new(path, "read", &error))?;
        if lock.version != FORMAT_VERSION {
            return Err(LockError::new(
                path,
                "read",
                &format!("it is of version {}, not {FORMAT_VERSION}", lock.version),
            ));
        }
        if let Some(bad) = lock.servers.keys().find_map(|name| ServerName::new(name).err()) {
            return Err(LockError::new(path, "read", &bad));
        }
        Ok(lock)
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let mut sorted = serde_json::to_value(self).map_err(|error| LockError::new(path, "written", &error))?;
        // With sorted keys, a change makes a small diff.
        sorted.sort_all_objects();
        let text = serde_json::to_string_pretty(&sorted).map_err(|error| LockError::new(path, "written", &error))?;
        if text.len() as u64 >= MAX_FILE {
            // A larger file could not be read for any server.
            return Err(LockError::new(path, "written", &"it would have more than 16 MiB"));
        }
        write(path, &(text + "\n"))
    }

    /// Returns the approved definition of a tool.
    #[must_use]
    pub fn definition(&self, server: &str, tool: &str) -> Option<&Value> {
        self.servers.get(server)?.get(tool)
    }

    /// Approves definitions of a server.
    pub fn approve(&mut self, server: &str, definitions: Definitions) {
        self.servers.entry(server.to_owned()).or_default().extend(definitions);
    }
}

/// Returns a definition as it is shown, approved and compared. A large one has digests in place of its largest members, or if it is
/// still too large, one digest in place of its schema, which then fits no arguments.
#[must_use]
pub fn pinned(tool: &str, definition: &Value) -> Value {
    let indented = |value: &Value| serde_json::to_string_pretty(value).map_or(usize::MAX, |text| text.len());
    let is_small = |value: &Value| value.to_string().len() <= MAX_DEFINITION && indented(value) <= MAX_INDENTED;
    if is_small(definition) {
        return definition.clone();
    }
    let members = definition.as_object().into_iter().flatten();
    let member = |(key, value): (&String, &Value)| {
        (key.clone(), if indented(value) > MAX_MEMBER { digest(value) } else { value.clone() })
    };
    let pinned = Value::Object(members.map(member).collect());
    if is_small(&pinned) { pinned } else { json!({ "name": tool, "inputSchema": digest(definition) }) }
}

/// Returns the digest of a value, independent of its formatting, with the value's beginning.
fn digest(value: &Value) -> Value {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    let text = sorted.to_string();
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let beginning: String = text.chars().take(MAX_BEGINNING).collect();
    Value::from(format!("sha256:{digest} of {} bytes, which begin with {beginning}", text.len()))
}

/// Returns true if two definitions are the same, independent of their formatting.
#[must_use]
pub fn is_same(a: &Value, b: &Value) -> bool {
    a == b || matches!((canonical(&a.to_string()), canonical(&b.to_string())), (Ok(a), Ok(b)) if a == b)
}

/// The directory of the definitions that are held back.
#[derive(Clone, Debug)]
pub struct HeldBackStore {
    directory: PathBuf,
}

/// A definition that is held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeldDefinition {
    /// The reason, as the end of a sentence.
    pub why: String,
    /// True if it cannot be approved.
    pub is_final: bool,
    /// The definition.
    pub definition: Value,
}

impl HeldDefinition {
    /// Returns what the user can do so that the tool is listed, as the end of a sentence.
    #[must_use]
    pub fn remedy(&self, server: &ServerName) -> String {
        if self.is_final {
            "no approval changes that".to_owned()
        } else {
            format!("`hookhost mcp approve {server}` shows it")
        }
    }
}

/// Definitions that are held back, by the names of their tools.
pub type HeldDefinitions = BTreeMap<String, HeldDefinition>;

/// Maximum size of a server's definitions that are held back, in bytes: 8 MiB.
const MAX_HELD: usize = 8 * 1024 * 1024;

/// Bytes that each definition takes in the file in addition to its texts.
const ENTRY_OVERHEAD: usize = 64;

/// Removes the definitions that exceed the maximum size, and returns their number. No client sees those either.
pub fn bound(held: &mut HeldDefinitions) -> usize {
    let (before, mut bytes) = (held.len(), 0);
    held.retain(|tool, held| {
        let text = |text: &str| Value::from(text).to_string().len();
        let own = text(tool) + text(&held.why) + held.definition.to_string().len() + ENTRY_OVERHEAD;
        let fits = bytes + own <= MAX_HELD;
        bytes += if fits { own } else { 0 };
        fits
    });
    before - held.len()
}

impl HeldBackStore {
    /// Returns the directory below a state directory for a lock file: servers of two projects can have the same name.
    #[must_use]
    pub fn below(state: &Path, lock_file: &Path) -> Self {
        let digest = Sha256::digest(lock_file.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { directory: state.join("mcp").join(name) }
    }

    fn file(&self, server: &str) -> PathBuf {
        self.directory.join(format!("{server}.json"))
    }

    /// Reads the held-back definitions of a server.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(&self, server: &str) -> Result<HeldDefinitions, LockError> {
        let path = self.file(server);
        let Some(text) = read(&path)? else { return Ok(HeldDefinitions::new()) };
        serde_json::from_str(&text).map_err(|error| LockError::new(&path, "read", &error))
    }

    /// Replaces the held-back definitions of a server.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, server: &str, held: &HeldDefinitions) -> Result<(), LockError> {
        let path = self.file(server);
        if held.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LockError::new(&path, "removed", &error)),
                _ => Ok(()),
            };
        }
        // On one line: the indentation of deep nesting could be far larger than the text.
        let text = serde_json::to_string(held).map_err(|error| LockError::new(&path, "written", &error))?;
        write(&path, &(text + "\n"))
    }

    /// Returns the servers that have definitions held back.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let named = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut servers: Vec<String> = named.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        servers.sort();
        servers
    }

    /// Takes the lock that lets one process at a time change approvals. Dropping the file releases it.
    ///
    /// # Errors
    /// If the lock cannot be taken.
    pub fn changing(&self) -> Result<File, LockError> {
        let path = self.directory.join("changing");
        let failed = |error: io::Error| LockError::new(&path, "locked", &error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }
}

/// Reads a file that only the user can have written. Returns `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, LockError> {
    let bytes = match hookhost_files::read(path, Guard::OnlyMineToWrite, Links::Refused, MAX_FILE) {
        Err(error) if error.is_missing() => return Ok(None),
        read => read.map_err(|error| LockError::new(path, "read", &error))?,
    };
    match String::from_utf8(bytes) {
        Ok(text) if is_json(&text) => Ok(Some(text)),
        _ => Err(LockError::new(path, "read", &"it is no JSON")),
    }
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> Result<(), LockError> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}", std::process::id()));
    let part = PathBuf::from(part);
    let directory = path.parent().unwrap_or(Path::new("."));
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    // Removes the file of an earlier process with the same id, so that the write follows no link.
    let _ = fs::remove_file(&part);
    let written = made
        .and_then(|()| File::create_new(&part))
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    let renamed = written.and_then(|()| fs::rename(&part, path));
    renamed.map_err(|error| {
        let _ = fs::remove_file(&part);
        LockError::new(path, "written", &error)
    })
}

#[cfg(test)]
mod tests {
    use super::{HeldBackStore, HeldDefinition, HeldDefinitions, LockFile};
    use serde_json::json;

    #[test]
    fn what_was_approved_is_read_again_and_another_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost-mcp.lock");
        assert_eq!(LockFile::read(&file).unwrap(), LockFile::default());
        let mut lock = LockFile::default();
        lock.approve("files", [("read".to_owned(), json!({ "name": "read", "description": "reads" }))].into());
        lock.write(&file).unwrap();
        assert_eq!(LockFile::read(&file).unwrap(), lock);
        for bad in [
            "",
            "{",
            r#"{"version":2,"servers":{}}"#,
            r#"{"version":1,"servers":{},"more":1}"#,
            r#"{"version":1,"servers":{"../x":{}}}"#,
        ] {
            std::fs::write(&file, bad).unwrap();
            assert!(LockFile::read(&file).is_err(), "{bad}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_that_others_can_write_or_that_is_a_link_approves_nothing() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("hookhost-mcp.lock"), directory.path().join("link"));
        LockFile::default().write(&file).unwrap();
        symlink(&file, &link).unwrap();
        assert!(LockFile::read(&link).unwrap_err().to_string().contains("link"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(LockFile::read(&file).unwrap_err().to_string().contains("other users can write"));
    }

    #[test]
    fn nothing_is_written_that_could_not_be_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost-mcp.lock");
        let mut lock = LockFile::default();
        lock.approve("files", [("read".to_owned(), json!({ "name": "read" }))].into());
        lock.write(&file).unwrap();
        let large = json!({ "name": "large", "description": "x".repeat(17 * 1024 * 1024) });
        let mut larger = lock.clone();
        larger.approve("other", [("large".to_owned(), large.clone())].into());
        assert!(larger.write(&file).unwrap_err().to_string().contains("16 MiB"));
        assert_eq!(LockFile::read(&file).unwrap(), lock);
        let held = |definition| HeldDefinition { why: "it is new".into(), is_final: false, definition };
        let mut tools = HeldDefinitions::from([("a".to_owned(), held(json!({}))), ("large".to_owned(), held(large))]);
        assert_eq!((super::bound(&mut tools), tools.len()), (1, 1));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(LockFile::read(&file).is_err_and(|error| error.to_string().contains("not a regular file")));
    }

    #[test]
    fn what_is_held_back_is_kept_until_nothing_is() {
        let directory = tempfile::tempdir().unwrap();
        let held = HeldBackStore::below(directory.path(), std::path::Path::new("/a/hookhost-mcp.lock"));
        let tools = HeldDefinitions::from([(
            "a".to_owned(),
            HeldDefinition { why: "it is new".into(), is_final: false, definition: json!({ "name": "a" }) },
        )]);
        held.write("files", &tools).unwrap();
        assert_eq!((held.read("files").unwrap(), held.servers()), (tools, vec!["files".to_owned()]));
        let other = HeldBackStore::below(directory.path(), std::path::Path::new("/b/hookhost-mcp.lock"));
        assert_eq!(other.read("files").unwrap(), HeldDefinitions::new(), "another lock file's server of that name");
        held.write("files", &HeldDefinitions::new()).unwrap();
        assert_eq!((held.read("files").unwrap(), held.servers().len()), (HeldDefinitions::new(), 0));
    }
}
