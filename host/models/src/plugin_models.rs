//! The models of `[agent.plugin-models]`. Plugins with the grant `model` can send questions to these models outside of the
//! conversation.

use crate::error::ProviderError;
use crate::message::Message;
use crate::provider::{Delta, Provider, Request};
use crate::retry::RetryPolicy;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use hookhost::capability::{Model, ModelRequest};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum wait before a retry. During a longer wait, the plugin's deadline could pass, and the plugin would not learn the reason
/// of the failure.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(2);

/// Models by the names in grants, for [`HostBuilder::model`](hookhost::HostBuilder::model).
///
/// Each question is one request without tools. The plugin's instructions are the system prompt, and the plugin's data is the only
/// message. Temporary failures are retried, unless the server asks to wait for more than two seconds.
#[derive(Debug, Default)]
pub struct PluginModels {
    models: BTreeMap<String, Result<PluginModel, String>>,
    retry: RetryPolicy,
}

#[derive(Debug)]
struct PluginModel {
    provider: Arc<dyn Provider>,
    model: String,
    /// Maximum length of an answer in tokens, if known.
    longest_answer: Option<u32>,
}

impl PluginModels {
    /// Creates an empty set of models. Waits before retries are limited to two seconds, even if `retry` allows longer waits.
    #[must_use]
    pub fn new(retry: RetryPolicy) -> Self {
        let longest_wait = retry.longest_wait.min(MAX_RETRY_WAIT);
        Self { models: BTreeMap::new(), retry: RetryPolicy { longest_wait, ..retry } }
    }

    /// Adds a model under a name. Its answers are limited to `longest_answer` tokens.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        provider: Arc<dyn Provider>,
        model: impl Into<String>,
        longest_answer: Option<u32>,
    ) -> Self {
        let known = PluginModel { provider, model: model.into(), longest_answer };
        self.models.insert(name.to_owned(), Ok(known));
        self
    }

    /// Adds the name of a model that cannot be used. Each question to this model fails with the sentence `why`.
    #[must_use]
    pub fn without(mut self, name: &str, why: impl Into<String>) -> Self {
        self.models.insert(name.to_owned(), Err(why.into()));
        self
    }

    /// Returns the reason why questions to a model would fail, or `None` if the model can be asked.
    #[must_use]
    pub fn problem(&self, name: &str) -> Option<String> {
        match self.models.get(name) {
            Some(Ok(_)) => None,
            Some(Err(why)) => Some(why.clone()),
            None => Some(format!("[agent.plugin-models] has no model of the name {name}")),
        }
    }

    async fn ask(&self, name: &str, question: ModelRequest) -> Result<String, String> {
        let Some(Ok(known)) = self.models.get(name) else { return Err(self.problem(name).unwrap_or_default()) };
        if question.max_output_tokens == 0 {
            return Err("`max-output-tokens` is 0: ask for at least 1 token".into());
        }
        let request = Request {
            model: known.model.clone(),
            system_prompt: question.instructions,
            messages: vec![Message::user(question.input)],
            reminders: Vec::new(),
            tools: Vec::new(),
            max_output_tokens: question.max_output_tokens.min(known.longest_answer.unwrap_or(u32::MAX)),
            temperature: question.temperature,
        };
        answer(&*known.provider, request, &self.retry).await.map_err(|error| error.to_string())
    }
}

/// Sends a request without tools, and returns the text of the answer. Temporary failures are retried, unless the server asks to
/// wait longer than `retry` allows.
///
/// # Errors
/// The last failure.
pub async fn answer(provider: &dyn Provider, request: Request, retry: &RetryPolicy) -> Result<String, ProviderError> {
    let mut failures = 0;
    loop {
        match answer_once(provider, request.clone()).await {
            Ok(text) => return Ok(text),
            Err(error) => {
                failures += 1;
                let wait = retry.wait(failures, &error);
                let is_far_off = error.retry_after().is_some_and(|after| after > retry.longest_wait);
                let Some(wait) = wait.filter(|_| !is_far_off) else { return Err(error) };
                tokio::time::sleep(wait).await;
            }
        }
    }
}

impl Model for PluginModels {
    fn complete<'a>(&'a self, name: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.ask(name, request))
    }
}

/// Collects the text of an answer.
async fn answer_once(provider: &dyn Provider, request: Request) -> Result<String, ProviderError> {
    let mut stream = provider.send(request).await?;
    let mut text = String::new();
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(more) => text.push_str(&more),
            Delta::Stop(_) => return Ok(text),
            Delta::ToolCall(_) | Delta::Thinking(_) | Delta::Usage(_) => {}
        }
    }
    let reason = "its stream ended without a stop reason".into();
    Err(ProviderError::BrokenStream { provider: provider.name().to_owned(), reason })
}
