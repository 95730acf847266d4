//! What is under test: the built programs, or the stand-in.

use crate::agents::RealAgent;
use crate::place::{Place, write};
use anyhow::{Context as _, Result, bail};
use hookhost_adapters::by_name;
use hookhost_adapters::install::{Context, FilePlan, JsonEntry, OnFailure, Scope};
use hookhost_contract::EventKind;
use serde_json::{Map, Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What is under test.
#[derive(Clone, Debug)]
pub(crate) enum Hook {
    /// The stand-in, with the adapters and nothing else of hookhost.
    StandIn { program: PathBuf },
    /// The command, the small hook program, and the test's plugin.
    Built { hookhost: PathBuf, program: PathBuf, plugin: PathBuf },
}

impl Hook {
    /// The options that say so.
    pub(crate) fn words(&self) -> Vec<&Path> {
        match self {
            Self::StandIn { program } => vec![Path::new("--stand-in"), program],
            Self::Built { hookhost, program, plugin } => {
                vec![Path::new("--hookhost"), hookhost, Path::new("--hook"), program, Path::new("--plugin"), plugin]
            }
        }
    }

    /// Installs the hook under the agent, as a user does it.
    ///
    /// # Errors
    /// If it cannot be installed.
    pub(crate) fn install(&self, agent: &dyn RealAgent, place: &Place) -> Result<()> {
        match self {
            Self::StandIn { program } => {
                let hook = place.bin().join("hookhost-hook");
                fs::copy(program, &hook).with_context(|| format!("cannot copy {}", program.display()))?;
                install_stand_in(agent, place, &hook)
            }
            Self::Built { .. } => bail!("not there yet"),
        }
    }

    /// What it was told so far: each message's text.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn told(&self, place: &Place) -> Result<Vec<Told>> {
        match self {
            Self::StandIn { .. } => {
                let mut files: Vec<_> =
                    fs::read_dir(place.recorded())?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
                files.sort();
                files
                    .iter()
                    .map(|file| {
                        let record: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
                        Ok(Told {
                            event: serde_json::from_value(record["event"].clone())?,
                            point: record["point"].as_str().unwrap_or_default().to_owned(),
                            text: record["message"].to_string(),
                            means: record["means"].as_str().unwrap_or_default().to_owned(),
                        })
                    })
                    .collect()
            }
            Self::Built { .. } => bail!("not there yet"),
        }
    }
}

/// A message that the hook got.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// What it means.
    pub(crate) event: EventKind,
    pub(crate) point: String,
    pub(crate) text: String,
    pub(crate) means: String,
}

fn install_stand_in(agent: &dyn RealAgent, place: &Place, program: &Path) -> Result<()> {
    let adapter = by_name(agent.name()).with_context(|| format!("there is no adapter {}", agent.name()))?;
    let (home, project) = (place.home(), place.project());
    let context = Context {
        scope: Scope::User,
        home: &home,
        project: &project,
        program,
        on_failure: OnFailure::Deny,
        variable: &|_| None,
    };
    for file in adapter.install(&context)?.files {
        match file {
            FilePlan::Whole { path, content, is_program } => {
                write(&path, &content)?;
                if is_program {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                }
            }
            FilePlan::Json { path, entries } => {
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
                let mut root: Value = serde_json::from_str(&text)?;
                for entry in entries {
                    match entry {
                        JsonEntry::Element { at, value } => {
                            let place = reach(&mut root, &at);
                            if !place.is_array() {
                                *place = json!([]);
                            }
                            place.as_array_mut().context("no array")?.push(value);
                        }
                        JsonEntry::Default { at, value } => {
                            let place = reach(&mut root, &at);
                            if place.is_null() {
                                *place = value;
                            }
                        }
                        _ => bail!("the stand-in cannot install {entry:?}"),
                    }
                }
                write(&path, &serde_json::to_string_pretty(&root)?)?;
            }
            _ => bail!("the stand-in cannot install {file:?}"),
        }
    }
    Ok(())
}

/// The value at these keys, which is made where it is missing.
fn reach<'a>(value: &'a mut Value, keys: &[String]) -> &'a mut Value {
    keys.iter().fold(value, |value, key| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        &mut value[key]
    })
}
