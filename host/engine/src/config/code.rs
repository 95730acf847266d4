//! What an entry loads: a file, bytes of the program, or a rule of the program itself.

use super::Digest;
use crate::native::Rule;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The code of a plugin. A configuration file names files only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Code {
    /// A component in a file, and the only content of the file that may load.
    File {
        /// `path`: the `.wasm` file. Absolute where the entry comes from a file: a relative one is relative to that file's
        /// directory, and `~/` is the user's home.
        path: PathBuf,
        /// `sha256`, required.
        digest: Digest,
    },
    /// A component that the program holds.
    Bytes(ComponentBytes),
    /// A rule of the program itself.
    Native(Rule),
}

/// A component that a program holds, with its digest. Cheap to clone.
#[derive(Clone)]
pub struct ComponentBytes {
    bytes: Arc<Cow<'static, [u8]>>,
    digest: Digest,
}

/// The code that a record speaks of: the digest of a component, or the version of a native rule. In JSON a string of 64
/// hexadecimal digits, or `{"native": "1.2.3"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum CodeId {
    /// SHA-256 of a component.
    Component(Digest),
    /// A rule of the program that wrote the record. Another program with the same version may have another rule.
    #[non_exhaustive]
    Native {
        /// The version of the rule or of the program, as the program says.
        #[serde(rename = "native")]
        version: Arc<str>,
    },
}

impl Code {
    /// The file, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Bytes(_) | Self::Native(_) => None,
        }
    }

    /// The digest of the component that may load; none of a native rule.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::File { digest, .. } => Some(*digest),
            Self::Bytes(bytes) => Some(bytes.digest()),
            Self::Native(_) => None,
        }
    }
}

/// Where it is from: a path, or a word for what a program holds.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::Bytes(_) => f.write_str("the component in the program"),
            Self::Native(_) => f.write_str("the native rule"),
        }
    }
}

impl ComponentBytes {
    /// The component in these bytes. Those of `include_bytes!` are not copied.
    #[must_use]
    pub fn new(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        Self { digest: Digest::of_bytes(&bytes), bytes: Arc::new(bytes) }
    }

    /// Its SHA-256.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for ComponentBytes {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for ComponentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentBytes").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl CodeId {
    pub(crate) fn native(version: Arc<str>) -> Self {
        Self::Native { version }
    }

    /// The digest of a component, or one of the version.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Component(digest) => *digest,
            Self::Native { version } => Digest::of_bytes(version.as_bytes()),
        }
    }
}

/// `9f86d0…`, or `native 1.2.3`.
impl fmt::Display for CodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component(digest) => digest.fmt(f),
            Self::Native { version } => write!(f, "native {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeId, Digest};

    #[test]
    fn what_ran_is_read_back_as_it_was_written() {
        let digest = Digest::of_bytes(b"");
        for (id, json) in [
            (CodeId::Component(digest), format!("\"{digest}\"")),
            (CodeId::native("1.2.3".into()), r#"{"native":"1.2.3"}"#.to_owned()),
        ] {
            assert_eq!(serde_json::to_string(&id).unwrap(), json);
            assert_eq!(serde_json::from_str::<CodeId>(&json).unwrap(), id);
        }
    }
}
