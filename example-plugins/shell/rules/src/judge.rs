//! Decides whether and how a command runs. The decision depends only on the command, the rules and the other fields of [`Input`].

use crate::rewrite::{keeps_the_rest, rewrite};
use crate::rules::{CompiledRule, Mode, READS, Registry, RuleMatch, Severity, Subject, Texts, Unknown};
use hookhost_guest::prelude::ShellDialect;
use serde::Serialize;
use shell_reader::Ascii as _;
use shell_reader::guarded::Changes;
use shell_reader::{Command, Location, PathContext, Script, leave, read};
use std::ops::Range;

/// A command, and the data about its surroundings that a decision needs.
pub(crate) struct Input<'a> {
    pub(crate) command: &'a str,
    pub(crate) dialect: ShellDialect,
    pub(crate) cwd: &'a str,
    pub(crate) workspace: &'a str,
    /// Returns true if a stack, such as `rust`, is in use.
    pub(crate) has_stack: &'a dyn Fn(&str) -> bool,
    /// True if the list [`Judgement::silent`] must be filled in. Otherwise the list stays empty.
    pub(crate) asks_silent: bool,
    /// Returns true if a file, given by its path in the workspace, is known not to exist.
    pub(crate) is_missing: &'a dyn Fn(&str) -> bool,
    /// Returns the value of an environment variable that the plugin may see.
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    /// True if the text is perhaps not a command. Such a text is checked only in three cases:
    /// - It runs a program that a rule names.
    /// - It writes a guarded file.
    /// - It cannot be read as a command, but its first word is a program that a rule names.
    pub(crate) is_supposed: bool,
}

/// The decision about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No rule matches.
    Unmatched,
    /// The command runs unchanged.
    Pass,
    Rewrite(String),
    Ask {
        rule: String,
        question: String,
    },
    Deny {
        rule: String,
        reason: String,
        retryable: bool,
    },
}

/// The decision of one rule, as the audit log shows it. The fields have the names of the original rule set from which the catalogues were
/// converted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Envelope {
    /// `rewrite`, `deny`, `ask`, `hint` or `passthrough`.
    pub(crate) action: String,
    /// The command that would run.
    pub(crate) command: String,
    /// The command that the agent asked for.
    pub(crate) original_command: String,
    pub(crate) rule_id: String,
    pub(crate) catalogue_id: String,
    pub(crate) severity: &'static str,
    pub(crate) explanation: String,
    pub(crate) references: Vec<String>,
    /// `tool_rewrite`, `tool_denied` or `tool_rule_warning`.
    pub(crate) kind: &'static str,
    /// The part of the original command that the rule matches.
    pub(crate) matched: String,
    /// The start and the end of that part, in bytes.
    pub(crate) place: (usize, usize),
    /// Describes the rule's action if it was not taken. The text continues the words "it would".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) would: Option<String>,
    /// True for a decision that is reported only if its action is `deny` or `ask`.
    #[serde(skip)]
    pub(crate) quiet: bool,
}

/// The outcome, and an envelope for each rule that has matched.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) outcome: Outcome,
    pub(crate) envelopes: Vec<Envelope>,
    /// The stacks that are not in use, but whose rules match the command. These rules have no effect.
    pub(crate) silent: Texts,
    /// Units of work spent on reading the command.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "only the fuzzer and the tests read it"))]
    pub(crate) work: usize,
}

