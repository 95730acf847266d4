//! The code of an entry: a file, bytes of the program, or a rule of the program itself.

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
    /// A component that was compiled ahead, which the program holds and trusts.
    Compiled(CompiledComponent),
    /// A rule of the program itself.
    Native(Rule),
}

/// A component that [`Engine::compile`](crate::Engine::compile) has compiled, in this process or ahead of it, with the digest of the
/// component that it was compiled from. Cheap to clone.
///
/// A program that holds its plugins so starts without compiling, and can be built without the feature `compile`. The code is
/// that of one processor architecture, one version of this crate and its wasmtime. `configure` runs in each instance.
#[derive(Clone)]
pub struct CompiledComponent {
    bytes: Arc<Cow<'static, [u8]>>,
    digest: Digest,
}

/// The bytes are no compiled component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "these bytes are no component that `Engine::compile` has compiled: compile the component again with this version"
)]
#[non_exhaustive]
pub struct NotCompiled;

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
            Self::Bytes(_) | Self::Compiled(_) | Self::Native(_) => None,
        }
    }

    /// The digest of the component that may load; none of a native rule.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::File { digest, .. } => Some(*digest),
            Self::Bytes(bytes) => Some(bytes.digest()),
            Self::Compiled(compiled) => Some(compiled.digest()),
            Self::Native(_) => None,
        }
    }
}

/// Shows the origin: a path, or a word for code that the program holds.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::Bytes(_) => f.write_str("the component in the program"),
            Self::Compiled(_) => f.write_str("the compiled component in the program"),
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

/// The first bytes of a compiled component; the digest of the component follows.
const COMPILED: &[u8; 18] = b"hookhost compiled\n";

/// Bytes before the code.
const BEFORE_CODE: usize = COMPILED.len() + 32;

impl CompiledComponent {
    /// Of the component with this digest.
    #[cfg(feature = "compile")]
    pub(crate) fn new(digest: Digest, code: &[u8]) -> Self {
        let bytes = [COMPILED.as_slice(), digest.as_bytes(), code].concat();
        Self { bytes: Arc::new(bytes.into()), digest }
    }

    /// The component in the bytes of [`Self::to_bytes`], such as those of `include_bytes!`. These are not copied.
    ///
    /// # Errors
    /// If they do not begin as compiled components do.
    ///
    /// # Safety
    /// The bytes must be exactly those of [`Self::to_bytes`]: others can do whatever this process can. So never read them from a
    /// place that somebody else can write. A component that strangers wrote is safe before it is compiled: [`Engine::compile`](crate::Engine::compile)
    /// makes these bytes of it.
    #[expect(unsafe_code, reason = "nobody can check compiled code, so the caller vouches for it")]
    pub unsafe fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, NotCompiled> {
        let bytes = bytes.into();
        let rest = bytes.strip_prefix(COMPILED).ok_or(NotCompiled)?;
        let digest = *rest.first_chunk::<32>().ok_or(NotCompiled)?;
        Ok(Self { digest: Digest::from_bytes(digest), bytes: Arc::new(bytes) })
    }

    /// The bytes to keep, in the program itself for example.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of the component that was compiled. Records name it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn code(&self) -> &[u8] {
        self.bytes.get(BEFORE_CODE..).unwrap_or_default()
    }
}

impl PartialEq for CompiledComponent {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.bytes == other.bytes
    }
}

impl fmt::Debug for CompiledComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledComponent").field("digest", &self.digest).finish_non_exhaustive()
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
