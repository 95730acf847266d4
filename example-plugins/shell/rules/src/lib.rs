//! Checks shell commands for the plugins `shell-guard` and `shell-guard-classifier`. This crate reads a command, compares it with the rules
//! of the catalogues, and decides. No code in this crate calls a model.

pub mod arguments;
mod config;
#[cfg(not(target_arch = "wasm32"))]
pub mod document;
mod judge;
mod rewrite;
mod rules;
mod stacks;

pub use config::Config;

use hookhost_contract::action::supposed_commands;
use hookhost_guest::prelude::*;
use judge::{Envelope, Input, Judgement, Outcome, cut, judge};
use rules::Registry;
use shell_reader::beginnings;
use std::path::Path;

/// The path of the workspace in a plugin that has access to it.
const WORKSPACE: &str = "/workspace";

/// Maximum number of commands in a call of an unknown tool.
const MAX_SUPPOSED: usize = 128;

/// A command that contains each kind of common syntax.
const USUAL: &str = "cd src && cargo test --workspace 2>&1 | grep -n \"$X\" > 'out.log'; git commit -m \"$(date)\"";

/// The compiled rules of a configuration. The rules are compiled once, and every event starts with the compiled rules in memory.
#[derive(Debug)]
pub struct Guard {
    registry: Registry,
    stacks: Option<Vec<String>>,
}

impl Guard {
    /// Compiles the rules.
    ///
    /// # Errors
    /// Returns one sentence that names the error in the config.
    pub fn new(config: Config) -> Result<Self, String> {
        let Config { stacks, rules } = config;
        let registry = Registry::new(rules)?;
        // A first run sets up the parser and the allocator, and compiles patterns. Every event then starts with this memory.
        registry.catches("", USUAL);
        Ok(Self { registry, stacks })
    }

    /// Logs one line for each catalogue, so that the record of a session's start shows which catalogues apply.
    pub fn list(&self) {
        self.registry.listing().iter().for_each(log::info);
    }

    /// Returns the verdict on a call, and reports the findings and the reminder. Returns `None` if the call runs a command that no rule
    /// matches.
    #[must_use]
    pub fn verdict(&self, session: &Session, call: &ToolCall) -> Option<ToolCallVerdict> {
        shell_reader::answers_last();
        let Some(shell) = call.action.shell() else {
            return Some(match &call.action {
                Action::Other(kind) if kind == "shell" => {
                    Refusal::new("the command cannot be found in the call's arguments")
                        .code("shell.arguments")
                        .retryable()
                        .into()
                }
                Action::Mcp(_) | Action::Other(_) => self.verdict_of_unknown(session, call),
                _ => Verdict::allow(),
            });
        };
        self.answer(self.judge(shell, &shell.command, session, false), Some(shell))
    }

    /// Reports a judgement and returns its verdict. The verdict can contain a rewrite only if `shell` is given.
    fn answer(&self, judgement: Judgement, shell: Option<&ShellCommand>) -> Option<ToolCallVerdict> {
        self.report(&judgement);
        Some(match (judgement.outcome, shell) {
            (Outcome::Unmatched, _) => return None,
            (Outcome::Rewrite(command), Some(shell)) => {
                if let Some(envelope) = judgement.envelopes.iter().find(|envelope| envelope.action == "rewrite") {
                    remind(envelope);
                }
                ToolCallVerdict::rewrite(shell.with_command(command))
            }
            (Outcome::Pass | Outcome::Rewrite(_), _) => Verdict::allow(),
            (Outcome::Ask { rule, question }, _) => Escalation::new(question).code(rule).into(),
            (Outcome::Deny { rule, reason, retryable }, _) => {
                let refusal = Refusal::new(reason).code(rule);
                if retryable { refusal.retryable() } else { refusal }.into()
            }
        })
    }

    /// Returns the strictest verdict on the texts that a call of an unknown tool may run. No text is rewritten, because it may not be a
    /// command.
    fn verdict_of_unknown(&self, session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Ok(arguments) = call.arguments::<serde_json::Value>() else { return Verdict::allow() };
        let commands = supposed_commands(&call.name, &arguments);
        if commands.len() > MAX_SUPPOSED {
            let question =
                format!("`{}` may run more than {MAX_SUPPOSED} commands, too many to be judged. Run it?", call.name);
            return Escalation::new(question).code("shell.unknown_tool").into();
        }
        let strictness = |judgement: &Judgement| match judgement.outcome {
            Outcome::Deny { .. } => 2,
            Outcome::Ask { .. } => 1,
            _ => 0,
        };
        let shell = ShellCommand { command: String::new(), cwd: session.cwd.clone(), dialect: ShellDialect::Unknown };
        let judged = |command: &str| self.judge(&shell, command, session, true);
        let judgements = commands.iter().flat_map(|command| {
            let whole = judged(command);
            // The parts of the text are checked, too, because a shell runs the lines that precede a line that it cannot read.
            let is_silent = matches!(whole.outcome, Outcome::Unmatched) && command.contains('\n');
            let parts = command.lines().chain(beginnings(command)).filter(|_| is_silent);
            let parts: Vec<Judgement> = parts.map(judged).collect();
            std::iter::once(whole).chain(parts)
        });
        let strictest = judgements.filter(|judgement| strictness(judgement) > 0).max_by_key(strictness);
        strictest.and_then(|judgement| self.answer(judgement, None)).unwrap_or_else(Verdict::allow)
    }

