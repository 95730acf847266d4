//! The tools of a run: what is built in, what the plugins bring, and what the MCP servers offer.

use crate::configuration;
use crate::exit::Stop;
use hookhost::{Config, Host};
use hookhost_agent::config::AgentSection;
use hookhost_agent::tool::Toolbox;
use std::path::Path;
use std::sync::Arc;

/// The tools, and a sentence for each that is left out.
pub(crate) async fn toolbox(
    host: &Host,
    config: &Config,
    section: &AgentSection,
    workspace: &Path,
) -> Result<(Toolbox, Vec<String>), Stop> {
    let mcp = configuration::mcp(config)?;
    let builtin = Toolbox::builtin().and_then(|tools| tools.with_plugins(host)).map_err(anyhow::Error::new)?;
    let started = mcp.start(workspace, &hidden_variables(config, section)?).await;
    let tools = started.tools.into_iter().try_fold(builtin, |tools, tool| tools.with(Arc::new(tool)));
    Ok((tools.map_err(anyhow::Error::new)?, started.notices))
}

/// The environment variables that hold keys, which nothing that the agent starts inherits.
pub(crate) fn hidden_variables(config: &Config, section: &AgentSection) -> Result<Vec<String>, Stop> {
    let mut variables = section.key_variables();
    variables.extend(configuration::mcp(config)?.key_variables());
    Ok(variables)
}
