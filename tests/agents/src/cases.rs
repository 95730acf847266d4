//! What is checked.

use crate::agents::RealAgent;
use crate::hook::{Hook, Told};
use crate::model::{Exchange, Model, Script, Step};
use crate::place::Place;
use crate::process::{self, Ended};
use crate::report::Report;
use anyhow::{Context as _, Result};
use hookhost_adapters::{Abilities, Agent, by_name};
use hookhost_contract::EventKind;
use std::fs;
use std::path::Path;

/// A case: one or more runs of an agent in a home of their own.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    check: fn(&mut Run<'_>) -> Result<()>,
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    Case { name: "calls", check: calls },
    Case { name: "prompt", check: prompt },
    Case { name: "life", check: life },
    Case { name: "subagent", check: subagent },
    Case { name: "missing", check: missing },
];

/// Runs a case, and prints its checks.
///
/// # Errors
/// If something fails that is not what is checked.
pub(crate) fn run(case: &Case, agent: &dyn RealAgent, hook: &Hook, root: &Path, cache: &Path) -> Result<()> {
    let model = Model::start()?;
    let place = Place::make(root, cache, model.url())?;
    agent.prepare(&place)?;
    hook.install(agent, &place)?;
    agent.after_install(&place)?;
    let known = by_name(agent.name()).context("no adapter")?.agent();
    let mut run = Run { agent, known, hook, place, model, exchanges: Vec::new(), ended: Vec::new() };
    (case.check)(&mut run)?;
    run.keep()
}

/// The runs of a case.
struct Run<'a> {
    agent: &'a dyn RealAgent,
    known: &'static Agent,
    hook: &'a Hook,
    place: Place,
    model: Model,
    /// What the model was sent, in all runs.
    exchanges: Vec<Exchange>,
    /// How the agent ended, each time.
    ended: Vec<Ended>,
}

impl Run<'_> {
    /// Runs the agent with a prompt, once.
    fn once(&mut self, prompt: &str, scripts: Vec<Script>) -> Result<()> {
        self.model.follow(scripts);
        let ended = process::run(&self.place, &self.agent.start(&self.place, prompt), process::LIMIT)?;
        self.exchanges.extend(self.model.exchanges());
        self.ended.push(ended);
        Ok(())
    }

    /// Runs the agent until it has done these shell commands: some agents end their run when a call is rejected.
    fn commands(&mut self, commands: &[&str]) -> Result<()> {
        let mut left = commands;
        while !left.is_empty() {
            let steps = left.iter().map(|command| Step::Calls(vec![self.agent.shell(command)])).collect();
            let before = self.exchanges.len();
            self.once("[script main] make the files", vec![Script { name: "main", steps }])?;
            let done =
                self.exchanges[before..].iter().filter_map(|exchange| exchange.step).map(|(_, step)| step + 1).max();
            match done {
                Some(done) => left = &left[done.min(left.len())..],
                None => break,
            }
        }
        Ok(())
    }

    /// Whether the model was sent this text.
    fn sent(&self, text: &str) -> bool {
        self.exchanges.iter().any(|exchange| exchange.body.contains(text))
    }

    fn told(&self) -> Result<Vec<Told>> {
        self.hook.told(&self.place)
    }

    /// What the agent can do at the hook point of an event, as its adapter has it; `None` where the hook is not installed at any.
    fn can(&self, event: EventKind) -> Option<Abilities> {
        self.known.points.iter().find(|point| point.installed && point.event == event).map(|point| point.abilities)
    }

    /// Prints what became of a check.
    fn check(&self, what: &str, holds: bool) {
        let report = if holds { Report::pass(what) } else { Report::fail(what, self.details()) };
        println!("{}", report.line());
    }

    fn skip(&self, what: &str) {
        println!("{}", Report::skip(what).line());
    }

    /// What happened, for who has to find out why.
    fn details(&self) -> String {
        let mut details = String::new();
        for ended in &self.ended {
            details.push_str(&format!("--- the agent: {}\n", ended.said()));
        }
        for exchange in &self.exchanges {
            details.push_str(&format!("--- {} {:?}: {}\n", exchange.line, exchange.step, exchange.said));
        }
        for told in self.told().unwrap_or_default() {
            details.push_str(&format!("--- hook {}: {}\n", told.point, told.means));
        }
        details
    }

    /// Writes down what the model was sent.
    fn keep(&self) -> Result<()> {
        let directory = self.place.root.join("requests");
        fs::create_dir_all(&directory)?;
        for (number, exchange) in self.exchanges.iter().enumerate() {
            fs::write(directory.join(format!("{number:03}.json")), &exchange.body)?;
        }
        fs::write(self.place.root.join("details"), self.details())?;
        Ok(())
    }
}

/// What the rules of the test say no with.
const DENIED: &str = "denied-by-policy";

fn calls(run: &mut Run<'_>) -> Result<()> {
    run.commands(&[
        "echo hello > out.txt",
        "echo original > rewrite.txt",
        "echo hello > denied.txt",
        "echo hello > asked.txt",
    ])?;
    let told = run.told()?;
    let was_told = |text: &str| told.iter().any(|told| told.text.contains(text));
    let can = run.can(EventKind::BeforeToolCall).unwrap_or(Abilities::NONE);
    run.check("an allowed call runs", run.place.file("out.txt").as_deref() == Some("hello\n") && was_told("out.txt"));
    run.check("a denied call does not run", run.place.file("denied.txt").is_none() && was_told("denied.txt"));
    run.check("the model is told why", run.sent(DENIED));
    if can.changes {
        run.check(
            "a changed call runs as it was changed",
            run.place.file("rewrite.txt").as_deref() == Some("rewritten\n"),
        );
    } else {
        let holds = run.place.file("rewrite.txt").is_none() && run.sent("echo rewritten > rewrite.txt");
        run.check("a changed call is rejected, and the model is told the changed one", holds);
    }
    run.check(
        "a call that a person has to agree to does not run without one",
        run.place.file("asked.txt").is_none() && was_told("asked.txt"),
    );
    Ok(())
}

