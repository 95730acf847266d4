//! The labels of a tree of sessions: words that plugins add, and that stay until the session ends.
//!
//! A label is a key in the scope `tree` of a namespace that belongs to no plugin. So labels are read from one snapshot,
//! are committed with the record of their event, and end like the other state of the tree.

use super::{Scope, Source, Write, Writes};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Name of the namespace of the labels. A plugin cannot have this name, because of the colon.
pub(crate) const LABELS: &str = "hookhost:labels";

/// Maximum number of labels of a tree, and maximum length of a label in bytes.
const MAX_LABELS: usize = 64;
const MAX_LENGTH: usize = 64;

/// The labels as one call sees them: a snapshot and the call's own labels.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    snapshot: Arc<dyn Source>,
    /// The labels before the event, after their first use.
    before: Option<BTreeSet<String>>,
    added: BTreeSet<String>,
}

/// The reason why labels cannot be read or added, as the end of a sentence that begins with the plugin's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LabelError {
    /// The label has another form. The string is the label, shortened.
    #[error(
        "used the label `{0}`: a label has 1 to {MAX_LENGTH} bytes, which are lowercase letters, digits, `:`, `-`, `_`, `.` and `/`"
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
    pub(crate) fn new(snapshot: Arc<dyn Source>, before: Option<BTreeSet<String>>) -> Self {
        Self { snapshot, before, added: BTreeSet::new() }
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
        check(label)?;
        Ok(self.added.contains(label) || self.before()?.contains(label))
    }

    pub(crate) fn list(&mut self) -> Result<Vec<String>, LabelError> {
        let before = self.before()?.clone();
        Ok(before.union(&self.added).cloned().collect())
    }

    /// Returns the labels before the event, if the call has used them, and the labels that the call has added.
    pub(crate) fn into_parts(self) -> (Option<BTreeSet<String>>, BTreeSet<String>) {
        (self.before, self.added)
    }

    fn before(&mut self) -> Result<&BTreeSet<String>, LabelError> {
        match &mut self.before {
            Some(before) => Ok(before),
            unread => {
                let keys = self.snapshot.keys(Scope::Tree).map_err(LabelError::Unavailable)?;
                Ok(unread.insert(keys.into_iter().collect()))
            }
        }
    }
}

impl Writes {
    /// Returns the writes that add labels. The value of a label is the identifier of the event that has added it.
    pub(crate) fn of_labels(labels: &BTreeSet<String>, event: &str) -> Self {
        let write = || Write::Set { value: event.as_bytes().to_vec(), expires: None };
        Self::from_iter(labels.iter().map(|label| ((Scope::Tree, label.clone()), write())))
    }
}

fn check(label: &str) -> Result<(), LabelError> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b":-_./".contains(&byte);
    if (1..=MAX_LENGTH).contains(&label.len()) && label.bytes().all(is_allowed) {
        return Ok(());
    }
    Err(LabelError::Invalid(label.chars().take(MAX_LENGTH).flat_map(char::escape_debug).collect()))
}

#[cfg(test)]
mod tests {
    use super::{LabelError, Labels, MAX_LABELS, Writes};
    use crate::state::{Namespace, Namespaces, Scope};
    use std::sync::Arc;

    /// Returns the labels of a tree after these were added.
    fn labels(stored: &[&str]) -> Labels {
        let mut namespace = Namespace::default();
        let stored = stored.iter().map(|label| (*label).to_owned()).collect();
        namespace.apply(Scope::Tree, &Writes::of_labels(&stored, "e"), 0);
        let namespaces = [Arc::default(), Arc::new(namespace), Arc::default()];
        Labels::new(Arc::new(Namespaces::new(namespaces, 0)), None)
    }

    #[test]
    fn a_call_sees_the_labels_before_the_event_and_its_own() {
        let mut labels = labels(&["read:secret"]);
        labels.add("a").unwrap();
        labels.add("read:secret").unwrap();
        assert_eq!((labels.has("a"), labels.has("b")), (Ok(true), Ok(false)));
        assert_eq!(labels.list().unwrap(), ["a", "read:secret"]);
        let (before, added) = labels.into_parts();
        assert_eq!(before.unwrap(), ["read:secret".to_owned()].into());
        assert_eq!(added, ["a".to_owned()].into(), "a label that is there is not added again");
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
