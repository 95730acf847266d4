//! The capability `labels`: the labels of the session that the user began, and of its sub-agents.

use super::{Guest, VERSION_0_2, of_the_contract, wit_0_2};
use crate::contract::{Failure, FailureKind};
use crate::sandbox::trap::Limit;
use crate::state::{LabelError, Labels};
use wit_0_2::labels as interface;

/// The capability `labels`.
pub(super) struct SessionLabels;

of_the_contract!(SessionLabels = wit_0_2::labels, VERSION_0_2, "labels", Some("labels = true"), |grants| grants.labels);

impl interface::Host for Guest {
    fn add(&mut self, label: String) -> wasmtime::Result<()> {
        if !self.given.is_recorded {
            let detail = "added a label about `audit-record`, but `audit-record` has no record that could store it";
            return Err(Limit(Failure::invalid(detail)).into());
        }
        self.with_labels(|labels| labels.add(&label))
    }

    fn has(&mut self, label: String) -> wasmtime::Result<bool> {
        self.with_labels(|labels| labels.has(&label))
    }

    fn added_at(&mut self, label: String) -> wasmtime::Result<Option<u64>> {
        self.with_labels(|labels| labels.added_at(&label))
    }

    fn list(&mut self) -> wasmtime::Result<Vec<String>> {
        self.with_labels(Labels::list)
    }
}

impl Guest {
    fn with_labels<T>(&mut self, use_them: impl FnOnce(&mut Labels) -> Result<T, LabelError>) -> wasmtime::Result<T> {
        self.count_call()?;
        let Some(labels) = &mut self.given.labels else {
            let detail = "used the labels of a session in `configure`, or without the grant `labels`";
            return Err(Limit(Failure::invalid(detail)).into());
        };
        use_them(labels).map_err(|error| {
            let failure = match error {
                LabelError::Invalid(_) => Failure::invalid(error.to_string()),
                LabelError::TooMany => Failure::new(FailureKind::CapabilityCalls, error.to_string()),
                LabelError::Unavailable(_) => Failure::new(FailureKind::Trap, error.to_string()),
            };
            Limit(failure).into()
        })
    }
}
