//! Tests of the cached sizes of namespaces. No decision depends on whether a size is cached, but the duration of an
//! event does.

use super::*;
use crate::state::View;
use crate::store::Store;

fn root(session: &str) -> String {
    format!("root-{session}")
}

/// Returns the lineage of a session. Each session has a separate tree.
fn of(session: &str) -> Lineage<'static> {
    match session {
        "s" => Lineage { session: "s", root: "root-s" },
        _ => Lineage { session: "t", root: "root-t" },
    }
}

struct Both(tempfile::TempDir, Store);

impl Both {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("hookhost.db"), 0).unwrap();
        Self(directory, store)
    }

    /// Commits an event that writes to all scopes.
    fn write(&self, session: &str, value: &str) {
        let mut view = View::new(self.1.snapshot(&"p".into(), of(session), 0), 1000, 0);
        for scope in Scope::ALL {
            view.set(scope, "k", value.into(), None).unwrap();
        }
        let writes = vec![("p".into(), view.into_parts().0)];
        let unit = Unit { writes, session: session.into(), root: root(session).into(), ..Unit::default() };
        self.1.on_disk().unwrap().attempt(&unit).unwrap();
    }

    /// Returns the cached sizes: the scope, the session, the version and the number of bytes.
    fn known(&self) -> Vec<(Scope, String, i64, usize)> {
        let counts = self.1.on_disk().unwrap().readers.counts.lock().unwrap();
        let known = counts.0.iter().map(|(owner, counted)| {
            (owner.scope, owner.session.clone(), counted.version, counted.usage.bytes - KEY_COST * counted.usage.keys)
        });
        let mut known: Vec<_> = known.collect();
        known.sort();
        known
    }
}

#[test]
fn a_cached_size_stays_right_without_counting_again() {
    let all = |version, bytes| {
        [(Scope::Session, "s"), (Scope::Tree, "root-s"), (Scope::Plugin, "")]
            .map(|(scope, of)| (scope, of.to_owned(), version, bytes))
    };
    let both = Both::new();
    both.write("s", "1");
    assert_eq!(both.known(), [], "nothing was there yet to be counted");
    both.write("s", "22");
    assert_eq!(both.known(), all(2, 3));
    both.write("s", "333");
    assert_eq!(both.known(), all(3, 4));
}

#[test]
fn a_namespace_that_another_process_has_written_to_is_counted_again() {
    let both = Both::new();
    both.write("s", "1");
    both.write("s", "22");
    let other = Store::open(&both.0.path().join("hookhost.db"), 0).unwrap();
    let mut view = View::new(other.snapshot(&"p".into(), of("s"), 0), 1000, 0);
    view.set(Scope::Session, "more", b"4444".to_vec(), None).unwrap();
    let unit = Unit { writes: vec![("p".into(), view.into_parts().0)], session: "s".into(), ..Unit::default() };
    other.on_disk().unwrap().attempt(&unit).unwrap();
    let usage = both.1.snapshot(&"p".into(), of("s"), 0).usage().unwrap();
    assert_eq!(usage.map(|usage| (usage.keys, usage.bytes - KEY_COST * usage.keys)), [(2, 11), (1, 3), (1, 3)]);
}

#[test]
fn the_sizes_of_an_ended_session_and_of_its_tree_are_forgotten_and_no_others() {
    let both = Both::new();
    for session in ["s", "t"] {
        both.write(session, "1");
        both.write(session, "2");
    }
    both.1.forget(of("s"));
    let left = both.known().into_iter().map(|(_, session, ..)| session).collect::<Vec<_>>();
    assert_eq!(left, ["t", "root-t", ""]);
}
