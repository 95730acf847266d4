//! An agent context as the events of the contract, and their outcomes as a verdict.

use super::path::change;
use agent_hooks::{AgentContext, Decision, Interceptor, Verdict, Warning};
use anyhow::Result;
use async_trait::async_trait;
use hookhost::audit::EventRecord;
use hookhost::contract::{
    Cause, Decision as HostDecision, Inference, Json, ModelChoice, RawRequest, RawResponse, Rejection, Resolution,
    ResultSource, Task, ToolCall, ToolOrigin, ToolResult, TransformOutcome, Usage,
};
use hookhost::{Host, RecordedOutcome, Session, SessionSpec};
use serde_json::{Value, json};
use std::path::Path;

/// A session of hookhost that answers for a host of agent-hooks.
#[derive(Debug)]
pub(super) struct Chain {
    session: Session,
}

impl Chain {
    /// # Errors
    /// If the session cannot be opened.
    pub(super) fn new(host: &Host) -> Result<Self> {
        Ok(Self { session: host.open_session(SessionSpec::new("agent-hooks", Path::new("/")))? })
    }
}

#[async_trait]
impl Interceptor for Chain {
    async fn intercept(&self, context: &AgentContext) -> Verdict {
        let mut asked = Asked { before: context["target"].clone(), ..Asked::default() };
        let done = self.ask(context, &mut asked).await;
        asked.verdict(done)
    }
}

/// Why a point is denied.
enum Denied {
    Rejection(Rejection),
    /// An outcome that a verdict of agent-hooks cannot express.
    Inexpressible(&'static str),
}

impl From<Rejection> for Denied {
    fn from(rejection: Rejection) -> Self {
        Self::Rejection(rejection)
    }
}

/// What the events of one point have come to so far.
#[derive(Default)]
struct Asked {
    before: Value,
    records: Vec<EventRecord>,
}

impl Asked {
    fn gate<V, R>(&mut self, settled: RecordedOutcome<HostDecision<V, R>>) -> Result<V, Denied> {
        self.records.push(*settled.record);
        match settled.outcome {
            HostDecision::Allowed { value } => Ok(value),
            HostDecision::Responded { .. } => Err(Denied::Inexpressible("a plugin answers in its place")),
            HostDecision::Rejected(rejection) => Err(rejection.into()),
        }
    }

    fn transform<V>(&mut self, settled: RecordedOutcome<TransformOutcome<V>>) -> Result<V, Denied> {
        self.records.push(*settled.record);
        match settled.outcome {
            TransformOutcome::Passed { value } => Ok(value),
            TransformOutcome::Withheld(rejection) => Err(rejection.into()),
        }
    }

    fn verdict(self, done: Result<Value, Denied>) -> Verdict {
        let mut verdict = match done {
            Ok(after) if after == self.before => Verdict::allow(),
            Ok(after) => {
                let transform = Some(change(&self.before, &after));
                Verdict { decision: Decision::Transform, transform, ..Verdict::allow() }
            }
            Err(Denied::Inexpressible(what)) => {
                Verdict::deny(Some("runtime_error:inexpressible".into()), Some(what.into()))
            }
            Err(Denied::Rejection(rejection)) => self.denied(rejection),
        };
        let findings = self.records.iter().flat_map(|record| &record.calls).flat_map(|call| &call.findings);
        for finding in findings {
            match finding.action.as_str() {
                "reason" if verdict.reason.is_none() => verdict.reason = Some(finding.code.clone()),
                "warning" => {
                    let message = Some(finding.explanation.clone()).filter(|text| !text.is_empty());
                    verdict.warnings.push(Warning { reason: Some(finding.code.clone()), message });
                }
                "label" if verdict.decision.permits() => verdict.result_labels.push(finding.code.clone()),
                _ => {}
            }
        }
        verdict
    }

    /// A rejection. A question that nobody here answers is the mounting host's to have answered.
    fn denied(&self, Rejection { cause, refusal, .. }: Rejection) -> Verdict {
        let question = self.records.last().and_then(|record| record.questions.first());
        match (cause, question) {
            (Cause::NotApproved, Some(question)) => {
                let escalation = question.escalation.clone();
                Verdict::escalate(escalation.code, Some(escalation.question))
            }
            (Cause::Verdict, _) => Verdict::deny(refusal.code, Some(refusal.reason)),
            (Cause::Failed(kind), _) if kind.is_timeout() => {
                Verdict::deny(Some("runtime_error:timed_out".into()), None)
            }
            (Cause::Failed(_), _) => Verdict::deny(Some("runtime_error:failed".into()), None),
            _ => Verdict::deny(Some("runtime_error:not_settled".into()), Some(refusal.reason)),
        }
    }
}

impl Chain {
    /// The target after the events of this point, in the order in which the agent loop has them.
    async fn ask(&self, context: &AgentContext, asked: &mut Asked) -> Result<Value, Denied> {
        let target = context["target"].clone();
        match context["interception_point"].as_str() {
            Some("agent_startup") => {
                asked.records.push(*self.session.session_start().await.record);
                let chosen = ModelChoice { provider: text(&context["agent"]["framework"]), model: String::new() };
                let resolution = Resolution { candidates: vec![chosen.clone()], chosen };
                asked.gate(self.session.provider_resolve(resolution).await)?;
                Ok(target)
            }
            Some("input") => self.input(target, asked).await,
            Some("pre_model_call") => self.request(context, target, asked).await,
            Some("post_model_call") => self.response(context, target, asked).await,
            Some("pre_tool_call") => {
                let call = self.call(context);
                let call = self.session.prepare(call);
                let call = asked.gate(self.session.before_tool_call(call).await)?;
                call.arguments.read().map_err(|_| Denied::Inexpressible("arguments that are no JSON"))
            }
            Some("post_tool_call") => {
                let result = ToolResult {
                    text: text(&target),
                    is_error: context["tool_result"]["is_error"].as_bool().unwrap_or_default(),
                    raw: (!target.is_string()).then(|| Json::from(&target)),
                };
                let settled = self.session.after_tool_call(&self.call(context), result, ResultSource::Tool).await;
                let result = asked.transform(settled)?;
                match result.raw {
                    Some(raw) => raw.read().map_err(|_| Denied::Inexpressible("a result that is no JSON")),
                    None => Ok(json!(result.text)),
                }
            }
            Some("output") => {
                let content = asked.transform(self.session.finalize_content(text(&target["content"])).await)?;
                with(target, "content", &content)
            }
            Some("agent_shutdown") => {
                asked.records.push(*self.session.session_end(Usage::default()).await.record);
                Ok(target)
            }
            _ => Err(Denied::Inexpressible("an interception point that is not known")),
        }
    }

