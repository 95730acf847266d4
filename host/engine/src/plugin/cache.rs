//! Compiled code, kept between runs: `.cwasm` files in a folder that is the user's alone.
//!
//! Loading such a file is as dangerous as running it, so one counts only if it and its folder belong to the user, nobody
//! else can write them, and it carries a code that only this user's key makes. Anything else is compiled anew: the cache
//! can make a start slower, never wrong.

use crate::allowlist::Entry;
use crate::files::{self, FileError, Guard, Links};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::hash::{Hash as _, Hasher};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Which layout a file has: compiled code, then a byte that says whether it is an image, then the code that vouches for
/// both. What is compiled comes first, so that it can be mapped where it is.
const LAYOUT: u8 = 2;

/// Bytes of the code that vouches for a file, and of all that stands behind the compiled code.
const TAG: usize = 32;
const TAIL: usize = 1 + TAG;

/// Bytes of a file that are read and hashed at a time.
const PIECE: usize = 64 * 1024;

/// Bytes of the key: a whole block of SHA-256.
const KEY: usize = 64;

/// What the names of the files end in.
const EXTENSION: &str = "cwasm";

/// A folder of compiled components.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    key: [u8; KEY],
}

/// A component out of the cache, and whether it holds what `configure` left.
pub(super) struct Cached {
    pub(super) component: Component,
    pub(super) is_image: bool,
}

/// Which compiled code of an entry's component.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code<'a> {
    /// What its events run in: of its configuration.
    Configured(&'a Entry),
    /// What it is configured in to take an image: the same for all configurations.
    Instrumented(&'a Entry),
}

impl Code<'_> {
    fn entry(&self) -> &Entry {
        let (Self::Configured(entry) | Self::Instrumented(entry)) = self;
        entry
    }
}

impl Cache {
    /// The cache in `folder`, made where it is not there.
    ///
    /// # Errors
    /// If the folder is not the user's alone, or its key cannot be read or made.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        can_tell_owners()?;
        files::make_own_folder(folder)?;
        files::check_own_folder(folder)?;
        let path = folder.join("key");
        let key = match read_key(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; KEY];
                SysRng.try_fill_bytes(&mut key).map_err(io::Error::other)?;
                // Another process may have been first; then its key is the one.
                match write_new(folder, &path, &[&key]) {
                    Ok(()) => key,
                    Err(_) => read_key(&path)?,
                }
            }
            key => key?,
        };
        Ok(Self { folder: folder.to_owned(), key })
    }

    /// The code, compiled by this engine with these settings; `None` where there is none that counts.
    pub(super) fn get(&self, engine: &Engine, code: Code<'_>) -> Option<Cached> {
        let (path, entry) = (self.path(engine, code), code.entry());
        match self.read(engine, &path) {
            Ok(cached) => Some(cached),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(plugin = entry.name, file = %path.display(), %error, "compiled anew, since the cached code cannot be used");
                None
            }
        }
    }

    /// Keeps a component. That it could not be kept is said, and changes nothing.
    pub(super) fn put(&self, engine: &Engine, code: Code<'_>, component: &Component, is_image: bool) {
        let (path, entry) = (self.path(engine, code), code.entry());
        let kept = component.serialize().map_err(io::Error::other).and_then(|code| {
            let flag = [u8::from(is_image)];
            let mut tag = self.tag(&path);
            tag.update(&code);
            tag.update(&flag);
            write_new(&self.folder, &path, &[&code, &flag, &tag.finalize().into_bytes()])
        });
        if let Err(error) = kept {
            tracing::warn!(plugin = entry.name, file = %path.display(), %error, "the compiled code could not be kept");
        }
    }

    /// A file for each plugin, configuration (or none), engine version and engine setting.
    fn path(&self, engine: &Engine, code: Code<'_>) -> PathBuf {
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
        // Our own version stands for the pre-initialiser's: an image is only as right as what made it.
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        code.entry().digest.as_bytes().hash(&mut hasher);
        let config = match code {
            // Whether there are folders, since with some a plugin that looks for them too early is refused.
            // And under which limits it took its configuration: under others it may not.
            Code::Configured(entry) => {
                let config = serde_json::Value::Object(entry.config.clone()).to_string();
                Some((config, entry.grants.gives_folders(), format!("{:?}", entry.limits)))
            }
            Code::Instrumented(_) => None,
        };
        config.hash(&mut hasher);
        let name = hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.folder.join(name).with_extension(EXTENSION)
    }

    fn read(&self, engine: &Engine, path: &Path) -> io::Result<Cached> {
        let is_image = self.vouched_for(path)?;
        #[expect(unsafe_code, reason = "wasmtime cannot check compiled code, so it leaves that to us")]
        // SAFETY: the file is what `Component::serialize` gave to `put`: the code over it is made with a key that only this
        // user can read, and the file's name, which says which engine, is part of what it is made over. It is still that
        // file when it is mapped, and stays as it is: nobody else can reach the folder, and we write a file once, under
        // another name, and then only replace or remove it.
        let component = unsafe { Component::deserialize_file(engine, path) };
        let component = component.or_else(|_| {
            // Where nothing may be executed from the file system it is on, it can be copied.
            let mut code = fs::read(path)?;
            code.truncate(code.len().saturating_sub(TAIL));
            #[expect(unsafe_code, reason = "as above")]
            // SAFETY: as above.
            let component = unsafe { Component::deserialize(engine, &code) };
            component.map_err(io::Error::other)
        })?;
        Ok(Cached { component, is_image })
    }

    /// Whether it is an image. That, and the compiled code, is what this user's key vouches for.
    fn vouched_for(&self, path: &Path) -> io::Result<bool> {
        let mut file = open(path)?;
        let mut left =
            file.metadata()?.len().checked_sub(TAIL as u64).ok_or_else(|| io::Error::other("it is cut off"))?;
        let mut tag = self.tag(path);
        let mut piece = vec![0; PIECE];
        while left > 0 {
            let length = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            file.read_exact(&mut piece[..length])?;
            tag.update(&piece[..length]);
            left -= length as u64;
        }
        let mut tail = [0; TAIL];
        file.read_exact(&mut tail)?;
        let (flag, expected) = tail.split_at(1);
        tag.update(flag);
        tag.verify_slice(expected).map_err(|_| io::Error::other("its authenticity code is wrong"))?;
        Ok(flag == [1])
    }

    /// The code that vouches for a file, begun with its name.
    fn tag(&self, path: &Path) -> Hmac<Sha256> {
        let mut tag = Hmac::<Sha256>::new(&self.key.into());
        tag.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        tag
    }
}

