//! The operator owns LiteLLM's configuration, a YAML file, so hookhost edits none of its files.

use crate::plan::{Context, NotInstallable, Plan};

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
pub(super) fn plan(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::new(Vec::new())
        .step("Run `hookhost serve --http ADDRESS` where the proxy reaches it, and note its token.")
        .step(
            "Add to `guardrails` in the proxy's config.yaml an entry with `guardrail_name: hookhost` and the `litellm_params` \
             `guardrail: generic_guardrail_api`, `mode: [pre_call, post_call]`, `default_on: true`, \
             `unreachable_fallback: fail_closed`, `api_base` (the address and `/litellm`) and `api_key` (the token).",
        )
        .step("Start the proxy again."))
}
