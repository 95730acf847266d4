//! The stand-in host. Each thread has a separate stand-in. For each function of a capability, the stand-in has a
//! function with the same name as in the generated bindings.

use crate::capabilities::effects::{Finding, Reminder};
use crate::capabilities::facts::Fact;
use crate::capabilities::log::Level;
use crate::capabilities::model::{Error as ModelError, Request};
use crate::capabilities::secrets::{Found, Uncovered};
use crate::capabilities::state::{Error as StateError, Scope};
use crate::capabilities::transcript::Message;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The answers of the capabilities, and the calls that they received.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The event's id.
    pub event_id: String,
    /// The event's time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The round of the event. It is 1 at the first call, and increases each time the plugin is called again because
    /// the value was changed.
    pub round: u32,
    /// The id of the parent session.
    pub parent_session: Option<String>,
    /// The message that the agent sent about the event, as JSON.
    pub raw: Option<String>,
    /// The conversation.
    pub transcript: Vec<Message>,
    /// The answers that the model will give, in order. If no answer is left, a request fails with `failed`.
    pub model_answers: VecDeque<Result<String, ModelError>>,
    /// The error that every use of the state returns. With `None`, the state works.
    pub state_error: Option<StateError>,
    /// Values by scope and key, each with the time at which it expires (in milliseconds since the Unix epoch).
    pub state: BTreeMap<(Scope, String), (Vec<u8>, Option<u64>)>,
    /// Facts by name, whatever they are about. All other facts are absent.
    pub facts: BTreeMap<String, Fact>,
    /// The names that [`grants::has`](crate::grants::has) knows. The other capabilities work without them.
    pub grants: BTreeSet<String>,
    /// The labels of the session, each with the time at which it was added (in milliseconds since the Unix epoch).
    pub labels: BTreeMap<String, u64>,
    /// The values of secrets, each with the name of its variable.
    pub secrets: Vec<(String, String)>,
    /// The values that are not covered.
    pub uncovered_secrets: Vec<Uncovered>,
    /// The files from which the values come.
    pub secrets_files: BTreeSet<String>,
    /// Lines written so far.
    pub log: Vec<(Level, String)>,
    /// Findings reported so far.
    pub findings: Vec<Finding>,
    /// Reminders given so far. A newer reminder replaces an older one with the same key.
    pub reminders: Vec<Reminder>,
    /// Requests to the model so far.
    pub model_requests: Vec<Request>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            event_id: "event-1".into(),
            time: 1_700_000_000_000,
            round: 1,
            parent_session: None,
            raw: None,
            transcript: Vec::new(),
            model_answers: VecDeque::new(),
            state_error: None,
            state: BTreeMap::new(),
            facts: BTreeMap::new(),
            grants: BTreeSet::new(),
            labels: BTreeMap::new(),
            secrets: Vec::new(),
            uncovered_secrets: Vec::new(),
            secrets_files: BTreeSet::new(),
            log: Vec::new(),
            findings: Vec::new(),
            reminders: Vec::new(),
            model_requests: Vec::new(),
        }
    }
}

thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
}

/// Creates a new stand-in, lets `set` change it, and installs it for this thread. Begin each test with this call,
/// because a test runner may run many tests on one thread.
pub fn prime(set: impl FnOnce(&mut Host)) {
    let mut host = Host::default();
    set(&mut host);
    HOST.set(host);
}

/// Passes this thread's stand-in to `look`, which can read the stand-in, or change it between two events. `look` must
/// not call a capability.
pub fn inspect<R>(look: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with_borrow_mut(look)
}

pub(crate) mod event {
    use super::inspect;

    pub(crate) fn id() -> String {
        inspect(|host| host.event_id.clone())
    }

    pub(crate) fn time() -> u64 {
        inspect(|host| host.time)
    }

    pub(crate) fn round() -> u32 {
        inspect(|host| host.round)
    }

    pub(crate) fn parent_session() -> Option<String> {
        inspect(|host| host.parent_session.clone())
    }

    pub(crate) fn raw() -> Option<String> {
        inspect(|host| host.raw.clone())
    }
}

pub(crate) mod log {
    use super::{Level, inspect};

