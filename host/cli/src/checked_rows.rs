//! Checks proposed rules with the plugin that judges rules, which tries their examples.

use crate::configuration::{self, SECTIONS};
use crate::exit::CliError;
use crate::loading;
use anyhow::anyhow;
use hookhost::config::{Config, ConfigError, Layer, Problem, Problems, Source, UserDirectories};
use hookhost::contract::rule::MAX_USER_ROWS;
use hookhost_imports::{Proposal, to_toml};
use std::collections::BTreeMap;

/// Maximum number of times that the rules are loaded. Each time, a rule or an example is taken out.
const MAX_ROUNDS: usize = 8;

/// Rules after the check.
#[derive(Debug, Default)]
pub(crate) struct CheckedRows {
    /// The rules that load, each with its number among the proposals and the numbers of its examples that are left in `passes`.
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
}

impl CheckedRows {
    /// Loads the rules again and again until all that are left load. An example in `passes` that the rule stops is taken out. A rule that
    /// does not stop one of its `stops` is refused.
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
        };
        let mut checked = Self { kept: proposals.into_iter().enumerate().map(row).collect(), ..Self::default() };
        for _ in 0..MAX_ROUNDS {
            let (text, lines) = to_toml(checked.kept.iter().map(|row| &row.proposal));
            let Some(problems) = problems(&text, &places).await? else { return Ok(checked) };
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
        for (at, problems) in wrong.into_iter().rev() {
            let example =
                |problem: &&Problem| problem.key.as_deref()?.strip_prefix("rule.passes.")?.parse::<usize>().ok();
            let mut examples: Vec<usize> = problems.iter().filter_map(example).collect();
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
    }
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
