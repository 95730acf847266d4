//! Notices: sentences that the user should read once.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Tracing target of warnings whose content is also in a refusal or a notice. A program that shows refusals and notices
/// need not show warnings with this target.
pub(super) const TOLD: &str = "hookhost::told";

/// Maximum number of notices that wait for the agent. The limit applies to each open session, and to all closed
/// sessions together.
pub(super) const MAX_NOTICES: usize = 256;

/// A message that the user should read once. Its text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Notice {
    /// The subject of the notice.
    pub kind: NoticeKind,
    /// The plugin to which the notice applies, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The sentence.
    pub text: String,
}

/// The subject of a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoticeKind {
    /// A plugin failed several times in a row, so it is not called for a while.
    Tripped,
    /// A plugin failed, and the event passed without its answer.
    FailureSkipped,
    /// A pattern of an entry's `tools` matches no tool of the session.
    PatternMatchesNothing,
    /// Observers missed events.
    EventsMissed,
    /// Tasks that plugins added are left out.
    TasksLeftOut,
    /// No plugin was asked about an event. The text contains the reason.
    NotAsked,
    /// The user approved an event, but it was rejected, because the rules or the state had changed by then.
    YesDidNotCount,
}

impl Notice {
    pub(crate) fn new(kind: NoticeKind, text: impl Into<String>) -> Self {
        Self { kind, plugin: None, text: text.into() }
    }

    pub(crate) fn about(kind: NoticeKind, plugin: &str, text: impl Into<String>) -> Self {
        Self { plugin: Some(plugin.to_owned()), ..Self::new(kind, text) }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
