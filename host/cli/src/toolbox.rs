//! Collects the tools of a run: built-in tools, tools of plugins, and tools of MCP servers. The programs that they start run in
//! `hookhost exec`, where the system allows it.

use crate::configuration;
use crate::exit::CliError;
use crate::sandbox::{ability, is_guarded};
use anyhow::anyhow;
use hookhost::{Config, Host};
use hookhost_agent::config::AgentSection;
use hookhost_agent::launcher::Launcher;
use hookhost_agent::tool::{Toolbox, adopt_orphans};
use hookhost_exec::Ability;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// The tools, and how they start programs.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) toolbox: Toolbox,
    pub(crate) launcher: Launcher,
}

/// Returns the tools, and a notice for each tool that is left out and for each restriction. `chosen` is the configuration file that the user
/// names.
pub(crate) async fn tools(
    host: &Host,
    config: &Config,
    section: &AgentSection,
    workspace: &Path,
    chosen: Option<&Path>,
    is_unguarded: bool,
) -> Result<(Tools, Vec<String>), CliError> {
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
    let mut launcher = Launcher { hidden_variables: hidden_variables(config, section)?, ..Launcher::default() };
    // Inside, the programs are guarded as this one is.
    if !is_unguarded && !is_guarded(&configuration::places()?.state) {
        let ability = ability();
        match &ability {
            Ability::None { because } => {
                notices.push(format!("the kernel guards no files from what tools start, because {because}"));
            }
            Ability::Landlock { because, lacks } => {
                let lacks = lacks.join("; ");
                notices.push(format!("the kernel guards less from what tools start, because {because}; {lacks}"));
            }
            Ability::Namespaces { .. } => {}
        }
        if !matches!(ability, Ability::None { .. }) {
            launcher.wrapper = wrapper(chosen)?;
        }
    }
    let mcp = configuration::mcp(config)?;
    let builtin = Toolbox::builtin().and_then(|tools| tools.with_plugins(host)).map_err(anyhow::Error::new)?;
    let started = mcp.start(workspace, &launcher).await;
    let tools = started.tools.into_iter().try_fold(builtin, |tools, tool| tools.with(Arc::new(tool)));
    notices.extend(started.notices);
    Ok((Tools { toolbox: tools.map_err(anyhow::Error::new)?, launcher }, notices))
}

/// Returns the words before a program that starts in `hookhost exec`.
fn wrapper(chosen: Option<&Path>) -> Result<Vec<OsString>, CliError> {
    let own = std::env::current_exe().map_err(|error| anyhow!("the program hookhost cannot be found: {error}"))?;
    let mut words: Vec<OsString> = vec![own.into(), "exec".into(), "--tool".into()];
    if let Some(file) = chosen {
        let file = std::path::absolute(file).map_err(|error| anyhow!("{}: {error}", file.display()))?;
        words.extend(["--config".into(), file.into()]);
    }
    words.push("--".into());
    Ok(words)
}

/// Returns the environment variables that no child process of the agent inherits.
fn hidden_variables(config: &Config, section: &AgentSection) -> Result<Vec<String>, CliError> {
    let mut variables = section.hidden_variables(names_of_environment());
    variables.extend(configuration::mcp(config)?.key_variables());
    Ok(variables)
}

/// Returns the names of this process's environment variables. Names that are not UTF-8 are left out, because no pattern can match them.
fn names_of_environment() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}
