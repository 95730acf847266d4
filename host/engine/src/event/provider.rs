//! Events about the provider of a request: the choice of the model, the body that is sent, and the answer.

use super::declare::event;
use super::{Binary, CallValidator, GateEvent, TransformEvent};
use crate::compose::{Passage, Verdict};
use crate::contract::{
    Json, Never, RawRequest, RawResponse, RequestVerdict, Resolution, ResolutionVerdict, ResponseVerdict, canonical,
};
use serde_json::Value;

event! {
    /// A session has chosen its model.
    ProviderResolve("resolution": Resolution) -> (ResolutionVerdict,)
}

impl GateEvent for ProviderResolve {
    type Verdict = ResolutionVerdict;
    type Response = Never;

    fn answer(
        verdict: ResolutionVerdict,
        resolution: &Resolution,
        _: &CallValidator<'_>,
    ) -> Result<Verdict<Resolution, Never>, String> {
        Ok(match verdict {
            ResolutionVerdict::Allow => Verdict::Allow,
            ResolutionVerdict::Modify(chosen) if resolution.candidates.contains(&chosen) => {
                Verdict::Change(Resolution { chosen, candidates: resolution.candidates.clone() })
            }
            ResolutionVerdict::Modify(chosen) => {
                return Err(format!("chose `{}` of `{}`, which is not a candidate", chosen.model, chosen.provider));
            }
            ResolutionVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

event! {
    /// The body of a request is about to be sent.
    RequestSend("request": RawRequest) -> (RequestVerdict,) {
        fn without_binary(request: &RawRequest) -> Option<(RawRequest, Binary)> {
            let (binary, body) = Binary::of_json(&request.body)?;
            Some((RawRequest { provider: request.provider.clone(), model: request.model.clone(), body }, binary))
        }
    }
}

impl GateEvent for RequestSend {
    type Verdict = RequestVerdict;
    type Response = Never;

    fn put_back(verdict: &mut RequestVerdict, binary: &mut Binary) {
        if let RequestVerdict::Modify(body) = verdict {
            binary.put_back_json(body);
        }
    }
    fn answer(
        verdict: RequestVerdict,
        request: &RawRequest,
        validator: &CallValidator<'_>,
    ) -> Result<Verdict<RawRequest, Never>, String> {
        Ok(match verdict {
            RequestVerdict::Allow => Verdict::Allow,
            RequestVerdict::Modify(body) => changed(request, &body, validator)?,
            RequestVerdict::Escalate(question) => Verdict::Escalate(question),
            RequestVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

/// Checks a changed body. The body must be an object. If it has a `model`, this model must be configured.
fn changed(
    request: &RawRequest,
    body: &Json,
    validator: &CallValidator<'_>,
) -> Result<Verdict<RawRequest, Never>, String> {
    let body = object(body)?;
    if canonical(&request.body).is_ok_and(|current| current == body.text) {
        return Ok(Verdict::Allow);
    }
    let current: Value = request.body.read().unwrap_or_default();
    if body.value.get("model") != current.get("model") {
        let model = body.value.get("model").and_then(Value::as_str).unwrap_or_default();
        if !validator.knows_model(&request.provider, model) {
            return Err(format!(
                "changed the model of a request to `{model}` of `{}`, which is not configured",
                request.provider
            ));
        }
    }
    Ok(Verdict::Change(RawRequest { body: body.text, ..request.clone() }))
}

event! {
    /// A complete answer has arrived.
    ResponseReceive("response": RawResponse) -> (ResponseVerdict,) {
        fn without_binary(response: &RawResponse) -> Option<(RawResponse, Binary)> {
            let (binary, body) = Binary::of_json(&response.body)?;
            Some((RawResponse { provider: response.provider.clone(), model: response.model.clone(), body }, binary))
        }
    }
}

impl TransformEvent for ResponseReceive {
    type Verdict = ResponseVerdict;
    type Value = RawResponse;

    fn value(response: &RawResponse) -> &RawResponse {
        response
    }
    fn replace(response: &mut RawResponse, new: RawResponse) {
        *response = new;
    }
    fn put_back(verdict: &mut ResponseVerdict, binary: &mut Binary) {
        if let ResponseVerdict::Replace(body) = verdict {
            binary.put_back_json(body);
        }
    }
    fn passage(verdict: ResponseVerdict, response: &RawResponse) -> Result<Passage<RawResponse>, String> {
        Ok(match verdict {
            ResponseVerdict::Keep => Passage::Keep,
            ResponseVerdict::Replace(body) => {
                Passage::Replace(RawResponse { body: object(&body)?.text, ..response.clone() })
            }
            ResponseVerdict::Reject(refusal) => Passage::Reject(refusal),
        })
    }
}

/// A JSON object in canonical form.
struct Object {
    value: Value,
    text: Json,
}

fn object(body: &Json) -> Result<Object, String> {
    let text = canonical(body).map_err(|error| format!("answered a body that cannot be read: {error}"))?;
    match text.read() {
        Ok(value @ Value::Object(_)) => Ok(Object { value, text }),
        _ => Err("answered a body that is not a JSON object".into()),
    }
}
