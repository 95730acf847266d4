//! Checks a repository's `hookhost.toml` and the plugins that it names.

use super::{Finding, Kind};
use crate::configuration::{self, SECTIONS, allow_command};
use crate::exit::CliError;
use crate::loading;
use hookhost::command::{ProjectFile, inspect, read};
use hookhost::config::{Config, ConfigError, FILE_NAME, Problems};
use std::path::{Path, PathBuf};

/// Returns a sentence about what was checked, and the findings.
pub(super) async fn check(root: &Path) -> (String, Vec<Finding>) {
    let path = root.join(FILE_NAME);
    if path.symlink_metadata().is_err() {
        return (format!("{FILE_NAME}: this directory has none"), Vec::new());
    }
    let config = match config(&path).await {
        Ok(config) => config,
        Err(findings) => return (format!("{FILE_NAME} cannot be used"), findings),
    };
    let mut findings = Vec::new();
    let (mut same, entries) = (0, config.entries());
    for entry in entries {
        let Some((wasm, pinned)) = entry.code.path().zip(entry.code.digest()) else { continue };
        let mut find = |kind, message: String| {
            let line = entry.origin.as_ref().map_or(1, |origin| origin.line);
            findings.push(Finding { kind, file: PathBuf::from(FILE_NAME), line, message });
        };
        let (name, shown) = (&entry.name, wasm.strip_prefix(root).unwrap_or(wasm).display());
        match read(wasm) {
            Ok(bytes) => match inspect(&bytes) {
                Ok(inspection) if inspection.digest != pinned => {
                    let next = allow_command(wasm.strip_prefix(root).unwrap_or(wasm), Some(entry), None);
                    let found = inspection.digest;
                    find(
                        Kind::PluginChanged,
                        format!(
                            "{name}: {shown} has the digest {found}, and {pinned} is allowed. Inspect it, then: {next}"
                        ),
                    );
                }
                Ok(inspection) => match inspection.problem {
                    Some(problem) => {
                        find(Kind::RulesInvalid, format!("{name}: {shown} cannot be loaded: it {problem}"));
                    }
                    None => same += 1,
                },
                Err(problem) => find(Kind::RulesInvalid, format!("{name}: {shown} {problem}")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => find(
                Kind::PluginMissing,
                format!("{name}: {shown} is not in the repository, so its digest was not compared"),
            ),
            Err(error) => find(Kind::RulesInvalid, format!("{name}: {shown} cannot be read: {error}")),
        }
    }
    let plugins = if entries.len() == 1 { "plugin" } else { "plugins" };
    let counts = format!("{} {plugins}, all pinned; {same} compared with the file", entries.len());
    (format!("{FILE_NAME}: {counts}; {} rules", config.rules().len()), findings)
}

async fn config(path: &Path) -> Result<Config, Vec<Finding>> {
    let finding =
        |line, message| vec![Finding { kind: Kind::RulesInvalid, file: PathBuf::from(FILE_NAME), line, message }];
    let each = |problems: Problems| -> Vec<Finding> {
        problems.iter().flat_map(|problem| finding(problem.line, problem.message.clone())).collect()
    };
    let invalid = |error: ConfigError| match error {
        ConfigError::Invalid(problems) => each(problems),
        error => finding(1, error.to_string()),
    };
    let stopped = |error: CliError| finding(1, error.message());
    let file = ProjectFile::read(path).and_then(ProjectFile::with_rule_files).map_err(invalid)?;
    let config = Config::of_project_file(&file, std::env::home_dir().as_deref(), SECTIONS).map_err(invalid)?;
    configuration::check_sections(&config).map_err(stopped)?;
    if config.rules().is_empty() {
        return Ok(config);
    }
    let places = configuration::places().map_err(stopped)?;
    let with_plugin = configuration::with_rules_plugin(config.clone(), &places).map_err(stopped)?;
    match loading::mistakes_in_rules(&with_plugin).await.map_err(stopped)? {
        Some(problems) => Err(each(problems)),
        None => Ok(config),
    }
}
