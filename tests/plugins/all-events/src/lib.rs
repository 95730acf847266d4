//! A plugin for the host's tests, which subscribes to every event and provides a tool. The configuration says what the plugin does on each
//! event, so one component can give every verdict, have every effect, and misbehave in every way.
//!
//! # The configuration
//!
//! Each event has a key, which is the event's name. `configure` and `call-tool` are keys too. The key `any` applies to every event
//! that has no key. If such an event does not have the verdict of the behaviour, the plugin has no objection. The value of a key is one
//! *behaviour* or a list of behaviours. The plugin uses the first behaviour whose `when` holds. If no behaviour applies, the plugin has
//! no objection.
//!
//! ```json
//! {
//!   "before-tool-call": [
//!     {"when": {"contains": "rm -rf"}, "verdict": "reject", "reason": "no", "code": "x.y", "retryable": true, "stop": false},
//!     {"when": {"round": 1}, "verdict": "modify", "value": {"command": "{command} # seen"}}
//!   ],
//!   "stream-delta": {"verdict": "replace", "value": "{value}!"},
//!   "after-tool-call": {"verdict": "replace", "value": {"text": "x", "is-error": false, "raw": {"a": 1}}},
//!   "session-start": {"value": [{"prompt": "look around", "title": null}]},
//!   "task-complete": {"verdict": "go-on", "value": [{"prompt": "more"}]},
//!   "token-usage": {"do": [{"increment": ["session", "n", 1]}, {"remind": "used {last}"}], "misbehave": "loop"},
//!   "tools": [{"name": "echo", "description": "says it again", "input-schema": {"type": "object"}}],
//!   "call-tool": {"value": "{value}"},
//!   "configure": {"error": "I do not like it"}
//! }
//! ```
//!
//! | key of a behaviour | meaning |
//! |---|---|
//! | `when` | the condition. `contains`, `lacks`: a text in the event's value; `round`: the number of the round; `session`: the id of the session; `parent`: the id of its parent session. All members that are present must hold |
//! | `do` | a list of steps that run first, in order |
//! | `misbehave` | a misbehaviour after the steps, in place of an answer |
//! | `verdict` | a case of the event's verdict, spelt as in the WIT; if absent, the plugin has no objection |
//! | `value` | the payload of `modify`, `rewrite`, `replace`, `respond` or `go-on`, spelt as in the WIT (kebab-case); a tool result may be a string |
//! | `reason`, `code`, `retryable`, `stop` | the refusal of `reject`; `reason` is also that of `approve` |
//! | `question`, `code` | the payload of `escalate` |
//! | `error` | the error that `configure` returns |
//!
//! | step | meaning |
//! |---|---|
//! | `{"steps": "[…]"}` | runs the steps in a JSON string, such as `{value}`; the result contains their results, one per line |
//! | `{"log": "line"}` | logs a line of level `info` |
//! | `{"print": "line"}`, `{"print-error": "line"}` | prints a line on standard output or standard error; the instance then has an open WASI stream |
//! | `{"remind": "body"}`, `{"remind": {"body": …}}` | adds a reminder, given as its text or as the WIT record |
//! | `{"report": "code"}`, `{"report": {"code": …}}` | reports a finding, given as its code or as the WIT record |
//! | `{"get": [SCOPE, KEY]}`, `{"set": [SCOPE, KEY, TEXT]}`, `{"set-for": [SCOPE, KEY, TEXT, SECONDS]}`, `{"delete": [SCOPE, KEY]}`, `{"increment": [SCOPE, KEY, N]}` | uses the state; SCOPE is `session`, `tree` or `plugin` |
//! | `{"fill": [SCOPE, COUNT, KEY, VALUE]}` | sets COUNT keys, each of KEY bytes and a number, to values of VALUE bytes; the result is the number of refused keys |
//! | `{"transcript": [START, COUNT]}` | reads messages, as `role: content` lines |
//! | `{"model": ["instructions", "input"]}` | asks the model |
//! | `{"env": "NAME"}`, `"clock"`, `"random"`, `"raw"` | reads a variable, the clock (in ms since the Unix epoch) or a random u64 from WASI, or the agent's own message from the event |
//! | `{"read-file": PATH}`, `{"write-file": [PATH, TEXT]}`, `{"list": PATH}`, `{"make-dir": PATH}`, `{"remove": PATH}`, `{"rename": [FROM, TO]}`, `{"link": [FROM, TO]}`, `{"symlink": [TARGET, PATH]}` | uses files; the result is `done` if the step has no other result |
//! | `{"open": [PATH, N]}` | opens a file N times and keeps all of them open |
//! | `{"open-at": PATH}` | opens this path below the first granted directory with WASI itself, because the C library would change the path |
//!
//! Each step's result is logged (`get session/n = 3`), and `{last}` is the result of the last step. The result of a step that fails is
//! `error: …`.
//!
//! Strings in `value`, `reason`, `question` and the steps may contain placeholders. `{value}` is the event's value: a text, the tool
//! call's arguments as JSON, the result's text, or another record as JSON. `{id}`, `{time}` and `{round}` are those of the event.
//! `{configured}` contains the results of `configure`'s steps, one per line. `{calls}` is the number of calls in this instance, which is
//! always 1. The others are `{session}`, `{turn}` and `{last}`. On tool events there are also `{tool}` and `{command}`, and after a call
//! `{source}`.
//!
//! | misbehaviour | what happens |
//! |---|---|
//! | `loop` | computes forever |
//! | `recurse` | calls itself until the stack is gone |
//! | `allocate` | allocates memory in steps of 1 MiB, and writes to it, until no more is available |
//! | `big-answer` | answers with a text of 10 MiB in a reason, a text or a task's prompt; on an observe event, the plugin logs the text |
//! | `invalid-text` | answers in the same way with a text that is not UTF-8 |
//! | `trap` | executes an unreachable instruction |
//! | `exit` | calls WASI's `exit` |
//! | `sleep` | waits an hour in WASI's `poll` |
//! | `flood` | logs lines forever |
//! | `invalid-json` | answers with invalid JSON: `modify` with `{`, or a tool result whose `raw` is `{` |
//!
//! The component always imports `event`, `log` and `effects`. The features `state`, `transcript` and `model`, which are on by default,
//! add the imports with these names, and the entry must grant them. A step whose feature is off results in an error.

