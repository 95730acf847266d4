//! The labels of a tree of sessions: words that plugins add, and that stay until the session ends or a person removes
//! them.
//!
//! A label is a key in the scope `tree` of a namespace that belongs to no plugin. So labels are read from one snapshot,
//! are committed with the record of their event, and end like the other state of the tree. An agent can resume a
//! session whose end it has reported. The conversation then still contains what a label is about, so the end of a
//! session that was only reported removes no label.

use super::{Found, Scope, Source, Time, Write, Writes};
use crate::contract::rule::{MAX_LABEL, is_label};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Name of the namespace of the labels. A plugin cannot have this name, because of the colon.
pub(crate) const LABELS: &str = "hookhost:labels";

/// Maximum number of labels of a tree.
const MAX_LABELS: usize = 64;

/// The labels as one call sees them: a snapshot and the call's own labels.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    snapshot: Arc<dyn Source>,
    /// The labels before the event with the times at which they were added, after their first use.
    before: Option<BTreeMap<String, Time>>,
    added: BTreeSet<String>,
    /// The time of the event.
    now: Time,
}

/// The call that added a label to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelOrigin {
    /// The time of the event, in milliseconds since the Unix epoch.
    pub(crate) time: Time,
    /// The identifier of the event, or of the call of a plugin's tool.
    pub(crate) event: String,
}

impl LabelOrigin {
    fn to_bytes(&self) -> Vec<u8> {
        format!("{} {}", self.time, self.event).into_bytes()
    }

    /// Reads a stored origin. If it was not stored by this version, the label counts as added at the Unix epoch.
    pub(crate) fn from_bytes(stored: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stored);
        let parts = text.split_once(' ').and_then(|(time, event)| Some((time.parse().ok()?, event.to_owned())));
        let (time, event) = parts.unwrap_or_default();
        Self { time, event }
    }
}

/// The reason why labels cannot be read or added, as the end of a sentence that begins with the plugin's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LabelError {
    /// The label has another form. The string is the label, shortened.
    #[error(
        "used the label `{0}`: a label has 1 to {MAX_LABEL} bytes, which are lowercase letters, digits, `:`, `-`, `_`, `.` and `/`"
    )]
    Invalid(String),
    /// The tree has as many labels as it can have.
    #[error("added a label to a session that already has {MAX_LABELS}")]
    TooMany,
    /// The state cannot be read, for this reason.
    #[error("used the labels of a session that cannot be read: {0}")]
    Unavailable(String),
}

impl Labels {
    /// Creates the labels of an event. If the event is replayed, `before` are the recorded labels.
    pub(crate) fn new(snapshot: Arc<dyn Source>, before: Option<BTreeMap<String, Time>>, now: Time) -> Self {
        Self { snapshot, before, added: BTreeSet::new(), now }
    }

    pub(crate) fn add(&mut self, label: &str) -> Result<(), LabelError> {
        if self.has(label)? {
            return Ok(());
        }
        if self.before()?.len() + self.added.len() >= MAX_LABELS {
            return Err(LabelError::TooMany);
        }
        self.added.insert(label.to_owned());
        Ok(())
    }

    pub(crate) fn has(&mut self, label: &str) -> Result<bool, LabelError> {
        Ok(self.added_at(label)?.is_some())
    }

    /// Returns the time at which the session got the label.
    pub(crate) fn added_at(&mut self, label: &str) -> Result<Option<Time>, LabelError> {
        check(label)?;
        let now = self.added.contains(label).then_some(self.now);
        Ok(self.before()?.get(label).copied().or(now))
    }

    pub(crate) fn list(&mut self) -> Result<Vec<String>, LabelError> {
        let mut all = self.added.clone();
        all.extend(self.before()?.keys().cloned());
        Ok(all.into_iter().collect())
    }

    /// Returns the labels before the event, if the call has used them, and the labels that the call has added.
    pub(crate) fn into_parts(self) -> (Option<BTreeMap<String, Time>>, BTreeSet<String>) {
        (self.before, self.added)
    }

