//! The capability `model`: side calls to a language model, within the budget of the grant.

use super::{Guest, of_the_contract, wit};
use crate::callback;
use crate::contract::bytes::written_size;
use crate::sandbox::{ModelAnswer, ModelReply};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use wit::model::Error;

/// Maximum size of the requests and answers in the record of one call, in bytes of JSON. A call that exceeds this size
/// cannot be replayed. The size includes requests that the host does not send to the model, because a guest may make
/// ten thousand of them.
const RECORDED: usize = 4 << 20;

/// The language models of the embedding program.
///
/// ```
/// use hookhost::BoxFuture;
/// use hookhost::capability::{Model, ModelRequest};
/// use hookhost::{Config, Host};
/// use std::sync::Arc;
///
/// struct Client;
///
/// impl Model for Client {
///     fn complete<'a>(&'a self, name: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
///         Box::pin(async move {
///             match name {
///                 // Here a client of a provider sends the request.
///                 "small" => Ok(format!("{} characters", request.input.chars().count())),
///                 other => Err(format!("there is no model `{other}`")),
///             }
///         })
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder(Config::empty()).model(Arc::new(Client)).build().await?;
/// # let _ = host;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub trait Model: Send + Sync {
    /// Completes a request to the model that the configuration calls `name`.
    ///
    /// # Errors
    /// Returns one sentence that says why there is no completion.
    fn complete<'a>(&'a self, name: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>>;
}

/// A request of a plugin to a language model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelRequest {
    /// Instructions for the model.
    pub instructions: String,
    /// Data for the model. The client must send the data separately from the instructions.
    pub input: String,
    /// Maximum number of tokens of the answer.
    pub max_output_tokens: u32,
    /// Sampling temperature. If it is absent, the model uses its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

impl From<ModelReply> for Result<String, Error> {
    fn from(reply: ModelReply) -> Self {
        match reply {
            ModelReply::Completion(text) => Ok(text),
            ModelReply::Denied(why) => Err(Error::Denied(why)),
            ModelReply::Failed(why) => Err(Error::Failed(why)),
            ModelReply::BudgetExceeded => Err(Error::BudgetExceeded),
        }
    }
}

/// The capability `model`.
pub(super) struct SideCalls;

of_the_contract!(SideCalls = model, "model", Some(r#"model = { name = "small", max-calls = 10 }"#), |grants| grants
    .model
    .is_some());

impl wit::model::Host for Guest {
    async fn complete(&mut self, request: wit::model::Request) -> wasmtime::Result<Result<String, Error>> {
        self.count_call()?;
        let request = ModelRequest {
            instructions: request.instructions,
            input: request.input,
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
        };
        let reply = match &mut self.given.replayed {
            Some(replayed) => replayed.reply(&request),
            None => self.reply(request.clone()).await,
        };
        self.note_asked(request, &reply);
        Ok(reply.into())
    }
}

impl Guest {
    /// Records a request and its reply, if the record does not become too large.
    fn note_asked(&mut self, request: ModelRequest, reply: &ModelReply) {
        let asked = ModelAnswer { request, answer: reply.clone() };
        self.asked_bytes = self.asked_bytes.saturating_add(size_of::<ModelAnswer>() + written_size(&asked));
        if self.asked_bytes > RECORDED {
            self.did.unrepeatable.insert("the plugin asked the model for more than the log stores");
            return;
        }
        self.did.inputs.model.push(asked);
    }

    async fn reply(&mut self, request: ModelRequest) -> ModelReply {
        let Some(grant) = &self.given.grants.model else {
            return ModelReply::Denied("the allowlist grants no model".into());
        };
        let (Some(model), Some(calls)) = (&self.given.model, &self.given.model_calls) else {
            return ModelReply::Denied("this agent offers plugins no model".into());
        };
        if calls.fetch_add(1, Ordering::Relaxed) >= grant.max_calls.get() {
            return ModelReply::BudgetExceeded;
        }
        let asked = callback::polled(self.given.waiters.clone(), || model.complete(&grant.name, request));
        match asked.await {
            Ok(Ok(text)) => ModelReply::Completion(text),
            Ok(Err(why)) => ModelReply::Failed(why),
            Err(_) => ModelReply::Failed("the model failed".into()),
        }
    }
}