    pub(crate) fn write(level: Level, message: &str) {
        inspect(|host| host.log.push((level, message.to_owned())));
    }
}

pub(crate) mod effects {
    use super::{Finding, Reminder, inspect};

    pub(crate) fn report(finding: &Finding) {
        inspect(|host| host.findings.push(finding.clone()));
    }

    pub(crate) fn remind(reminder: &Reminder) {
        inspect(|host| {
            if reminder.dedupe_key.is_some() {
                host.reminders.retain(|older| older.dedupe_key != reminder.dedupe_key);
            }
            host.reminders.push(reminder.clone());
        });
    }
}

pub(crate) mod state {
    use super::{Host, Scope, StateError, inspect};

    type Answer<T> = Result<T, StateError>;

    fn with<T>(act: impl FnOnce(&mut Host) -> Answer<T>) -> Answer<T> {
        inspect(|host| {
            if let Some(error) = host.state_error.clone() {
                return Err(error);
            }
            let now = host.time;
            host.state.retain(|_, (_, gone)| gone.is_none_or(|gone| now < gone));
            act(host)
        })
    }

    pub(crate) fn get(scope: Scope, key: &str) -> Answer<Option<Vec<u8>>> {
        with(|host| Ok(host.state.get(&(scope, key.to_owned())).map(|(value, _)| value.clone())))
    }

    pub(crate) fn set(scope: Scope, key: &str, value: &[u8], ttl_seconds: Option<u64>) -> Answer<()> {
        with(|host| {
            let gone = ttl_seconds.map(|seconds| host.time.saturating_add(seconds.saturating_mul(1000)));
            host.state.insert((scope, key.to_owned()), (value.to_vec(), gone));
            Ok(())
        })
    }

    pub(crate) fn delete(scope: Scope, key: &str) -> Answer<()> {
        with(|host| {
            host.state.remove(&(scope, key.to_owned()));
            Ok(())
        })
    }

    pub(crate) fn increment(scope: Scope, key: &str, by: i64) -> Answer<i64> {
        with(|host| {
            let entry = host.state.entry((scope, key.to_owned())).or_insert_with(|| (b"0".to_vec(), None));
            let number = std::str::from_utf8(&entry.0).ok().and_then(|text| text.parse::<i64>().ok());
            let sum = number.map(|number| number.saturating_add(by));
            let sum = sum.ok_or_else(|| {
                StateError::Unavailable(format!("the value of `{key}` is not a number, so it cannot be incremented"))
            })?;
            entry.0 = sum.to_string().into_bytes();
            Ok(sum)
        })
    }
}

pub(crate) mod transcript {
    use super::{Message, inspect};

    pub(crate) fn length() -> u32 {
        inspect(|host| host.transcript.len().try_into().unwrap_or(u32::MAX))
    }

    pub(crate) fn read(start: u32, count: u32) -> Vec<Message> {
        let (start, count) = (start as usize, count as usize);
        inspect(|host| host.transcript.iter().skip(start).take(count).cloned().collect())
    }
}

pub(crate) mod model {
    use super::{ModelError, Request, inspect};

    pub(crate) fn complete(request: &Request) -> Result<String, ModelError> {
        inspect(|host| {
            host.model_requests.push(request.clone());
            let unprimed = || Err(ModelError::Failed("the test has set no further answer of the model".into()));
            host.model_answers.pop_front().unwrap_or_else(unprimed)
        })
    }
}

pub(crate) mod facts {
    use super::{Fact, inspect};

    pub(crate) fn read(name: &str, _: Option<&str>) -> Fact {
        inspect(|host| host.facts.get(name).cloned().unwrap_or(Fact::Absent))
    }
}

pub(crate) mod grants {
    use super::inspect;

    pub(crate) fn has(name: &str) -> bool {
        inspect(|host| host.grants.contains(name))
    }
}

pub(crate) mod labels {
    use super::inspect;

    pub(crate) fn add(label: &str) {
        inspect(|host| {
            host.labels.entry(label.to_owned()).or_insert(host.time);
        });
    }

    pub(crate) fn has(label: &str) -> bool {
        inspect(|host| host.labels.contains_key(label))
    }

    pub(crate) fn list() -> Vec<String> {
        inspect(|host| host.labels.keys().cloned().collect())
    }

