//! The calls by which `hookhost doctor --prove` shows that an agent's hook is reached and obeyed.

/// A shell command that is harmless, and that the resident host always rejects, under any rules. Where it runs nevertheless, it
/// leaves [`TRACE`].
pub const DENIED: &str = "echo hookhost-canary-denied > hookhost-canary-denied";

/// The file that [`DENIED`] leaves in the directory in which it runs.
pub const TRACE: &str = "hookhost-canary-denied";

/// A shell command that is harmless, and that rules let pass.
pub const PASSED: &str = "echo hookhost-canary-passed";

/// The session in which canary calls happen: what the log has of it is no event of a person's work.
pub const SESSION: &str = "hookhost-doctor";

/// Returns true for the identifier of a session of a proof.
#[must_use]
pub fn is_proof(session: &str) -> bool {
    session.strip_prefix(SESSION).is_some_and(|rest| ["", "-denied"].contains(&rest))
}