/// What is in a folder of compiled code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheFiles {
    /// Files of compiled code, one for each plugin, configuration, engine version and engine setting.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those among them that are compiled anew when they are asked for, and why: what is foreign, loosely protected, cut off
    /// or not by this user's key.
    pub unusable: Vec<(PathBuf, String)>,
}

/// Looks at the folder that [`crate::HostBuilder::cache`] was given; one that is not there is empty.
///
/// # Errors
/// If the folder cannot be read, or others can reach it.
pub fn cache_files(folder: &Path) -> io::Result<CacheFiles> {
    let mut found = CacheFiles::default();
    if !folder.exists() {
        return Ok(found);
    }
    let cache = Cache::open(folder)?;
    for path in compiled_in(folder)? {
        found.files += 1;
        found.bytes += fs::symlink_metadata(&path)?.len();
        if let Err(error) = cache.vouched_for(&path) {
            found.unusable.push((path, error.to_string()));
        }
    }
    Ok(found)
}

/// Removes all compiled code from a folder, and says what that was. The plugins are compiled anew when they load next.
///
/// # Errors
/// If the folder cannot be read, or a file cannot be removed.
pub fn clear_cache(folder: &Path) -> io::Result<CacheFiles> {
    let mut removed = CacheFiles::default();
    if !folder.exists() {
        return Ok(removed);
    }
    for path in compiled_in(folder)? {
        let bytes = fs::symlink_metadata(&path)?.len();
        fs::remove_file(&path)?;
        removed.files += 1;
        removed.bytes += bytes;
    }
    Ok(removed)
}

/// The files of compiled code in a folder, by name.
fn compiled_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_key(path: &Path) -> io::Result<[u8; KEY]> {
    let mut file = open(path)?;
    let mut key = [0; KEY];
    file.read_exact(&mut key)?;
    Ok(key)
}

/// Writes a file as a whole: nobody ever reads half of one.
fn write_new(folder: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.flush()?;
    if path.extension().is_some() { file.persist(path) } else { file.persist_noclobber(path) }?;
    Ok(())
}

/// Opens a file that nobody else can have written or read.
fn open(path: &Path) -> io::Result<File> {
    match files::open(path, Guard::OnlyMineToRead, Links::Refused) {
        // It is compiled anew, so there is nothing to do about it.
        Err(FileError::Refused(refused)) => Err(io::Error::other(refused.fault)),
        opened => Ok(opened?),
    }
}

