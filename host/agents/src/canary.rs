//! The calls by which `hookhost doctor --prove` shows that an agent calls its hook and obeys it.

/// A harmless shell command that the resident host rejects under any rules. If it runs, it creates the file [`TRACE`].
pub const DENIED: &str = "echo hookhost-canary-denied > hookhost-canary-denied";

/// The file that [`DENIED`] creates in its working directory.
pub const TRACE: &str = "hookhost-canary-denied";

/// A harmless shell command that rules allow.
pub const PASSED: &str = "echo hookhost-canary-passed";

/// The session of canary calls. It keeps them apart from a person's work in the log.
pub const SESSION: &str = "hookhost-doctor";

/// Returns true if `session` is the session of a proof.
#[must_use]
pub fn is_proof(session: &str) -> bool {
    session.strip_prefix(SESSION).is_some_and(|rest| ["", "-denied"].contains(&rest))
}
