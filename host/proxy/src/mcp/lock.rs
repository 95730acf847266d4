//! The lock file `hookhost-mcp.lock`. It contains the approved definitions of tools. Definitions up to a maximum size are stored in
//! full, because the user must see what has changed in them.
//!
//! Definitions that are not approved are held back. They are stored in the state directory, where `hookhost mcp approve` finds
//! them.

use crate::jsonrpc::message::is_json;
use crate::server_name::ServerName;
use hookhost_contract::canonical;
use hookhost_files::{Guard, Links, NewFile};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The name of the lock file.
pub const FILE_NAME: &str = "hookhost-mcp.lock";

/// The version of the file's format.
const FORMAT_VERSION: u32 = 1;

/// Maximum size of the file, in bytes: 16 MiB.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Maximum size of a definition that is stored in full, in bytes: 64 KiB.
const MAX_DEFINITION: usize = 64 * 1024;

/// Maximum size of a fully stored definition as indented JSON, in bytes: 256 KiB. Deep nesting makes indented JSON much longer.
const MAX_INDENTED: usize = 256 * 1024;

/// Maximum size of a member as indented JSON, in bytes: 8 KiB. If a definition is too large, its larger members are replaced by a
/// digest, and its other members are stored in full.
const MAX_MEMBER: usize = 8 * 1024;

/// Number of characters at the beginning of a member that are stored together with the member's digest.
const MAX_BEGINNING: usize = 1024;

/// Definitions by the names of their tools.
pub type Definitions = BTreeMap<String, Value>;

/// The reason why the lock file or the file of held-back definitions cannot be used.
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
    /// If the file cannot be read, or has another format. In this case, it is unknown which definitions were approved.
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
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let mut sorted = serde_json::to_value(self).map_err(|error| LockError::new(path, "written", &error))?;
        // Sorted keys keep the difference small when a definition changes.
        sorted.sort_all_objects();
        let text = serde_json::to_string_pretty(&sorted).map_err(|error| LockError::new(path, "written", &error))?;
        if text.len() as u64 >= MAX_FILE {
            // A larger file could not be read again, and then the approved definitions of all servers would be lost.
            return Err(LockError::new(path, "written", &"it would have more than 16 MiB"));
        }
        write(path, &(text + "\n"))
    }

    /// Returns the approved definition of a tool.
    pub fn definition(&self, server: &str, tool: &str) -> Option<&Value> {
        self.servers.get(server)?.get(tool)
    }

    /// Approves definitions of a server.
    pub fn approve(&mut self, server: &str, definitions: Definitions) {
        self.servers.entry(server.to_owned()).or_default().extend(definitions);
    }
}

/// Returns a definition in the form in which it is shown, approved and compared. In a large definition, digests replace the large
/// members. If the definition is still too large, only the tool's name is kept, and one digest of the whole definition takes the
/// place of the schema. No arguments are valid under such a schema, because it is a string.
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

/// Returns a text that contains the digest and the beginning of a value. The digest does not depend on the formatting of the value.
fn digest(value: &Value) -> Value {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    let text = sorted.to_string();
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let beginning: String = text.chars().take(MAX_BEGINNING).collect();
    Value::from(format!("sha256:{digest} of {} bytes, which begin with {beginning}", text.len()))
}

/// Returns true if two definitions are equal except for their formatting.
pub fn is_same(a: &Value, b: &Value) -> bool {
    a == b || matches!((canonical(&a.to_string()), canonical(&b.to_string())), (Ok(a), Ok(b)) if a == b)
}

/// The directory of the held-back definitions.
#[derive(Clone, Debug)]
pub struct HeldBackStore {
    directory: PathBuf,
}

/// A definition that is held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeldDefinition {
    /// The reason why the definition is held back, as the end of a sentence.
    pub why: String,
    /// True if the definition cannot be approved.
    pub is_final: bool,
    /// The definition.
    pub definition: Value,
}

impl HeldDefinition {
    /// Returns the end of a sentence. The sentence tells the user how to get the tool listed, or that the tool cannot be listed.
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

/// Maximum total size of the held-back definitions of a server, in bytes: 8 MiB.
const MAX_HELD: usize = 8 * 1024 * 1024;

/// Bytes that each definition is assumed to take in the file in addition to its strings.
const ENTRY_OVERHEAD: usize = 64;

/// Removes definitions so that the rest does not exceed the maximum total size. Returns the number of removed definitions. The
/// tools of removed definitions are hidden from clients, like all tools that are held back.
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
    /// Returns the store for a lock file, in a state directory. Each lock file has its own store, because servers of two
    /// projects can have the same name.
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
    /// If the definitions cannot be read.
    pub fn read(&self, server: &str) -> Result<HeldDefinitions, LockError> {
        let path = self.file(server);
        let Some(text) = read(&path)? else { return Ok(HeldDefinitions::new()) };
        serde_json::from_str(&text).map_err(|error| LockError::new(&path, "read", &error))
    }

    /// Replaces the held-back definitions of a server.
    ///
    /// # Errors
    /// If the definitions cannot be written.
    pub fn write(&self, server: &str, held: &HeldDefinitions) -> Result<(), LockError> {
        let path = self.file(server);
        if held.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LockError::new(&path, "removed", &error)),
                _ => Ok(()),
            };
        }
        // The file is a single line, because the indentation of deeply nested values could be far larger than the values.
        let text = serde_json::to_string(held).map_err(|error| LockError::new(&path, "written", &error))?;
        write(&path, &(text + "\n"))
    }

    /// Returns the servers for which definitions are held back.
    pub fn servers(&self) -> Vec<String> {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let named = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut servers: Vec<String> = named.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        servers.sort();
        servers
    }

    /// Locks the approvals, so that only one process at a time changes them. Dropping the returned file releases the lock.
    ///
    /// # Errors
    /// If the lock cannot be taken.
    pub fn changing(&self) -> Result<File, LockError> {
        let path = self.directory.join("changing");
        let failed = |error: io::Error| LockError::new(&path, "locked", &error);
        hookhost_files::make_own_directory(&self.directory).map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }
}

/// Reads a file that only the user can have written. Returns `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<String>, LockError> {
    let bytes = match hookhost_files::read(path, Guard::OnlyMineToWrite, Links::Refused, MAX_FILE) {
        Err(error) if error.is_missing() => return Ok(None),
        read => read.map_err(|error| LockError::new(path, "read", &error))?,
    };
    match String::from_utf8(bytes) {
        Ok(text) if is_json(&text) => Ok(Some(text)),
        _ => Err(LockError::new(path, "read", &"it is not JSON")),
    }
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> Result<(), LockError> {
    let made = hookhost_files::make_own_directory(path.parent().unwrap_or(Path::new(".")));
    let written = made.and_then(|()| hookhost_files::replace(path, text.as_bytes(), NewFile::Usual));
    written.map_err(|error| LockError::new(path, "written", &error))
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
