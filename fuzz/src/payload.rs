//! Payloads of events, as `hookhost dispatch` takes them.

use crate::lab;
use hookhost::contract::EventKind;
use serde_json::Value;

/// Reads `EVENT JSON`: an event and its claimed payload. The plugin that subscribes to it objects to nothing.
pub fn payload(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((event, payload)) = text.split_once(' ') else { return };
    let Some(event) = EventKind::from_name(event) else { return };
    let Ok(payload) = serde_json::from_str::<Value>(payload) else { return };
    lab::with(|lab| {
        lab.have_a_quiet_plugin();
        lab.dispatch(&lab.session(), event, payload);
    });
}