    async fn input(&self, target: Value, asked: &mut Asked) -> Result<Value, Denied> {
        let task = Task { prompt: text(&target["content"]), title: None };
        let task = asked.gate(self.session.task_start(task).await)?;
        let prompt = asked.transform(self.session.prompt_submit(task.prompt).await)?;
        with(target, "content", &prompt)
    }

    async fn request(&self, context: &AgentContext, mut target: Value, asked: &mut Asked) -> Result<Value, Denied> {
        let provider = text(&context["agent"]["framework"]);
        let model = text(&context["model"]["id"]);
        let messages = target.as_array().map(Vec::as_slice).unwrap_or_default();
        let last_of = |role: &str| messages.iter().rposition(|message| message["role"] == role);
        let (system, user) = (last_of("system"), last_of("user"));
        let said = |at: Option<usize>| at.map_or_else(String::new, |at| text(&messages[at]["content"]));
        let tools = context.get("tools").and_then(Value::as_array).into_iter().flatten();
        let request = Inference {
            provider: provider.clone(),
            model: model.clone(),
            system_prompt: said(system),
            prompt: said(user),
            tools: tools.map(|tool| text(&tool["name"])).collect(),
            input_tokens: target.to_string().len() as u64 / 4,
            used: Default::default(),
        };
        let before = request.clone();
        let request = asked.gate(self.session.before_inference(request).await)?;
        if (&request.provider, &request.model, &request.tools) != (&before.provider, &before.model, &before.tools) {
            return Err(Denied::Inexpressible("another model, or fewer tools"));
        }
        for (at, before, after) in
            [(system, before.system_prompt, request.system_prompt), (user, before.prompt, request.prompt)]
        {
            match at {
                _ if before == after => {}
                Some(at) => target[at] = with(target[at].take(), "content", &after)?,
                None => return Err(Denied::Inexpressible("a message that is not there")),
            }
        }
        let body = Json::from(json!({ "model": model, "messages": target }));
        let body = asked.gate(self.session.request_send(RawRequest { provider, model, body }).await)?.body;
        let mut body: Value = body.read().map_err(|_| Denied::Inexpressible("a body that is no JSON"))?;
        Ok(body["messages"].take())
    }

    async fn response(&self, context: &AgentContext, mut target: Value, asked: &mut Asked) -> Result<Value, Denied> {
        let calls = target["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| json!({ "id": call["id"], "name": call["name"], "arguments": call["args"] }));
        let body = json!({
            "text": text(&target["content"]),
            "tool-calls": calls.collect::<Vec<_>>(),
            "stop-reason": target["finish_reason"],
        });
        let response = RawResponse {
            provider: text(&context["agent"]["framework"]),
            model: text(&context["model"]["id"]),
            body: Json::from(&body),
        };
        let after = asked.transform(self.session.response_receive(response).await)?;
        let mut after: Value = after.body.read().map_err(|_| Denied::Inexpressible("an answer that is no JSON"))?;
        if after != body {
            let calls = after["tool-calls"].as_array().into_iter().flatten();
            let calls = calls.map(|call| json!({ "id": call["id"], "name": call["name"], "args": call["arguments"] }));
            let calls = calls.collect();
            target = with(target, "content", after["text"].as_str().unwrap_or_default())?;
            target["tool_calls"] = calls;
            target["finish_reason"] = after["stop-reason"].take();
        }
        Ok(target)
    }

    fn call(&self, context: &AgentContext) -> ToolCall {
        let call = &context["tool_call"];
        let prepared =
            self.session.tool_call(&text(&call["id"]), &text(&call["name"]), &call["args"], ToolOrigin::External);
        prepared.into_call()
    }
}

/// A value as a text: a string is its own.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The object with another text in this member, in the form that the member has.
fn with(mut object: Value, member: &str, after: &str) -> Result<Value, Denied> {
    if text(&object[member]) != after {
        object[member] = match &object[member] {
            Value::String(_) | Value::Null => json!(after),
            _ => serde_json::from_str(after).map_err(|_| Denied::Inexpressible("a text in place of an object"))?,
        };
    }
    Ok(object)
}
