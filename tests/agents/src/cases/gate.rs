//! Checks that denied calls, prompts and calls of sub-agents do not happen.

use crate::model::{Script, Step};
use crate::run::Run;
use anyhow::Result;
use hookhost_agents::Abilities;
use hookhost_contract::EventKind;

/// A part of the refusal by the test's rules.
const DENIED: &str = "denied-by-policy";

pub(super) fn calls(run: &mut Run<'_>) -> Result<()> {
    run.commands(&[
        "echo hello > out.txt",
        "echo original > rewrite.txt",
        "echo hello > answered.txt",
        "echo hello > denied.txt",
        "echo hello > asked.txt",
    ])?;
    let can = run.can(EventKind::BeforeToolCall).unwrap_or(Abilities::NONE);
    let ran = run.file("out.txt").as_deref() == Some("hello\n");
    run.check("an allowed call runs", ran && run.was_told("out.txt")?);
    let is_stopped = run.file("denied.txt").is_none() && run.was_told("denied.txt")?;
    run.check("a denied call does not run", is_stopped);
    if run.agent.ends_at_denials() {
        run.check("a denied call ends the run, as is known of this agent", !run.sent(DENIED));
    } else {
        run.check("the model is told why a call was denied", run.sent(DENIED));
    }
    let changed = run.file("rewrite.txt");
    if can.changes {
        run.check("a changed call runs as it was changed", changed.as_deref() == Some("rewritten\n"));
    } else {
        let holds = changed.is_none() && run.sent("echo rewritten > rewrite.txt");
        run.check("a changed call is rejected, and the model is told the changed one", holds);
    }
    let is_stopped = run.file("answered.txt").is_none() && run.was_told("answered.txt")?;
    if run.agent.ends_at_denials() && !can.responds {
        run.check("a call that a plugin answers does not run", is_stopped);
    } else {
        let holds = is_stopped && run.sent("answer-of-policy");
        run.check("a call that a plugin answers does not run, and the model reads the answer", holds);
    }
    let is_stopped = run.file("asked.txt").is_none() && run.was_told("asked.txt")?;
    run.check("a call that a person has to agree to does not run where nobody is there", is_stopped);
    Ok(())
}

pub(super) fn prompt(run: &mut Run<'_>) -> Result<()> {
    let Some(can) = run.can(EventKind::PromptSubmit).filter(|_| !run.agent.untold().contains(&EventKind::PromptSubmit))
    else {
        run.skip("prompts: this agent does not tell them where nobody is there");
        return Ok(());
    };
    let steps = vec![run.shell("echo hello > out.txt")];
    run.once("[script main] forbidden-prompt", vec![Script { name: "main", steps }])?;
    run.check("a prompt is seen", run.was_told("forbidden-prompt")?);
    if can.rejects {
        run.check("a refused prompt does not reach the model", !run.sent("forbidden-prompt"));
    }
    let steps = vec![run.shell("echo hello > out.txt")];
    run.once("[script main] a prompt with the masked-word", vec![Script { name: "main", steps }])?;
    if can.replaces {
        let holds = run.sent("a prompt with the [word masked]") && !run.sent("a prompt with the masked-word");
        run.check("the model reads a prompt as it was masked", holds);
    } else if can.rejects {
        run.check(
            "a prompt that cannot be masked does not reach the model",
            !run.sent("a prompt with the masked-word"),
        );
    }
    Ok(())
}

pub(super) fn stop(run: &mut Run<'_>) -> Result<()> {
    let steps =
        ["echo hello > stopped.txt", "echo hello > after.txt"].iter().map(|command| run.shell(command)).collect();
    run.once("[script main] make the files", vec![Script { name: "main", steps }])?;
    let is_stopped = run.file("stopped.txt").is_none() && run.was_told("stopped.txt")?;
    if run.can(EventKind::BeforeToolCall).is_some_and(|can| can.stops) {
        run.check("a rejection that ends the run ends it", is_stopped && run.file("after.txt").is_none());
    } else {
        run.check("a call whose rejection is to end the run does not run", is_stopped);
    }
    Ok(())
}

pub(super) fn subagent(run: &mut Run<'_>) -> Result<()> {
    let Some(call) = run.agent.subagent("[script child] do a part") else {
        run.skip("sub-agents: this agent has none");
        return Ok(());
    };
    let mut main = vec![Step::Calls(vec![call])];
    if !run.agent.ends_at_denials() {
        // Some agents do not wait for a sub-agent, so the main agent waits for its last command.
        main.push(run.shell("timeout 20 sh -c 'until test -e child-done.txt; do sleep 0.1; done'"));
    }
    let commands = ["echo hello > child.txt", "echo hello > child-denied.txt", "echo hello > child-done.txt"];
    let child = commands.iter().map(|command| run.shell(command)).collect();
    run.once(
        "[script main] have it done",
        vec![Script { name: "main", steps: main }, Script { name: "child", steps: child }],
    )?;
    run.check("a sub-agent's call runs", run.file("child.txt").is_some() && run.was_told("> child.txt")?);
    let is_stopped = run.file("child-denied.txt").is_none() && run.was_told("child-denied.txt")?;
    run.check("a sub-agent's denied call does not run", is_stopped);
    Ok(())
}
