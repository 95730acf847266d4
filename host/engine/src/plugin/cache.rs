//! A cache that keeps compiled code between runs, in `.cwasm` files in a directory that only the user can access.
//!
//! Loading such a file is as dangerous as running a program. So a file is used only if it meets three conditions: the
//! file and its directory belong to the user, nobody else can write them, and the file's authentication code was made
//! with this user's key. In every other case, the plugin is compiled again. So an unusable cache only makes a start
//! slower.

mod contents;

#[cfg(feature = "compile")]
use contents::evict;
use contents::kept_in;
pub use contents::{CacheFiles, cache_files, clear_cache};

#[cfg(feature = "compile")]
use super::compile::CompiledFunctions;
use super::stamp::{self, Stamp};
use crate::config::{Digest, Entry, Limits};
use crate::files::{self, FileError, Guard, Links};
use etcetera::BaseStrategy as _;
use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, Metadata};
use std::hash::{Hash as _, Hasher};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::mpsc;
#[cfg(target_os = "linux")]
use std::thread;
use std::time::{Duration, SystemTime};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The version of the layout of the files. A file contains its content and then its authentication code.
const LAYOUT: u8 = 5;

/// Size of a file's authentication code, in bytes.
const TAG: usize = 32;

/// Size of an outcome in bytes: one byte for the flag `is_image`, and then the digest.
const OUTCOME: usize = 1 + 32;

/// Files that were not used for `MAX_AGE` are removed. Then the least recently used files are removed until the rest is
/// not larger than `MAX_BYTES` in total.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
const MAX_BYTES: u64 = 1 << 30;

/// Minimum age at which the recorded time of a file's last use is updated.
const TOUCHED: Duration = Duration::from_hours(24);

/// Number of bytes of a file that are read and hashed at a time.
const PIECE: usize = 64 * 1024;

/// Number of bytes of a file that are copied before another thread hashes them.
#[cfg(target_os = "linux")]
const STEP: u64 = 512 * 1024;

/// Size of the file of the key, in bytes.
const KEY: usize = 64;

/// Context for deriving the key of the authentication codes from the key file. Other contexts would derive other keys.
const PURPOSE: &str = "hookhost 2026-11-26 authentication codes of compiled code";

/// Extensions of the files of compiled code, functions, outcomes and stamps.
const CODE: &str = "cwasm";
const FUNCTIONS: &str = "functions";
const OUTCOMES: &str = "outcome";
const STAMPS: &str = "stamp";

/// A directory of compiled components.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    /// The key of the authentication codes.
    key: [u8; TAG],
}

/// The result of `configure` for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The digest of the code that handles events: the component, or the image after `configure`.
    pub(super) code: Digest,
    pub(super) is_image: bool,
}

