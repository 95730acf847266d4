//! Events before and after tool calls.

use super::declare::event;
use super::{Binary, CallValidator, Event, GateEvent, TransformEvent};
use crate::compose::{Passage, Verdict};
use crate::contract::action::ActionMap;
use crate::contract::{
    BatchVerdict, Never, ResultSource, Session, ToolCall, ToolCallVerdict, ToolOutcome, ToolResult, ToolResultVerdict,
};
use crate::wire::{Given as _, In};

event! {
    /// All tool calls of one answer are about to run.
    BeforeTools("calls": Vec<ToolCall>) -> (BatchVerdict,) {
        fn prepared(calls: Vec<ToolCall>, validator: &CallValidator<'_>) -> Vec<ToolCall> {
            calls.into_iter().map(|call| validator.prepared(call)).collect()
        }
        fn calls(calls: &Vec<ToolCall>) -> Option<&[ToolCall]> {
            Some(calls)
        }
    }
}

impl GateEvent for BeforeTools {
    type Verdict = BatchVerdict;
    type Response = Never;

    fn answer(
        verdict: BatchVerdict,
        _: &Vec<ToolCall>,
        _: &CallValidator<'_>,
    ) -> Result<Verdict<Vec<ToolCall>, Never>, String> {
        Ok(match verdict {
            BatchVerdict::Allow => Verdict::Allow,
            BatchVerdict::Escalate(question) => Verdict::Escalate(question),
            BatchVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

event! {
    /// A tool is about to be called.
    BeforeToolCall("call": ToolCall) -> (ToolCallVerdict,) {
        fn check(call: &ToolCall, actions: &ActionMap) -> Result<(), String> {
            if call.name.is_empty() {
                return Err("a tool call must name a tool".into());
            }
            let ambiguity = call.arguments.read().ok().and_then(|arguments| actions.ambiguity(&arguments));
            ambiguity.map_or(Ok(()), |why| Err(format!("the call {why}: rules and the tool could read different ones")))
        }
        fn prepared(call: ToolCall, validator: &CallValidator<'_>) -> ToolCall {
            validator.prepared(call)
        }
        fn calls(call: &ToolCall) -> Option<&[ToolCall]> {
            Some(std::slice::from_ref(call))
        }
    }
}

impl GateEvent for BeforeToolCall {
    type Verdict = ToolCallVerdict;
    type Response = ToolResult;

    fn answer(
        verdict: ToolCallVerdict,
        call: &ToolCall,
        validator: &CallValidator<'_>,
    ) -> Result<Verdict<ToolCall, ToolResult>, String> {
        Ok(match verdict {
            ToolCallVerdict::Allow => Verdict::Allow,
            ToolCallVerdict::Approve(_) => Verdict::Approve,
            ToolCallVerdict::Modify(arguments) => Verdict::Change(validator.modified(call, &arguments)?),
            ToolCallVerdict::Rewrite(action) => Verdict::Change(validator.rewritten(call, &action)?),
            ToolCallVerdict::Escalate(question) => Verdict::Escalate(question),
            ToolCallVerdict::Reject(refusal) => Verdict::Reject(refusal),
            ToolCallVerdict::Respond(result) => Verdict::Respond(result),
        })
    }
}

/// A tool has returned a result.
#[derive(Debug)]
pub struct AfterToolCall;

impl Event for AfterToolCall {
    type Payload = ToolOutcome;
    type Params<'a> = (In<'a, Session>, In<'a, ToolCall>, In<'a, ToolResult>, In<'a, ResultSource>);
    type Return = (ToolResultVerdict,);
    const PARAMETER: Option<&'static str> = None;

    fn params<'a>(session: &'a Session, outcome: &'a ToolOutcome) -> Self::Params<'a> {
        (session.given(), outcome.call.given(), outcome.tool_result.given(), outcome.source.given())
    }
    fn without_binary(outcome: &ToolOutcome) -> Option<(ToolOutcome, Binary)> {
        let ToolOutcome { call, tool_result: ToolResult { text, is_error, raw }, source } = outcome;
        let (binary, raw, text) = Binary::of(raw.as_ref(), text)?;
        let tool_result = ToolResult { text, is_error: *is_error, raw };
        Some((ToolOutcome { call: call.clone(), tool_result, source: *source }, binary))
    }
    fn calls(outcome: &ToolOutcome) -> Option<&[ToolCall]> {
        Some(std::slice::from_ref(&outcome.call))
    }
}

impl TransformEvent for AfterToolCall {
    type Verdict = ToolResultVerdict;
    type Value = ToolResult;

    fn value(outcome: &ToolOutcome) -> &ToolResult {
        &outcome.tool_result
    }
    fn replace(outcome: &mut ToolOutcome, result: ToolResult) {
        outcome.tool_result = result;
    }
    fn put_back(verdict: &mut ToolResultVerdict, binary: &mut Binary) {
        if let ToolResultVerdict::Replace(result) = verdict {
            binary.put_back(&mut result.text);
            if let Some(raw) = &mut result.raw {
                binary.put_back_json(raw);
            }
        }
    }
    fn passage(verdict: ToolResultVerdict, _: &ToolOutcome) -> Result<Passage<ToolResult>, String> {
        Ok(match verdict {
            ToolResultVerdict::Keep => Passage::Keep,
            ToolResultVerdict::Replace(result) => Passage::Replace(result),
            ToolResultVerdict::Reject(refusal) => Passage::Reject(refusal),
        })
    }
}