mod answer;
mod behaviour;
mod facts;
mod files;
mod misbehaviour;
mod steps;

use answer::{Answer, Shape};
use behaviour::{Behaviour, Config};
use facts::Facts;
use hookhost_guest::prelude::*;

static CONFIG: Configured<Config> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct AllEvents;

#[plugin]
impl Plugin for AllEvents {
    fn configure(config: Config) -> Result<(), String> {
        let behaviour = config.behaviours("configure").first().cloned().unwrap_or_default();
        config.check()?;
        CONFIG.set(config);
        let mut facts = Facts::without_event();
        steps::run(&behaviour, &mut facts);
        misbehaviour::run::<()>(&behaviour, &facts, Shape::Nothing);
        facts.keep();
        behaviour.error.map_or(Ok(()), Err)
    }

    fn session_start(session: &Session) -> Vec<Task> {
        answer("session-start", Facts::of(session), Shape::Tasks)
    }

    fn session_end(session: &Session, usage: &Usage) {
        observe("session-end", Facts::of(session).record(usage));
    }

    fn prompt_submit(session: &Session, prompt: &str) -> TextVerdict {
        answer("prompt-submit", Facts::of(session).value(prompt), Shape::Text)
    }

    fn turn_start(session: &Session, turn: &Turn) -> TurnVerdict {
        answer("turn-start", Facts::of(session).record(turn), Shape::Plain)
    }

    fn turn_end(session: &Session, turn: &TurnSummary) {
        observe("turn-end", Facts::of(session).record(turn));
    }

    fn provider_resolve(session: &Session, resolution: &Resolution) -> ResolutionVerdict {
        answer("provider-resolve", Facts::of(session).record(resolution), Shape::Resolution)
    }

    fn before_inference(session: &Session, request: &Inference) -> InferenceVerdict {
        answer("before-inference", Facts::of(session).record(request), Shape::Inference)
    }

    fn request_send(session: &Session, request: &RawRequest) -> RequestVerdict {
        answer("request-send", Facts::of(session).value(&request.body), Shape::Custom)
    }

    fn response_receive(session: &Session, response: &RawResponse) -> ResponseVerdict {
        answer("response-receive", Facts::of(session).value(&response.body), Shape::RawResponse)
    }

    fn stream_delta(session: &Session, delta: &str) -> TextVerdict {
        answer("stream-delta", Facts::of(session).value(delta), Shape::Text)
    }

