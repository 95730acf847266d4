//! Checks that a recorded session of an agent becomes passing cases, and that a changed rule is seen in exactly its calls.

use crate::hook::command;
use crate::run::Run;
use anyhow::{Context as _, Result};
use std::fs;

pub(super) fn recorded(run: &mut Run<'_>) -> Result<()> {
    run.commands(&["echo hello > out.txt", "echo original > rewrite.txt", "echo hello > denied.txt"])?;
    let path = |name: &str| run.place.project().join(name).to_string_lossy().into_owned();
    let (cases, stricter) = (path("recorded.toml"), path("stricter.toml"));
    let recorded = command::succeeds(&run.place, &["record", "--agent", run.agent.name(), "-o", &cases])?;
    let text = fs::read_to_string(&cases).with_context(|| cases.clone())?;
    let has = |word: &str| text.contains(&format!("outcome = \"{word}\"\n"));
    run.check("a session is recorded as cases", has("allowed") && has("changed") && has("rejected"));
    let tested = command::run(&run.place, &["test", &cases])?;
    run.check("the recorded cases pass", tested.code == Some(0));
    // Shown if a check fails.
    run.ended.extend([recorded, tested]);

    let own = run.place.home().join(".config/hookhost/hookhost.toml");
    let rules = fs::read_to_string(&own).with_context(|| own.display().to_string())?;
    fs::write(&stricter, format!("{rules}\n[[rule]]\nid = \"shell\"\non = \"shell\"\nask = \"Run it?\"\n"))?;
    let replayed = command::run(&run.place, &["replay", "--with", &stricter])?;
    let differs = |name: &str| replayed.stdout.contains(name);
    let holds =
        replayed.code == Some(6) && differs("> out.txt") && differs("> rewrite.txt") && !differs("> denied.txt");
    run.check("another rule differs in exactly the calls that it asks about", holds);
    run.ended.push(replayed);
    Ok(())
}