/// Returns the default directory of compiled code: `compiled` in the directory `HOOKHOST_CACHE_DIR`. If this variable
/// is not set, it is `hookhost/compiled` in the platform's cache directory. Returns `None` if neither directory is
/// known.
#[must_use]
pub fn default_directory() -> Option<PathBuf> {
    let named = std::env::var_os("HOOKHOST_CACHE_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    let platform = || Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("hookhost"));
    named.or_else(platform).map(|directory| directory.join("compiled"))
}

/// The kind of a cache file.
#[derive(Clone, Copy, Debug)]
enum CacheFile<'a> {
    /// Compiled code of the component with this digest, for all entries that use it.
    Code(&'a Digest),
    /// The compiled functions of the component with this digest, which its images share.
    #[cfg(feature = "compile")]
    Functions(&'a Digest),
    /// The digest under which the code of an entry is stored. Besides the component, the outcome depends on three
    /// things:
    /// - the configuration
    /// - whether the entry grants directories, because a plugin with such a grant is rejected if it looks for
    ///   directories too early
    /// - the limits, because `configure` may fail under other limits
    ///
    /// If an outcome has to be computed again but its image is already stored, the image is not compiled again.
    Outcome(&'a Entry),
    /// The stamp of the file at a path, for content with this digest.
    Stamp(&'a Path, &'a Digest),
}

impl Cache {
    /// Opens the cache in `directory`, and creates the directory if it does not exist.
    ///
    /// # Errors
    /// Fails if other users can access the directory, or if the key cannot be read or created.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        can_tell_owners()?;
        files::make_own_directory(directory)?;
        files::check_own_directory(directory)?;
        let path = directory.join(format!("key-{LAYOUT}"));
        let key = match read_key(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A new key makes all existing files invalid, so remove them.
                kept_in(directory)?.iter().for_each(|path| drop(fs::remove_file(path)));
                let mut key = [0; KEY];
                SysRng.try_fill_bytes(&mut key).map_err(io::Error::other)?;
                // If another process has created a key in the meantime, use that key.
                match write_new(directory, &path, &[&key]) {
                    Ok(()) => key,
                    Err(_) => read_key(&path)?,
                }
            }
            key => key?,
        };
        Ok(Self { directory: directory.to_owned(), key: blake3::derive_key(PURPOSE, &key) })
    }

    /// Returns the code of the component with this digest, if the cache has valid code that was compiled with the
    /// settings of this engine.
    #[cfg(feature = "compile")]
    pub(super) fn code(&self, engine: &Engine, entry: &Entry, component: &Digest) -> Option<Component> {
        let path = self.path(CacheFile::Code(component));
        loaded(engine, entry, &path, self.vouched_for(&path))
    }

    /// Returns the code that handles the events of an entry, and its outcome, if both are stored and have valid
    /// authentication codes.
    pub(super) fn kept(&self, engine: &Engine, entry: &Entry) -> Option<(Component, Outcome)> {
        let path = self.path(CacheFile::Outcome(entry));
        let (outcome, file) = counted(self.read_outcome(&path), entry, &path)?;
        file.touch();
        let path = self.path(CacheFile::Code(&outcome.code));
        Some((loaded(engine, entry, &path, self.vouched_for(&path))?, outcome))
    }

    /// Stores compiled code, and removes the least recently used files if the cache has become too large. A failure is
    /// logged and has no other effect.
    #[cfg(feature = "compile")]
    pub(super) fn put_code(&self, entry: &Entry, component: &Digest, compiled: &Component) {
        let path = self.path(CacheFile::Code(component));
        let code = compiled.serialize().map_err(io::Error::other);
        self.put(entry, &path, code.as_deref().map_err(|error| io::Error::other(error.to_string())));
        if let Err(error) = evict(&self.directory, &path, MAX_AGE, MAX_BYTES) {
            tracing::warn!(directory = %self.directory.display(), %error, "old compiled code could not be removed");
        }
    }

    /// Returns the compiled functions of the component with this digest, if valid ones are stored.
    #[cfg(feature = "compile")]
    pub(super) fn functions(&self, entry: &Entry, component: &Digest) -> Option<CompiledFunctions> {
        let path = self.path(CacheFile::Functions(component));
        let mut bytes = Vec::new();
        let file = self.read(&path, |piece| bytes.extend_from_slice(piece));
        counted(file, entry, &path)?.touch();
        CompiledFunctions::parse(&bytes)
    }

    /// Stores the functions that a load of this component has used, if it has compiled many of them. A failure is logged
    /// and has no other effect.
    #[cfg(feature = "compile")]
    pub(super) fn put_functions(&self, entry: &Entry, component: &Digest, functions: &CompiledFunctions) {
        if let Some(bytes) = functions.to_bytes() {
            self.put(entry, &self.path(CacheFile::Functions(component)), Ok(&bytes));
        }
    }

    fn read_outcome(&self, path: &Path) -> io::Result<(Outcome, TrustedFile)> {
        let (content, opened) = self.small::<OUTCOME>(path)?;
        Ok((Outcome::parse(&content).ok_or_else(|| io::Error::other("it is not an outcome"))?, opened))
    }

    /// Stores the outcome of an entry. A failure is logged and has no other effect.
    #[cfg(feature = "compile")]
    pub(super) fn put_outcome(&self, entry: &Entry, outcome: &Outcome) {
        let path = self.path(CacheFile::Outcome(entry));
        self.put(entry, &path, Ok(&outcome.to_bytes()));
    }

    /// Returns the stored stamp of the file at this path, if there is one. The file had this stamp when its content had
    /// this digest.
    pub(super) fn stamp(&self, file: &Path, digest: &Digest) -> Option<Stamp> {
        let path = self.path(CacheFile::Stamp(file, digest));
        match self.small::<{ stamp::BYTES }>(&path) {
            Ok((content, opened)) => {
                opened.touch();
                Stamp::parse(&content)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a component is read again, since its stamp cannot be used");
                None
            }
        }
    }

    /// Stores the stamp of the file at this path, whose content has this digest. Without a stamp, the next load reads
    /// the file again.
    pub(super) fn put_stamp(&self, file: &Path, digest: &Digest, stamp: Stamp) {
        let path = self.path(CacheFile::Stamp(file, digest));
        if let Err(error) = self.write(&path, &stamp.to_bytes()) {
            tracing::debug!(file = %path.display(), %error, "the stamp of a component could not be kept");
        }
        // Old files are removed here, too. Otherwise a component whose path is different at each load would leave many
        // stamps behind.
        #[cfg(feature = "compile")]
        if let Err(error) = evict(&self.directory, &path, MAX_AGE, MAX_BYTES) {
            tracing::debug!(directory = %self.directory.display(), %error, "old stamps could not be removed");
        }
    }

    /// Returns the content of a file, which must have this size and a valid authentication code.
    fn small<const BYTES: usize>(&self, path: &Path) -> io::Result<([u8; BYTES], TrustedFile)> {
        let opened = TrustedFile::of(path)?;
        let mut content = Vec::with_capacity(BYTES + TAG + 1);
        (&opened.file).take((BYTES + TAG + 1) as u64).read_to_end(&mut content)?;
        let (content, tag) = content.split_last_chunk::<TAG>().ok_or_else(cut_off)?;
        let mut expected = self.tag(path);
        expected.update(content);
        // `blake3` compares the codes in constant time.
        match content.try_into() {
            Ok(content) if expected.finalize() == *tag => Ok((content, opened)),
            _ => Err(io::Error::other(WRONG)),
        }
    }

    #[cfg(feature = "compile")]
    fn put(&self, entry: &Entry, path: &Path, content: io::Result<&[u8]>) {
        if let Err(error) = content.and_then(|content| self.write(path, content)) {
            tracing::warn!(plugin = entry.name, file = %path.display(), %error, "the compiled code could not be kept");
        }
    }

    /// Writes a file with its authentication code.
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut tag = self.tag(path);
        tag.update(content);
        write_new(&self.directory, path, &[content, tag.finalize().as_bytes()])
    }

    /// Returns the path of a file. The path depends on the version of hookhost, the instruction sets of the machine,
    /// and everything that determines the content. It does not depend on the settings of the engine, because wasmtime
    /// itself rejects code of an engine with other settings.
    fn path(&self, kept: CacheFile<'_>) -> PathBuf {
        struct Sha(Sha256);
        impl Hasher for Sha {
            fn write(&mut self, bytes: &[u8]) {
                self.0.update(bytes);
            }
            fn finish(&self) -> u64 {
                0
            }
        }
        let mut hasher = Sha(Sha256::new());
        LAYOUT.hash(&mut hasher);
        // An image depends on the version of the pre-initialiser, which the version of hookhost determines.
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        instructions().hash(&mut hasher);
        let extension = match kept {
            CacheFile::Code(component) => {
                component.as_bytes().hash(&mut hasher);
                CODE
            }
            #[cfg(feature = "compile")]
            CacheFile::Functions(component) => {
                component.as_bytes().hash(&mut hasher);
                FUNCTIONS
            }
            CacheFile::Outcome(entry) => {
                if let Some(digest) = entry.code.digest() {
                    digest.as_bytes().hash(&mut hasher);
                }
                serde_json::to_string(&entry.config).unwrap_or_default().hash(&mut hasher);
                entry.grants.has_directories().hash(&mut hasher);
                bounds_of_configuring(entry).hash(&mut hasher);
                OUTCOMES
            }
            CacheFile::Stamp(file, digest) => {
                digest.as_bytes().hash(&mut hasher);
                file.as_os_str().as_encoded_bytes().hash(&mut hasher);
                STAMPS
            }
        };
        let name = Digest::from_bytes(hasher.0.finalize().into()).to_string();
        self.directory.join(name).with_extension(extension)
    }

    /// Copies the content of a file, and fails if the file's authentication code is not valid.
    fn vouched_for(&self, path: &Path) -> io::Result<(TrustedFile, CodeCopy)> {
        let opened = TrustedFile::of(path)?;
        #[cfg(target_os = "linux")]
        if let Ok(copy) = file_in_memory() {
            let copy = match self.copy(path, &opened, &copy) {
                Ok(()) => CodeCopy::Sealed(copy),
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.check(path, &opened, |_| {})?;
                    CodeCopy::Original(path.to_owned())
                }
                Err(error) => return Err(error),
            };
            return Ok((opened, copy));
        }
        let mut bytes = Vec::new();
        self.check(path, &opened, |piece| bytes.extend_from_slice(piece))?;
        Ok((opened, CodeCopy::Bytes(bytes)))
    }

    /// Copies the content of a file into a file in memory. Meanwhile another thread computes the authentication code of the
    /// copy, because either of them takes about as long as everything else in a load.
    #[cfg(target_os = "linux")]
    fn copy(&self, path: &Path, from: &TrustedFile, copy: &File) -> io::Result<()> {
        let length = from.content_length()?;
        let mut content = (&from.file).take(length);
        let tag = thread::scope(|scope| {
            let (copied, lengths) = mpsc::channel();
            let copied_so_far = ReadFromStart { file: copy, at: 0 };
            let tag = move || self.tag_of(path, copied_so_far, lengths, |_| {});
            let tag = thread::Builder::new().spawn_scoped(scope, tag)?;
            let mut end = 0;
            while end < length {
                match io::copy(&mut (&mut content).take(STEP), &mut &*copy)? {
                    0 => return Err(cut_off()),
                    more => end += more,
                }
                // The other thread has ended only if it could not read, and then it returns the error.
                let _ = copied.send(end);
            }
            drop(copied);
            tag.join().map_err(|_| io::Error::other("its authentication code could not be computed"))?
        })?;
        from.check(length, tag)
    }

    /// Passes the content of a file on in pieces, and fails if the file's authentication code is not valid.
    fn read(&self, path: &Path, take: impl FnMut(&[u8])) -> io::Result<TrustedFile> {
        let opened = TrustedFile::of(path)?;
        self.check(path, &opened, take)?;
        Ok(opened)
    }

    fn check(&self, path: &Path, opened: &TrustedFile, take: impl FnMut(&[u8])) -> io::Result<()> {
        let length = opened.content_length()?;
        (&opened.file).rewind()?;
        opened.check(length, self.tag_of(path, &opened.file, [length], take)?)
    }

    /// Returns the authentication code of the file at `path` with this content. Reads up to each of the lengths in turn, and
    /// passes on each piece.
    fn tag_of(
        &self,
        path: &Path,
        mut content: impl Read,
        lengths: impl IntoIterator<Item = u64>,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<blake3::Hash> {
        let mut tag = self.tag(path);
        let mut piece = vec![0; PIECE];
        let mut begin = 0;
        for end in lengths {
            while begin < end {
                let length = usize::try_from(end - begin).map_or(PIECE, |left| left.min(PIECE));
                content.read_exact(&mut piece[..length])?;
                tag.update(&piece[..length]);
                take(&piece[..length]);
                begin += length as u64;
            }
        }
        Ok(tag.finalize())
    }

    /// Begins the authentication code of a file, which covers the name of the file and its content.
    fn tag(&self, path: &Path) -> blake3::Hasher {
        let mut tag = blake3::Hasher::new_keyed(&self.key);
        tag.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        tag
    }
}