/// Where the system does not say who can write a file, nothing is cached.
fn can_tell_owners() -> io::Result<()> {
    if cfg!(unix) {
        return Ok(());
    }
    Err(io::Error::other("who else can write it cannot be told on this system"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Cache, CacheFiles, Code, TAG, TAIL, cache_files, clear_cache};
    use crate::allowlist::{Digest, Entry};
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};
    use wasmtime::{Engine, component::Component};

    struct Place {
        folder: tempfile::TempDir,
        engine: Engine,
        entry: Entry,
    }

    impl Place {
        fn new() -> Self {
            let digest = Digest::of_bytes(b"a plugin");
            Self {
                folder: tempfile::tempdir().unwrap(),
                engine: Engine::default(),
                entry: Entry::new("p", "p.wasm", digest),
            }
        }

        fn place(&self) -> PathBuf {
            self.folder.path().join("cache")
        }

        fn cache(&self) -> Cache {
            Cache::open(&self.place()).unwrap()
        }

        fn code(&self) -> Code<'_> {
            Code::Configured(&self.entry)
        }

        /// The cached file of a component that was just put there.
        fn filled(&self) -> PathBuf {
            let component = Component::new(&self.engine, wat::parse_str("(component)").unwrap()).unwrap();
            self.cache().put(&self.engine, self.code(), &component, true);
            let path = self.cache().path(&self.engine, self.code());
            assert!(self.is_hit());
            path
        }

        fn is_hit(&self) -> bool {
            self.cache().get(&self.engine, self.code()).is_some_and(|cached| cached.is_image)
        }
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_was_put_is_got_by_another_process_with_the_same_settings() {
        let mut place = Place::new();
        place.filled();
        place.engine = Engine::default();
        assert!(place.is_hit());
        place.engine = Engine::new(wasmtime::Config::new().consume_fuel(true)).unwrap();
        assert!(!place.is_hit());
    }

    #[test]
    fn another_digest_or_configuration_is_another_file() {
        let mut place = Place::new();
        place.filled();
        place.entry.config.insert("a".into(), 1.into());
        assert!(!place.is_hit());
        place.entry.config.clear();
        place.entry.digest = Digest::of_bytes(b"another");
        assert!(!place.is_hit());
    }

    #[test]
    fn what_an_image_is_taken_in_is_one_file_for_all_configurations_and_never_runs_events() {
        let mut place = Place::new();
        place.filled();
        let of_no_configuration = place.cache().path(&place.engine, Code::Instrumented(&place.entry));
        assert_ne!(of_no_configuration, place.cache().path(&place.engine, place.code()));
        assert!(place.cache().get(&place.engine, Code::Instrumented(&place.entry)).is_none());
        place.entry.config.insert("a".into(), 1.into());
        assert_eq!(of_no_configuration, place.cache().path(&place.engine, Code::Instrumented(&place.entry)));
    }

    #[test]
    fn a_changed_or_truncated_file_does_not_count() {
        let place = Place::new();
        let path = place.filled();
        let whole = fs::read(&path).unwrap();
        for at in [0, whole.len() / 2, whole.len() - TAIL, whole.len() - TAG, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(!place.is_hit(), "byte {at}");
        }
        for length in [0, TAG, TAIL, whole.len() - TAIL, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(!place.is_hit(), "{length} bytes");
        }
        fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
        assert!(!place.is_hit(), "longer");
        fs::write(&path, whole).unwrap();
        assert!(place.is_hit());
    }

    #[test]
    fn a_file_under_another_name_or_key_does_not_count() {
        let mut place = Place::new();
        let path = place.filled();
        place.entry.digest = Digest::of_bytes(b"another");
        fs::copy(&path, place.cache().path(&place.engine, place.code())).unwrap();
        assert!(!place.is_hit());
        let other = Place::new();
        let target = other.cache().path(&other.engine, other.code());
        fs::copy(&path, &target).unwrap();
        assert!(!other.is_hit());
    }

    #[test]
    fn what_is_there_can_be_counted_and_cleared() {
        let place = Place::new();
        assert_eq!(cache_files(&place.place()).unwrap(), CacheFiles::default());
        assert_eq!(clear_cache(&place.place()).unwrap(), CacheFiles::default());
        let path = place.filled();
        let bytes = fs::metadata(&path).unwrap().len();
        let sound = CacheFiles { files: 1, bytes, unusable: Vec::new() };
        assert_eq!(cache_files(&place.place()).unwrap(), sound);
        mode(&path, 0o644);
        let found = cache_files(&place.place()).unwrap();
        let [(unusable, why)] = &found.unusable[..] else { panic!("{found:?}") };
        assert!(*unusable == path && why.contains("other users can read it (mode 644)"), "{found:?}");
        assert_eq!(clear_cache(&place.place()).unwrap(), sound);
        assert_eq!(cache_files(&place.place()).unwrap(), CacheFiles::default());
        place.filled();
    }

    #[test]
    fn a_file_or_folder_that_others_can_reach_does_not_count() {
        let place = Place::new();
        let path = place.filled();
        mode(&path, 0o620);
        assert!(!place.is_hit());
        mode(&path, 0o600);
        assert!(place.is_hit());
        mode(&place.place(), 0o770);
        assert!(Cache::open(&place.place()).is_err());
    }
}
