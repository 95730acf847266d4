//! What is counted and kept in memory beside the database: no verdict depends on it, but the time that an event takes does.

use super::*;
use crate::state::View;
use crate::store::Store;

struct Both(tempfile::TempDir, Store);

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hookhost.db"), 0).unwrap();
        Self(folder, store)
    }

    /// An event that writes to both scopes.
    fn write(&self, session: &str, value: &str) {
        let mut view = View::new(self.1.snapshot(&"p".into(), session, 0), 1000, 0);
        view.set(Scope::Session, "k", value.into(), None).unwrap();
        view.set(Scope::Plugin, "k", value.into(), None).unwrap();
        let writes = vec![("p".into(), view.into_parts().0)];
        let unit = Unit { records: Vec::new(), writes, session: session.into(), time: 0 };
        self.1.on_disk().unwrap().attempt(&unit).unwrap();
    }

    /// What is known, by session: the version, and the bytes.
    fn known(&self) -> Vec<(String, i64, usize)> {
        let counts = self.1.on_disk().unwrap().readers.counts();
        let known = counts.0.iter().map(|((_, session), counted)| {
            (session.clone(), counted.version, counted.usage.bytes - KEY_COST * counted.usage.keys)
        });
        let mut known: Vec<_> = known.collect();
        known.sort();
        known
    }
}

#[test]
fn what_was_counted_once_is_kept_right_without_counting_again() {
    let both = Both::new();
    both.write("s", "1");
    assert_eq!(both.known(), [], "nothing was there yet to be counted");
    both.write("s", "22");
    assert_eq!(both.known(), [(String::new(), 2, 3), ("s".into(), 2, 3)]);
    both.write("s", "333");
    assert_eq!(both.known(), [(String::new(), 3, 4), ("s".into(), 3, 4)]);
}

#[test]
fn what_another_process_has_written_to_in_between_is_counted_anew() {
    let both = Both::new();
    both.write("s", "1");
    both.write("s", "22");
    let other = Store::open(&both.0.path().join("hookhost.db"), 0).unwrap();
    let mut view = View::new(other.snapshot(&"p".into(), "s", 0), 1000, 0);
    view.set(Scope::Session, "more", b"4444".to_vec(), None).unwrap();
    let unit = Unit { writes: vec![("p".into(), view.into_parts().0)], session: "s".into(), ..Unit::default() };
    other.on_disk().unwrap().attempt(&unit).unwrap();
    let usage = both.1.snapshot(&"p".into(), "s", 0).usage().unwrap();
    assert_eq!(usage.map(|usage| (usage.keys, usage.bytes - KEY_COST * usage.keys)), [(2, 11), (1, 3)]);
}

#[test]
fn the_spaces_of_a_session_that_has_ended_are_forgotten_and_no_others() {
    let both = Both::new();
    for session in ["s", "t"] {
        both.write(session, "1");
        both.write(session, "2");
    }
    both.1.forget("s");
    let left = both.known().into_iter().map(|(session, ..)| session).collect::<Vec<_>>();
    assert_eq!(left, ["", "t"]);
}