/// The error for a file whose authentication code was not made with this user's key.
const WRONG: &str = "its authentication code is wrong";

fn cut_off() -> io::Error {
    io::Error::other("it is truncated")
}

impl Outcome {
    #[cfg(feature = "compile")]
    fn to_bytes(self) -> [u8; OUTCOME] {
        let mut bytes = [u8::from(self.is_image); OUTCOME];
        bytes[1..].copy_from_slice(self.code.as_bytes());
        bytes
    }

    fn parse([flag, code @ ..]: &[u8; OUTCOME]) -> Option<Self> {
        match flag {
            0 | 1 => Some(Self { code: Digest::from_bytes(*code), is_image: *flag == 1 }),
            _ => None,
        }
    }
}

/// A file that no other user can have written or read, with its metadata.
struct TrustedFile {
    file: File,
    metadata: Metadata,
}

impl TrustedFile {
    fn of(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { file, metadata })
    }

    /// Returns the length of the content without the authentication code, in bytes.
    fn content_length(&self) -> io::Result<u64> {
        self.metadata.len().checked_sub(TAG as u64).ok_or_else(cut_off)
    }

    /// Fails if the authentication code behind the content is another one.
    fn check(&self, length: u64, tag: blake3::Hash) -> io::Result<()> {
        let mut expected = [0; TAG];
        (&self.file).seek(io::SeekFrom::Start(length))?;
        (&self.file).read_exact(&mut expected)?;
        // `blake3` compares the codes in constant time.
        if tag == expected { Ok(()) } else { Err(io::Error::other(WRONG)) }
    }

    /// Records that the file was used. If this fails, the file may be removed too early. It is then created again when
    /// it is needed.
    fn touch(&self) {
        let used = self.metadata.modified();
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|ago| ago > TOUCHED)) {
            let _ = self.file.set_modified(SystemTime::now());
        }
    }
}

