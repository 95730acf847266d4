//! Loads a plugin: reads its file, compares the digest, and checks, compiles and configures the component.

#[cfg(feature = "cache")]
use super::component_file::{self, Allowed};
use super::link::{CheckedComponent, LinkedComponent, unfit};
use super::{ConfiguredPlugin, ContractError, LoadError, Plugin, Runs, configure, tools};
use crate::config::{Code, CompiledComponent, Digest, Entry};
use crate::sandbox::capability::OwnCapabilities;
use crate::sandbox::{PreopenError, Preopens, SharedSandbox};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::Component;

impl Plugin {
    /// Loads the plugin of an entry of the allowlist. If `known` is the plugin of this entry, returns `known`.
    ///
    /// # Errors
    /// If the file does not have the allowed digest, if the file is not a component that implements the contract, or if
    /// the plugin rejects its configuration.
    pub(crate) async fn load(compiler: &Compiler<'_>, entry: &Entry, known: Option<Self>) -> Result<Self, LoadError> {
        let Compiler { sandbox, own, .. } = *compiler;
        // The file is checked even if the plugin is already loaded, because a changed file must be reported.
        let source = Source::of(compiler, entry)?;
        if let Some(capability) = own.missing(entry.grants.capabilities.iter()) {
            return Err(LoadError::NoCapability {
                name: entry.name.clone(),
                capability: capability.to_owned(),
                known: own.names().join(", "),
            });
        }
        match known.filter(|known| known.is_of(sandbox, entry, own)) {
            Some(known) if known.entry() == entry => return Ok(known),
            // The plugin is the same, but the position of its entry in the configuration may have changed.
            Some(known) => {
                let shared = ConfiguredPlugin { entry: entry.clone(), ..(*known.shared).clone() };
                return Ok(Self { shared: Arc::new(shared) });
            }
            None => {}
        }
        let preopens = preopens(entry)?;
        let (linked, is_image, digest) = match source {
            Source::Compiled(compiled) => (compiler.linked_ahead(entry, compiled).await?, false, compiled.digest()),
            #[cfg(feature = "cache")]
            Source::Component(component) => {
                let digest = component.digest;
                let (linked, is_image) = match compiler.kept(entry, &component)? {
                    Some(kept) => kept,
                    None => compiler.linked_now(entry, component).await?,
                };
                (linked, is_image, digest)
            }
        };
        // An image contains the state after `configure`, so `configure` is not called again.
        let configure = linked.surface.configure.filter(|_| !is_image);
        let tools = tools::listed(&linked, configure.as_ref()).await?;
        let loaded = linked.loaded(digest, configure, preopens, tools)?;
        Ok(Self { shared: Arc::new(loaded) })
    }

    /// Returns true if loading this entry would result in this plugin.
    pub(crate) fn is_of(&self, sandbox: &SharedSandbox, entry: &Entry, own: &OwnCapabilities) -> bool {
        let is_brought = |(name, interface): &(Arc<str>, String)| {
            own.of_interface(interface).is_some_and(|capability| capability.name == *name)
        };
        match &self.shared.runs {
            Runs::Component(component) => {
                Arc::ptr_eq(&component.sandbox, sandbox)
                    && self.entry().says_the_same(entry)
                    && component.own.iter().all(is_brought)
            }
            Runs::Native(_) => false,
        }
    }
}

/// The engine, the cache, the capabilities and the time limit that are needed to load components.
pub(crate) struct Compiler<'a> {
    pub(crate) sandbox: &'a SharedSandbox,
    #[cfg(feature = "cache")]
    pub(crate) cache: Option<&'a super::Cache>,
    /// The embedding program's capabilities, which plugins may import in addition to the contract's capabilities.
    pub(crate) own: &'a OwnCapabilities,
    /// The time limit for a compilation, from `settings.compile-time`.
    pub(crate) within: Duration,
}

