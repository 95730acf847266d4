//! Understands the shell commands that an agent wants to run: refuses those that destroy, asks about those that may,
//! corrects known slips, and reports each rule that had something to say.
//!
//! ```toml
//! [[plugin]]
//! name = "shell-guard"
//! path = "plugins/shell_guard.wasm"
//! sha256 = "…"
//!
//! [plugin.grants]
//! read-dirs = { "/workspace" = "." }        # optional: finds out which stacks are used
//! env = ["HARN_TOOL_HOOKS_ALLOW_FORCE_PUSH"] # optional
//!
//! [plugin.config]                            # all of it optional
//! stacks = ["rust", "python"]                # default: detected in /workspace, where that is granted
//! mode = "rewrite-with-audit"                # or "deny", "audit"
//! modes = { "harn-canon/rust" = "audit" }    # of a catalogue or a rule
//! remove = ["git.stash_drop"]                # catalogues and rules that are left out
//!
//! [[plugin.config.custom-rules]]             # asked before all others
//! id = "ours.no_deploy"
//! action = "deny"                            # or "ask", "rewrite", "audit", "allow"
//! explanation = "Deployments go through CI."
//! match = [{ program = ["make"], subcommand = ["deploy"] }]
//! ```
//!
//! A custom rule has the fields of those in the catalogues, `catalogues` takes whole ones (one of a known id replaces it), and
//! `catches` and `leaves` of what the config brings are tried when it is loaded. Rules of `hookhost/floor` deny in every mode;
//! an operator who does not want one removes it by its id.
//!
//! Built with the feature `classifier`, the plugin also asks a model about commands that no rule knows. That build imports
//! `model` and `state`, so its entry must grant both:
//!
//! ```toml
//! [plugin.config.classifier]
//! threshold = 0.8                            # below, the model is in doubt
//! cache-seconds = 3600                       # default: 0, nothing is remembered
//! on-doubt = "ask"                           # or "allow", "deny"
//! on-error = "ask"                           # the same, where the model cannot be asked or understood
//! ```
//!
//! Every rule, with commands that it catches and leaves, is in `docs/rules.md`.
//!
//! # What is seen
//!
//! A command is parsed, not searched: words without their quotes, options in any spelling, pipelines, lists, loops,
//! functions, `$(…)`, here-documents; through `sudo`, `env`, `xargs`, `find -exec`, `sh -c`, `eval`, `ssh`, `cmd /c` and
//! PowerShell; with `cd` and literal assignments followed. What only the shell will know is *unknown*, and rules ask about it.
//!
//! # What is not seen
//!
//! What a script, an interpreter (`python -c …`) or a program of its own does, symbolic links, aliases, and what another
//! machine makes of a command. Where it must hold against somebody who wants to get round it, let the agent run in a
//! sandbox as well.

#[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
mod classifier;
mod config;
mod judge;
mod rewrite;
mod rules;
mod shell;
mod stacks;

pub use config::Config;

use config::Guard;
use hookhost_guest::prelude::*;
use judge::{Envelope, Input, Judgement, Outcome, judge};
use std::path::Path;

static GUARD: Configured<Guard> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct ShellGuard;

#[plugin]
impl Plugin for ShellGuard {
    fn configure(config: Config) -> Result<(), String> {
        let guard = Guard::new(config)?;
        guard.registry.listing().iter().for_each(log::debug);
        GUARD.set(guard);
        Ok(())
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Some(shell) = call.action.shell() else {
            return match &call.action {
                Action::Other(kind) if kind == "shell" => {
                    Refusal::new("the command cannot be found in the call's arguments")
                        .code("shell.arguments")
                        .retryable()
                        .into()
                }
                _ => Verdict::allow(),
            };
        };
        let guard = GUARD.get();
        let cwd = if shell.cwd.is_empty() { &session.cwd } else { &shell.cwd };
        let judgement = guard.judge(&shell.command, shell.dialect, cwd, &session.workspace);
        for envelope in &judgement.envelopes {
            effects::report(&finding(envelope));
        }
        match judgement.outcome {
            Outcome::Unmatched => guard.unmatched(shell, session),
            Outcome::Pass => Verdict::allow(),
            Outcome::Rewrite(command) => {
                if let Some(envelope) = judgement.envelopes.iter().find(|envelope| envelope.action == "rewrite") {
                    remind(envelope);
                }
                ToolCallVerdict::rewrite(shell.with_command(command))
            }
            Outcome::Ask { rule, question } => Escalation::new(question).code(rule).into(),
            Outcome::Deny { rule, reason, retryable } => {
                let refusal = Refusal::new(reason).code(rule);
                if retryable { refusal.retryable() } else { refusal }.into()
            }
        }
    }
}

impl Guard {
    fn judge(&self, command: &str, dialect: ShellDialect, cwd: &str, workspace: &str) -> Judgement {
        let has_stack = |stack: &str| stacks::uses(self.stacks.as_deref(), Path::new("/workspace"), stack);
        let env = |name: &str| std::env::var(name).ok();
        judge(&self.registry, &Input { command, dialect, cwd, workspace, has_stack: &has_stack, env: &env })
    }

    #[cfg(any(feature = "classifier", not(target_arch = "wasm32")))]
    fn unmatched(&self, shell: &ShellCommand, session: &Session) -> ToolCallVerdict {
        match &self.classifier {
            Some(classifier) => classifier.verdict(shell, session, |command| {
                let cwd = if shell.cwd.is_empty() { &session.cwd } else { &shell.cwd };
                self.judge(command, shell.dialect, cwd, &session.workspace)
            }),
            None => Verdict::allow(),
        }
    }

    #[cfg(not(any(feature = "classifier", not(target_arch = "wasm32"))))]
    fn unmatched(&self, _shell: &ShellCommand, _session: &Session) -> ToolCallVerdict {
        Verdict::allow()
    }
}

/// A rule's decision, for the audit log.
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

/// Tells the model, with its next request only, that its command was changed.
fn remind(envelope: &Envelope) {
    let Envelope { rule_id, original_command, command, explanation, .. } = envelope;
    let body = format!("rule {rule_id} rewrote `{original_command}` to `{command}`: {explanation}");
    effects::remind(&Reminder::new(body).tag("tool_rewritten").turns(1));
}

/// Judges `command` as the fuzzer hands it over; whether it is refused or asked about.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub fn judge_for_fuzzing(command: &str, dialect: ShellDialect) -> bool {
    thread_local! {
        static REGISTRY: rules::Registry = match rules::Registry::new(rules::Settings::default()) {
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
            env: &|_| None,
        };
        matches!(judge(registry, &input).outcome, Outcome::Deny { .. } | Outcome::Ask { .. })
    })
}

#[cfg(test)]
mod tests;
