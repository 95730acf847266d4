//! The budget: the weights of tokens and the limits for each model.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    session_tokens: u64,
    warn_at: Option<f64>,
    #[serde(default = "one")]
    input_weight: f64,
    #[serde(default = "one")]
    output_weight: f64,
    #[serde(default)]
    models: BTreeMap<String, u64>,
}

fn one() -> f64 {
    1.0
}

/// A valid configuration.
#[derive(Debug)]
pub(crate) struct Budget(Config);

impl TryFrom<Config> for Budget {
    type Error = String;

    fn try_from(config: Config) -> Result<Self, String> {
        if config.session_tokens == 0 {
            return Err("`session-tokens` is 0: name the number of tokens that a session may use".into());
        }
        if let Some((model, _)) = config.models.iter().find(|(_, limit)| **limit == 0) {
            return Err(format!("`models.{model}` is 0: name the number of tokens that a session may use"));
        }
        if let Some(warn_at) = config.warn_at
            && !(warn_at > 0.0 && warn_at < 1.0)
        {
            return Err(format!("`warn-at` is {warn_at}: it is a part of the budget, between 0 and 1, such as 0.8"));
        }
        for (name, weight) in [("input-weight", config.input_weight), ("output-weight", config.output_weight)] {
            if !(weight > 0.0 && weight <= 1_000_000.0) {
                return Err(format!("`{name}` is {weight}: it is more than 0 and at most 1000000"));
            }
        }
        Ok(Self(config))
    }
}

impl Budget {
    /// Returns the limit while `model` is in use. If several limits apply, this is the lowest.
    pub(crate) fn limit(&self, model: &str) -> u64 {
        let fitting = self.0.models.iter().filter(|(pattern, _)| fits(pattern, model)).map(|(_, limit)| *limit);
        fitting.chain([self.0.session_tokens]).min().unwrap_or(self.0.session_tokens)
    }

    /// Returns the weighted number of tokens, rounded up.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "exact up to 2^53 tokens, and a cast to an integer saturates"
    )]
    pub(crate) fn weigh(&self, input: u64, output: u64) -> u64 {
        (input as f64 * self.0.input_weight + output as f64 * self.0.output_weight).ceil() as u64
    }

    /// Returns true if the usage has just crossed the mark at which the model is warned.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens")]
    pub(crate) fn is_crossed(&self, before: u64, now: u64, limit: u64) -> bool {
        self.0.warn_at.is_some_and(|part| {
            let line = limit as f64 * part;
            (before as f64) < line && now as f64 >= line
        })
    }

    /// Formats an amount with its unit.
    pub(crate) fn unit(&self, amount: u64) -> String {
        let weighted =
            self.0.input_weight.to_bits() != 1.0_f64.to_bits() || self.0.output_weight.to_bits() != 1.0_f64.to_bits();
        format!("{amount} {}", if weighted { "weighted tokens" } else { "tokens" })
    }
}

fn fits(pattern: &str, model: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => model.starts_with(start),
        None => pattern == model,
    }
}
