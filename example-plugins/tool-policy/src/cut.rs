//! Shortening a result, with a last line that says how much is missing.
//!
//! A tool can print such a line itself, and so can a file that it shows. One that anybody could have written is therefore
//! not believed: a line counts only with the mark of the event, which the plugins of one chain share and a tool does not
//! have. A model that reads the session's own files could compute the mark, and would gain a number that is too high: what is
//! cut here and now is counted here and now.

use sha2::{Digest, Sha256};

const BEFORE: &str = "[";
const AFTER: &str = " bytes dropped #";

/// `text` in at most `most` bytes, its note left out of the count, and how many bytes were dropped now. Nothing where it
/// is short enough. What another plugin's note says is added to this one's.
pub(crate) fn cut(text: &str, most: usize, event: &str) -> Option<(String, usize)> {
    let mark = mark(event);
    let (body, before) = noted(text, &mark);
    if body.len() <= most {
        return None;
    }
    let kept = body.floor_char_boundary(most);
    let dropped = body.len() - kept;
    let total = before.saturating_add(dropped as u64);
    Some((format!("{}\n{BEFORE}{total}{AFTER}{mark}]", &body[..kept]), dropped))
}

/// Eight digits by which the plugins that subscribe to one event know each other's notes. No other event has them, so that a result
/// which is read again later brings no number with it.
fn mark(event: &str) -> String {
    let digest = Sha256::new().chain_update("tool-policy.cut ").chain_update(event).finalize();
    digest[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text without the note that ends it, and the number that the note says.
fn noted<'a>(text: &'a str, mark: &str) -> (&'a str, u64) {
    let Some((body, line)) = text.rsplit_once('\n') else { return (text, 0) };
    let number = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(&format!("{AFTER}{mark}]")));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => (body, number),
        None => (text, 0),
    }
}
