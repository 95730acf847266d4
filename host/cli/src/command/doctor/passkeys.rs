//! Says which passkeys are registered, so that a passkey of somebody else is noticed.

use crate::audit_log;
use crate::output::{one_line, time};
use hookhost::passkey::Passkey;
use hookhost_agents::install::check::Check;

/// Checks the passkeys in the user's log. Without a log or a passkey there is nothing to say.
pub(super) fn check() -> Option<Check> {
    if !audit_log::is_there().unwrap_or(false) {
        return None;
    }
    // That the log cannot be opened is a finding of its own.
    let passkeys = audit_log::open(None).ok()?.passkeys().ok()??;
    if let Some(why) = passkeys.altered() {
        let says = format!("no yes counts, because the passkeys cannot be trusted: {}", one_line(why));
        return Some(Check::problem("passkey", says, "hookhost audit verify, to see what was changed"));
    }
    let shown = |passkey: &Passkey| format!("{} (registered {})", one_line(&passkey.name), time::utc(passkey.added));
    let registered: Vec<_> = passkeys.registered().iter().map(shown).collect();
    (!registered.is_empty())
        .then(|| Check::ok("passkey", format!("each yes needs a passkey: {}", registered.join(", "))))
}
