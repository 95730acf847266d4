//! Shortens the results of tools, so that a long output does not fill the model's context. Rejections, questions and limits of the rate are
//! rules in words: see `docs/rules.md`.
//!
//! ```toml
//! [[plugin]]
//! name = "tool-policy"
//! path = "plugins/tool_policy.wasm"
//! sha256 = "…"
//!
//! [plugin.grants]
//! state = { quota = "64KiB" }            # for the sum of what was cut
//!
//! [[plugin.config.rule]]
//! id = "short"                           # unique; shown in the log
//! tool = "web_*"                         # `*`, `?` and `[a-z]`, in either case; default: every tool
//! max-output = 4000                      # bytes of a result that the model reads
//! ```
//!
//! The smallest `max-output` of all matching rules applies. A shortened result ends with a line that gives the number of missing bytes,
//! such as `[4000 bytes dropped #5d1c09ae]`. If an earlier entry of this plugin in the chain has already shortened the result, a single
//! line contains the sum. The plugin recognises such a line by its last digits, which belong to the event. If the tool itself printed a
//! similar line, that line is an ordinary part of the result.

mod cut;

use hookhost_conditions::glob::{Comparison, Glob};
use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// The keys of version 0.1 that `[[rule]]` has replaced.
const REPLACED: [&str; 4] = ["deny", "ask", "rate", "when"];

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    rule: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleConfig {
    id: String,
    #[serde(default = "every")]
    tool: String,
    max_output: NonZeroUsize,
}

fn every() -> String {
    "*".into()
}

#[derive(Debug)]
struct Rule {
    id: String,
    tool: Glob,
    max_output: usize,
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
        for rule in &config.rule {
            let rule = Rule::new(rule)?;
            if !ids.insert(rule.id.clone()) {
                return Err(format!("two rules have the id `{}`: each needs one of its own", rule.id));
            }
            rules.push(rule);
        }
        RULES.set(rules);
        Ok(())
    }

    fn after_tool_call(
        _session: &Session,
        call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        let fitting = RULES.get().iter().filter(|rule| rule.fits(&call.name));
        let Some(rule) = fitting.min_by_key(|rule| rule.max_output) else { return Verdict::keep() };
        let Some((text, dropped)) = cut::cut(&tool_result.text, rule.max_output, &event::id()) else {
            return Verdict::keep();
        };
        let total = state::increment(Scope::Session, "dropped-bytes", i64::try_from(dropped).unwrap_or(i64::MAX));
        let details = json!({"tool": call.name, "dropped_bytes": dropped, "session_dropped_bytes": total.ok()});
        let finding = Finding::new(&rule.id, Severity::Info, format!("{dropped} bytes of the result were cut"));
        effects::report(&finding.action("truncate").details(&details));
        // The raw result is dropped, because it would contain the part that was cut.
        ToolResultVerdict::replace(ToolResult { text, is_error: tool_result.is_error, raw: None })
    }
}

impl Rule {
    fn new(config: &Value) -> Result<Self, String> {
        let wrong = |why: String| format!("rule `{}`: {why}", config["id"].as_str().unwrap_or("?"));
        if let Some(key) = REPLACED.iter().find(|key| config.get(**key).is_some()) {
            return Err(wrong(format!("`{key}` belongs into a [[rule]] table: `hookhost update` shows it")));
        }
        let read = serde_json::from_value(config.clone());
        let RuleConfig { id, tool, max_output } = read.map_err(|error| wrong(error.to_string()))?;
        let tool = Glob::new(&tool).map_err(|error| wrong(format!("`{tool}` is no pattern: {error}")))?;
        Ok(Self { id, tool, max_output: max_output.get() })
    }

    fn fits(&self, tool: &str) -> bool {
        self.tool.matches(tool, Comparison::Name)
    }
}

#[cfg(test)]
mod tests;
