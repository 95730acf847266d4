//! Applies rules to tool calls, by the tool's name and arguments. A rule refuses a call, asks about it, limits the rate of calls, or
//! shortens the result.
//!
//! ```toml
//! [[plugin]]
//! name = "tool-policy"
//! path = "plugins/tool_policy.wasm"
//! sha256 = "…"
//!
//! [plugin.grants]
//! state = { quota = "64KiB" }            # for `rate` and for the sum of what was cut
//!
//! [[plugin.config.rule]]
//! id = "no-exec"                         # unique; shown in refusals and in the log
//! tool = "exec_*"                        # `*`, `?` and `[a-z]`, in either case; default: every tool
//! deny = "exec_* is gated"               # what the model is told
//!
//! [[plugin.config.rule]]
//! id = "production"
//! tool = "mcp__db__*"
//! when = [{ argument = "database.name", matches = "^prod" }]   # all of these
//! ask = "Use the production database?"
//!
//! [[plugin.config.rule]]
//! id = "slowly"
//! tool = "web_*"
//! rate = { calls = 30, seconds = 60 }    # per run; beyond, the call is refused and may be tried again later
//!
//! [[plugin.config.rule]]
//! id = "short"
//! max-output = 4000                      # bytes of a result that the model reads
//! ```
//!
//! Rules are checked in order. If rules deny, the first of them decides. Otherwise the first rule that asks decides. A rule without `deny`,
//! `ask`, `rate` or `max-output` is an error, and so is an invalid pattern. A condition names an argument by its path (`a.b.0`) and has one
//! of the keys `equals`, `not`, `matches` and `present`. `matches` is a regular expression for a string or for the JSON of any other value.
//! An absent argument matches only `present = false` and `not`.
//!
//! # Cutting results
//!
//! The smallest `max-output` of all matching rules applies. A shortened result ends with a line that gives the number of missing bytes,
//! such as `[4000 bytes dropped #5d1c09ae]`. If an earlier entry of this plugin in the chain has already shortened the result, a single
//! line contains the sum. The plugin recognises such a line by its last digits, which belong to the event. If the tool itself printed a
//! similar line, that line is an ordinary part of the result.
//!
//! # Counting calls
//!
//! A `rate` applies to any period of the length `seconds`, and counts the calls that no rule of this plugin has refused. A call that a
//! person was asked about is counted, no matter what the person answered. By default, the calls of the whole run are counted together, that
//! is, the calls of the user's session and of all sub-agents below it. With `scope = "session"`, the calls of each session are counted
//! separately. With `scope = "plugin"`, the calls of all sessions are counted together. Sessions that make a call at the same moment do not
//! see each other's call yet. So each of them may make the last permitted call, but all these calls are counted from then on.

mod condition;
mod cut;
mod rate;

use condition::{Condition, Wanted};
use hookhost_conditions::glob::{Comparison, Glob};
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use rate::{Calls, Rate};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    rule: Vec<RuleConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleConfig {
    id: String,
    #[serde(default = "every")]
    tool: String,
    #[serde(default)]
    when: Vec<Wanted>,
    deny: Option<String>,
    ask: Option<String>,
    rate: Option<Rate>,
    max_output: Option<usize>,
}

fn every() -> String {
    "*".into()
}

#[derive(Debug)]
struct Rule {
    id: String,
    tool: Glob,
    when: Vec<Condition>,
    deny: Option<String>,
    ask: Option<String>,
    rate: Option<Rate>,
    max_output: Option<usize>,
}

static RULES: Configured<Vec<Rule>> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct ToolPolicy;

#[plugin]
impl Plugin for ToolPolicy {
    fn configure(config: Config) -> Result<(), String> {
        if config.rule.is_empty() {
            return Err("`rule` is empty: write at least one".into());
        }
        let mut ids = BTreeSet::new();
        let mut rules = Vec::new();
        for rule in config.rule {
            if !ids.insert(rule.id.clone()) {
                return Err(format!("two rules have the id `{}`: each needs one of its own", rule.id));
            }
            rules.push(Rule::new(rule)?);
        }
        RULES.set(rules);
        Ok(())
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let arguments: Value = call.arguments().unwrap_or(Value::Null);
        let fitting = || RULES.get().iter().filter(|rule| rule.fits(&call.name, &arguments));
        if let Some((rule, reason)) = fitting().find_map(|rule| Some((rule, rule.deny.as_ref()?))) {
            report(rule, call, "deny", reason);
            return Refusal::new(reason).code(&rule.id).into();
        }
        // A call that one rate refuses is not counted for any other rate.
        let mut counted = Vec::new();
        for (rule, rate) in fitting().filter_map(|rule| Some((rule, rule.rate?))) {
            match rule.count(rate) {
                Ok(Ok(calls)) => counted.push((rule, rate.scope, calls)),
                Ok(Err(seconds)) => {
                    let Rate { calls, seconds: window, .. } = rate;
                    let reason = format!(
                        "`{}` may be called {calls} times in {window} s; try again in {seconds} s",
                        rule.tool.as_str()
                    );
                    report(rule, call, "deny", &reason);
                    return Refusal::new(reason).code(&rule.id).retryable().into();
                }
                Err(error) => return rule.cannot_be_counted(&error),
            }
        }
        for (rule, scope, calls) in counted {
            let one_more = state::increment(scope, &rule.number(), 1);
            if let Err(error) = one_more.and_then(|_| state::set_json(scope, &rule.key(), &calls)) {
                return rule.cannot_be_counted(&error);
            }
        }
        if let Some((rule, question)) = fitting().find_map(|rule| Some((rule, rule.ask.as_ref()?))) {
            report(rule, call, "ask", question);
            return Escalation::new(question).code(&rule.id).into();
        }
        Verdict::allow()
    }

