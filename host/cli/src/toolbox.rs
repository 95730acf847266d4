//! Collects the tools of a run: built-in tools, tools of plugins, and tools of MCP servers.

use crate::configuration;
use crate::exit::CliError;
use hookhost::{Config, Host};
use hookhost_agent::config::AgentSection;
use hookhost_agent::tool::{Toolbox, adopt_orphans};
use std::path::Path;
use std::sync::Arc;

/// Returns the tools, and a notice for each tool that is left out and for each restriction.
pub(crate) async fn toolbox(
    host: &Host,
    config: &Config,
    section: &AgentSection,
    workspace: &Path,
) -> Result<(Toolbox, Vec<String>), CliError> {
    // This must happen before the first program starts, so that processes that leave their process group can be found at the end.
    let mut notices = Vec::new();
    if let Err(error) = adopt_orphans() {
        notices.push(format!("what tools start cannot all be killed at the end of the run: {error}"));
    }
    let by_default = section.hidden_by_default(names_of_environment());
    if !by_default.is_empty() {
        let names = by_default.join(", ");
        notices.push(format!(
            "tools do not get {names}: a secret is not passed on; to pass one, name it in `passed-variables` of [agent]"
        ));
    }
    let mcp = configuration::mcp(config)?;
    let builtin = Toolbox::builtin().and_then(|tools| tools.with_plugins(host)).map_err(anyhow::Error::new)?;
    let started = mcp.start(workspace, &hidden_variables(config, section)?).await;
    let tools = started.tools.into_iter().try_fold(builtin, |tools, tool| tools.with(Arc::new(tool)));
    notices.extend(started.notices);
    Ok((tools.map_err(anyhow::Error::new)?, notices))
}

/// Returns the environment variables that no child process of the agent inherits.
pub(crate) fn hidden_variables(config: &Config, section: &AgentSection) -> Result<Vec<String>, CliError> {
    let mut variables = section.hidden_variables(names_of_environment());
    variables.extend(configuration::mcp(config)?.key_variables());
    Ok(variables)
}

/// Returns the names of this process's environment variables. Names that are not UTF-8 are left out, because no pattern can match them.
fn names_of_environment() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}