impl Compiler<'_> {
    /// Returns the linked component of an entry if its compiled code is in the cache. The flag is true if the code is an image,
    /// which contains the state after `configure`.
    #[cfg(feature = "cache")]
    fn kept(
        &self,
        entry: &Entry,
        component: &AllowedComponent<'_>,
    ) -> Result<Option<(LinkedComponent, bool)>, LoadError> {
        let Some(cache) = self.cache else { return Ok(None) };
        if let Code::File { path, digest } = &entry.code
            && let Some(stamp) = component.read.as_ref().and_then(|read| read.stamp)
        {
            cache.put_stamp(path, digest, stamp);
        }
        let Some((code, outcome)) = cache.kept(self.sandbox.engine(), entry) else { return Ok(None) };
        Ok(Some((CheckedComponent::new(self.sandbox, entry, &code, self.own)?.link()?, outcome.is_image)))
    }

    #[cfg(feature = "compile")]
    async fn linked_now(
        &self,
        entry: &Entry,
        component: AllowedComponent<'_>,
    ) -> Result<(LinkedComponent, bool), LoadError> {
        let allowed = component.read.map_or_else(|| component_file::of(entry), Ok)?;
        // This future is large and rarely needed. The box keeps its state out of the futures that await a load.
        let linked: crate::BoxFuture<'_, _> = Box::pin(super::compile::linked(self, entry, &allowed));
        linked.await
    }

    #[cfg(all(feature = "cache", not(feature = "compile")))]
    async fn linked_now(&self, entry: &Entry, _: AllowedComponent<'_>) -> Result<(LinkedComponent, bool), LoadError> {
        Err(LoadError::NoCompiler { name: entry.name.clone() })
    }

    /// Checks and links a component that was compiled ahead of time, and checks that the component accepts its
    /// configuration.
    async fn linked_ahead(&self, entry: &Entry, compiled: &CompiledComponent) -> Result<LinkedComponent, LoadError> {
        #[expect(unsafe_code, reason = "wasmtime cannot check compiled code, so the program vouches for it")]
        // SAFETY: a caller that creates a `CompiledComponent` from bytes guarantees that `to_bytes` returned these bytes.
        // `Component::serialize` wrote their code. wasmtime refuses code that another version or another engine has compiled.
        let component = unsafe { Component::deserialize(self.sandbox.engine(), compiled.code()) };
        let component = component.map_err(|error| {
            let why = format!("it was compiled for another engine: compile it again with this version ({error:#})");
            unfit(entry, ContractError::NotCompiled(why))
        })?;
        let linked = CheckedComponent::new(self.sandbox, entry, &component, self.own)?.link()?;
        configure::try_out(&linked).await?;
        Ok(linked)
    }
}

/// The source of an entry's code.
enum Source<'a> {
    /// Compiled code.
    Compiled(&'a CompiledComponent),
    /// A component.
    #[cfg(feature = "cache")]
    Component(AllowedComponent<'a>),
}

/// A component whose file exists and has the allowed digest.
#[cfg(feature = "cache")]
struct AllowedComponent<'a> {
    digest: Digest,
    /// `None` if the file was not read because it still has its stored stamp.
    read: Option<Allowed<'a>>,
}

#[cfg(feature = "cache")]
impl<'a> AllowedComponent<'a> {
    fn of(cache: Option<&super::Cache>, entry: &'a Entry) -> Result<Self, LoadError> {
        if let (Code::File { path, digest }, Some(cache)) = (&entry.code, cache)
            && cache.stamp(path, digest).is_some_and(|stamp| stamp.is_of(path))
        {
            return Ok(Self { digest: *digest, read: None });
        }
        let read = component_file::of(entry)?;
        Ok(Self { digest: read.digest, read: Some(read) })
    }
}

impl<'a> Source<'a> {
    #[cfg_attr(not(feature = "cache"), expect(unused_variables, reason = "compiled code is in the entry"))]
    fn of(compiler: &Compiler<'_>, entry: &'a Entry) -> Result<Self, LoadError> {
        match &entry.code {
            Code::Compiled(compiled) => Ok(Self::Compiled(compiled)),
            Code::Native(_) => Err(unfit(entry, ContractError::NotWasm)),
            #[cfg(feature = "cache")]
            Code::File { .. } | Code::Bytes(_) => AllowedComponent::of(compiler.cache, entry).map(Self::Component),
            #[cfg(not(feature = "cache"))]
            Code::File { .. } | Code::Bytes(_) => Err(LoadError::NoCompiler { name: entry.name.clone() }),
        }
    }
}

