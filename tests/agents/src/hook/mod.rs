//! The hook under test: the built programs, or the stand-in.

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

/// The hook program's name in an agent's files.
pub(crate) const PROGRAM: &str = "hookhost-hook";

/// The hook under test.
#[derive(Clone, Debug)]
pub(crate) enum Hook {
    /// The stand-in, with the adapters and nothing else of hookhost.
    StandIn { program: PathBuf },
    /// The command, the small hook program, and the test's plugin.
    Built(Built),
}

/// An event that the hook received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// The kind of event.
    pub(crate) event: EventKind,
    /// The whole event, as JSON.
    pub(crate) text: String,
    /// The event in short, for people.
    pub(crate) shown: String,
}

impl Hook {
    /// Returns the command-line options that select this hook.
    pub(crate) fn words(&self) -> Vec<&Path> {
        match self {
            Self::StandIn { program } => vec![Path::new("--stand-in"), program],
            Self::Built(built) => built.words(),
        }
    }

    /// Installs the hook for the agent, with the steps that a user would take.
    ///
    /// # Errors
    /// If the hook cannot be installed.
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

    /// Returns the events that the hook has received so far.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub(crate) fn told(&self, place: &Place) -> Result<Vec<Received>> {
        match self {
            Self::StandIn { .. } => stand_in::told(place),
            Self::Built(_) => built::told(place),
        }
    }

    /// Returns the built programs.
    ///
    /// # Errors
    /// If the hook is the stand-in.
    pub(crate) fn built(&self) -> Result<&Built> {
        match self {
            Self::Built(built) => Ok(built),
            Self::StandIn { .. } => bail!("the stand-in is no resident host"),
        }
    }
}

/// Creates a copy of a program at the path `place`, as a hard link if possible.
fn put(program: &Path, place: &Path) -> Result<()> {
    if fs::hard_link(program, place).is_err() {
        fs::copy(program, place).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    Ok(())
}