    /// Returns the labels before the event, with the times at which they were added.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn before(&mut self) -> Result<&BTreeMap<String, Time>, LabelError> {
        match &mut self.before {
            Some(before) => Ok(before),
            unread => {
                let snapshot = &self.snapshot;
                let added_at = |label: String| {
                    let found = snapshot.value(Scope::Tree, &label)?;
                    let time = match found {
                        Found::Value(Some(stored)) => LabelOrigin::from_bytes(&stored).time,
                        Found::Value(None) | Found::SizeAlone => 0,
                    };
                    Ok((label, time))
                };
                let keys = snapshot.keys(Scope::Tree).map_err(LabelError::Unavailable)?;
                let before = keys.into_iter().map(added_at).collect::<Result<_, _>>();
                Ok(unread.insert(before.map_err(LabelError::Unavailable)?))
            }
        }
    }
}

impl Writes {
    /// Returns the writes that add labels. The value of a label is the event that has added it.
    pub(crate) fn of_labels(labels: &BTreeSet<String>, origin: &LabelOrigin) -> Self {
        let write = || Write::Set { value: origin.to_bytes(), expires: None };
        Self::from_iter(labels.iter().map(|label| ((Scope::Tree, label.clone()), write())))
    }

    /// Returns the writes that remove labels.
    pub(crate) fn without_labels<'a>(labels: impl Iterator<Item = &'a str>) -> Self {
        Self::from_iter(labels.map(|label| ((Scope::Tree, label.to_owned()), Write::Delete)))
    }
}

fn check(label: &str) -> Result<(), LabelError> {
    if is_label(label) {
        return Ok(());
    }
    Err(LabelError::Invalid(label.chars().take(MAX_LABEL).flat_map(char::escape_debug).collect()))
}

#[cfg(test)]
mod tests {
    use super::{LabelError, LabelOrigin, Labels, MAX_LABELS, Writes};
    use crate::state::{Namespace, Namespaces, Scope};
    use std::sync::Arc;

    /// Returns the labels of a tree after these were added.
    fn labels(stored: &[&str]) -> Labels {
        let mut namespace = Namespace::default();
        let stored = stored.iter().map(|label| (*label).to_owned()).collect();
        let origin = LabelOrigin { time: 5, event: "e".to_owned() };
        namespace.apply(Scope::Tree, &Writes::of_labels(&stored, &origin), 0);
        let namespaces = [Arc::default(), Arc::new(namespace), Arc::default()];
        Labels::new(Arc::new(Namespaces::new(namespaces, 0)), None, 9)
    }

    #[test]
    fn a_call_sees_the_labels_before_the_event_and_its_own() {
        let mut labels = labels(&["read:secret"]);
        labels.add("a").unwrap();
        labels.add("read:secret").unwrap();
        assert_eq!((labels.has("a"), labels.has("b")), (Ok(true), Ok(false)));
        assert_eq!(labels.list().unwrap(), ["a", "read:secret"]);
        let times = ["read:secret", "a", "b"].map(|label| labels.added_at(label).unwrap());
        assert_eq!(times, [Some(5), Some(9), None], "a label that is added again keeps its time");
        let (before, added) = labels.into_parts();
        assert_eq!(before.unwrap(), [("read:secret".to_owned(), 5)].into());
        assert_eq!(added, ["a".to_owned()].into(), "a label that is there is not added again");
    }

    #[test]
    fn a_label_of_another_version_counts_as_added_long_ago() {
        let origin = LabelOrigin { time: 7, event: "s.1 x".to_owned() };
        assert_eq!(LabelOrigin::from_bytes(&origin.to_bytes()), origin);
        for stored in ["s.1", "", "x s.1", "-1 s"] {
            assert_eq!(LabelOrigin::from_bytes(stored.as_bytes()).time, 0, "{stored}");
        }
    }

    #[test]
    fn a_call_that_does_not_use_the_labels_reads_nothing() {
        assert_eq!(labels(&["a"]).into_parts(), (None, [].into()));
    }

    #[test]
    fn one_label_too_many_is_an_error_and_a_known_one_is_not() {
        let all: Vec<String> = (0..MAX_LABELS).map(|number| number.to_string()).collect();
        let mut labels = labels(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(labels.add("63"), Ok(()));
        assert_eq!(labels.add("64"), Err(LabelError::TooMany));
    }

    #[test]
    fn a_label_of_another_form_is_an_error_also_where_it_is_only_looked_for() {
        for label in ["", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
            assert!(matches!(labels(&[]).add(label), Err(LabelError::Invalid(_))), "{label}");
            assert!(matches!(labels(&[]).has(label), Err(LabelError::Invalid(_))), "{label}");
        }
        assert_eq!(labels(&[]).add(&"a".repeat(64)), Ok(()));
    }
}