fn preopens(entry: &Entry) -> Result<Preopens, LoadError> {
    Preopens::open(&entry.grants).map_err(|PreopenError { grant, guest, directory, source }| LoadError::NoDirectory {
        name: entry.name.clone(),
        grant,
        guest,
        directory,
        source,
    })
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::AllowedComponent;
    use crate::config::{Code, Digest, Entry};
    use crate::plugin::LoadError;
    use crate::plugin::cache::Cache;
    use crate::plugin::stamp::Stamp;
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    const BYTES: &str = "a component";

    /// A file with a stored stamp. Normally a file that has just changed gets no stamp. Therefore this stamp was taken
    /// with a clock that is one hour ahead.
    struct Place {
        directory: tempfile::TempDir,
        cache: Cache,
        entry: Entry,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("p.wasm");
            fs::write(&path, BYTES).unwrap();
            let cache = Cache::open(&directory.path().join("cache")).unwrap();
            let place = Self { entry: Entry::new("p", &path, Digest::of_bytes(BYTES.as_bytes())), directory, cache };
            let later = SystemTime::now() + Duration::from_hours(1);
            let stamp = Stamp::of(&fs::metadata(&path).unwrap(), later).unwrap();
            place.cache.put_stamp(&path, &Digest::of_bytes(BYTES.as_bytes()), stamp);
            place
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join("p.wasm")
        }

        /// Returns true if the file was read.
        fn is_read(&self) -> Result<bool, LoadError> {
            AllowedComponent::of(Some(&self.cache), &self.entry).map(|component| {
                assert_eq!(component.digest, Digest::of_bytes(BYTES.as_bytes()));
                component.read.is_some()
            })
        }
    }

    #[test]
    fn a_file_that_is_known_by_its_stamp_is_not_read() {
        let place = Place::new();
        assert!(!place.is_read().unwrap());
        assert!(AllowedComponent::of(None, &place.entry).unwrap().read.is_some(), "without a cache");
    }

    #[test]
    fn the_same_bytes_in_another_file_are_read_and_under_another_configuration_are_not() {
        let place = Place::new();
        let copy = place.directory.path().join("copy.wasm");
        fs::copy(place.path(), &copy).unwrap();
        fs::rename(copy, place.path()).unwrap();
        assert!(place.is_read().unwrap());
        let mut place = Place::new();
        place.entry.config.insert("a".into(), 1.into());
        assert!(!place.is_read().unwrap());
    }

    #[test]
    fn a_changed_file_is_refused_also_where_its_size_and_its_time_of_writing_are_the_old_ones() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 3] = [
            ("written in place", |path| fs::write(path, "a_component").unwrap()),
            ("replaced", |path| {
                fs::write(path.with_extension("new"), "a_component").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("cut", |path| fs::write(path, "a").unwrap()),
        ];
        for (change, make) in changes {
            let place = Place::new();
            let path = place.path();
            let written = fs::metadata(&path).unwrap().modified().unwrap();
            // The clock for file times advances in steps. The loop repeats the change until the next step. A real stamp
            // is taken many steps after the last change, so the next change always has a different time.
            let changed = || std::os::unix::fs::MetadataExt::ctime_nsec(&fs::metadata(&path).unwrap());
            let stamped = changed();
            while changed() == stamped {
                make(&path);
                File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
            }
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
            let refused = place.is_read();
            assert!(matches!(refused, Err(LoadError::OtherDigest { .. })), "{change}: {refused:?}");
        }
    }

    #[test]
    fn a_file_that_is_gone_or_a_digest_that_is_no_longer_allowed_is_reported() {
        let mut place = Place::new();
        let Code::File { digest, .. } = &mut place.entry.code else { panic!() };
        *digest = Digest::of_bytes(b"another");
        assert!(matches!(AllowedComponent::of(Some(&place.cache), &place.entry), Err(LoadError::OtherDigest { .. })));
        let place = Place::new();
        fs::remove_file(place.path()).unwrap();
        assert!(matches!(place.is_read(), Err(LoadError::Unreadable { .. })));
    }
}
