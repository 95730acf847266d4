//! The operator owns agentgateway's configuration, so hookhost edits none of its files.

use crate::plan::{Context, NotInstallable, Plan};

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
pub(super) fn plan(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::new(Vec::new())
        .step("Run `hookhost serve --http ADDRESS` where the gateway reaches it, and note its token.")
        .step(
            "Add to `policies.ai.promptGuard` of the route, under `request` and under `response`, a `webhook` whose `target` is the \
             address, with `failureMode: failClosed`, the paths `/agentgateway/request` and `/agentgateway/response`, and a header \
             with the token.",
        )
        .step("The gateway reloads its configuration by itself."))
}