/// Returns, for each optional instruction set that the compiler may use, whether this machine has it. Code that uses
/// other instructions does not run on this machine.
fn instructions() -> Vec<bool> {
    #[cfg(target_arch = "x86_64")]
    return vec![
        is_x86_feature_detected!("sse3"),
        is_x86_feature_detected!("ssse3"),
        is_x86_feature_detected!("sse4.1"),
        is_x86_feature_detected!("sse4.2"),
        is_x86_feature_detected!("cmpxchg16b"),
        is_x86_feature_detected!("popcnt"),
        is_x86_feature_detected!("avx"),
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("fma"),
        is_x86_feature_detected!("bmi1"),
        is_x86_feature_detected!("bmi2"),
        is_x86_feature_detected!("lzcnt"),
        is_x86_feature_detected!("avx512bitalg"),
        is_x86_feature_detected!("avx512dq"),
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512vl"),
        is_x86_feature_detected!("avx512vbmi"),
    ];
    #[cfg(target_arch = "aarch64")]
    return vec![
        std::arch::is_aarch64_feature_detected!("lse"),
        std::arch::is_aarch64_feature_detected!("paca"),
        std::arch::is_aarch64_feature_detected!("fp16"),
        std::arch::is_aarch64_feature_detected!("dotprod"),
    ];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

/// Returns the limits on which the result of `configure` depends, as text.
fn bounds_of_configuring(entry: &Entry) -> String {
    let Limits {
        fuel,
        compute: _,
        deadline: _,
        memory,
        table_elements,
        tables,
        instances,
        handles,
        output,
        capability_calls,
        // These limits do not affect `configure`. It gets no event and sends no HTTP requests, and exceeding the limit
        // of the log only drops lines.
        input: _,
        http_body: _,
        log: _,
    } = &entry.limits;
    let (compute, deadline) = (entry.limits.compute(&entry.grants), entry.limits.deadline(&entry.grants));
    let (compute, deadline) = (compute.as_nanos(), deadline.as_nanos());
    format!(
        "fuel {fuel}, compute {compute}, deadline {deadline}, memory {memory}, table-elements {table_elements}, \
         tables {tables}, instances {instances}, handles {handles}, output {output}, capability-calls {capability_calls}"
    )
}

/// A copy of compiled code that only this process uses. If the cache file itself were mapped into memory, truncating
/// the file would end the process.
enum CodeCopy {
    /// A sealed file in memory. Nobody can change it, so it can be mapped without another copy.
    #[cfg(target_os = "linux")]
    Sealed(File),
    /// The cache file itself, if a limit on the size of files prevents the copy.
    #[cfg(target_os = "linux")]
    Original(PathBuf),
    Bytes(Vec<u8>),
}

impl CodeCopy {
    /// Loads the code. It must be the output of `Component::serialize` that `put_code` stored.
    fn component(self, engine: &Engine) -> io::Result<Component> {
        #[cfg(target_os = "linux")]
        let bytes = match self {
            Self::Bytes(bytes) => bytes,
            #[expect(unsafe_code, reason = "as below")]
            Self::Original(path) => {
                // SAFETY: as below, except that another process of this user can change the file; without a copy this
                // cannot be prevented.
                return unsafe { Component::deserialize_file(engine, path) }.map_err(io::Error::other);
            }
            Self::Sealed(mut file) => {
                use rustix::fs::{SealFlags, fcntl_add_seals};
                use std::os::fd::AsRawFd as _;
                fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL)?;
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                #[expect(unsafe_code, reason = "wasmtime cannot check compiled code, so it leaves that to us")]
                // SAFETY: the authentication code was made with a key that only this user can read, and it covers the
                // content and the name of the file, which identifies the component. It was checked against the content
                // of the copy, which cannot change. Wasmtime rejects code of another engine.
                match unsafe { Component::deserialize_file(engine, path) } {
                    Ok(component) => return Ok(component),
                    // `/proc` is missing, or the system does not allow a file in memory to be executed.
                    Err(_) => {
                        file.rewind()?;
                        let mut bytes = Vec::new();
                        file.read_to_end(&mut bytes)?;
                        bytes
                    }
                }
            }
        };
        #[cfg(not(target_os = "linux"))]
        let Self::Bytes(bytes) = self;
        #[expect(unsafe_code, reason = "as above")]
        // SAFETY: as above.
        let component = unsafe { Component::deserialize(engine, &bytes) };
        component.map_err(io::Error::other)
    }
}

