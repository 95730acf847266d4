//! Says what the checks found, in few sentences. With `--verbose`, `hookhost doctor` prints each check instead.

use super::second_line::SANDBOX;
use crate::output::{
    self, capitalised, one_line,
    style::{ADVICE, ERROR, GOOD, NAME, WARNING},
    wrap::wrapped,
};
use hookhost_agents::Agent;
use hookhost_agents::install::check::{Check, CheckState};
use hookhost_agents::install::doctor::Diagnosis;
use std::fmt::Write as _;

/// Checks that are shown even if they found no problem.
const SHOWN: &[&str] = &["agent-run", "entry", "event", "passkey", "proof", "rules"];

/// Returns what was found about an agent: the checks, the reach of the rules, and one next step.
pub(super) fn about_agent(agent: &Agent, diagnosis: &Diagnosis) -> String {
    let version = diagnosis.version.as_deref().map(|version| format!(" {}", one_line(version))).unwrap_or_default();
    let mut text = format!("{NAME}{}{NAME:#}{version}\n", agent.title);
    let is_installed = !diagnosis.installed.is_empty();
    // An agent without the hook cannot have called it.
    let checks: Vec<_> =
        diagnosis.checks.iter().filter(|check| is_installed || check.about != "event").cloned().collect();
    about_checks(&mut text, &checks);
    if is_installed {
        agent.coverage_sentences(false).iter().for_each(|sentence| output::sentence(&mut text, sentence));
        let second_line = checks.iter().filter(|check| check.about == SANDBOX && check.state == CheckState::Ok);
        second_line.for_each(|check| output::sentence(&mut text, &format!("{}.", capitalised(&check.says))));
    }
    next(&mut text, &checks);
    text
}

/// Returns what was found about hookhost itself.
pub(super) fn about_hookhost(checks: &[Check]) -> String {
    let mut text = format!("{NAME}hookhost{NAME:#} {}\n", env!("CARGO_PKG_VERSION"));
    about_checks(&mut text, checks);
    next(&mut text, checks);
    text
}

/// Adds a line for each check. A problem is followed by its solution.
fn about_checks(text: &mut String, checks: &[Check]) {
    for check in checks {
        let (mark, style) = match check.state {
            CheckState::Ok if !SHOWN.contains(&check.about) => continue,
            CheckState::Ok => ("✓", GOOD),
            CheckState::Problem => ("✗", ERROR),
            CheckState::Unknown => ("?", WARNING),
        };
        let _ = writeln!(text, "  {style}{mark}{style:#} {}", wrapped(&one_line(&check.says), 4));
        if let Some(next) = check.next.as_ref().filter(|_| check.state == CheckState::Problem) {
            let _ = writeln!(text, "    {ADVICE}next:{ADVICE:#} {}", one_line(next));
        }
    }
}

/// Adds the next step if there is no problem, whose solution would be the next step.
fn next(text: &mut String, checks: &[Check]) {
    let has_problem = checks.iter().any(|check| check.state == CheckState::Problem);
    let unknown = checks.iter().find(|check| check.state == CheckState::Unknown);
    if let Some(next) = unknown.and_then(|check| check.next.as_deref()).filter(|_| !has_problem) {
        output::next_step(text, next);
    }
}
