//! A tool call as a session has prepared it.

use super::handle::Session;
use super::options::DispatchOptions;
use crate::contract::{Json, ToolCall, ToolOrigin};
use serde_json::Value;
use std::ops::Deref;

/// A tool call that is ready for dispatch. Its arguments are normalised, because a person, a plugin and the tool must
/// read the same arguments. The host has derived its action. Only a session creates a prepared call. It dereferences to
/// a [`ToolCall`].
#[derive(Clone, Debug)]
pub struct PreparedCall {
    call: ToolCall,
    /// The handle that created the call. Other handles may have a different working directory.
    handle: u64,
    /// The agent's own message about the call.
    raw: Option<Json>,
}

impl PreparedCall {
    /// Adds the agent's own message about the call, for the plugins that read this message. [`Self::into_call`] drops
    /// the message.
    #[must_use]
    pub fn raw(self, message: Json) -> Self {
        Self { raw: Some(message), ..self }
    }

    /// Returns the call without the agent's message.
    #[must_use]
    pub fn into_call(self) -> ToolCall {
        self.call
    }
}

impl Deref for PreparedCall {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

impl Session {
    /// Creates a tool call. The host's action map derives its action.
    #[must_use]
    pub fn tool_call(&self, id: &str, name: &str, arguments: &Value, origin: ToolOrigin) -> PreparedCall {
        let spec = &self.shared.spec;
        let actions = self.shared.services.actions.of(&spec.agent);
        let call = actions.call(id.to_owned(), name.to_owned(), arguments, origin, &spec.cwd.to_string_lossy());
        PreparedCall { call, handle: self.shared.state.handle(), raw: None }
    }

    /// Prepares a tool call from another source: normalises its arguments, and derives its action again.
    #[must_use]
    pub fn prepare(&self, call: ToolCall) -> PreparedCall {
        let info = self.shared.info();
        let call = self.shared.validator(&info).prepared(call);
        PreparedCall { call, handle: self.shared.state.handle(), raw: None }
    }

    /// Returns the call in the form in which plugins are asked about it. Prepares it again if another handle created
    /// it.
    pub(super) fn asked_about(&self, call: PreparedCall) -> (ToolCall, DispatchOptions) {
        let PreparedCall { call, handle, raw } = call;
        let is_ours = handle == self.shared.state.handle();
        let call = if is_ours { call } else { self.prepare(call).call };
        (call, DispatchOptions { raw, ..DispatchOptions::default() })
    }
}
