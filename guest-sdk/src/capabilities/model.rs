//! Calls to a language model, within the budget of the grant. This capability needs the grant `model`.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::model as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::model as host;

pub use crate::generated::v0_1::model::{Error, Request};

/// Asks the model and waits for its answer. The waiting time is part of the time that the plugin's deadline limits.
///
/// # Errors
/// Returns an error if the grant does not allow the call, if the budget of the grant is used up, or if the model fails.
pub fn complete(request: &Request) -> Result<String, Error> {
    host::complete(request)
}

impl Request {
    /// Creates a request for an answer of at most 1024 tokens. `input` is data, and the host passes it to the model
    /// separately from the instructions.
    #[must_use]
    pub fn new(instructions: impl Into<String>, input: impl Into<String>) -> Self {
        Self { instructions: instructions.into(), input: input.into(), max_output_tokens: 1024, temperature: None }
    }

    /// Limits the answer to this number of tokens.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = tokens;
        self
    }

    /// Sets the sampling temperature. With 0, the answers to equal requests differ least.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }
}
