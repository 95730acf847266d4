//! A plugin that subscribes to every event and brings a tool, for the host's tests. What it does on
//! an event is written in its configuration, so that one component drives every event with every
//! verdict, effect and misbehaviour.
//!
//! # The configuration
//!
//! One key per event, under the event's name; `configure` and `call-tool` are keys too, and `any`
//! applies to every event that has no key of its own, as far as the event has such a verdict. A
//! value is one *behaviour*, or a list of them: the first whose `when` holds is used. An event
//! without any is answered with no objection.
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
//! | `when` | `contains`, `lacks`: a text in the event's value; `round`; `session`: its id; `parent`: that of the session that started it. All that are given must hold |
//! | `do` | a list of steps, in order, before anything else |
//! | `misbehave` | what happens then, instead of an answer |
//! | `verdict` | a case of the event's verdict, as the WIT spells it; absent: no objection |
//! | `value` | what `modify`, `rewrite`, `replace`, `respond` and `go-on` carry, spelt as the WIT type (kebab-case); for a tool result, a text will do |
//! | `reason`, `code`, `retryable`, `stop` | of `reject`; `reason` also of `approve` |
//! | `question`, `code` | of `escalate` |
//! | `error` | of `configure`: the error that it returns |
//!
//! | step | meaning |
//! |---|---|
//! | `{"steps": "[…]"}` | the steps that the text holds as JSON, such as `{value}`; their results, a line each |
//! | `{"log": "line"}` | a line of level `info` |
//! | `{"print": "line"}`, `{"print-error": "line"}` | a line on the standard output, or error; the instance then holds a WASI stream |
//! | `{"remind": "body"}`, `{"remind": {"body": …}}` | a reminder: the text alone, or the WIT record |
//! | `{"report": "code"}`, `{"report": {"code": …}}` | a finding: the code alone, or the WIT record |
//! | `{"get": [SCOPE, KEY]}`, `{"set": [SCOPE, KEY, TEXT]}`, `{"set-for": [SCOPE, KEY, TEXT, SECONDS]}`, `{"delete": [SCOPE, KEY]}`, `{"increment": [SCOPE, KEY, N]}` | state; SCOPE is `session`, `tree` or `plugin` |
//! | `{"fill": [SCOPE, COUNT, KEY, VALUE]}` | sets so many keys, each of KEY bytes and a number, to VALUE bytes; how many were refused |
//! | `{"transcript": [START, COUNT]}` | reads messages, as `role: content` lines |
//! | `{"model": ["instructions", "input"]}` | asks the model |
//! | `{"env": "NAME"}`, `"clock"`, `"random"`, `"raw"` | what WASI and the event have: the clock in ms since the Unix epoch, a random u64, the agent's own message |
//! | `{"read-file": PATH}`, `{"write-file": [PATH, TEXT]}`, `{"list": PATH}`, `{"make-dir": PATH}`, `{"remove": PATH}`, `{"rename": [FROM, TO]}`, `{"link": [FROM, TO]}`, `{"symlink": [TARGET, PATH]}` | files; what has no other result gives `done` |
//! | `{"open": [PATH, N]}` | opens a file N times and holds all of them |
//! | `{"open-at": PATH}` | opens this path below the first granted directory, past what the C library makes of paths |
//!
//! Each step's result is logged (`get session/n = 3`) and is `{last}` from then on; an error is `error: …`.
//!
//! In every text of `value`, `reason`, `question` and the steps these are filled in: `{value}` (the
//! event's value: the text, the tool call's arguments as JSON, the result's text, otherwise the record
//! as JSON), `{round}`, `{id}` and `{time}` (of the event), `{session}`, `{turn}`, `{last}`,
//! `{configured}` (what `configure`'s steps gave, a line each), `{calls}` (how many calls this
//! instance has seen, which is 1 for ever), and, on tool events, `{tool}`, `{command}` and (after a
//! call) `{source}`.
//!
//! | misbehaviour | what happens |
//! |---|---|
//! | `loop` | computes for ever |
//! | `recurse` | calls itself until the stack is gone |
//! | `allocate` | allocates, and touches, 1 MiB at a time until there is no more |
//! | `big-answer` | answers the event with 10 MiB: a reason, a text, or a task's prompt; an observer logs it |
//! | `invalid-text` | answers so with a text that is not UTF-8 |
//! | `trap` | an unreachable instruction |
//! | `exit` | ends the process as WASI lets it |
//! | `sleep` | waits an hour in WASI's `poll` |
//! | `flood` | logs a line, for ever |
//! | `invalid-json` | `modify` with `{`, or a tool result whose `raw` is `{` |
//!
//! The features `state`, `transcript` and `model`, on by default, are what the component imports beside `event`, `log`
//! and `effects`; its entry must grant them. A step without its feature is an error of that step.

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

/// What the configuration has for an event, done and answered.
fn answer<A: Answer>(event: &str, mut facts: Facts, shape: Shape) -> A {
    let behaviour = CONFIG.get().behaviours(event).iter().find(|behaviour| behaviour.when.holds(&facts));
    let Some(behaviour) = behaviour else { return A::none() };
    steps::run(behaviour, &mut facts);
    misbehaviour::run(behaviour, &facts, shape).unwrap_or_else(|| build(event, behaviour, &facts, shape))
}

fn observe(event: &str, facts: Facts) {
    answer::<()>(event, facts, Shape::Nothing);
}

/// A configuration is checked when it is loaded; what only the event's own texts make unfit is a bug in a test, and
/// traps with a message. What `any` says and an event cannot is no objection there.
fn build<A: Answer>(event: &str, behaviour: &Behaviour, facts: &Facts, shape: Shape) -> A {
    match answer::build(behaviour, facts, shape) {
        Ok(answer) => answer,
        Err(_) if !CONFIG.get().names(event) => A::none(),
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests;
