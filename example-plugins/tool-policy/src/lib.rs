//! Refuses, asks about, slows down and shortens tool calls, by the tool's name and arguments.
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
//! Rules are checked in order. The first rule that denies decides; if none denies, the first rule that asks decides. A rule without
//! `deny`, `ask`, `rate` or `max-output` is an error, and so is an invalid pattern. A condition names an argument by its path (`a.b.0`)
//! and has one of `equals`, `not`, `matches` and `present`. `matches` is a regular expression for a string, or for the JSON of another
//! value. An absent argument matches only `present = false` and `not`.
//!
//! # Cutting results
//!
//! The smallest `max-output` of all matching rules applies. A shortened result ends with a line that gives the number of missing bytes,
//! such as `[4000 bytes dropped #5d1c09ae]`. If an earlier entry of this plugin in the chain has already shortened the result, a single
//! line has the sum. The plugin recognises the line of the earlier entry by its digits, which depend on the event. If a tool prints such
//! a line itself, the line is an ordinary part of its result.
//!
//! # Counting calls
//!
//! A `rate` applies to any period of the given number of seconds. It counts the calls that no rule of this plugin refused. If a person is
//! asked about a call, the call is counted even if the answer is no. By default, all calls of the run are counted together, in the session
//! of the user and in all sub-agents below it. With `scope = "session"`, the calls of each session are counted separately; with
//! `scope = "plugin"`, the calls of all sessions are counted together. If several sessions make the last permitted call at the same
//! moment, all these calls are allowed, because the sessions do not see each other's calls yet. Afterwards, all of them are counted.

mod condition;
mod cut;
mod rate;

use condition::{Condition, Wanted};
use glob::{MatchOptions, Pattern};
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
    tool: Pattern,
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
        // If one rate refuses a call, the other rates do not count it.
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
        // Drop the raw result, because it would contain the part that was cut.
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
            Pattern::new(&config.tool).map_err(|error| wrong(format!("`{}` is no pattern: {error}", config.tool)))?;
        let when = config.when.iter().map(Condition::new).collect::<Result<_, _>>().map_err(wrong)?;
        let RuleConfig { id, deny, ask, rate, max_output, .. } = config;
        Ok(Self { id, tool, when, deny, ask, rate, max_output })
    }

    fn fits(&self, tool: &str, arguments: &Value) -> bool {
        let options = MatchOptions { case_sensitive: false, ..MatchOptions::default() };
        self.tool.matches_with(tool, options) && self.when.iter().all(|condition| condition.fits(arguments))
    }

    /// Counts this call. Returns the counted calls, or the number of seconds to wait if the limit is exceeded.
    fn count(&self, rate: Rate) -> Result<Result<Calls, u64>, state::Error> {
        let (scope, now) = (rate.scope, event::time());
        let mut calls: Calls = state::get_json(scope, &self.key())?.unwrap_or_default();
        let all: u64 = state::get_json(scope, &self.number())?.unwrap_or_default();
        if calls.catch_up(all, rate, now) {
            // Store this even if the call is refused. Otherwise the other sessions' calls would look recent for each later call.
            state::set_json(scope, &self.key(), &calls)?;
        }
        Ok(match calls.count(all, rate, now) {
            None => Ok(calls),
            Some(seconds) => Err(seconds),
        })
    }

    /// Returns the key of the calls in the state.
    fn key(&self) -> String {
        format!("calls:{}", self.id)
    }

    /// Returns the key of the total number of calls, in decimal as `increment` writes it.
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
