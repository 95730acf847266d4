//! Compares the state with a slow and obvious model: a map that each step changes immediately.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const QUOTA: usize = 60 + 3 * KEY_COST;
/// The size that is charged for an incremented number: the largest number of digits that it could have.
const LONGEST_NUMBER: usize = 20;

#[derive(Clone, Debug)]
enum Step {
    Get,
    Set(Vec<u8>, Option<u64>),
    Delete,
    Increment(i64),
}

/// An event: the milliseconds since the last event, the steps of its plugin, and whether its writes are applied.
#[derive(Clone, Debug)]
struct Event {
    later: Time,
    steps: Vec<(Scope, &'static str, Step)>,
    holds: bool,
}

fn steps() -> impl Strategy<Value = Vec<(Scope, &'static str, Step)>> {
    let number = (-3_i64..1000).prop_map(|number| number.to_string().into_bytes());
    let value = prop_oneof![number, prop::collection::vec(any::<u8>(), 0..40)];
    let step = prop_oneof![
        Just(Step::Get),
        (value, prop::option::of(0_u64..4)).prop_map(|(value, ttl)| Step::Set(value, ttl)),
        Just(Step::Delete),
        (-5_i64..5).prop_map(Step::Increment),
    ];
    let scope = prop::sample::select(Scope::ALL.to_vec());
    let key = prop::sample::select(vec!["a", "b", "long-key"]);
    prop::collection::vec((scope, key, step), 0..12)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0_u64..3000, steps(), any::<bool>()).prop_map(|(later, steps, holds)| Event { later, steps, holds });
    prop::collection::vec(event, 1..8)
}

