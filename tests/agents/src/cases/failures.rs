//! What happens when a part of hookhost is not there.

use crate::run::Run;
use anyhow::{Context as _, Result};
use std::fs;

pub(super) fn missing(run: &mut Run<'_>) -> Result<()> {
    let program = run.place.bin().join("hookhost-hook");
    fs::remove_file(&program).with_context(|| format!("cannot remove {}", program.display()))?;
    run.commands(&["echo hello > out.txt"])?;
    let ran = run.file("out.txt").is_some();
    if run.agent.runs_without_hook() {
        run.check("a missing hook program opens the gate, as is known of this agent", ran);
    } else {
        run.check("a missing hook program closes the gate", !ran);
    }
    Ok(())
}
