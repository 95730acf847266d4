//! The labels of all sessions, for a person who reads or removes them.

use super::Host;
use crate::audit::{OperatorAction, OperatorActionKind, SessionLabel, ToRecord as _};
use crate::state::{LABELS, LabelOrigin, Writes};
use crate::store::{StoreError, TreeValue, Unit};

impl Host {
    /// Returns the labels of all sessions, ordered by session and by label. The session is the one at the root of its
    /// tree.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn labels(&self) -> Result<Vec<(String, SessionLabel)>, StoreError> {
        let stored = self.shared.services.store.tree_values(LABELS).await?;
        let label = |TreeValue { session, key, value }| {
            let LabelOrigin { time, event } = LabelOrigin::from_bytes(&value);
            (session, SessionLabel { name: key, added: time, of: event })
        };
        Ok(stored.into_iter().map(label).collect())
    }

    /// Removes labels of a session, and records this with the user's name. The session is the one at the root of its
    /// tree. Events that have begun still see the labels.
    ///
    /// # Errors
    /// If the store cannot be written. Then no label is removed.
    pub async fn remove_labels(
        &self,
        session: &str,
        labels: Vec<SessionLabel>,
        by: Option<String>,
    ) -> Result<(), StoreError> {
        let services = &self.shared.services;
        let writes = Writes::without_labels(labels.iter().map(|label| label.name.as_str()));
        let mut action = OperatorAction::new(OperatorActionKind::LabelRemove);
        (action.time, action.by) = (services.now(), by);
        (action.session, action.labels) = (Some(session.to_owned()), labels);
        let unit = Unit {
            records: vec![action.body(&services.rules.settings().audit)],
            writes: vec![(LABELS.into(), writes)],
            session: session.into(),
            root: session.into(),
            time: action.time,
            ..Unit::default()
        };
        services.store.commit(&unit).await
    }
}