    fn stream_end(session: &Session, text: &str) {
        observe("stream-end", Facts::of(session).value(text));
    }

    fn after_inference(session: &Session, response: &Response) {
        observe("after-inference", Facts::of(session).record(response));
    }

    fn token_usage(session: &Session, usage: &Usage) -> UsageVerdict {
        answer("token-usage", Facts::of(session).record(usage), Shape::Plain)
    }

    fn finalize_content(session: &Session, content: &str) -> TextVerdict {
        answer("finalize-content", Facts::of(session).value(content), Shape::Text)
    }

    fn before_tools(session: &Session, calls: &[ToolCall]) -> BatchVerdict {
        answer("before-tools", Facts::of(session).record(&calls), Shape::Plain)
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        answer("before-tool-call", Facts::of(session).call(call).value(&call.arguments), Shape::ToolCall)
    }

    fn after_tool_call(
        session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        source: ResultSource,
    ) -> ToolResultVerdict {
        let facts = Facts::of(session).call(call).value(&tool_result.text).source(source);
        answer("after-tool-call", facts, Shape::ToolResult)
    }

    fn subagent_start(session: &Session, subagent: &Subagent) -> SubagentVerdict {
        answer("subagent-start", Facts::of(session).record(subagent), Shape::Subagent)
    }

    fn subagent_end(session: &Session, subagent: &SubagentSummary) {
        observe("subagent-end", Facts::of(session).record(subagent));
    }

    fn before_compaction(session: &Session, compaction: &Compaction) -> CompactionVerdict {
        answer("before-compaction", Facts::of(session).record(compaction), Shape::Compaction)
    }

    fn after_compaction(session: &Session, summary: &str) -> TextVerdict {
        answer("after-compaction", Facts::of(session).value(summary), Shape::Text)
    }

    fn task_start(session: &Session, task: &Task) -> TaskVerdict {
        answer("task-start", Facts::of(session).record(task), Shape::Task)
    }

    fn plan_submit(session: &Session, plan: &Plan) -> PlanVerdict {
        answer("plan-submit", Facts::of(session).record(plan), Shape::Plain)
    }

    fn task_complete(session: &Session, completion: &Completion) -> CompletionVerdict {
        answer("task-complete", Facts::of(session).record(completion), Shape::Completion)
    }

    fn plan_complete(session: &Session, plan: &PlanSummary) {
        observe("plan-complete", Facts::of(session).record(plan));
    }

    fn queue_empty(session: &Session, progress: &Progress) -> CompletionVerdict {
        answer("queue-empty", Facts::of(session).record(progress), Shape::Completion)
    }

    fn agent_error(session: &Session, message: &str) -> CompletionVerdict {
        answer("agent-error", Facts::of(session).value(message), Shape::Completion)
    }

    fn custom_event(session: &Session, event: &Custom) -> CustomVerdict {
        answer("custom-event", Facts::of(session).value(&event.payload), Shape::Custom)
    }

    fn audit_record(session: &Session, entry: &str) {
        observe("audit-record", Facts::of(session).value(entry));
    }

    fn tools() -> Vec<Tool> {
        CONFIG.get().tools()
    }

    fn call_tool(session: &Session, name: &str, arguments: &str) -> ToolResult {
        answer("call-tool", Facts::of(session).tool(name).value(arguments), Shape::CallTool)
    }
}

/// Runs the behaviour that the configuration has for an event, and returns its answer.
fn answer<A: Answer>(event: &str, mut facts: Facts, shape: Shape) -> A {
    let behaviour = CONFIG.get().behaviours(event).iter().find(|behaviour| behaviour.when.holds(&facts));
    let Some(behaviour) = behaviour else { return A::none() };
    steps::run(behaviour, &mut facts);
    misbehaviour::run(behaviour, &facts, shape).unwrap_or_else(|| build(event, behaviour, &facts, shape))
}

fn observe(event: &str, facts: Facts) {
    answer::<()>(event, facts, Shape::Nothing);
}

/// Builds the answer of a behaviour. If the key `any` contains a verdict that the event does not have, the answer is no objection. Any
/// other failure is a bug in a test, because the configuration was checked when it was loaded, so the plugin panics.
fn build<A: Answer>(event: &str, behaviour: &Behaviour, facts: &Facts, shape: Shape) -> A {
    match answer::build(behaviour, facts, shape) {
        Ok(answer) => answer,
        Err(_) if !CONFIG.get().names(event) => A::none(),
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests;
