//! What is in memory beside the database: no verdict depends on it, but the time and the memory that an event takes do.

use super::*;
use crate::state::{Snapshot, View};
use crate::store::database;

struct Both {
    connection: Connection,
    cache: SpaceCache,
}

impl Both {
    fn new() -> Self {
        Self { connection: database::in_memory().unwrap(), cache: SpaceCache::default() }
    }

    fn read(&mut self, session: &str) -> Spaces {
        self.cache.read(&self.connection, &"p".into(), session, 0).unwrap()
    }

    /// What one event writes, in the database alone.
    fn written(&mut self, session: &str, value: &str) -> (Changed, Unit) {
        let spaces = self.read(session);
        let mut view = View::new(Snapshot::new(move || Ok(spaces.clone())), 1000, 0);
        view.set(Scope::Session, "k", value.into(), None).unwrap();
        view.set(Scope::Plugin, "k", value.into(), None).unwrap();
        let writes = vec![("p".into(), view.into_parts().0)];
        let unit = Unit { records: Vec::new(), writes, session: session.into(), time: 0 };
        (self.cache.write(&self.connection, &unit).unwrap(), unit)
    }

    fn write(&mut self, session: &str, value: &str) {
        let (changed, unit) = self.written(session, value);
        self.cache.hold(changed, &unit);
    }

    /// What is in memory, by its owner: the version, and the value.
    fn held(&self) -> Vec<(String, i64, Option<Vec<u8>>)> {
        let held = self.cache.0.iter().map(|((_, session), Cached { version, space })| {
            (session.clone(), *version, space.live("k", 0).map(<[u8]>::to_vec))
        });
        let mut held: Vec<_> = held.collect();
        held.sort();
        held
    }
}

#[test]
fn what_was_committed_holds_in_memory_without_being_read_again() {
    let mut both = Both::new();
    both.write("s", "1");
    assert_eq!(both.held(), [], "nothing was read yet that there was");
    both.read("s");
    both.write("s", "2");
    let two = Some(b"2".to_vec());
    assert_eq!(both.held(), [(String::new(), 2, two.clone()), ("s".into(), 2, two)]);
}

#[test]
fn a_space_that_another_process_has_written_to_in_between_is_read_anew() {
    let mut both = Both::new();
    both.write("s", "1");
    both.read("s");
    let (changed, unit) = both.written("s", "2");
    // As if another process had been there between the reading and the writing.
    both.cache.0.values_mut().for_each(|cached| cached.version -= 1);
    both.cache.hold(changed, &unit);
    assert_eq!(both.held(), []);
    both.read("s");
    assert!(both.held().iter().all(|(_, version, value)| (*version, value.as_deref()) == (2, Some(b"2"))));
}

#[test]
fn the_spaces_of_a_session_that_has_ended_are_forgotten_and_no_others() {
    let mut both = Both::new();
    for session in ["s", "t"] {
        both.write(session, "1");
        both.read(session);
    }
    both.cache.forget("s");
    let left = both.held().into_iter().map(|(session, ..)| session).collect::<Vec<_>>();
    assert_eq!(left, ["", "t"]);
}
