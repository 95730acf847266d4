use super::{
    CODE, Cache, CacheFile, CacheFiles, CompiledFunctions, OUTCOME, Outcome, Stamp, TAG, cache_files, clear_cache,
    counted, evict,
};
use crate::config::{Code, Digest, Entry};
use std::fs;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wasmtime::{Engine, component::Component};

fn stamp() -> Stamp {
    Stamp::of(&fs::metadata("/").unwrap(), SystemTime::now() + Duration::from_hours(1)).unwrap()
}

fn another() -> Code {
    Code::File { path: "p.wasm".into(), digest: Digest::of_bytes(b"another") }
}

struct Place {
    directory: tempfile::TempDir,
    engine: Engine,
    entry: Entry,
}

impl Place {
    fn new() -> Self {
        let digest = Digest::of_bytes(b"a plugin");
        Self {
            directory: tempfile::tempdir().unwrap(),
            engine: Engine::default(),
            entry: Entry::new("p", "p.wasm", digest),
        }
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn cache(&self) -> Cache {
        Cache::open(&self.place()).unwrap()
    }

    /// Stores a component in the cache, and returns the path of its file.
    fn filled(&self) -> PathBuf {
        let component = Component::new(&self.engine, wat::parse_str("(component)").unwrap()).unwrap();
        self.cache().put_code(&self.entry, &self.entry.code.digest().unwrap(), &component);
        assert!(self.is_hit());
        self.path()
    }

    fn path(&self) -> PathBuf {
        self.cache().path(CacheFile::Code(&self.entry.code.digest().unwrap()))
    }

    fn is_hit(&self) -> bool {
        self.cache().code(&self.engine, &self.entry, &self.entry.code.digest().unwrap()).is_some()
    }

    fn outcome(&self) -> Option<Outcome> {
        let path = self.cache().path(CacheFile::Outcome(&self.entry));
        counted(self.cache().read_outcome(&path), &self.entry, &path).map(|(outcome, _)| outcome)
    }

    /// Stores an outcome in the cache, and returns the path of its file.
    fn settled(&self) -> PathBuf {
        let outcome = Outcome { code: Digest::of_bytes(b"an image"), is_image: true };
        self.cache().put_outcome(&self.entry, &outcome);
        assert_eq!(self.outcome(), Some(outcome));
        self.cache().path(CacheFile::Outcome(&self.entry))
    }
}

/// Writes a file that only the user can access. It replaces an invalid file that the cache has removed.
fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    mode(path, 0o600);
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn code_that_runs_does_not_change_with_the_file_that_it_came_from() {
    let place = Place::new();
    let module = "(core module (func (export \"f\") (result i32) i32.const 7))";
    let text = format!(
        "(component {module} (core instance $i (instantiate 0)) (func (export \"f\") (result u32) (canon lift (core func $i \"f\"))))"
    );
    let component = Component::new(&place.engine, wat::parse_str(text).unwrap()).unwrap();
    let digest = place.entry.code.digest().unwrap();
    place.cache().put_code(&place.entry, &digest, &component);
    let kept = place.cache().code(&place.engine, &place.entry, &digest).unwrap();
    // If a process has mapped a file that is then truncated, the system ends the process when it accesses the missing
    // part.
    fs::OpenOptions::new().write(true).open(place.path()).unwrap().set_len(0).unwrap();
    let mut store = wasmtime::Store::new(&place.engine, ());
    let instance = wasmtime::component::Linker::new(&place.engine).instantiate(&mut store, &kept).unwrap();
    let f = instance.get_typed_func::<(), (u32,)>(&mut store, "f").unwrap();
    assert_eq!(f.call(&mut store, ()).unwrap(), (7,));
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
fn code_is_one_file_for_all_configurations_and_limits_and_their_outcomes_are_others() {
    let mut place = Place::new();
    place.filled();
    place.settled();
    place.entry.config.insert("a".into(), 1.into());
    assert!(place.is_hit() && place.outcome().is_none());
    place.settled();
    place.entry.limits.deadline = Some(Duration::from_secs(9));
    assert!(place.is_hit() && place.outcome().is_none());
    place.settled();
    place.entry.code = another();
    assert!(!place.is_hit() && place.outcome().is_none());
}

#[test]
fn an_outcome_is_of_what_taking_the_configuration_depends_on_and_of_nothing_else() {
    fn count(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }
    fn size(bytes: usize) -> NonZeroUsize {
        NonZeroUsize::new(bytes).unwrap()
    }
    type Change = fn(&mut Entry);
    let depends: [(&str, Change); 13] = [
        ("digest", |entry| entry.code = another()),
        ("config", |entry| drop(entry.config.insert("a".into(), 1.into()))),
        ("directories", |entry| drop(entry.grants.read_dirs.insert("a".into(), "/a".into()))),
        ("fuel", |entry| entry.limits.fuel = NonZeroU64::MIN),
        ("compute", |entry| entry.limits.compute = Some(Duration::from_millis(99))),
        ("deadline", |entry| entry.limits.deadline = Some(Duration::from_millis(101))),
        ("memory", |entry| entry.limits.memory = size(7)),
        ("table-elements", |entry| entry.limits.table_elements = count(7)),
        ("tables", |entry| entry.limits.tables = count(7)),
        ("instances", |entry| entry.limits.instances = count(7)),
        ("handles", |entry| entry.limits.handles = count(7)),
        ("output", |entry| entry.limits.output = size(7)),
        ("capability-calls", |entry| entry.limits.capability_calls = count(7)),
    ];
    let others: [(&str, Change); 6] = [
        ("name", |entry| entry.name = "q".into()),
        ("path", |entry| {
            let digest = entry.code.digest().unwrap();
            entry.code = Code::File { path: "/elsewhere/q.wasm".into(), digest };
        }),
        ("priority", |entry| entry.priority = 7),
        ("input", |entry| entry.limits.input = size(7)),
        ("log", |entry| entry.limits.log = size(7)),
        ("http-body", |entry| entry.limits.http_body = size(7)),
    ];
    let place = Place::new();
    let cache = place.cache();
    let path = |change: Change| {
        let mut entry = place.entry.clone();
        change(&mut entry);
        cache.path(CacheFile::Outcome(&entry))
    };
    let as_it_is = path(|_| ());
    let mut paths = vec![as_it_is.clone()];
    for (what, change) in depends {
        assert!(!paths.contains(&path(change)), "{what}");
        paths.push(path(change));
    }
    for (what, change) in others {
        assert_eq!(path(change), as_it_is, "{what}");
    }
}

#[test]
fn a_changed_outcome_or_one_of_another_entry_does_not_count() {
    let mut place = Place::new();
    let path = place.settled();
    let whole = fs::read(&path).unwrap();
    for at in [0, 1, OUTCOME - 1, OUTCOME, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        write(&path, &changed);
        assert_eq!(place.outcome(), None, "byte {at}");
    }
    write(&path, &whole);
    assert!(place.outcome().is_some());
    place.entry.config.insert("a".into(), 1.into());
    fs::copy(&path, place.settled()).unwrap();
    assert_eq!(place.outcome(), None);
}

#[test]
fn a_stamp_that_was_changed_or_cut_or_is_of_another_path_or_digest_does_not_count() {
    let place = Place::new();
    let (cache, digest) = (place.cache(), Digest::of_bytes(b"a plugin"));
    let [file, other] = ["/a.wasm", "/b.wasm"].map(Path::new);
    cache.put_stamp(file, &digest, stamp());
    assert_eq!(cache.stamp(file, &digest), Some(stamp()));
    assert_eq!(cache.stamp(other, &digest), None);
    let path = cache.path(CacheFile::Stamp(file, &digest));
    fs::copy(&path, cache.path(CacheFile::Stamp(other, &digest))).unwrap();
    assert_eq!(cache.stamp(other, &digest), None);
    fs::copy(&path, cache.path(CacheFile::Stamp(file, &Digest::of_bytes(b"another")))).unwrap();
    assert_eq!(cache.stamp(file, &Digest::of_bytes(b"another")), None);
    let whole = fs::read(&path).unwrap();
    for at in [0, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        write(&path, &changed);
        assert_eq!(cache.stamp(file, &digest), None, "byte {at}");
        write(&path, &whole[..at]);
        assert_eq!(cache.stamp(file, &digest), None, "{at} bytes");
    }
    write(&path, &whole);
    assert_eq!(cache.stamp(file, &digest), Some(stamp()));
    clear_cache(&place.place()).unwrap();
    assert_eq!(cache.stamp(file, &digest), None);
}

#[test]
fn compiled_functions_that_were_changed_or_cut_or_are_of_another_component_do_not_count() {
    let place = Place::new();
    let (cache, digest) = (place.cache(), Digest::of_bytes(b"a plugin"));
    let functions = CompiledFunctions::default();
    cache.put_functions(&place.entry, &digest, &functions);
    assert!(cache.functions(&place.entry, &digest).is_none(), "nothing was compiled");
    functions.insert(b"key", b"code".to_vec());
    cache.put_functions(&place.entry, &digest, &functions);
    let stored = |digest| cache.functions(&place.entry, digest)?.get(b"key");
    assert_eq!(stored(&digest), Some(b"code".to_vec()));
    let path = cache.path(CacheFile::Functions(&digest));
    let other = Digest::of_bytes(b"another");
    fs::copy(&path, cache.path(CacheFile::Functions(&other))).unwrap();
    assert_eq!(stored(&other), None);
    let whole = fs::read(&path).unwrap();
    for at in [0, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        write(&path, &changed);
        assert_eq!(stored(&digest), None, "byte {at}");
        write(&path, &whole[..at]);
        assert_eq!(stored(&digest), None, "{at} bytes");
    }
    write(&path, &whole);
    assert_eq!(stored(&digest), Some(b"code".to_vec()));
}

#[test]
fn what_is_old_is_removed_and_what_was_used_longest_ago_where_there_is_too_much() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, days: u64| {
        let path = directory.path().join(name);
        fs::write(&path, [0; 100]).unwrap();
        let used = SystemTime::now() - Duration::from_hours(24 * days);
        fs::File::options().write(true).open(&path).unwrap().set_modified(used).unwrap();
        path
    };
    let files = [file("a.cwasm", 40), file("b.cwasm", 3), file("c.outcome", 2), file("d.cwasm", 1)];
    let key = file("key", 400);
    let there = || files.iter().map(|file| file.exists()).collect::<Vec<_>>();
    let month = Duration::from_hours(24 * 30);
    evict(directory.path(), &files[0], month, 1000).unwrap();
    assert_eq!(there(), [true; 4], "what was just written is kept");
    evict(directory.path(), &files[3], month, 1000).unwrap();
    assert_eq!(there(), [false, true, true, true]);
    evict(directory.path(), &files[3], month, 200).unwrap();
    assert_eq!(there(), [false, false, true, true]);
    evict(directory.path(), &files[3], month, 0).unwrap();
    assert_eq!(there(), [false, false, false, true]);
    assert!(key.exists());
}

#[test]
fn a_changed_or_truncated_file_does_not_count() {
    let place = Place::new();
    let path = place.filled();
    let whole = fs::read(&path).unwrap();
    for at in [0, whole.len() / 2, whole.len() - TAG, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        write(&path, &changed);
        assert!(!place.is_hit(), "byte {at}");
    }
    for length in [0, TAG - 1, TAG, whole.len() - TAG, whole.len() - 1] {
        write(&path, &whole[..length]);
        assert!(!place.is_hit(), "{length} bytes");
    }
    write(&path, &[&whole[..], b"x"].concat());
    assert!(!place.is_hit(), "longer");
    assert!(!path.exists(), "what does not count is removed");
    write(&path, &whole);
    assert!(place.is_hit());
}

#[test]
fn what_another_layout_has_left_is_removed_before_anything_is_kept() {
    let place = Place::new();
    fs::create_dir(place.place()).unwrap();
    mode(&place.place(), 0o700);
    for left in ["key", "a.cwasm", "b.outcome"] {
        fs::write(place.place().join(left), "of another version").unwrap();
    }
    assert_eq!(cache_files(&place.place()).unwrap(), CacheFiles::default());
    place.filled();
    assert!(place.is_hit());
}

#[test]
fn a_file_under_another_name_or_key_does_not_count() {
    let mut place = Place::new();
    let path = place.filled();
    place.entry.code = another();
    fs::copy(&path, place.path()).unwrap();
    assert!(!place.is_hit());
    let other = Place::new();
    fs::copy(&path, other.path()).unwrap();
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
fn a_file_that_another_process_removes_meanwhile_is_not_counted() {
    let place = Place::new();
    let path = place.filled();
    let passing = place.place().join(format!("passing.{CODE}"));
    let bytes = fs::metadata(&path).unwrap().len();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            for _ in 0..2000 {
                fs::write(&passing, "x").unwrap();
                fs::remove_file(&passing).unwrap();
            }
        });
        while !other.is_finished() {
            let found = cache_files(&place.place()).unwrap();
            assert!(found.files >= 1 && found.bytes >= bytes, "{found:?}");
        }
    });
    assert_eq!(clear_cache(&place.place()).unwrap().files, 1);
}

#[test]
fn a_file_or_directory_that_others_can_reach_does_not_count() {
    let place = Place::new();
    let path = place.filled();
    mode(&path, 0o620);
    assert!(!place.is_hit());
    place.filled();
    mode(&place.place(), 0o770);
    assert!(Cache::open(&place.place()).is_err());
}
