//! What is under test: the built programs, or the stand-in.

mod built;
pub(crate) mod command;
mod stand_in;

use crate::agents::RealAgent;
use crate::place::Place;
use anyhow::{Context as _, Result, bail};
use hookhost_contract::EventKind;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use built::Built;

/// The hook program's name, by which an agent's file names it.
pub(crate) const PROGRAM: &str = "hookhost-hook";

/// What is under test.
#[derive(Clone, Debug)]
pub(crate) enum Hook {
    /// The stand-in, with the adapters and nothing else of hookhost.
    StandIn { program: PathBuf },
    /// The command, the small hook program, and the test's plugin.
    Built(Built),
}

/// An event that the hook was told.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Its kind.
    pub(crate) event: EventKind,
    /// All of it, as JSON.
    pub(crate) text: String,
    /// What a person reads of it.
    pub(crate) shown: String,
}

impl Hook {
    /// The options that say so.
    pub(crate) fn words(&self) -> Vec<&Path> {
        match self {
            Self::StandIn { program } => vec![Path::new("--stand-in"), program],
            Self::Built(built) => built.words(),
        }
    }

    /// Installs the hook under the agent, as a user does it.
    ///
    /// # Errors
    /// If it cannot be installed.
    pub(crate) fn install(&self, agent: &dyn RealAgent, place: &Place) -> Result<()> {
        match self {
            Self::StandIn { program } => {
                let hook = place.bin().join(PROGRAM);
                put(program, &hook)?;
                stand_in::install(agent, place, &hook)
            }
            Self::Built(built) => built.install(agent, place),
        }
    }

    /// What it was told so far.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn told(&self, place: &Place) -> Result<Vec<Received>> {
        match self {
            Self::StandIn { .. } => stand_in::told(place),
            Self::Built(_) => built::told(place),
        }
    }

    /// The built programs.
    ///
    /// # Errors
    /// If it is the stand-in.
    pub(crate) fn built(&self) -> Result<&Built> {
        match self {
            Self::Built(built) => Ok(built),
            Self::StandIn { .. } => bail!("the stand-in is no resident host"),
        }
    }
}

/// Puts a program at a place, without copying it where that is possible.
fn put(program: &Path, place: &Path) -> Result<()> {
    if fs::hard_link(program, place).is_err() {
        fs::copy(program, place).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    Ok(())
}
