//! `hookhost rule`: rules in words, from a sentence, four questions or a proposal; their list, explanation and removal.
//!
//! | module | what it is |
//! |---|---|
//! | `reference` | how rows are written, for people and models |
//! | `named` | the rule that a person names, and whose it is |
//! | `explain` | one rule with its examples; the rules of shell-guard |
//! | `list` | all rules in words, with when they matched last |
//! | `switch` | `off`, `on` and `remove` |
//! | `accept` | shows rules and what they would have stopped, asks, and puts them into force |
//! | `propose` | proposals: from a file, their list, and their end |
//! | `headless` | an agent that answers one question |
//! | `from_words` | a sentence that a model turns into rules |
//! | `questions` | a rule from four questions |

mod accept;
mod explain;
mod from_words;
mod headless;
mod list;
mod named;
mod propose;
mod questions;
mod reference;
mod switch;

use crate::args::{RuleArgs, RuleCommand};
use crate::exit::{CliError, Exit};

pub(crate) async fn run(args: &RuleArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => from_words::run(&args.words).await,
        Some(RuleCommand::List(args)) => list::run(args),
        Some(RuleCommand::Explain(args)) => explain::run(args),
        Some(RuleCommand::New(args)) => questions::run(args.accept).await,
        Some(RuleCommand::Propose(args)) => propose::run(args).await,
        Some(RuleCommand::Proposals(args)) => propose::list(args),
        Some(RuleCommand::Accept(args)) => accept::run(args).await,
        Some(RuleCommand::Reject(args)) => propose::reject(args),
        Some(RuleCommand::Off(args)) => switch::off(args).await,
        Some(RuleCommand::On(args)) => switch::on(args).await,
        Some(RuleCommand::Remove(args)) => switch::remove(args).await,
        Some(RuleCommand::Reference) => reference::run(),
    }
}
