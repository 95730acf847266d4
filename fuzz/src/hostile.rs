//! Hostile plugins that do what the bytes say, beside one that refuses every tool call. The call must be refused in every case.

use crate::guest::{Contract, FEW, Script};
use crate::lab::{self, Lab};
use hookhost::Decision;
use hookhost::config::{Entry, OnFailure};
use hookhost::contract::{EventKind, ToolOrigin};

/// Loads a plugin that does what the bytes say. The first byte chooses its contract, and whether its failures count.
pub fn hostile(bytes: &[u8]) {
    let _ = hostile_is_refused(bytes);
}

/// Does the same. Returns the plugins that refused the call, or `None` if the plugin could not be loaded.
pub fn hostile_is_refused(bytes: &[u8]) -> Option<String> {
    let (kind, bytes) = bytes.split_first()?;
    let script = Script::read(bytes).ok()?;
    lab::with(|lab| {
        let mut stranger = lab.entry("stranger", &script.component(Contract::by(*kind)));
        // Otherwise a failure of this plugin would be enough to refuse the call.
        stranger.on_failure = (kind % 2 == 0).then_some(OnFailure::Skip);
        // A plugin that refuses its configuration is not loaded.
        lab.take_up(&[stranger, witness(lab)]).ok()?;
        let session = lab.session();
        lab.dispatch_all(&session);
        // The last of those events ended that session.
        let session = lab.session();
        let arguments = serde_json::json!({ "path": "a.txt", "content": "b" });
        let call = session.tool_call("call-1", "write_file", &arguments, ToolOrigin::Builtin);
        match lab.runtime.block_on(session.before_tool_call(call)).outcome {
            Decision::Rejected(rejection) => Some(rejection.by.join(", ")),
            other => panic!("a call that a plugin rejected is not rejected: {other:?}"),
        }
    })
}

/// Returns an entry of a plugin that refuses every tool call.
fn witness(lab: &Lab) -> Entry {
    const ADDRESS: u16 = 16;
    // The sixth case of `tool-call-verdict`, then its refusal: a reason of 7 bytes at address 64, and nothing more.
    let mut memory = vec![0; 64];
    memory[usize::from(ADDRESS)] = 5;
    memory[usize::from(ADDRESS) + 4] = 64;
    memory[usize::from(ADDRESS) + 8] = 7;
    memory.extend(b"refused");
    let mut entry = lab.entry("witness", &Script::answering(ADDRESS, memory).component(&FEW));
    entry.events = Some([EventKind::BeforeToolCall].into());
    entry
}
