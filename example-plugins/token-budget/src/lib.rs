//! Ends a session's model calls when they have used up a token budget, and reports how much was used.
//!
//! ```toml
//! [[plugin]]
//! name = "token-budget"
//! path = "plugins/token_budget.wasm"
//! sha256 = "…"
//!
//! [plugin.config]
//! session-tokens = 200_000        # required: tokens of one session and its sub-agents, input and output together
//! warn-at = 0.8                   # remind the model once when this part of it is used; absent: no reminder
//! input-weight = 1.0              # what one input token counts; default 1
//! output-weight = 5.0             # what one output token counts; default 1
//!
//! [plugin.config.models]          # a tighter budget while a costly model is in use
//! "claude-opus*" = 50_000         # `*` at the end matches any rest
//! ```
//!
//! The plugin acts after each answer of a model (`token-usage`), even in a sub-agent. It applies the weights to the total tokens of the
//! whole run and compares the result with the budget. If the budget is reached, the plugin answers *reject* with `stop`, so the loop ends.
//! The refusal says how much was used. A single request that is larger than the whole budget is refused before it is sent
//! (`before-inference`).
//!
//! The host sends the totals with each event, so the plugin needs no grant. The plugin has two limitations. If a person starts a new task
//! in a session that is over its budget, one more model call is made before the loop ends again. A call that is running when the budget is
//! reached is not interrupted.

mod budget;

use budget::{Budget, Config};
use hookhost_guest::prelude::*;

static BUDGET: Configured<Budget> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct TokenBudget;

#[plugin]
impl Plugin for TokenBudget {
    fn configure(config: Config) -> Result<(), String> {
        BUDGET.set(Budget::try_from(config)?);
        Ok(())
    }

    fn token_usage(_session: &Session, usage: &Usage) -> UsageVerdict {
        let budget = BUDGET.get();
        let limit = budget.limit(&usage.model);
        // The tokens of a sub-agent are part of the totals of the run. If a host does not send the totals of the run, they are 0.
        let input = usage.run_input_tokens.max(usage.session_input_tokens);
        let output = usage.run_output_tokens.max(usage.session_output_tokens);
        let used = budget.weigh(input, output);
        if used >= limit {
            let reason = format!(
                "the session has used {} of its {}: {input} input and {output} output tokens. No further model call is made",
                budget.unit(used),
                budget.unit(limit),
            );
            return Refusal::new(reason).code("token-budget.used-up").stop().into();
        }
        let before = used.saturating_sub(budget.weigh(usage.input_tokens, usage.output_tokens));
        if budget.is_crossed(before, used, limit) {
            let body = format!(
                "This session has used {} of its {}. Come to an end before they are used up.",
                budget.unit(used),
                budget.unit(limit)
            );
            effects::remind(&Reminder::new(body).dedupe_key("token-budget").turns(1));
        }
        Verdict::allow()
    }

    fn before_inference(_session: &Session, request: &Inference) -> InferenceVerdict {
        let budget = BUDGET.get();
        let limit = budget.limit(&request.model);
        let needed = budget.weigh(request.input_tokens, 0);
        if needed > limit {
            let reason = format!(
                "the request of about {} input tokens is larger than the session's whole budget of {}",
                request.input_tokens,
                budget.unit(limit)
            );
            return Refusal::new(reason).code("token-budget.request-too-large").retryable().into();
        }
        Verdict::allow()
    }
}

#[cfg(test)]
mod tests;
