//! Says which passkeys are registered, so that a passkey of somebody else is noticed.

use super::evidence::is_older;
use crate::audit_log;
use crate::output::{one_line, time};
use hookhost_agents::install::check::Check;
use std::time::Duration;

/// Time for which a passkey is new. For as long, each new session of an agent tells its user about it.
const NEW: Duration = Duration::from_secs(7 * 24 * 60 * 60);

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
    let registered = passkeys.registered().iter().map(|passkey| (passkey.name.as_str(), passkey.added));
    check_registered(&registered.collect::<Vec<_>>())
}

/// Checks the names and times of the registered passkeys. A program that registers its own passkey must not stay unnoticed, so a new one is
/// no good news.
fn check_registered(passkeys: &[(&str, u64)]) -> Option<Check> {
    let shown = |(name, added): &(&str, u64)| format!("{} (registered {})", one_line(name), time::utc(*added));
    let names = || passkeys.iter().map(shown).collect::<Vec<_>>().join(", ");
    let (_, newest) = passkeys.last()?;
    if is_older(*newest, NEW) {
        return Some(Check::ok("passkey", format!("each yes needs a passkey: {}", names())));
    }
    let says = format!("each yes needs a passkey, and one is new: {}. Was it not you?", names());
    Some(Check::unknown("passkey", says, "hookhost passkey, to see each passkey and to remove one"))
}

#[cfg(test)]
mod tests {
    use super::check_registered;
    use hookhost_agents::install::check::CheckState;

    #[test]
    fn a_new_passkey_is_no_good_news_for_a_week() {
        let days_ago = |days: u64| jiff::Timestamp::now().as_millisecond().cast_unsigned() - days * 24 * 60 * 60 * 1000;
        assert_eq!(check_registered(&[]), None);
        let old = ("old", days_ago(8));
        assert_eq!(check_registered(&[old]).unwrap().state, CheckState::Ok);
        let check = check_registered(&[old, ("new", days_ago(6))]).unwrap();
        assert_eq!(check.state, CheckState::Unknown);
        assert!(check.says.contains("Was it not you?") && check.next.unwrap().contains("hookhost passkey"));
    }
}