/// Checks a command against the rules, and returns the decision.
pub(crate) fn judge(registry: &Registry, input: &Input<'_>) -> Judgement {
    let context = PathContext::new(input.workspace);
    let text = input.command;
    let mut script = read(text, input.dialect, input.cwd, &context);
    if script.unreadable.is_some() && (input.has_stack)("sql") && is_sql(text) {
        script = Script { work: script.work, ..Script::default() };
    }
    let begins_known = || {
        let program = text.split_whitespace().next().unwrap_or_default().to_owned();
        let commands = vec![Command { program, ..Command::default() }];
        script.unreadable.is_some() && registry.knows_a_program_of(&Script { commands, ..Script::default() })
    };
    let is_guarded_output = |command: &Command| {
        let changes = if command.program.is_empty() { command.changes(&context) } else { Changes::default() };
        changes.hookhost || changes.agents
    };
    let is_one = || script.commands.iter().any(is_guarded_output) || begins_known();
    if input.is_supposed && !registry.knows_a_program_of(&script) && !is_one() {
        let judgement =
            Judgement { outcome: Outcome::Unmatched, envelopes: Vec::new(), silent: Texts::new(), work: script.work };
        leave((script, context));
        return judgement;
    }
    let subject = Subject::new(text, &script, &context);
    let mut silent = Texts::new();
    let mut hits = effective(registry, &subject, input, Some(&mut silent).filter(|_| input.asks_silent));
    let reading: Vec<usize> =
        hits.extract_if(.., |hit| hit.rule.is_about_reading()).flat_map(|hit| hit.commands).collect();
    let mut judgement = Judgement { outcome: Outcome::Unmatched, envelopes: Vec::new(), silent, work: script.work };
    for hit in &hits {
        let rule = hit.rule;
        let mut envelope = envelope(hit, &subject);
        match action(rule) {
            "deny" => judgement.deny(rule, &mut envelope, None),
            "rewrite" => {
                let made = try_rewrite(registry, hit, &subject, input);
                match (rule.mode, made) {
                    (Mode::Deny, made) => judgement.deny(rule, &mut envelope, made.ok()),
                    (Mode::Audit, made) => envelope.would = Some(would_rewrite(made)),
                    (Mode::RewriteWithAudit | Mode::Rewrite, Ok(rewritten)) if judgement.may_rewrite() => {
                        envelope.action = "rewrite".into();
                        envelope.kind = "tool_rewrite";
                        envelope.command = bounded(&rewritten);
                        judgement.outcome = Outcome::Rewrite(rewritten);
                    }
                    (Mode::RewriteWithAudit | Mode::Rewrite, made) => envelope.would = Some(would_rewrite(made)),
                }
            }
            "hint" => {
                let made = try_rewrite(registry, hit, &subject, input);
                if rule.mode == Mode::Deny {
                    judgement.deny(rule, &mut envelope, made.ok());
                } else {
                    envelope.action = "hint".into();
                    envelope.would = Some(would_rewrite(made));
                }
            }
            _ if rule.mode == Mode::Deny => judgement.deny(rule, &mut envelope, None),
            "ask" if rule.mode.acts() || rule.is_floor() => {
                envelope.action = "ask".into();
                if !matches!(judgement.outcome, Outcome::Deny { .. } | Outcome::Ask { .. }) {
                    let question = format!("{} Run `{}`?", rule.rule.explanation, shown(&envelope.matched));
                    judgement.outcome = Outcome::Ask { rule: rule.rule.id.to_string(), question };
                }
            }
            "ask" => envelope.would = Some("ask".into()),
            _ => {}
        }
        judgement.envelopes.push(envelope);
    }
    if registry.unknown == Unknown::Ask
        && !matches!(judgement.outcome, Outcome::Deny { .. } | Outcome::Ask { .. })
        && let Some(command) = first_unknown(&script, &reading)
    {
        judgement.ask_about_unknown(&subject, command);
    }
    judgement.settle(text);
    leave((hits, subject));
    leave((script, context));
    judgement
}

impl Judgement {
    fn may_rewrite(&self) -> bool {
        matches!(self.outcome, Outcome::Unmatched | Outcome::Pass)
    }

    fn deny(&mut self, rule: &CompiledRule, envelope: &mut Envelope, instead: Option<String>) {
        envelope.action = "deny".into();
        envelope.kind = "tool_denied";
        if !matches!(self.outcome, Outcome::Deny { .. }) {
            let mut reason = format!("`{}`: {}", shown(&envelope.matched), rule.rule.explanation);
            if let Some(instead) = &instead {
                reason.push_str(&format!(" Run `{instead}` instead."));
            }
            self.outcome = Outcome::Deny { rule: rule.rule.id.to_string(), reason, retryable: instead.is_some() };
        }
        envelope.would = instead.map(|instead| would_rewrite(Ok(instead)));
    }

    /// Asks about a command that is not known to only read.
    fn ask_about_unknown(&mut self, subject: &Subject<'_>, command: &Command) {
        let matched = subject.text.get(command.place.clone()).unwrap_or(subject.text);
        let explanation = "It is not known that this command only reads.";
        let question = format!("{explanation} Run `{}`?", shown(matched));
        self.outcome = Outcome::Ask { rule: UNKNOWN_RULE.to_owned(), question };
        self.envelopes.push(Envelope {
            action: "ask".into(),
            command: bounded(subject.text),
            original_command: bounded(subject.text),
            rule_id: UNKNOWN_RULE.to_owned(),
            catalogue_id: READS.to_owned(),
            severity: "info",
            explanation: explanation.to_owned(),
            references: Vec::new(),
            kind: "tool_rule_warning",
            matched: bounded(matched),
            place: (command.place.start, command.place.end),
            would: None,
            quiet: false,
        });
    }

