//! `model`: side calls to a language model, within the grant's budget.

use super::{Guest, wit};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use wit::model::Error;

/// A language model, as the embedder has it.
pub trait Model: Send + Sync {
    /// Completes a request to the model that the configuration calls `name`.
    ///
    /// # Errors
    /// One sentence on why there is no completion.
    fn complete<'a>(&'a self, name: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>>;
}

/// A side call.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// What the model is to do.
    pub instructions: String,
    /// Data, which is to be kept apart from the instructions.
    pub input: String,
    /// Tokens that the answer may have.
    pub max_output_tokens: u32,
    /// Sampling temperature; absent: the model's own default.
    pub temperature: Option<f32>,
}

impl wit::model::Host for Guest {
    async fn complete(&mut self, request: wit::model::Request) -> wasmtime::Result<Result<String, Error>> {
        self.count_call()?;
        let Some(grant) = &self.grants.model else {
            return Ok(Err(Error::Denied("the allowlist grants no model".into())));
        };
        let Some(model) = self.model.clone() else {
            return Ok(Err(Error::Denied("this agent offers plugins no model".into())));
        };
        if self.model_calls.fetch_add(1, Ordering::Relaxed) >= grant.max_calls.get() {
            return Ok(Err(Error::BudgetExceeded));
        }
        let request = ModelRequest {
            instructions: request.instructions,
            input: request.input,
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
        };
        // It is the embedder's code: its panic must not become the host's.
        let asked = AssertUnwindSafe(async { model.complete(&grant.name, request).await }).catch_unwind();
        Ok(asked.await.unwrap_or_else(|_| Err("the model failed".into())).map_err(Error::Failed))
    }
}
