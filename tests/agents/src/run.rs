//! Runs an agent in a case, and records what the runs do.

use crate::agents::RealAgent;
use crate::hook::{Hook, Received};
use crate::model::{Exchange, Model, Script, Step};
use crate::place::Place;
use crate::process::{self, Ended, Start};
use crate::report::Report;
use anyhow::{Context as _, Result};
use hookhost_agents::{Abilities, Agent, by_name};
use hookhost_contract::EventKind;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The runs of a case.
pub(crate) struct Run<'a> {
    pub(crate) agent: &'a dyn RealAgent,
    pub(crate) place: Place,
    /// The result of each run.
    pub(crate) ended: Vec<Ended>,
    /// Additional variables for the agent.
    pub(crate) variables: Vec<(String, String)>,
    /// True if the agent runs in `hookhost exec`.
    pub(crate) is_inside: bool,
    known: &'static Agent,
    hook: &'a Hook,
    model: Model,
    /// The model's requests and answers in all runs.
    exchanges: Vec<Exchange>,
}

impl<'a> Run<'a> {
    /// Prepares a new home with the agent and the hook.
    ///
    /// # Errors
    /// If a step of the preparation fails.
    pub(crate) fn prepare(agent: &'a dyn RealAgent, hook: &'a Hook, root: &Path, cache: &Path) -> Result<Self> {
        let model = Model::start()?;
        let place = Place::make(root, cache, model.url())?;
        agent.prepare(&place)?;
        hook.install(agent, &place)?;
        agent.after_install(&place)?;
        let known = by_name(agent.name()).context("there is no such adapter")?.agent();
        Ok(Self {
            agent,
            place,
            ended: Vec::new(),
            variables: Vec::new(),
            is_inside: false,
            known,
            hook,
            model,
            exchanges: Vec::new(),
        })
    }

    /// Runs the agent with a prompt, once.
    pub(crate) fn once(&mut self, prompt: &str, scripts: Vec<Script>) -> Result<()> {
        self.model.follow(scripts);
        let ended = process::run(&self.place, &self.start(prompt), process::LIMIT)?;
        self.exchanges.extend(self.model.exchanges());
        self.ended.push(ended);
        Ok(())
    }

    /// Runs the agent with a prompt once, and calls `meanwhile` at the same time. The second argument of `meanwhile` is a function that
    /// returns true if the agent has ended.
    ///
    /// # Errors
    /// If the agent cannot be started, or if `meanwhile` fails.
    pub(crate) fn once_while(
        &mut self,
        prompt: &str,
        scripts: Vec<Script>,
        meanwhile: impl FnOnce(&Place, &dyn Fn() -> bool) -> Result<()>,
    ) -> Result<()> {
        self.model.follow(scripts);
        let start = self.start(prompt);
        let place = &self.place;
        let ended = std::thread::scope(|scope| {
            let agent = scope.spawn(|| process::run(place, &start, process::LIMIT));
            let done = meanwhile(place, &|| agent.is_finished());
            let ended = agent.join().map_err(|_| anyhow::anyhow!("a thread failed"))?;
            done.and(ended)
        })?;
        self.exchanges.extend(self.model.exchanges());
        self.ended.push(ended);
        Ok(())
    }

    /// Calls `does` while the model follows these scripts. This is for cases that do not run the agent with [`once`](Self::once).
    ///
    /// # Errors
    /// Returns the errors of `does`.
    pub(crate) fn meanwhile<T>(&mut self, scripts: Vec<Script>, does: impl FnOnce(&Place) -> Result<T>) -> Result<T> {
        self.model.follow(scripts);
        let done = does(&self.place);
        self.exchanges.extend(self.model.exchanges());
        done
    }

    fn start(&self, prompt: &str) -> Start {
        let mut start = self.agent.start(&self.place, prompt);
        start.variables.extend(self.variables.iter().cloned());
        if self.is_inside {
            let words = ["exec".to_owned(), "--".to_owned(), start.program.to_string_lossy().into_owned()];
            start.arguments.splice(0..0, words);
            start.program = self.place.bin().join("hookhost");
        }
        start
    }

    /// Runs the agent until it has run these shell commands. Some agents end their run when a call is rejected.
    pub(crate) fn commands(&mut self, commands: &[&str]) -> Result<()> {
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

    /// Returns true if a request to the model contained this text.
    pub(crate) fn sent(&self, text: &str) -> bool {
        self.exchanges.iter().any(|exchange| exchange.body.contains(text))
    }

    pub(crate) fn told(&self) -> Result<Vec<Received>> {
        self.hook.told(&self.place)
    }

    /// Returns what the agent can do at the hook point of an event, according to its adapter. Returns `None` if no hook is installed for
    /// the event.
    pub(crate) fn can(&self, event: EventKind) -> Option<Abilities> {
        if let Some(point) = self.agent.says(event) {
            return self.known.point(point).map(|point| point.abilities);
        }
        self.known.points.iter().find(|point| point.installed && point.event == event).map(|point| point.abilities)
    }

    /// Returns true if the hook received a message that contains this text.
    pub(crate) fn was_told(&self, text: &str) -> Result<bool> {
        Ok(self.told()?.iter().any(|told| told.text.contains(text)))
    }

    /// Returns a step with one call of the shell tool.
    pub(crate) fn shell(&self, command: &str) -> Step {
        Step::Calls(vec![self.agent.shell(command)])
    }

    /// Returns the text of a file of the project, if it exists.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        self.place.file(name)
    }

    /// Prints the result of a check.
    pub(crate) fn check(&self, what: &str, holds: bool) {
        let report = if holds { Report::pass(what) } else { Report::fail(what, self.details()) };
        println!("{}", report.line());
    }

    pub(crate) fn skip(&self, what: &str) {
        println!("{}", Report::skip(what).line());
    }

    /// Describes all runs, to help find the cause of a failure.
    fn details(&self) -> String {
        let mut details = String::new();
        for ended in &self.ended {
            let _ = writeln!(details, "--- the agent: {}", ended.said());
        }
        for exchange in &self.exchanges {
            let _ = writeln!(details, "--- {} {:?}: {}", exchange.line, exchange.step, exchange.said);
        }
        for told in self.told().unwrap_or_default() {
            let _ = writeln!(details, "--- hook {}", told.shown);
        }
        details
    }

    /// Writes the model's requests and the details to files.
    pub(crate) fn keep(&self) -> Result<()> {
        let directory = self.place.root.join("requests");
        fs::create_dir_all(&directory)?;
        for (number, exchange) in self.exchanges.iter().enumerate() {
            fs::write(directory.join(format!("{number:03}.json")), &exchange.body)?;
        }
        fs::write(self.place.root.join("details"), self.details())?;
        Ok(())
    }
}
