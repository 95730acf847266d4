//! `shell-guard` with a model that is asked about commands which no rule knows. Allow it in place of `shell-guard`: it has the same rules
//! and takes the same config, with one additional table.
//!
//! ```toml
//! [[plugin]]
//! name = "shell-guard"
//! path = "plugins/shell_guard_classifier.wasm"
//! sha256 = "…"
//!
//! [plugin.grants]
//! model = { name = "small", max-calls = 200 }
//! state = {}
//!
//! [plugin.config]
//! stacks = ["rust"]                          # and every other key of shell-guard
//!
//! [plugin.config.classifier]                 # all of it optional
//! id = "tool_hooks_classifier"               # sets its answers apart from those of other classifiers
//! threshold = 0.8                            # below, the model is in doubt
//! prompt = "…"                               # in place of the built-in instructions
//! cache-seconds = 3600                       # default: 0, nothing is remembered
//! on-doubt = "ask"                           # or "allow", "deny"
//! on-error = "ask"                           # the same, where the model cannot be asked or understood
//!
//! [agent.plugin-models]                      # which model that is, where the agent is hookhost's own
//! small = { provider = "groq", model = "llama-3.1-8b-instant" }
//! ```
//!
//! Both grants are required, because the component imports both. The model answers with one line of JSON: `kind` (`rewrite`, `deny` or
//! `allow`), `confidence` from 0 to 1, and optionally `rewritten`, `explanation` and `references`. A confident `deny` denies; a confident
//! `rewrite` is made if no rule objects to the result. Every other answer, including one without `confidence`, is a doubt. A model that
//! cannot be asked, or an answer that cannot be read, is an error. `on-doubt` and `on-error` decide. Each answer, remembered or not, is a
//! finding.
//!
//! The command goes to the model as data, separate from the instructions. A model can still be talked into an `allow`, but it judges only
//! commands that no rule knows. It can therefore not let a command pass that a rule refuses. An answer is remembered for one command in one
//! directory, under one prompt; an error is never remembered.
//!
//! It is a separate component, because imports must be granted: with a cargo feature, one build of all plugins would make `shell-guard`
//! import `model` too.

mod classifier;

use classifier::{Classifier, ClassifierConfig};
use hookhost_guest::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use shell_guard_rules::Guard;

static GUARD: Configured<(Guard, Classifier)> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct ShellGuardClassifier;

#[plugin]
impl Plugin for ShellGuardClassifier {
    fn configure(config: Config) -> Result<(), String> {
        GUARD.set((Guard::new(config.rules)?, Classifier::new(config.classifier)?));
        Ok(())
    }

    fn session_start(_session: &Session) -> Vec<Task> {
        GUARD.get().0.list();
        Vec::new()
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let (guard, classifier) = GUARD.get();
        match (guard.verdict(session, call), call.action.shell()) {
            (Some(verdict), _) => verdict,
            (None, Some(shell)) => {
                classifier.verdict(shell, session, |command| guard.objects_to(command, shell, session))
            }
            (None, None) => Verdict::allow(),
        }
    }
}

/// The `[plugin.config]` table: that of `shell-guard`, and `classifier`.
#[derive(Debug)]
pub struct Config {
    rules: shell_guard_rules::Config,
    classifier: ClassifierConfig,
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        let mut table = serde_json::Map::deserialize(table)?;
        let classifier = table.remove("classifier").map(ClassifierConfig::deserialize).transpose();
        Ok(Self {
            classifier: classifier
                .map_err(|error| D::Error::custom(format!("`classifier`: {error}")))?
                .unwrap_or_default(),
            rules: shell_guard_rules::Config::deserialize(serde_json::Value::Object(table))
                .map_err(D::Error::custom)?,
        })
    }
}

#[cfg(test)]
mod tests;
