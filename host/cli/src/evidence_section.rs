//! The section `[evidence]` of the user's own hookhost.toml: anchors of the log, and how long the log keeps records.

use crate::args::period;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use std::time::Duration;

/// `[evidence]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct EvidenceSection {
    /// The place of the anchors, a git repository or a file. The resident host adds an anchor each hour and at its end.
    pub(crate) anchor: Option<AnchorPath>,
    /// Records that are older than this are moved into archives beside the log.
    keep: Option<Keep>,
}

/// An absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnchorPath(pub(crate) PathBuf);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keep(Duration);

impl EvidenceSection {
    /// Returns how long the log keeps records, if not forever.
    pub(crate) fn keep(&self) -> Option<Duration> {
        self.keep.map(|Keep(keep)| keep)
    }
}

impl<'de> Deserialize<'de> for AnchorPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        let path = match (written.strip_prefix("~/"), std::env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(&written),
        };
        if path.is_absolute() {
            Ok(Self(path))
        } else {
            Err(D::Error::custom("write an absolute path, or one that begins with ~/"))
        }
    }
}

impl<'de> Deserialize<'de> for Keep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        period(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}