type Place = (Scope, &'static str);

/// The expected state. `values` contains the value at each key, and the time at which the value expires.
#[derive(Clone, Debug, Default)]
struct Model {
    values: BTreeMap<Place, (Vec<u8>, Option<Time>)>,
    /// Bytes that count against the quota.
    charged: BTreeMap<Place, usize>,
    /// The keys at which this event has written a value of known length.
    set: BTreeSet<Place>,
    /// The keys that had a value before this event.
    stored: BTreeSet<Place>,
}

impl Model {
    fn at(values: &BTreeMap<Place, (Vec<u8>, Option<Time>)>, now: Time) -> Self {
        let mut values = values.clone();
        values.retain(|_, (_, expires)| expires.is_none_or(|expires| expires > now));
        let charged = values.iter().map(|(&(scope, key), (value, _))| ((scope, key), cost(key, value.len()))).collect();
        let stored = values.keys().copied().collect();
        Self { values, charged, set: BTreeSet::new(), stored }
    }

    fn charge(&mut self, place: Place, bytes: usize) -> Result<(), StateError> {
        let before = self.charged.get(&place).copied().unwrap_or(0);
        let others = self.charged.iter().filter(|(other, _)| other.0 == place.0 && **other != place);
        if bytes > before && others.map(|(_, bytes)| bytes).sum::<usize>() + bytes > QUOTA {
            return Err(StateError::QuotaExceeded);
        }
        self.charged.insert(place, bytes);
        Ok(())
    }

    /// Returns the result of the step: a value, a sum, or nothing.
    fn step(&mut self, place: Place, step: &Step, now: Time) -> Result<Option<Vec<u8>>, StateError> {
        let live = self.values.get(&place).filter(|(_, expires)| expires.is_none_or(|expires| expires > now)).cloned();
        match step {
            Step::Get => return Ok(live.map(|(value, _)| value)),
            Step::Set(value, ttl) => {
                self.charge(place, cost(place.1, value.len()))?;
                self.values.insert(place, (value.clone(), ttl.map(|seconds| now + 1000 * seconds)));
                self.set.insert(place);
            }
            Step::Delete => {
                self.values.remove(&place);
                if self.stored.contains(&place) {
                    self.charged.insert(place, 0);
                    self.set.insert(place);
                } else {
                    // The key is treated as if this event had never written it.
                    self.charged.remove(&place);
                    self.set.remove(&place);
                }
            }
            Step::Increment(by) => {
                let (before, expires) = live.unwrap_or((b"0".to_vec(), None));
                let unavailable =
                    StateError::Unavailable(format!("the value of `{}` is not a decimal number", place.1));
                let sum = (number(&before).ok_or(unavailable)? + by).to_string().into_bytes();
                // Another event may also add to the number, so the longest number is charged. If this event has set the
                // value itself, the length of the sum is known.
                let digits = if self.set.contains(&place) { sum.len() } else { LONGEST_NUMBER };
                self.charge(place, cost(place.1, digits))?;
                self.values.insert(place, (sum.clone(), expires));
                return Ok(Some(sum));
            }
        }
        Ok(None)
    }
}

/// The committed namespace of each scope.
#[derive(Default)]
struct Committed {
    session: Namespace,
    tree: Namespace,
    plugin: Namespace,
}

impl Committed {
    fn view(&self, quota: usize, now: Time) -> View {
        let namespaces = [&self.session, &self.tree, &self.plugin].map(|namespace| {
            let mut namespace = namespace.clone();
            namespace.expire(now);
            Arc::new(namespace)
        });
        View::new(Arc::new(Namespaces::new(namespaces, now)), quota, now)
    }

    fn commit(&mut self, view: View, now: Time) {
        let (writes, _) = view.into_parts();
        self.session.apply(Scope::Session, &writes, now);
        self.tree.apply(Scope::Tree, &writes, now);
        self.plugin.apply(Scope::Plugin, &writes, now);
    }

    fn of(&self, scope: Scope) -> &Namespace {
        match scope {
            Scope::Session => &self.session,
            Scope::Tree => &self.tree,
            Scope::Plugin => &self.plugin,
        }
    }
}

fn take(view: &mut View, (scope, key): Place, step: &Step) -> Result<Option<Vec<u8>>, StateError> {
    match step {
        Step::Get => view.get(scope, key),
        Step::Set(value, ttl) => view.set(scope, key, value.clone(), *ttl).map(|()| None),
        Step::Delete => view.delete(scope, key).map(|()| None),
        Step::Increment(by) => view.increment(scope, key, *by).map(|sum| Some(sum.to_string().into_bytes())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn events_one_after_another_see_and_leave_what_a_plain_map_would(events in events()) {
        let (mut committed, mut values, mut now) = (Committed::default(), BTreeMap::new(), 0);
        for event in events {
            now += event.later;
            let (mut view, mut model) = (committed.view(QUOTA, now), Model::at(&values, now));
            for (scope, key, step) in &event.steps {
                let place = (*scope, *key);
                prop_assert_eq!(take(&mut view, place, step), model.step(place, step, now), "{:?} {:?}", place, step);
            }
            if event.holds {
                committed.commit(view, now);
                values = model.values;
            }
            for scope in Scope::ALL {
                let mut namespace = committed.of(scope).clone();
                namespace.expire(now);
                let model = Model::at(&values, now);
                let live: Vec<_> = model.values.iter().filter(|((of, _), _)| *of == scope).collect();
                let bytes = live.iter().map(|((_, key), (value, _))| cost(key, value.len())).sum::<usize>();
                prop_assert_eq!(namespace.usage(now), Usage { keys: live.len(), bytes });
                prop_assert_eq!(committed.of(scope).usage(now), namespace.usage(now));
                prop_assert!(bytes <= QUOTA);
                for ((_, key), (value, _)) in live {
                    prop_assert_eq!(namespace.live(key, now), Some(value.as_slice()));
                }
            }
        }
    }

    /// All views have the same snapshot, like the views of events in concurrent sessions.
    #[test]
    fn concurrent_increments_add_up_and_of_concurrent_sets_the_last_holds(
        before in -100_i64..100,
        events in prop::collection::vec((-100_i64..100, 0_u8..4), 1..6),
        scope in prop::sample::select(vec![Scope::Tree, Scope::Plugin]),
    ) {
        let mut committed = Committed::default();
        let mut first = committed.view(1000, 0);
        first.set(scope, "n", before.to_string().into_bytes(), None).unwrap();
        committed.commit(first, 0);
        let views: Vec<_> = events.iter().map(|(by, set)| {
            let mut view = committed.view(1000, 0);
            if *set == 0 {
                view.set(scope, "n", by.to_string().into_bytes(), None).unwrap();
            } else {
                view.increment(scope, "n", *by).unwrap();
            }
            view
        }).collect();
        for view in views {
            committed.commit(view, 0);
        }
        let expected = events.iter().fold(before, |number, (by, set)| if *set == 0 { *by } else { number + by });
        let expected = expected.to_string();
        prop_assert_eq!(committed.of(scope).live("n", 0), Some(expected.as_bytes()));
    }
}

#[test]
fn increments_saturate() {
    let mut committed = Committed::default();
    for (by, sum) in [(i64::MAX, i64::MAX), (1, i64::MAX), (i64::MIN, -1), (i64::MIN, i64::MIN), (-1, i64::MIN)] {
        let mut view = committed.view(1000, 0);
        assert_eq!(view.increment(Scope::Plugin, "n", by), Ok(sum));
        committed.commit(view, 0);
        assert_eq!(committed.plugin.live("n", 0), Some(sum.to_string().as_bytes()));
    }
}

#[test]
fn a_view_notes_what_it_has_read_and_nothing_else() {
    let mut committed = Committed::default();
    let mut first = committed.view(1000, 0);
    for key in ["read", "written", "deleted", "untouched"] {
        first.set(Scope::Plugin, key, b"1".to_vec(), None).unwrap();
    }
    committed.commit(first, 0);
    assert_eq!(committed.view(1000, 0).into_parts().1, Reads::default());

    let mut view = committed.view(1000, 0);
    view.get(Scope::Plugin, "read").unwrap();
    view.get(Scope::Session, "absent").unwrap();
    view.set(Scope::Plugin, "written", b"2".to_vec(), None).unwrap();
    view.get(Scope::Plugin, "written").unwrap();
    view.delete(Scope::Plugin, "deleted").unwrap();
    view.delete(Scope::Plugin, "not-there").unwrap();
    let (writes, reads) = view.into_parts();
    let bytes = "readwrittendeleteduntouched".len() + 4 + 4 * KEY_COST;
    assert_eq!(reads.used, Some([Usage::default(), Usage::default(), Usage { keys: 4, bytes }]));
    let expected = [
        (Scope::Plugin, "deleted", Read::Size(Some(8))),
        (Scope::Plugin, "not-there", Read::Size(None)),
        (Scope::Plugin, "read", Read::Value(Some(b"1".to_vec()))),
        (Scope::Plugin, "written", Read::Size(Some(8))),
        (Scope::Session, "absent", Read::Value(None)),
    ];
    assert_eq!(reads.values, expected.map(|(scope, key, read)| ((scope, key.to_owned()), read)).into());
    let written: Vec<_> = writes.iter().map(|(_, key, write)| (key, write.clone())).collect();
    let set = Write::Set { value: b"2".to_vec(), expires: None };
    assert_eq!(written, [("deleted", Write::Delete), ("written", set)]);
    assert!(!writes.is_empty());
}

#[test]
fn the_host_remembers_no_more_reads_than_a_record_has_room_for() {
    let quota = 1000;
    let mut view = Committed::default().view(quota, 0);
    for number in 0..10_000 {
        let key = format!("key-{number}");
        assert_eq!(view.get(Scope::Session, &key), Ok(None));
        assert_eq!(view.delete(Scope::Session, &key), Ok(()));
        assert_eq!(view.set(Scope::Plugin, &key, b"1".to_vec(), None), Ok(()));
        assert_eq!(view.delete(Scope::Plugin, &key), Ok(()));
    }
    let huge = "k".repeat(1 << 20);
    assert_eq!(view.get(Scope::Plugin, &huge), Ok(None));
    assert_eq!(view.set(Scope::Plugin, &huge, vec![], None), Err(StateError::QuotaExceeded));
    assert_eq!(view.set(Scope::Plugin, "k", vec![0; 1 << 20], None), Err(StateError::QuotaExceeded));
    let (writes, reads) = view.into_parts();
    assert!(writes.is_empty());
    assert!(reads.incomplete);
    let recorded = crate::contract::bytes::written_size(&reads.recorded());
    assert!((MAX_RECORDED / 2..MAX_RECORDED + 1000).contains(&recorded), "{recorded}");
}

#[test]
fn the_size_of_a_read_counts_its_escapes() {
    let mut committed = Committed::default();
    for (key, value) in [("nul", vec![0; 30_000]), ("more", vec![0; 30_000]), ("text", vec![b'x'; 30_000])] {
        committed.plugin.put(key, StoredValue { value, expires: None });
    }
    let mut view = committed.view(1 << 20, 0);
    for (key, is_complete) in [("nul", true), ("text", true), ("more", false)] {
        assert!(view.get(Scope::Plugin, key).unwrap().is_some());
        assert_eq!(!view.clone().into_parts().1.incomplete, is_complete, "{key}");
    }
}

#[test]
fn the_number_of_keys_is_bounded_however_small_they_are() {
    let mut committed = Committed::default();
    for number in 0..MAX_KEYS {
        committed.plugin.put(&number.to_string(), StoredValue { value: vec![], expires: None });
    }
    let mut view = committed.view(usize::MAX, 0);
    assert_eq!(view.set(Scope::Plugin, "new", vec![], None), Err(StateError::QuotaExceeded));
    assert_eq!(view.increment(Scope::Plugin, "new", 1), Err(StateError::QuotaExceeded));
    assert_eq!(view.set(Scope::Plugin, "7", b"longer".to_vec(), None), Ok(()));
    assert_eq!(view.set(Scope::Session, "new", vec![], None), Ok(()));
    assert_eq!(view.delete(Scope::Plugin, "8"), Ok(()));
    assert_eq!(view.set(Scope::Plugin, "new", vec![], None), Ok(()));
    assert_eq!(view.set(Scope::Plugin, "8", vec![], None), Err(StateError::QuotaExceeded));
}

#[test]
fn over_a_lowered_quota_a_value_may_be_replaced_by_one_that_is_not_larger() {
    let mut committed = Committed::default();
    committed.plugin.put("k", StoredValue { value: b"123".to_vec(), expires: None });
    let mut view = committed.view(1, 0);
    let mut set = |value: &[u8]| view.set(Scope::Plugin, "k", value.to_vec(), None);
    assert_eq!((set(b"456"), set(b"1234"), set(b"7")), (Ok(()), Err(StateError::QuotaExceeded), Ok(())));
}

/// A source whose state cannot be read.
#[derive(Debug)]
struct Gone;

impl Source for Gone {
    fn value(&self, _: Scope, _: &str) -> Result<Found, String> {
        Err("the disk is gone".into())
    }
    fn size(&self, _: Scope, _: &str) -> Result<Option<usize>, String> {
        Err("the disk is gone".into())
    }
    fn keys(&self, _: Scope) -> Result<Vec<String>, String> {
        Err("the disk is gone".into())
    }
    fn usage(&self) -> Result<Usages, String> {
        Err("the disk is gone".into())
    }
}

#[test]
fn a_state_that_cannot_be_read_is_unavailable() {
    let why = Err(StateError::Unavailable("the disk is gone".into()));
    let mut view = View::new(Arc::new(Gone), 1000, 0);
    assert_eq!(view.get(Scope::Plugin, "k").map(|_| ()), why);
    assert_eq!(view.set(Scope::Plugin, "k", vec![], None), why);
    assert_eq!(view.delete(Scope::Session, "k"), why);
    assert_eq!(view.increment(Scope::Session, "k", 1).map(|_| ()), why);
}

#[test]
fn an_increment_starts_at_zero_once_the_number_has_expired() {
    let before = StoredValue { value: b"5".to_vec(), expires: Some(10) };
    let after = |now| Namespace::after(Some(&before), &Write::Add(2), now);
    assert_eq!(after(9), Some(StoredValue { value: b"7".to_vec(), expires: Some(10) }));
    assert_eq!(after(10), Some(StoredValue { value: b"2".to_vec(), expires: None }));
}

#[test]
fn a_namespace_knows_whether_one_of_its_values_has_expired() {
    let mut namespace = Namespace::default();
    assert!(!namespace.has_expired(Time::MAX));
    let stored = |expires| StoredValue { value: b"1".to_vec(), expires };
    namespace.put("never", stored(None));
    assert!(!namespace.has_expired(Time::MAX));
    namespace.put("later", stored(Some(20)));
    namespace.put("soon", stored(Some(10)));
    assert!(!namespace.has_expired(9) && namespace.has_expired(10));
    assert_eq!((namespace.live("soon", 9), namespace.live("soon", 10)), (Some(b"1".as_slice()), None));
    assert_eq!(namespace.usage(10).keys, 2);
    namespace.expire(10);
    assert_eq!(namespace.usage(0), Usage { keys: 2, bytes: "never1later1".len() + 2 * KEY_COST });
    assert!(!namespace.has_expired(19) && namespace.has_expired(20));
}

#[test]
fn a_known_size_counts_against_the_quota_and_reading_its_value_is_noted_as_not_repeatable() {
    let learnt =
        [("size", Read::Size(Some(50))), ("gone", Read::Size(None)), ("value", Read::Value(Some(b"1".to_vec())))];
    let mut rest = Committed::default();
    for key in ["size", "gone", "value", "other"] {
        rest.plugin.put(key, StoredValue { value: b"rest".to_vec(), expires: None });
    }
    let source = || RecordedReads {
        values: learnt.clone().map(|(key, read)| ((Scope::Plugin, key.to_owned()), read)).into(),
        usage: Some([Usage { keys: 1, bytes: 500 }; 3]),
        rest: Arc::new(Namespaces::new([Arc::default(), Arc::default(), Arc::new(rest.plugin.clone())], 0)),
    };
    let mut view = View::new(Arc::new(source()), 1000, 0);
    assert_eq!(view.get(Scope::Plugin, "other"), Ok(Some(b"rest".to_vec())));
    assert_eq!(view.get(Scope::Plugin, "gone"), Ok(None));
    assert_eq!(view.get(Scope::Plugin, "value"), Ok(Some(b"1".to_vec())));
    assert!(!view.clone().into_parts().1.incomplete);
    assert_eq!(view.set(Scope::Session, "k", vec![0; 450], None), Err(StateError::QuotaExceeded));
    assert_eq!(source().size(Scope::Plugin, "size"), Ok(Some(50)));
    assert_eq!(view.get(Scope::Plugin, "size"), Ok(None));
    assert!(view.into_parts().1.incomplete);
}