    /// Makes the envelopes agree with the outcome. If the command was refused or a person is asked, the command was not rewritten, so the
    /// envelope of a rewrite must say what the rule would have done.
    fn settle(&mut self, text: &str) {
        if self.outcome == Outcome::Unmatched && !self.envelopes.is_empty() {
            self.outcome = Outcome::Pass;
        }
        if matches!(self.outcome, Outcome::Deny { .. } | Outcome::Ask { .. }) {
            for envelope in self.envelopes.iter_mut().filter(|envelope| envelope.action == "rewrite") {
                envelope.action = "passthrough".into();
                envelope.kind = "tool_rule_warning";
                let rewritten = std::mem::replace(&mut envelope.command, bounded(text));
                envelope.would = Some(would_rewrite(Ok(rewritten)));
            }
        }
    }
}

/// The code of a question about a command that is not known to only read.
const UNKNOWN_RULE: &str = "shell.unknown";

/// Returns the first command that is not known to only read. `reading` contains the indices of commands that a rule of the catalogue about
/// reading matches.
fn first_unknown<'a>(script: &'a Script, reading: &[usize]) -> Option<&'a Command> {
    const OUTPUTS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
    // These run the command that follows, which is judged itself.
    const WRAPPERS: [&str; 14] = [
        "bash", "builtin", "command", "dash", "env", "ionice", "nice", "nohup", "sh", "stdbuf", "time", "timeout",
        "xargs", "zsh",
    ];
    let runs_another = |command: &Command| {
        let is_within = |other: &Command| {
            other.wrappers.contains(&command.program)
                && command.place.start <= other.place.start
                && other.place.end <= command.place.end
        };
        WRAPPERS.contains(&command.program.as_str()) && script.commands.iter().any(is_within)
    };
    let only_reads = |at: usize, command: &Command| {
        let is_nothing = command.program.is_empty() && command.program_word.text.is_empty();
        (is_nothing || command.resolved || reading.contains(&at) || runs_another(command))
            && command.location == Location::Here
            && command.wrappers.iter().all(|wrapper| WRAPPERS.contains(&wrapper.as_str()))
            && command.writes().iter().all(|write| OUTPUTS.contains(&write.path.text.as_str()))
    };
    script.commands.iter().enumerate().find(|(at, command)| !only_reads(*at, command)).map(|(_, command)| command)
}

/// Returns the rules that match and apply. A rule applies if its stack is in use, no environment variable turns it off, and no custom
/// `allow` rule takes precedence over it.
fn effective<'a>(
    registry: &'a Registry,
    subject: &Subject<'_>,
    input: &Input<'_>,
    mut silent: Option<&mut Texts>,
) -> Vec<RuleMatch<'a>> {
    let mut hits = registry.matching(subject);
    // A file that does not exist cannot be overwritten.
    hits.retain_mut(|hit| {
        let before = hit.commands.len();
        let is_of_files = hit.rule.spares_whole_files;
        hit.commands.retain(|at| !is_of_files || !only_creates(&subject.script.commands[*at], subject.context, input));
        before == 0 || !hit.commands.is_empty()
    });
    hits.retain(|hit| {
        let holds = hit.rule.holds_in(input.has_stack);
        if let Some(silent) = silent.as_mut().filter(|_| !holds) {
            for stack in hit.rule.stacks() {
                silent.insert(stack.to_owned(), ());
            }
        }
        holds && !is_waived(hit.rule, input)
    });
    let allowed: Vec<usize> =
        hits.iter().filter(|hit| action(hit.rule) == "allow").flat_map(|hit| hit.commands.clone()).collect();
    if !allowed.is_empty() {
        for hit in hits.iter_mut().filter(|hit| action(hit.rule) != "allow" && !hit.rule.is_floor()) {
            let before = hit.commands.len();
            hit.commands.retain(|command| !allowed.contains(command));
            if before > 0 && hit.commands.is_empty() {
                hit.commands.push(usize::MAX);
            }
        }
        hits.retain(|hit| hit.commands.first() != Some(&usize::MAX));
    }
    hits
}

/// Returns true if a command redirects only to files that do not exist yet.
fn only_creates(command: &Command, context: &PathContext, input: &Input<'_>) -> bool {
    let mut written = command.outputs().peekable();
    written.peek().is_some()
        && command.location == Location::Here
        && written.all(|target| {
            let path = context.in_workspace(target, command.cwd.as_deref());
            path.is_some_and(|path| (input.is_missing)(&path))
        })
}

