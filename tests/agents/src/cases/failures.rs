//! Checks what happens to calls while a part of hookhost is missing.

use crate::hook::{PROGRAM, command};
use crate::run::Run;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;

pub(super) fn missing(run: &mut Run<'_>) -> Result<()> {
    remove(&run.place.bin().join(PROGRAM))?;
    run.commands(&["echo hello > out.txt"])?;
    let ran = run.file("out.txt").is_some();
    if run.agent.runs_without_hook() {
        run.check("a missing hook program opens the gate, as is known of this agent", ran);
    } else {
        run.check("a missing hook program closes the gate", !ran);
    }
    Ok(())
}

pub(super) fn dead(run: &mut Run<'_>) -> Result<()> {
    run.commands(&["echo hello > out.txt"])?;
    let status = command::run(&run.place, &["serve", "--status"])?;
    run.check("the hook starts the resident host", status.code == Some(0) && run.file("out.txt").is_some());
    // The resident host is killed, so that it leaves its socket behind.
    let killed = kill_resident_hosts()?;
    run.commands(&["echo hello > denied.txt"])?;
    run.check("a dead resident host does not open the gate", killed > 0 && run.file("denied.txt").is_none());
    kill_resident_hosts()?;
    remove(&run.place.bin().join("hookhost"))?;
    run.commands(&["echo hello > unsettled.txt"])?;
    run.check("without anybody who settles it, a call does not run", run.file("unsettled.txt").is_none());
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))
}

/// Kills the resident hosts in this process namespace, and returns their number. The namespace contains only processes of this case.
fn kill_resident_hosts() -> Result<u32> {
    let mut killed = 0;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        if words.get(1) == Some(&b"serve".as_slice()) && words[0].ends_with(b"/hookhost") {
            let done = std::process::Command::new("kill").args(["-9", &name]).status()?;
            killed += u32::from(done.success());
        }
    }
    Ok(killed)
}
