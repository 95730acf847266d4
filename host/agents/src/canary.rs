//! The canary calls, which are harmless test calls with which `hookhost doctor --prove` shows that an agent calls its hook and
//! follows the hook's replies.

/// A harmless shell command that the resident host always rejects, whatever the rules are. If the command runs
/// nevertheless, it creates the file [`TRACE`].
pub const DENIED: &str = "echo hookhost-canary-denied > hookhost-canary-denied";

/// The file that [`DENIED`] creates in its working directory.
pub const TRACE: &str = "hookhost-canary-denied";

/// A harmless shell command that the hook must let pass.
pub const PASSED: &str = "echo hookhost-canary-passed";

/// The session of canary calls. In the log, this session distinguishes canary calls from other calls.
pub const SESSION: &str = "hookhost-doctor";

/// Returns true if `session` is a session of canary calls.
pub fn is_proof(session: &str) -> bool {
    session.strip_prefix(SESSION).is_some_and(|rest| ["", "-denied"].contains(&rest))
}