fn prompt(run: &mut Run<'_>) -> Result<()> {
    let steps = vec![Step::Calls(vec![run.agent.shell("echo hello > out.txt")])];
    run.once("[script main] forbidden-prompt", vec![Script { name: "main", steps }])?;
    match run.can(EventKind::PromptSubmit) {
        Some(can) if can.rejects => {
            run.check("a refused prompt does not reach the model", !run.sent("forbidden-prompt"))
        }
        Some(_) => run.check(
            "a prompt is seen (this agent cannot be kept from it)",
            run.told()?.iter().any(|told| told.text.contains("forbidden-prompt")),
        ),
        None => run.skip("prompts: this agent has no hook for them"),
    }
    Ok(())
}

fn life(run: &mut Run<'_>) -> Result<()> {
    let shell = |command: &str| Step::Calls(vec![run.agent.shell(command)]);
    // The word is not in the command, so that it is only in what the command prints.
    let mut main = vec![shell("echo the masked-''word")];
    run.place.write_project("notes.txt", "in a file: masked-word\n")?;
    let read = run.agent.read(&run.place.project().join("notes.txt").to_string_lossy());
    main.extend(read.iter().map(|call| Step::Calls(vec![call.clone()])));
    main.push(Step::Text("the last masked-word, but not-yet".into()));
    let more = vec![shell("echo more > more.txt")];
    run.once(
        "[script main] make the files",
        vec![Script { name: "main", steps: main }, Script { name: "more", steps: more }],
    )?;
    let told = run.told()?;
    let was_told = |kind: &str| told.iter().any(|told| told.means.starts_with(kind));
    for (event, name, what) in [
        (EventKind::SessionStart, "SessionStart", "the session's start is seen"),
        (EventKind::PromptSubmit, "PromptSubmit", "the prompt is seen"),
        (EventKind::AfterToolCall, "AfterToolCall", "a tool's result is seen"),
        (EventKind::FinalizeContent, "FinalText", "the final text is seen"),
        (EventKind::QueueEmpty, "Stop", "the stop is seen"),
        (EventKind::SessionEnd, "SessionEnd", "the session's end is seen"),
    ] {
        match run.can(event) {
            Some(_) if run.agent.untold().contains(&event) => {
                run.skip(&format!("{what}: this agent does not tell it where nobody is there"));
            }
            Some(_) => run.check(what, was_told(name)),
            None => run.skip(&format!("{what}: this agent has no hook for it")),
        }
    }
    for (event, context) in [
        (EventKind::SessionStart, "context-at-start"),
        (EventKind::PromptSubmit, "context-at-prompt"),
        (EventKind::BeforeToolCall, "context-at-call"),
        (EventKind::AfterToolCall, "context-at-result"),
    ] {
        if run.can(event).is_some_and(|can| can.adds_context) {
            run.check(&format!("the model reads {context}"), run.sent(context));
        }
    }
    if run.can(EventKind::AfterToolCall).is_some_and(|can| can.replaces) {
        run.check(
            "the model gets the result as it was masked",
            run.sent("the [word masked]") && !run.sent("the masked-word"),
        );
        if read.is_some() {
            let holds = run.sent("in a file: [word masked]") && !run.sent("in a file: masked-word");
            run.check("the model gets a file as it was masked", holds);
        }
    }
    if run.can(EventKind::FinalizeContent).is_some_and(|can| can.replaces) {
        let said = &run.ended[0].stdout;
        run.check(
            "the user reads the final text as it was masked",
            said.contains("[word masked]") && !said.contains("masked-word"),
        );
    }
    if run.can(EventKind::QueueEmpty).is_some_and(|can| can.goes_on) {
        run.check("the agent goes on with a plugin's task", run.place.file("more.txt").is_some());
    }
    Ok(())
}

fn subagent(run: &mut Run<'_>) -> Result<()> {
    let Some(call) = run.agent.subagent("[script child] do a part") else {
        run.skip("sub-agents: this agent has none");
        return Ok(());
    };
    let shell = |command: &str| Step::Calls(vec![run.agent.shell(command)]);
    // Some agents do not wait for a sub-agent, so its last command is waited for.
    let main = vec![Step::Calls(vec![call]), shell("timeout 20 sh -c 'until test -e child.txt; do sleep 0.1; done'")];
    let child = vec![shell("echo hello > child-denied.txt"), shell("echo hello > child.txt")];
    run.once(
        "[script main] have it done",
        vec![Script { name: "main", steps: main }, Script { name: "child", steps: child }],
    )?;
    run.check("a sub-agent's call runs", run.place.file("child.txt").is_some());
    let told = run.told()?.iter().any(|told| told.text.contains("child-denied.txt"));
    run.check("a sub-agent's denied call does not run", told && run.place.file("child-denied.txt").is_none());
    Ok(())
}

fn missing(run: &mut Run<'_>) -> Result<()> {
    let program = run.place.bin().join("hookhost-hook");
    fs::remove_file(&program).with_context(|| format!("cannot remove {}", program.display()))?;
    run.commands(&["echo hello > out.txt"])?;
    let ran = run.place.file("out.txt").is_some();
    if run.agent.runs_without_hook() {
        run.check("a missing hook program opens the gate, as is known of this agent", ran);
    } else {
        run.check("a missing hook program closes the gate", !ran);
    }
    Ok(())
}
