//! Shortens a result and adds a last line that says how many bytes are missing.
//!
//! A tool, or a file that it shows, can contain such a line. Therefore a line counts only with the mark of the event, which the plugins of
//! one chain share and a tool does not have. A model that reads the session's own files could compute the mark. It would only gain a number
//! that is too high: the bytes that are cut now are counted now.

use sha2::{Digest, Sha256};

const BEFORE: &str = "[";
const AFTER: &str = " bytes dropped #";

/// Cuts `text` to `most` bytes, without its note. Returns it with the number of bytes dropped now, or `None` if it is short enough. The
/// number in the note of another plugin is added to this one's.
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

/// Returns eight digits by which the plugins that subscribe to one event recognise each other's notes. No other event has them, so a number
/// in a result that is read again later does not count.
fn mark(event: &str) -> String {
    let digest = Sha256::new().chain_update("tool-policy.cut ").chain_update(event).finalize();
    digest[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a text without the note at its end, and the number in the note.
fn noted<'a>(text: &'a str, mark: &str) -> (&'a str, u64) {
    let Some((body, line)) = text.rsplit_once('\n') else { return (text, 0) };
    let number = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(&format!("{AFTER}{mark}]")));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => (body, number),
        None => (text, 0),
    }
}
