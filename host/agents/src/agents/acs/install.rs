//! The Guardian's address is part of the Observed Agent's deployment, so hookhost edits none of its files.

use crate::plan::{Context, NotInstallable, Plan};

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
pub(super) fn plan(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::new(Vec::new())
        .step("Put a secret of at least 32 characters into a file that only you can read; the agent needs the same one.")
        .step("Run `hookhost serve --http ADDRESS --acs-key FILE` where the agent reaches it.")
        .step("Give the agent the Guardian's address: `http://ADDRESS/acs`.")
        .step("Have the agent refuse where no decision comes, at its start as well: the standard's default is to proceed."))
}
