//! Checks proposed rules with the plugin that judges rules, which tries their examples.

use crate::configuration::{self, SECTIONS};
use crate::exit::CliError;
use crate::loading;
use anyhow::anyhow;
use hookhost::config::{Config, ConfigError, Layer, Problem, Problems, Source, UserDirectories};
use hookhost::contract::rule::{MAX_USER_ROWS, RuleRow};
use hookhost_imports::{Proposal, to_toml};
use std::collections::BTreeMap;

/// Maximum number of times that the rules are loaded. Each time, a rule or an example is taken out.
const MAX_ROUNDS: usize = 8;

/// Number of rules from which their number is probably why they cannot be checked.
const MANY: usize = 300;

/// Rules after the check.
#[derive(Debug, Default)]
pub(crate) struct CheckedRows {
    /// The rules that load, in an order in which they do.
    pub(crate) kept: Vec<CheckedRow>,
    /// The rules that do not load, by their numbers among the proposals, each with the reason.
    pub(crate) refused: BTreeMap<usize, String>,
}

/// A rule that loads.
#[derive(Debug)]
pub(crate) struct CheckedRow {
    /// The number among the proposals.
    pub(crate) number: usize,
    pub(crate) proposal: Proposal,
    /// The numbers of the examples that are left in `passes`.
    pub(crate) passes: Vec<usize>,
    /// True if the rule was put before the others.
    is_moved: bool,
}

impl CheckedRows {
    /// Loads the rules again and again until all that are left load. An example in `passes` that the rule stops is taken out. A rule that
    /// does not stop one of its `stops` is refused. A rule whose examples an earlier rule already rejects is put before the others, because
    /// it may stop other calls than that rule.
    pub(crate) async fn check(proposals: Vec<Proposal>) -> Result<Self, CliError> {
        if proposals.len() > MAX_USER_ROWS {
            return Err(CliError::usage(format!(
                "these are {} rules, and a configuration has at most {MAX_USER_ROWS}: take a part of them",
                proposals.len()
            )));
        }
        let places = configuration::places()?;
        let row = |(number, proposal): (usize, Proposal)| CheckedRow {
            number,
            passes: (0..proposal.row.passes.len()).collect(),
            proposal,
            is_moved: false,
        };
        let mut checked = Self { kept: proposals.into_iter().enumerate().map(row).collect(), ..Self::default() };
        for _ in 0..MAX_ROUNDS {
            let (text, lines) = to_toml(checked.kept.iter().map(|row| &row.proposal));
            let count = checked.kept.len();
            let problems = problems(&text, &places).await.map_err(|stop| stop_of_many(stop, count))?;
            let Some(problems) = problems else { return Ok(checked) };
            checked.take_out(&problems, &lines);
        }
        Err(CliError::not_loaded(anyhow!("the rules still have mistakes after {MAX_ROUNDS} corrections")))
    }

    /// Takes out what a problem is about. `lines` are the first lines of the rules.
    fn take_out(&mut self, problems: &Problems, lines: &[usize]) {
        let mut wrong: BTreeMap<usize, Vec<&Problem>> = BTreeMap::new();
        for problem in problems.iter() {
            let at = lines.partition_point(|line| *line <= problem.line).saturating_sub(1);
            wrong.entry(at).or_default().push(problem);
        }
        let mut first = Vec::new();
        for (at, problems) in wrong.into_iter().rev() {
            let example =
                |problem: &&Problem| problem.key.as_deref()?.strip_prefix("rule.passes.")?.parse::<usize>().ok();
            let mut examples: Vec<usize> = problems.iter().filter_map(example).collect();
            if let [problem] = problems.as_slice()
                && let Some(earlier) = earlier(&problem.message)
            {
                let row = self.kept.remove(at);
                if row.is_moved || self.has_equal(&row, earlier) {
                    self.refused.insert(row.number, format!("the rule `{earlier}` already stops this"));
                } else {
                    first.insert(0, CheckedRow { is_moved: true, ..row });
                }
                continue;
            }
            let row = &mut self.kept[at];
            if examples.len() == problems.len() && examples.len() < row.passes.len() {
                examples.sort_unstable();
                for example in examples.into_iter().rev() {
                    if example < row.passes.len() {
                        row.passes.remove(example);
                        row.proposal.row.passes.remove(example);
                    }
                }
            } else {
                let worst = problems.iter().find(|problem| example(problem).is_none()).unwrap_or(&problems[0]);
                let row = self.kept.remove(at);
                self.refused.insert(row.number, worst.message.clone());
            }
        }
        self.kept.splice(0..0, first);
    }

    /// Returns true if the rule of this id is about exactly the same calls.
    fn has_equal(&self, row: &CheckedRow, id: &str) -> bool {
        let about = |row: &RuleRow| {
            let matchers: Vec<_> = row.matchers().map(|(key, values)| (key, values.clone())).collect();
            let sequence = (row.after.clone(), row.within.clone());
            (row.on.clone(), matchers, row.when.clone(), row.unless.clone(), sequence)
        };
        let other = self.kept.iter().find(|other| other.proposal.row.id == id);
        other.is_some_and(|other| about(&other.proposal.row) == about(&row.proposal.row))
    }
}

/// Returns the id of the earlier rule that makes a rule superfluous, if that is the mistake.
fn earlier(message: &str) -> Option<&str> {
    message.split_once(" has no effect, because `")?.1.split('`').next()
}

/// Returns the error of rules that cannot be checked. Very many rules use up what the plugin may spend on their examples.
fn stop_of_many(stop: CliError, count: usize) -> CliError {
    if count < MANY {
        return stop;
    }
    CliError::not_loaded(anyhow!("{count} rules cannot be checked together: take a part of them ({})", stop.message()))
}

/// Returns the mistakes in rules, or `None` if they load.
async fn problems(text: &str, places: &UserDirectories) -> Result<Option<Problems>, CliError> {
    let source = Source::new("rules.toml", Layer::User).with_home(places.home.clone());
    match Config::parse(text, &source, SECTIONS) {
        Ok(config) => loading::mistakes_in_rules(&configuration::with_rules_plugin(config, places)?).await,
        Err(ConfigError::Invalid(problems)) => Ok(Some(problems)),
        Err(error) => Err(CliError::not_loaded(error)),
    }
}
