//! What the configuration keeps out of the log.

use super::record::{Observed, Record};
use crate::allowlist::AuditSettings;
use serde::{Deserialize, Serialize};

/// What is missing of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {}

pub(super) fn record(_: &Record, _: &AuditSettings) -> Option<Record> {
    None
}
pub(super) fn observed(_: &Observed, _: &AuditSettings) -> Option<Observed> {
    None
}