/// Reads a file from its beginning while another thread writes it.
#[cfg(target_os = "linux")]
struct ReadFromStart<'a> {
    file: &'a File,
    at: u64,
}

#[cfg(target_os = "linux")]
impl Read for ReadFromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

/// Creates a file in memory that can be sealed.
#[cfg(target_os = "linux")]
fn file_in_memory() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("hookhost-code", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

/// Loads the code of an authentic file. Returns `None` if the file cannot be used.
fn loaded(engine: &Engine, entry: &Entry, path: &Path, code: io::Result<(TrustedFile, CodeCopy)>) -> Option<Component> {
    let component = code.and_then(|(opened, copy)| Ok((copy.component(engine)?, opened)));
    let (found, file) = counted(component, entry, path)?;
    file.touch();
    Some(found)
}

/// Returns the content that was read. If reading failed, logs the error, removes the file and returns `None`.
fn counted<T>(read: io::Result<T>, entry: &Entry, path: &Path) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(plugin = entry.name, file = %path.display(), %error, "compiled again, since the cached code cannot be used");
            // Remove the file, so that the error is logged only once. The next compilation writes a valid file.
            let _ = fs::remove_file(path);
            None
        }
    }
}

fn read_key(path: &Path) -> io::Result<[u8; KEY]> {
    let mut file = open(path)?;
    let mut key = [0; KEY];
    file.read_exact(&mut key)?;
    Ok(key)
}

/// Writes a file atomically, so that nobody reads an incomplete file.
fn write_new(directory: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.flush()?;
    if path.extension().is_some() { file.persist(path) } else { file.persist_noclobber(path) }?;
    Ok(())
}

/// Opens a file that no other user can have written or read.
fn open(path: &Path) -> io::Result<File> {
    match files::open(path, Guard::OnlyMineToRead, Links::Refused) {
        // The message needs no advice, because the plugin is compiled again.
        Err(FileError::Refused(refused)) => Err(io::Error::other(refused.fault)),
        opened => Ok(opened?),
    }
}

/// Fails on systems that do not report who can write a file, because the cache would not be safe there.
fn can_tell_owners() -> io::Result<()> {
    if cfg!(unix) {
        return Ok(());
    }
    Err(io::Error::other("this system does not report who else can write it"))
}

#[cfg(all(test, unix, feature = "compile"))]
mod tests;
