//! The configurations of `aws` and `gcloud`.

use super::agent::AgentProcess;
use super::{Found, file, ini, not_understood, place, set};
use std::path::Path;

/// The name of the profile and of the configuration that count if none is named.
const DEFAULT: &str = "default";

/// Returns the profile of `aws`: `AWS_PROFILE`, `AWS_DEFAULT_PROFILE`, or `default` if there is a configuration.
pub(super) fn aws_profile(process: &dyn AgentProcess, at: &Path) -> Found {
    for variable in ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"] {
        if let Some(profile) = set(process, variable)? {
            return Ok(Some(profile));
        }
    }
    for (variable, path) in [("AWS_CONFIG_FILE", ".aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")] {
        if place(process, at, variable, path)?.is_some_and(|file| file.exists()) {
            return Ok(Some(DEFAULT.to_owned()));
        }
    }
    Ok(None)
}

/// Returns the account of the profile: `sso_account_id`, or the account in `role_arn`. The account is unknown if keys in
/// the environment replace the profile.
pub(super) fn aws_account(process: &dyn AgentProcess, at: &Path) -> Found {
    if set(process, "AWS_ACCESS_KEY_ID")?.is_some() {
        return Err("`AWS_ACCESS_KEY_ID` replaces the profile".to_owned());
    }
    let Some(profile) = aws_profile(process, at)? else { return Ok(None) };
    let Some(path) = place(process, at, "AWS_CONFIG_FILE", ".aws/config")? else { return Ok(None) };
    let Some(text) = file::text(&path)? else { return Ok(None) };
    let section = if profile == DEFAULT { profile } else { format!("profile {profile}") };
    if let Some(account) = ini::value(&text, &section, "sso_account_id") {
        return Ok(Some(account.to_owned()));
    }
    let Some(role) = ini::value(&text, &section, "role_arn") else { return Ok(None) };
    // arn:aws:iam::123456789012:role/name
    match role.split(':').nth(4).filter(|account| !account.is_empty()) {
        Some(account) => Ok(Some(account.to_owned())),
        None => Err(not_understood(&path, "has a `role_arn` without an account")),
    }
}

/// Returns the project of `gcloud`: `CLOUDSDK_CORE_PROJECT`, or the project of the active configuration.
pub(super) fn gcloud_project(process: &dyn AgentProcess, at: &Path) -> Found {
    if let Some(project) = set(process, "CLOUDSDK_CORE_PROJECT")? {
        return Ok(Some(project));
    }
    let Some(directory) = place(process, at, "CLOUDSDK_CONFIG", ".config/gcloud")? else { return Ok(None) };
    let name = match set(process, "CLOUDSDK_ACTIVE_CONFIG_NAME")? {
        Some(name) => name,
        None => file::text(&directory.join("active_config"))?.map_or(DEFAULT.to_owned(), |name| name.trim().to_owned()),
    };
    if name.contains('/') {
        return Err(not_understood(&directory, "has an active configuration with an invalid name"));
    }
    let Some(text) = file::text(&directory.join(format!("configurations/config_{name}")))? else { return Ok(None) };
    Ok(ini::value(&text, "core", "project").filter(|project| !project.is_empty()).map(str::to_owned))
}
