//! The calls by which `hookhost doctor --prove` shows that an agent calls its hook and obeys it.

/// A harmless shell command that the resident host rejects, whatever the rules are. If the command runs, it creates the
/// file [`TRACE`].
pub const DENIED: &str = "echo hookhost-canary-denied > hookhost-canary-denied";

/// The file that [`DENIED`] creates in its working directory.
pub const TRACE: &str = "hookhost-canary-denied";

/// A harmless shell command that must pass.
pub const PASSED: &str = "echo hookhost-canary-passed";

/// The session of canary calls, which distinguishes them from a person's work in the log.
pub const SESSION: &str = "hookhost-doctor";

/// Returns true if `session` is the session of a proof.
pub fn is_proof(session: &str) -> bool {
    session.strip_prefix(SESSION).is_some_and(|rest| ["", "-denied"].contains(&rest))
}