    fn after_tool_call(
        _session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        let arguments: Value = call.arguments().unwrap_or(Value::Null);
        let fitting = RULES.get().iter().filter(|rule| rule.fits(&call.name, &arguments));
        let Some((most, rule)) =
            fitting.filter_map(|rule| Some((rule.max_output?, rule))).min_by_key(|(most, _)| *most)
        else {
            return Verdict::keep();
        };
        let Some((text, dropped)) = cut::cut(&tool_result.text, most, &event::id()) else { return Verdict::keep() };
        let total = state::increment(Scope::Session, "dropped-bytes", i64::try_from(dropped).unwrap_or(i64::MAX));
        let details = json!({"tool": call.name, "dropped_bytes": dropped, "session_dropped_bytes": total.ok()});
        let finding = Finding::new(&rule.id, Severity::Info, format!("{dropped} bytes of the result were cut"));
        effects::report(&finding.action("truncate").details(&details));
        // The raw result is dropped, because it would contain the part that was cut.
        ToolResultVerdict::replace(ToolResult { text, is_error: tool_result.is_error, raw: None })
    }
}

impl Rule {
    fn new(config: RuleConfig) -> Result<Self, String> {
        let wrong = |why: String| format!("rule `{}`: {why}", config.id);
        if config.deny.is_none() && config.ask.is_none() && config.rate.is_none() && config.max_output.is_none() {
            return Err(wrong("it does nothing: give it `deny`, `ask`, `rate` or `max-output`".into()));
        }
        if config.rate.is_some_and(|rate| rate.calls == 0 || rate.seconds == 0) {
            return Err(wrong("`rate` needs at least one call and one second; `deny` refuses all calls".into()));
        }
        if config.max_output == Some(0) {
            return Err(wrong("`max-output` is 0: a result needs at least one byte".into()));
        }
        let tool =
            Glob::new(&config.tool).map_err(|error| wrong(format!("`{}` is no pattern: {error}", config.tool)))?;
        let when = config.when.iter().map(Condition::new).collect::<Result<_, _>>().map_err(wrong)?;
        let RuleConfig { id, deny, ask, rate, max_output, .. } = config;
        Ok(Self { id, tool, when, deny, ask, rate, max_output })
    }

    fn fits(&self, tool: &str, arguments: &Value) -> bool {
        self.tool.matches(tool, Comparison::Name) && self.when.iter().all(|condition| condition.fits(arguments))
    }

    /// Counts this call. Returns the calls including this call. If this call would exceed the limit, returns the number of seconds to wait
    /// instead.
    fn count(&self, rate: Rate) -> Result<Result<Calls, u64>, state::Error> {
        let (scope, now) = (rate.scope, event::time());
        let mut calls: Calls = state::get_json(scope, &self.key())?.unwrap_or_default();
        let all: u64 = state::get_json(scope, &self.number())?.unwrap_or_default();
        if calls.catch_up(all, rate, now) {
            // The calls are stored even if this call is refused. Otherwise the calls of other sessions would look recent again at each
            // later call.
            state::set_json(scope, &self.key(), &calls)?;
        }
        Ok(match calls.count(all, rate, now) {
            None => Ok(calls),
            Some(seconds) => Err(seconds),
        })
    }

    /// Returns the key under which the calls are stored in the state.
    fn key(&self) -> String {
        format!("calls:{}", self.id)
    }

    /// Returns the key of the total number of calls. `increment` writes this number in decimal.
    fn number(&self) -> String {
        format!("number:{}", self.id)
    }

    fn cannot_be_counted(&self, error: &state::Error) -> ToolCallVerdict {
        let reason = format!("calls of `{}` cannot be counted: {error:?}", self.tool.as_str());
        Refusal::new(reason).code(&self.id).retryable().into()
    }
}

fn report(rule: &Rule, call: &ToolCall, action: &str, explanation: &str) {
    let finding = Finding::new(&rule.id, Severity::Warning, explanation).action(action);
    effects::report(&finding.details(&json!({"tool": call.name, "pattern": rule.tool.as_str()})));
}

#[cfg(test)]
mod tests;
