//! This plugin is `shell-guard` with a model, which is asked about commands that no rule matches. Allow it in place of `shell-guard`. It
//! has the same rules and takes the same config, with one additional table.
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
//! Both grants are required, because the component imports both interfaces. The model answers with one line of JSON: `kind` (`rewrite`,
//! `deny` or `allow`), `confidence` from 0 to 1, and optionally `rewritten`, `explanation` and `references`. If the confidence reaches the
//! threshold, an `allow` allows the command, a `deny` denies it, and a `rewrite` is made if no rule objects to the result. Every other
//! answer is treated as doubt, and so is an answer without `confidence`. In case of doubt, `on-doubt` decides. If the model cannot be
//! asked, or its answer cannot be read, `on-error` decides. Each answer is reported as a finding, even if it was remembered from an earlier
//! call.
//!
//! The command goes to the model as data, separate from the instructions. The text of a command may still persuade the model to answer
//! `allow`. However, the model is asked only about commands that no rule matches, so it cannot allow a command that a rule refuses. An
//! answer is remembered only for the same command, directory and prompt. An error is never remembered.
//!
//! This plugin is a separate component, because each import of a component must be granted. If it were a cargo feature of `shell-guard`, a
//! build of all plugins would make `shell-guard` import `model` too.

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

/// The `[plugin.config]` table. It has the keys of `shell-guard` and the key `classifier`.
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
