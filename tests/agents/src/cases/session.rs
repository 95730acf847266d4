//! Checks what an agent reports to its hooks besides tool calls, and how it reacts to the answers.

use crate::model::{Script, Step};
use crate::run::Run;
use anyhow::Result;
use hookhost_contract::EventKind;

/// Checks results that contain a word which the rules of the test mask.
pub(super) fn results(run: &mut Run<'_>) -> Result<()> {
    // The quotes split the word in the command, so that only the output contains it.
    let mut steps = vec![run.shell("echo the masked-''word")];
    run.place.write_project("notes.txt", "in a file: masked-word\n")?;
    let read = run.agent.read(&run.place.project().join("notes.txt").to_string_lossy());
    steps.extend(read.iter().map(|call| Step::Calls(vec![call.clone()])));
    run.once("[script main] look at the files", vec![Script { name: "main", steps }])?;
    run.check("a tool's result is seen", run.was_told("the masked-word")?);
    let Some(can) = run.can(EventKind::AfterToolCall) else { return Ok(()) };
    let mut texts = vec![("a command's output", "the masked-word", "the [word masked]")];
    if read.is_some() && !run.agent.ends_at_denials() {
        texts.push(("a file", "in a file: masked-word", "in a file: [word masked]"));
    }
    for (what, original, masked) in texts {
        if can.replaces {
            let holds = run.sent(masked) && !run.sent(original);
            run.check(&format!("the model reads {what} as it was masked"), holds);
        } else if can.rejects {
            run.check(&format!("the model does not read {what} that cannot be masked"), !run.sent(original));
        } else {
            let holds = run.sent(original);
            run.check(&format!("the model reads {what} unmasked, as is known of this agent"), holds);
        }
    }
    Ok(())
}

/// Checks a session from its start to its end.
pub(super) fn session(run: &mut Run<'_>) -> Result<()> {
    let main = vec![run.shell("echo hello > out.txt"), Step::Text("one masked-word".into())];
    let more = vec![run.shell("echo more > more.txt"), Step::Text("two masked-words".into())];
    let scripts = vec![Script { name: "main", steps: main }, Script { name: "more", steps: more }];
    run.once("[script main] make the files", scripts)?;
    for (event, what) in [
        (EventKind::SessionStart, "the session's start"),
        (EventKind::PromptSubmit, "the prompt"),
        (EventKind::AfterToolCall, "a tool's result"),
        (EventKind::FinalizeContent, "the final text"),
        (EventKind::QueueEmpty, "the stop"),
        (EventKind::SessionEnd, "the session's end"),
    ] {
        match run.can(event) {
            None => run.skip(&format!("{what}: this agent has no hook for it")),
            Some(_) if run.agent.untold().contains(&event) => {
                run.skip(&format!("{what}: this agent does not tell it where nobody is there"));
            }
            Some(_) => run.check(&format!("{what} is seen"), run.told()?.iter().any(|told| told.event == event)),
        }
    }
    for (event, context) in [
        (EventKind::SessionStart, "context-at-start"),
        (EventKind::PromptSubmit, "context-at-prompt"),
        (EventKind::BeforeToolCall, "context-at-call"),
        (EventKind::AfterToolCall, "context-at-result"),
    ] {
        let is_told = !run.agent.untold().contains(&event);
        if is_told && run.can(event).is_some_and(|can| can.adds_context) {
            run.check(&format!("the model reads a plugin's {context}"), run.sent(context));
        }
    }
    if run.can(EventKind::QueueEmpty).is_some_and(|can| can.goes_on) {
        run.check("the agent continues with a plugin's task, once", run.file("more.txt").as_deref() == Some("more\n"));
    }
    if run.can(EventKind::FinalizeContent).is_some_and(|can| can.replaces) {
        let said = run.ended.iter().map(|ended| ended.stdout.as_str()).collect::<String>();
        let holds = said.contains("[word masked]") && !said.contains("masked-word");
        run.check("the user reads the final text as it was masked", holds);
    }
    Ok(())
}
