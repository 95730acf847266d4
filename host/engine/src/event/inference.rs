//! Events before, during and after a call of a model.

use super::CallValidator;
use super::GateEvent;
use super::declare::{event, text_event};
use crate::compose::Verdict;
use crate::contract::{Inference, InferenceChanges, InferenceVerdict, Never, Response, Usage, UsageVerdict};

event! {
    /// A request is about to be sent to a model.
    BeforeInference("request": Inference) -> (InferenceVerdict,)
}

impl GateEvent for BeforeInference {
    type Verdict = InferenceVerdict;
    type Response = String;

    fn answer(
        verdict: InferenceVerdict,
        request: &Inference,
        validator: &CallValidator<'_>,
    ) -> Result<Verdict<Inference, String>, String> {
        Ok(match verdict {
            InferenceVerdict::Allow => Verdict::Allow,
            InferenceVerdict::Modify(changes) => Verdict::Change(changed(request, changes, validator)?),
            InferenceVerdict::Escalate(question) => Verdict::Escalate(question),
            InferenceVerdict::Reject(refusal) => Verdict::Reject(refusal),
            InferenceVerdict::Respond(text) => Verdict::Respond(text),
        })
    }
}

/// Applies changes to a request. The changes may remove tools but not add any. If the changes contain a new provider or
/// model, it must be configured.
fn changed(request: &Inference, changes: InferenceChanges, validator: &CallValidator<'_>) -> Result<Inference, String> {
    let mut request = request.clone();
    if let Some(tools) = changes.tools {
        if let Some(more) = tools.iter().find(|tool| !request.tools.contains(tool)) {
            return Err(format!("added the tool `{more}` to a request; a plugin can only remove tools"));
        }
        request.tools.retain(|tool| tools.contains(tool));
    }
    let moves = changes.provider.is_some() || changes.model.is_some();
    request.provider = changes.provider.unwrap_or(request.provider);
    request.model = changes.model.unwrap_or(request.model);
    if moves && !validator.knows_model(&request.provider, &request.model) {
        return Err(format!(
            "changed the model of a request to `{}` of `{}`, which is not configured",
            request.model, request.provider
        ));
    }
    request.system_prompt = changes.system_prompt.unwrap_or(request.system_prompt);
    request.prompt = changes.prompt.unwrap_or(request.prompt);
    Ok(request)
}

text_event! {
    /// A part of an answer has arrived.
    StreamDelta("delta")
}
text_event! {
    /// The final text of a task.
    FinalizeContent("content")
}

event! {
    /// The stream of an answer has ended.
    StreamEnd("text": String) -> ()
}

event! {
    /// An answer is complete.
    AfterInference("response": Response) -> ()
}

event! {
    /// Tokens were used.
    TokenUsage("usage": Usage) -> (UsageVerdict,)
}

impl GateEvent for TokenUsage {
    type Verdict = UsageVerdict;
    type Response = Never;

    fn answer(verdict: UsageVerdict, _: &Usage, _: &CallValidator<'_>) -> Result<Verdict<Usage, Never>, String> {
        Ok(match verdict {
            UsageVerdict::Allow => Verdict::Allow,
            UsageVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}