/// Describes the rewrite that a rule would have made. The text continues the words "it would".
fn would_rewrite(made: Result<String, &'static str>) -> String {
    match made {
        Ok(rewritten) => format!("run `{}`", bounded(&rewritten)),
        Err(why) => format!("rewrite it, but {why}"),
    }
}

fn is_waived(rule: &CompiledRule, input: &Input<'_>) -> bool {
    let value = rule.rule.unless_env.as_deref().and_then(|name| (input.env)(name));
    value.is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
}

/// Returns the action of a rule.
fn action(rule: &CompiledRule) -> &str {
    match &rule.rule.action {
        Some(action) => action,
        None if rule.rule.rewrite.is_some() => "rewrite",
        None => "audit",
    }
}

/// The effect of a rule that stops a command.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Ask,
    Deny,
}

/// Returns the effect of a rule that stops a command, and `None` for all other rules.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn stop(rule: &CompiledRule) -> Option<Stop> {
    match action(rule) {
        "deny" => Some(Stop::Deny),
        "allow" => None,
        _ if rule.mode == Mode::Deny => Some(Stop::Deny),
        "ask" if rule.mode.acts() || rule.is_floor() => Some(Stop::Ask),
        _ => None,
    }
}

/// Maximum number of commands in a text that is rewritten. There is a limit, because the result is read and checked again.
const MAX_REWRITTEN: usize = 100;

fn try_rewrite(
    registry: &Registry,
    hit: &RuleMatch<'_>,
    subject: &Subject<'_>,
    input: &Input<'_>,
) -> Result<String, &'static str> {
    let Some(wanted) = &hit.rule.rule.rewrite else { return Err("the rule has no rewrite") };
    if subject.script.commands.len() > MAX_REWRITTEN {
        return Err("the text runs too many commands");
    }
    let commands: Vec<_> = hit.commands.iter().map(|at| &subject.script.commands[*at]).collect();
    if commands.is_empty() {
        return Err("the rule is about the whole text, not about a command");
    }
    let rewritten = rewrite(subject.text, subject.script, &commands, wanted, registry, subject.context)?;
    let script = read(&rewritten, input.dialect, input.cwd, subject.context);
    if wanted.replace.is_none() && !keeps_the_rest(subject.script, &script, &hit.commands) {
        return Err("the rewrite would also change other commands");
    }
    let after = Subject::new(&rewritten, &script, subject.context);
    let hits = effective(registry, &after, input, None);
    if hits.iter().any(|other| other.rule.rule.id == hit.rule.rule.id) {
        return Err("the rule would also match the result");
    }
    let refused = hits.iter().any(|other| matches!(action(other.rule), "deny" | "ask"));
    if refused { Err("another rule refuses the result") } else { Ok(rewritten) }
}

fn envelope(hit: &RuleMatch<'_>, subject: &Subject<'_>) -> Envelope {
    let rule = &hit.rule.rule;
    let place: Range<usize> =
        hit.commands.first().map_or(0..subject.text.len(), |at| subject.script.commands[*at].place.clone());
    Envelope {
        action: "passthrough".into(),
        command: bounded(subject.text),
        original_command: bounded(subject.text),
        rule_id: rule.id.to_string(),
        catalogue_id: hit.rule.catalogue.to_string(),
        severity: match rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        },
        explanation: rule.explanation.to_string(),
        references: rule.references.iter().map(ToString::to_string).collect(),
        kind: "tool_rule_warning",
        matched: bounded(subject.text.get(place.clone()).unwrap_or(subject.text)),
        place: (place.start, place.end),
        would: None,
        quiet: hit.rule.mode == Mode::Rewrite,
    }
}

/// Cuts a text at 2 KiB. A finding may have at most 64 KiB and contains four such texts, and JSON may need six bytes for one byte of text.
/// The whole command is in the event's record.
fn bounded(text: &str) -> String {
    cut(text, 2 * 1024)
}

/// Cuts a text at `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(most)]) }
}

/// Shortens a command so that it fits into a sentence.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control() || *c == ' ').take(200).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Returns true if a text is SQL for another tool and contains nothing that would make a shell run a command.
fn is_sql(text: &str) -> bool {
    let statement = text.trim_end().trim_end_matches(';');
    if statement.has_one_of(b";&|$`\n") {
        return false;
    }
    let first = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    ["select", "insert", "update", "delete", "with", "create", "alter", "drop", "explain"].contains(&first.as_str())
}
