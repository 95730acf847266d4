//! The configurations of `terraform` and `docker`.

use super::agent::AgentProcess;
use super::{Found, file, not_understood, place, set};
use serde::Deserialize;
use std::path::Path;

/// The name of the workspace and of the context that count if none is named.
const DEFAULT: &str = "default";

/// Returns the workspace of `terraform` in the directory `at`: `TF_WORKSPACE`, or the workspace that the directory's
/// data names. Returns `None` if the directory is not initialised.
pub(super) fn terraform_workspace(process: &dyn AgentProcess, at: &Path) -> Found {
    if let Some(workspace) = set(process, "TF_WORKSPACE")? {
        return Ok(Some(workspace));
    }
    let data = at.join(set(process, "TF_DATA_DIR")?.as_deref().unwrap_or(".terraform"));
    match file::text(&data.join("environment"))? {
        Some(workspace) => Ok(Some(workspace.trim().to_owned()).filter(|workspace| !workspace.is_empty())),
        None if data.is_dir() => Ok(Some(DEFAULT.to_owned())),
        None => Ok(None),
    }
}

/// The part of `config.json` that is read. The file also contains passwords.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfig {
    #[serde(default)]
    current_context: String,
}

/// Returns the context of `docker`, in the order in which `docker` looks for it: `DOCKER_CONTEXT`, then `config.json`.
/// The context is unknown if `DOCKER_HOST` names a server, which replaces all contexts.
pub(super) fn docker_context(process: &dyn AgentProcess, at: &Path) -> Found {
    if set(process, "DOCKER_HOST")?.is_some() {
        return Err("`DOCKER_HOST` names a server in place of a context".to_owned());
    }
    if let Some(context) = set(process, "DOCKER_CONTEXT")? {
        return Ok(Some(context));
    }
    let Some(directory) = place(process, at, "DOCKER_CONFIG", ".docker")? else { return Ok(None) };
    let path = directory.join("config.json");
    let Some(text) = file::text(&path)? else { return Ok(None) };
    let config: DockerConfig =
        serde_json::from_str(&text).map_err(|_| not_understood(&path, "is not the JSON of a configuration"))?;
    Ok(Some(if config.current_context.is_empty() { DEFAULT.to_owned() } else { config.current_context }))
}
