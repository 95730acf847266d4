//! The code of an entry: a component in a file or in the program's memory, or a native rule of the program.

use super::Digest;
use crate::native::Rule;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The code of a plugin. An entry of a configuration file always has [`Code::File`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Code {
    /// A component in a file. The component loads only if the content of the file has this digest.
    File {
        /// `path`: the `.wasm` file. In an entry of a configuration file, the path is absolute. In the configuration
        /// file itself, the path may be relative to the file's directory, or begin with `~/` for the user's home.
        path: PathBuf,
        /// `sha256`: the digest of the file's content; required.
        digest: Digest,
    },
    /// A component in the memory of the program.
    Bytes(ComponentBytes),
    /// A component that was compiled in advance and is in the memory of the program. The program must trust the
    /// compiled code.
    Compiled(CompiledComponent),
    /// A native rule, which is part of the program.
    Native(Rule),
}

/// A component that [`Engine::compile`](crate::Engine::compile) has compiled, in this process or in an earlier process,
/// with the digest of the original component. It is cheap to clone.
///
/// A program whose plugins are compiled in advance starts faster, and can be built without the feature `compile`. The
/// code works only on the processor architecture for which it was compiled, and only with the same versions of this
/// crate and of wasmtime. The `configure` of such a plugin is called in every new instance.
#[derive(Clone)]
pub struct CompiledComponent {
    bytes: Arc<Cow<'static, [u8]>>,
    digest: Digest,
}

/// The bytes are not a compiled component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "these bytes are not a component that `Engine::compile` has compiled: compile the component again with this version"
)]
#[non_exhaustive]
pub struct NotCompiled;

/// A component in the memory of a program, with its digest. It is cheap to clone.
#[derive(Clone)]
pub struct ComponentBytes {
    bytes: Arc<Cow<'static, [u8]>>,
    digest: Digest,
}

/// The identity of the code in a record: the digest of a component, or the version of a native rule. In JSON it is a
/// string of 64 hexadecimal digits, or `{"native": "1.2.3"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum CodeId {
    /// SHA-256 of a component.
    Component(Digest),
    /// A native rule of the program that wrote the record. A different program may have a different rule with the same
    /// version.
    #[non_exhaustive]
    Native {
        /// The version of the rule or of the program, as the program specified it.
        #[serde(rename = "native")]
        version: Arc<str>,
    },
}

impl Code {
    /// Returns the path of the file, if the code is in a file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Bytes(_) | Self::Compiled(_) | Self::Native(_) => None,
        }
    }

    /// Returns the digest of the component that may load, or `None` for a native rule.
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

/// Formats the origin of the code: the path of its file, or a description if the code is in the memory of the program.
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
    /// Creates a component from its bytes. The bytes of `include_bytes!` are not copied.
    #[must_use]
    pub fn new(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        Self { digest: Digest::of_bytes(&bytes), bytes: Arc::new(bytes) }
    }

    /// Returns the SHA-256 digest of the component.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the bytes of the component.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The first bytes of a compiled component. The digest of the original component follows them.
const COMPILED: &[u8; 18] = b"hookhost compiled\n";

/// Number of bytes before the code.
const BEFORE_CODE: usize = COMPILED.len() + 32;

impl CompiledComponent {
    /// Creates the compiled form of the component with this digest.
    #[cfg(feature = "compile")]
    pub(crate) fn new(digest: Digest, code: &[u8]) -> Self {
        let bytes = [COMPILED.as_slice(), digest.as_bytes(), code].concat();
        Self { bytes: Arc::new(bytes.into()), digest }
    }

    /// Creates a compiled component from the bytes of [`Self::to_bytes`]. Bytes of `include_bytes!` are not copied.
    ///
    /// # Errors
    /// Fails if the bytes do not begin with the header of compiled components.
    ///
    /// # Safety
    /// The bytes must be exactly those of [`Self::to_bytes`], because these bytes contain machine code, which can do
    /// whatever this process can do. Never read the bytes from a file that another user can write. An untrusted
    /// component is safe only before it is compiled: pass it to [`Engine::compile`](crate::Engine::compile), which
    /// creates these bytes.
    #[expect(unsafe_code, reason = "nobody can check compiled code, so the caller vouches for it")]
    pub unsafe fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, NotCompiled> {
        let bytes = bytes.into();
        let rest = bytes.strip_prefix(COMPILED).ok_or(NotCompiled)?;
        let digest = *rest.first_chunk::<32>().ok_or(NotCompiled)?;
        Ok(Self { digest: Digest::from_bytes(digest), bytes: Arc::new(bytes) })
    }

    /// Returns bytes that a program can store, for example in its own executable.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the SHA-256 digest of the original component. Records contain this digest.
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

    /// Returns the digest of the component, or a digest of the version of the rule.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Component(digest) => *digest,
            Self::Native { version } => Digest::of_bytes(version.as_bytes()),
        }
    }
}

/// Formats the identity as `9f86d0…`, the beginning of the digest, or as `native 1.2.3`.
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