    /// Returns true if a rule would refuse `command`, ask about it or change it. The command is checked as if it ran in place of `shell`.
    #[must_use]
    pub fn objects_to(&self, command: &str, shell: &ShellCommand, session: &Session) -> bool {
        !matches!(self.judge(shell, command, session, false).outcome, Outcome::Unmatched | Outcome::Pass)
    }

    fn judge(&self, shell: &ShellCommand, command: &str, session: &Session, is_supposed: bool) -> Judgement {
        let cwd = if shell.cwd.is_empty() { &session.cwd } else { &shell.cwd };
        let has_stack = |stack: &str| stacks::uses(self.stacks.as_deref(), Path::new(WORKSPACE), stack);
        let is_missing = |path: &str| Path::new(WORKSPACE).is_dir() && !Path::new(WORKSPACE).join(path).exists();
        let env = |name: &str| std::env::var(name).ok();
        let input = Input {
            command,
            dialect: shell.dialect,
            cwd,
            workspace: &session.workspace,
            has_stack: &has_stack,
            asks_silent: self.stacks.is_none(),
            is_missing: &is_missing,
            env: &env,
            is_supposed,
        };
        judge(&self.registry, &input)
    }

    /// Reports the decision of each rule for the audit log. Also reports rules that match but have no effect, because no stack is
    /// configured or detected.
    fn report(&self, judgement: &Judgement) {
        let is_told = |envelope: &&Envelope| !envelope.quiet || matches!(&*envelope.action, "deny" | "ask");
        for envelope in judgement.envelopes.iter().filter(is_told) {
            effects::report(&finding(envelope));
        }
        if !judgement.silent.is_empty() && !Path::new(WORKSPACE).is_dir() {
            let stacks = judgement.silent.keys().map(|stack| format!("`{stack}`")).collect::<Vec<_>>().join(", ");
            let explanation = format!(
                "Rules of the stack {stacks} would match, but are silent, because the workspace is not granted and so no \
                 stack is detected. Name the stacks in use with `stacks`, or grant read-dirs = {{ \"{WORKSPACE}\" = \".\" }}."
            );
            effects::report(&Finding::new("shell-guard.stacks", Severity::Info, explanation).action("passthrough"));
        }
    }
}

/// Returns a rule's decision as a finding for the audit log.
fn finding(envelope: &Envelope) -> Finding {
    let severity = match envelope.severity {
        "error" => Severity::Error,
        "info" => Severity::Info,
        _ => Severity::Warning,
    };
    let finding =
        Finding::new(&envelope.rule_id, severity, &envelope.explanation).action(&envelope.action).details(envelope);
    envelope.references.iter().fold(finding, Finding::reference)
}

/// Tells the model in its next request that its command was changed.
fn remind(envelope: &Envelope) {
    let Envelope { rule_id, original_command, command, explanation, .. } = envelope;
    // The texts are cut, because a reminder may have at most 4 KiB.
    let (before, after) = (cut(original_command, 1024), cut(command, 1024));
    let body = format!("rule {rule_id} rewrote `{before}` to `{after}`: {explanation}");
    effects::remind(&Reminder::new(body).tag("tool_rewritten").turns(1));
}

/// The result of checking a text, for the fuzzer.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[derive(Debug)]
pub struct Judged {
    /// True if the command is refused or asked about.
    pub stopped: bool,
    /// Units of work spent on reading the command.
    pub work: usize,
    /// The rewritten command.
    pub rewritten: Option<String>,
}

/// The maximum work of the reader for one command, in units.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub const MAX_WORK: usize = shell_reader::MAX_WORK;

/// Checks a text that the fuzzer made.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[must_use]
pub fn judge_for_fuzzing(command: &str, dialect: ShellDialect) -> Judged {
    thread_local! {
        static REGISTRY: Registry = match Registry::new(rules::Settings::default()) {
            Ok(registry) => registry,
            Err(error) => panic!("the embedded catalogues do not load: {error}"),
        };
    }
    REGISTRY.with(|registry| {
        let input = Input {
            command,
            dialect,
            cwd: "/work/project",
            workspace: "/work/project",
            has_stack: &|_| true,
            asks_silent: false,
            is_missing: &|_| false,
            env: &|_| None,
            is_supposed: false,
        };
        let Judgement { outcome, work, .. } = judge(registry, &input);
        let stopped = matches!(outcome, Outcome::Deny { .. } | Outcome::Ask { .. });
        let rewritten = if let Outcome::Rewrite(command) = outcome { Some(command) } else { None };
        Judged { stopped, work, rewritten }
    })
}

#[cfg(test)]
mod tests;
