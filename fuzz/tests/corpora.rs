//! What the fuzzer has found interesting, and what once fell out, on the toolchain that everything else is built with.

use hookhost::store::Log;
use hookhost_fuzz::TARGETS;
use std::path::Path;

/// Gives a target all of its corpus.
fn replay(name: &str) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut count = 0;
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        target(&std::fs::read(&path).expect("a file"));
        count += 1;
    }
    assert!(count > 0, "{} is empty", directory.display());
}

#[test]
fn what_the_targets_make_plugins_of_is_loaded_and_asked() {
    let corpus = |name: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name));
    assert!(hookhost_fuzz::loads(&corpus("loader/all-events-quiet").expect("a file")));
    // A script that does nothing: beside it, the one that refuses has decided.
    assert_eq!(hookhost_fuzz::hostile_is_refused(&[6]), Some("witness".to_owned()));
}

/// Otherwise nothing but the look at its version is tried.
#[test]
fn the_logs_of_the_corpus_are_of_todays_format() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/log");
    for (name, _) in hookhost_fuzz::logs() {
        // A log for reading is a file that its owner alone can write.
        let copy = tempfile::NamedTempFile::new().expect("a file");
        std::fs::copy(directory.join(name), copy.path()).expect("a file of the corpus");
        let log = Log::open(copy.path()).unwrap_or_else(|error| panic!("{name}: {error}; `{MAKE}` makes it again"));
        if ["database", "export"].contains(&name) {
            let report = log.verify(None).unwrap_or_else(|error| panic!("{name}: {error}; `{MAKE}` makes it again"));
            assert!(report.is_sound() && report.lines > 5, "{name}: {report:?}; `{MAKE}` makes it again");
        }
    }
}

/// Makes the corpus.
const MAKE: &str = "cargo test --workspace --test corpora -- --ignored make_the_logs";

#[test]
#[ignore = "it writes the corpus: run it where the log's format has changed"]
fn make_the_logs() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/log");
    for (name, bytes) in hookhost_fuzz::logs() {
        std::fs::write(directory.join(name), bytes).expect("a file of the corpus");
    }
}

macro_rules! targets {
    ($($target:ident)*) => {
        $(#[test] fn $target() { replay(stringify!($target)); })*

        #[test]
        fn every_target_is_replayed() {
            assert_eq!(TARGETS.map(|(name, _)| name), [$(stringify!($target)),*]);
        }
    };
}

targets!(loader components hostile configuration payload provider log schemas session shell messages frames mcp conditions rules);

#[test]
fn every_target_is_handed_to_the_fuzzer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in TARGETS {
        let file = root.join("fuzz_targets").join(format!("{name}.rs"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(text.contains(&format!("hookhost_fuzz::{name}(bytes)")), "{text}");
    }
}
