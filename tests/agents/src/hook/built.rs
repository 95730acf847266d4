//! Installs the built programs and allows the plugin, with the commands that a user would run.

use super::{
    PROGRAM, Received,
    command::{succeeds, wait_for_a_person},
    put,
};
use crate::agents::RealAgent;
use crate::place::Place;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The built programs and the plugin.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// The command.
    pub(crate) hookhost: PathBuf,
    /// The small hook program.
    pub(crate) program: PathBuf,
    /// The plugin with the rules of the test.
    pub(crate) plugin: PathBuf,
}

impl Built {
    pub(crate) fn words(&self) -> Vec<&Path> {
        let Self { hookhost, program, plugin } = self;
        vec![Path::new("--hookhost"), hookhost, Path::new("--hook"), program, Path::new("--plugin"), plugin]
    }

    pub(crate) fn install(&self, agent: &dyn RealAgent, place: &Place) -> Result<()> {
        put(&self.hookhost, &place.bin().join("hookhost"))?;
        put(&self.program, &place.bin().join(PROGRAM))?;
        let plugin = self.plugin.to_string_lossy();
        succeeds(place, &["allow", "--yes", &plugin])?;
        // Nobody answers in these tests. An agent that cannot ask its user waits for a person's answer, so a short deadline saves time.
        wait_for_a_person(place, "3s")?;
        succeeds(place, &["install", agent.name()])?;
        Ok(())
    }
}

/// Returns the events in the audit log.
pub(super) fn told(place: &Place) -> Result<Vec<Received>> {
    let log = succeeds(place, &["audit", "show", "--all", "--json"])?;
    let records = log.stdout.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let record: Value = serde_json::from_str(line).with_context(|| format!("this is no record: {line}"))?;
        Ok(serde_json::from_value(record["event"].clone()).ok().map(|event| Received {
            event,
            text: line.to_owned(),
            shown: line.chars().take(400).collect(),
        }))
    });
    records.filter_map(Result::transpose).collect()
}
