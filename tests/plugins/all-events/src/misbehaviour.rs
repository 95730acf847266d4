//! The misbehaviours, each implemented in the simplest way.

use crate::answer::{Answer, Shape};
use crate::behaviour::{Behaviour, Misbehaviour};
use crate::facts::Facts;
use hookhost_guest::prelude::*;
use serde_json::Value;
use std::hint::black_box;
use std::time::Duration;

/// Size of a `big-answer`, in bytes.
pub(crate) const BIG: usize = 10 << 20;

/// Runs the misbehaviour of a behaviour, if there is one. Some misbehaviours are answers that are too large or invalid; such an answer
/// is returned.
pub(crate) fn run<A: Answer>(behaviour: &Behaviour, facts: &Facts, shape: Shape) -> Option<A> {
    match behaviour.misbehave? {
        Misbehaviour::Loop => spin(),
        Misbehaviour::Recurse => {
            recurse(black_box(0));
            None
        }
        Misbehaviour::Allocate => allocate(),
        Misbehaviour::BigAnswer => answer(with_text(shape, "x".repeat(BIG))?),
        Misbehaviour::Trap => trap(),
        Misbehaviour::Exit => std::process::exit(0),
        Misbehaviour::Sleep => {
            std::thread::sleep(Duration::from_secs(3600));
            None
        }
        Misbehaviour::Flood => loop {
            log::info(format!("flood on {}", facts.session));
        },
        Misbehaviour::InvalidJson => answer(invalid_json(shape)?),
        Misbehaviour::InvalidText => answer(with_text(shape, invalid_text())?),
    }
}

fn answer<A: Answer>(json: Value) -> Option<A> {
    serde_json::from_value(json).ok()
}

fn spin() -> ! {
    let mut n = 0_u64;
    loop {
        n = black_box(n.wrapping_add(1));
    }
}

#[expect(unconditional_recursion, reason = "that is the misbehaviour")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    recurse(black_box(depth + 1)).wrapping_add(black_box(frame)[7])
}

fn allocate() -> ! {
    let mut held = Vec::new();
    loop {
        held.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Executes only the unreachable instruction. A panic would first write a message.
fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort()
}

/// Returns an answer that contains this text. For an event without an answer, logs the text.
fn with_text(shape: Shape, text: String) -> Option<Value> {
    let (mut answer, place) = match shape {
        Shape::Nothing => {
            log::info(text);
            return None;
        }
        Shape::Tasks => (json!([{ "prompt": "" }]), "/0/prompt"),
        Shape::CallTool => (json!({ "text": "", "is-error": false }), "/text"),
        Shape::Text => (json!({ "replace": "" }), "/replace"),
        Shape::ToolResult => (json!({ "replace": { "text": "", "is-error": false } }), "/replace/text"),
        Shape::Completion => (json!({ "go-on": [{ "prompt": "" }] }), "/go-on/0/prompt"),
        Shape::ToolCall
        | Shape::Inference
        | Shape::Custom
        | Shape::RawResponse
        | Shape::Resolution
        | Shape::Task
        | Shape::Subagent
        | Shape::Compaction
        | Shape::Plain => {
            (json!({ "reject": { "reason": "", "code": null, "retryable": false, "stop": false } }), "/reject/reason")
        }
    };
    // `json!` would copy the text. Then the plugin would exceed its memory limit, but the test is about the limit on output.
    *answer.pointer_mut(place)? = Value::String(text);
    Some(answer)
}

/// Returns a string that is not UTF-8, so that the host has to detect this.
fn invalid_text() -> String {
    #[expect(unsafe_code, reason = "a guest that breaks the contract also breaks its language's promises")]
    // SAFETY: none is claimed. The text is moved into the answer and never looked at on this side.
    unsafe {
        String::from_utf8_unchecked(vec![0xff])
    }
}

fn invalid_json(shape: Shape) -> Option<Value> {
    let result = || json!({ "text": "", "is-error": false, "raw": "{" });
    match shape {
        Shape::ToolCall | Shape::Custom => Some(json!({ "modify": "{" })),
        Shape::RawResponse => Some(json!({ "replace": "{" })),
        Shape::ToolResult => Some(json!({ "replace": result() })),
        Shape::CallTool => Some(result()),
        _ => None,
    }
}
