//! A tool call as a session has prepared it.

use super::handle::Session;
use super::options::DispatchOptions;
use crate::contract::{Json, ToolCall, ToolOrigin};
use serde_json::Value;
use std::ops::Deref;

/// A tool call that can be asked about. Its arguments have one spelling, so that a person, a plugin and the tool see the same,
/// and its action is worked out. Only a session makes one; it is read like a [`ToolCall`].
#[derive(Clone, Debug)]
pub struct PreparedCall {
    call: ToolCall,
    /// The handle that made it: another one may have another working directory.
    handle: u64,
    /// The agent's own message about it.
    raw: Option<Json>,
}

impl PreparedCall {
    /// The same, with the message in which an agent told of it, for the plugins that read it. [`Self::into_call`] leaves it out.
    #[must_use]
    pub fn raw(self, message: Json) -> Self {
        Self { raw: Some(message), ..self }
    }

    /// The call by itself.
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
    /// A tool call whose action the host's action map works out.
    #[must_use]
    pub fn tool_call(&self, id: &str, name: &str, arguments: &Value, origin: ToolOrigin) -> PreparedCall {
        let spec = &self.shared.spec;
        let actions = self.shared.services.actions.of(&spec.agent);
        let call = actions.call(id.to_owned(), name.to_owned(), arguments, origin, &spec.cwd.to_string_lossy());
        PreparedCall { call, handle: self.shared.state.handle(), raw: None }
    }

    /// A tool call that comes from elsewhere: its arguments get the one spelling, and its action is derived again.
    #[must_use]
    pub fn prepare(&self, call: ToolCall) -> PreparedCall {
        let (config, info) = (self.shared.config(), self.shared.info());
        let call = self.shared.validator(&config, &info).prepared(call);
        PreparedCall { call, handle: self.shared.state.handle(), raw: None }
    }

    /// The call as it is asked about.
    pub(super) fn asked_about(&self, call: PreparedCall) -> (ToolCall, DispatchOptions) {
        let PreparedCall { call, handle, raw } = call;
        let is_ours = handle == self.shared.state.handle();
        let call = if is_ours { call } else { self.prepare(call).call };
        (call, DispatchOptions { raw, ..DispatchOptions::default() })
    }
}