    pub(crate) fn added_at(label: &str) -> Option<u64> {
        inspect(|host| host.labels.get(label).copied())
    }
}

pub(crate) mod secrets {
    use super::{Found, Uncovered, inspect};

    /// Finds only values as they are written.
    pub(crate) fn find(text: &str) -> Vec<Found> {
        inspect(|host| {
            let places = |(name, value): &(String, String)| {
                let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                let found = text.match_indices(value).map(|(at, value)| Found {
                    name: name.clone(),
                    start: place(at),
                    end: place(at + value.len()),
                });
                found.collect::<Vec<_>>()
            };
            let mut found: Vec<Found> = host.secrets.iter().flat_map(places).collect();
            found.sort_by_key(|found| found.start);
            found
        })
    }

    pub(crate) fn list_uncovered() -> Vec<Uncovered> {
        inspect(|host| host.uncovered_secrets.clone())
    }

    pub(crate) fn is_source(path: &str) -> bool {
        inspect(|host| host.secrets_files.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::{Host, Message, ModelError, inspect, prime};
    use crate::capabilities::state::{Error, Scope};
    use crate::capabilities::{effects, model, state, transcript};

    #[test]
    fn a_value_with_a_ttl_is_gone_when_its_time_has_passed() {
        prime(|_| {});
        state::set_for(Scope::Session, "key", b"value", 2).unwrap();
        inspect(|host| host.time += 1_999);
        assert_eq!(state::get(Scope::Session, "key"), Ok(Some(b"value".to_vec())));
        inspect(|host| host.time += 1);
        assert_eq!(state::get(Scope::Session, "key"), Ok(None));
    }

    #[test]
    fn scopes_do_not_see_each_other() {
        prime(|_| {});
        state::set_json(Scope::Session, "key", &[1, 2]).unwrap();
        assert_eq!(state::get_json::<Vec<u8>>(Scope::Plugin, "key"), Ok(None));
        assert_eq!(state::get_json(Scope::Session, "key"), Ok(Some(vec![1, 2])));
    }

    #[test]
    fn a_number_is_incremented_and_anything_else_is_an_error() {
        prime(|_| {});
        assert_eq!(state::increment(Scope::Plugin, "n", 2), Ok(2));
        assert_eq!(state::increment(Scope::Plugin, "n", -5), Ok(-3));
        state::set(Scope::Plugin, "n", b"text").unwrap();
        assert!(state::increment(Scope::Plugin, "n", 1).is_err());
    }

    #[test]
    fn a_primed_failure_of_the_store_reaches_the_plugin() {
        prime(|host| host.state_error = Some(Error::QuotaExceeded));
        assert_eq!(state::set(Scope::Session, "key", b""), Err(Error::QuotaExceeded));
    }

    #[test]
    fn a_newer_reminder_of_the_same_key_replaces_the_older_one() {
        prime(|_| {});
        for body in ["one", "two"] {
            effects::remind(&effects::Reminder::new(body).dedupe_key("key"));
            effects::remind(&effects::Reminder::new(body));
        }
        let bodies: Vec<_> = inspect(|host| host.reminders.iter().map(|reminder| reminder.body.clone()).collect());
        assert_eq!(bodies, ["one", "two", "two"]);
    }

    #[test]
    fn the_transcript_and_the_model_answer_what_was_primed() {
        prime(|host| {
            host.transcript =
                ["a", "b", "c"].map(|content| Message { role: "user".into(), content: content.into() }).to_vec();
            host.model_answers.push_back(Ok("yes".into()));
        });
        let contents: Vec<_> = transcript::last(2).into_iter().map(|message| message.content).collect();
        assert_eq!(contents, ["b", "c"]);
        assert!(transcript::read(7, 1).is_empty());
        let request = model::Request::new("is it safe?", "rm");
        assert_eq!(model::complete(&request).unwrap(), "yes");
        assert!(matches!(model::complete(&request), Err(ModelError::Failed(_))));
        assert_eq!(inspect(|host| host.model_requests.len()), 2);
    }

    #[test]
    fn priming_starts_again() {
        prime(|host| host.round = 7);
        prime(|_| {});
        assert_eq!(inspect(|host| host.clone()), Host::default());
    }
}
