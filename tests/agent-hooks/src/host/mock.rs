//! The model and the tools of a vector.

use anyhow::Result;
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use hookhost_agent::tool::{Tool, ToolContext, ToolError, ToolOutput, Toolbox};
use hookhost_models::message::{Message, StopReason, TokenUsage, ToolUse};
use hookhost_models::{Delta, DeltaStream, Provider, ProviderError, Request};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers as the vector's `model_script` says, one answer for each request.
#[derive(Debug)]
pub(super) struct Model(Mutex<VecDeque<Value>>);

impl Model {
    pub(super) fn new(script: &Value) -> Self {
        let answers = script.as_array().into_iter().flatten().map(|step| step["respond"].clone());
        Self(Mutex::new(answers.collect()))
    }
}

#[async_trait]
impl Provider for Model {
    fn name(&self) -> &str {
        "mock"
    }

    async fn send(&self, _: Request) -> Result<DeltaStream, ProviderError> {
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let none = || ProviderError::BadAnswer { provider: "mock".into(), reason: "the script has ended".into() };
        let answer = answer.ok_or_else(none)?;
        let text = answer["content"].as_str().map(|text| Delta::Text(text.to_owned()));
        let calls = answer["tool_calls"].as_array().into_iter().flatten().map(|call| {
            let part = |key: &str| call[key].as_str().unwrap_or_default();
            Delta::ToolCall(ToolUse::new(part("id"), part("name"), call["args"].clone()))
        });
        let reason = answer["finish_reason"].as_str().unwrap_or_default();
        let end = [Delta::Usage(TokenUsage::new(1, 1)), Delta::Stop(StopReason::Other(reason.to_owned()))];
        let deltas: Vec<_> = text.into_iter().chain(calls).chain(end).map(Ok).collect();
        Ok(stream::iter(deltas).boxed())
    }

    /// The messages as the specification names their members.
    fn body(&self, request: &Request) -> Value {
        let message = |message: &Message| json!({ "role": message.role(), "content": message.text() });
        json!({ "model": request.model, "messages": request.messages.iter().map(message).collect::<Vec<_>>() })
    }

    async fn send_body(&self, request: Request, _: Value) -> Result<DeltaStream, ProviderError> {
        self.send(request).await
    }
}

/// The calls that reached a tool, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Invocations(Arc<Mutex<Vec<Value>>>);

impl Invocations {
    pub(super) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, invocation: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(invocation);
    }
}

/// A tool of the vector.
#[derive(Debug)]
struct Scripted {
    name: String,
    behaviours: Vec<Value>,
    invocations: Invocations,
}

/// The tools of a vector, and nothing else.
pub(super) fn toolbox(tools: &Value, invocations: &Invocations) -> Result<Toolbox> {
    let mut toolbox = Toolbox::empty();
    for tool in tools.as_array().into_iter().flatten() {
        toolbox = toolbox.with(Arc::new(Scripted {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            behaviours: tool["behavior"].as_array().cloned().unwrap_or_default(),
            invocations: invocations.clone(),
        }))?;
    }
    Ok(toolbox)
}

#[async_trait]
impl Tool for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A tool of a conformance vector."
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.invocations.add(json!({ "name": self.name, "args": arguments }));
        let fits = |behaviour: &&Value| behaviour.get("when_args").is_none_or(|wanted| *wanted == arguments);
        let Some(behaviour) = self.behaviours.iter().find(fits) else {
            return Ok(ToolOutput::error("the vector has no result for these arguments"));
        };
        let value = &behaviour["return"];
        let mut output = match value.as_str() {
            Some(text) => ToolOutput::success(text),
            None => ToolOutput::success(value.to_string()),
        };
        output.raw = (!value.is_string()).then(|| value.clone());
        output.is_error = behaviour["is_error"].as_bool().unwrap_or_default();
        Ok(output)
    }
}
