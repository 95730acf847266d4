//! `hookhost rule`: rules in words, from a sentence, four questions or a proposal; their list, explanation and removal.
//!
//! | module | what it is |
//! |---|---|
//! | `reference` | how rows are written, for people and models |
//! | `named` | the rule that a person names, and whose it is |
//! | `explain` | one rule with its examples; the rules of shell-guard |
//! | `export` | the rules as those of an agent |
//! | `list` | all rules in words, with when they matched last |
//! | `off` | leaves a rule out for some time, and puts it back |
//! | `remove` | takes a rule out of the user's file |
//! | `add` | the ready rules, by their names |
//! | `accept` | shows rules and what they would have stopped, asks, and puts them into force |
//! | `propose` | proposals from a file, and their list |
//! | `reject` | removes a proposal |
//! | `headless` | an agent that answers one question |
//! | `from_words` | a sentence that a model turns into rules |
//! | `new` | a rule from four questions |

mod accept;
mod add;
mod explain;
mod export;
mod from_words;
mod headless;
mod list;
mod named;
mod new;
mod off;
mod propose;
mod reference;
mod reject;
mod remove;

use crate::args::{RuleArgs, RuleCommand};
use crate::exit::{CliError, Exit};
use crate::inside_agent;

pub(crate) async fn run(args: &RuleArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => {
            let sentence = from_words::sentence(&args.words.sentence)?;
            inside_agent::refuse("asks a model for rules")?;
            from_words::run(&sentence, &args.words).await
        }
        Some(RuleCommand::List(args)) if args.ready => add::list(args.json),
        Some(RuleCommand::List(args)) => list::run(args),
        Some(RuleCommand::Add(args)) => add::run(args).await,
        Some(RuleCommand::Explain(args)) => explain::run(args),
        Some(RuleCommand::Export(args)) => export::run(args),
        Some(RuleCommand::New(args)) => new::run(args.accept).await,
        Some(RuleCommand::Propose(args)) => propose::run(args).await,
        Some(RuleCommand::Proposals(args)) => propose::list(args),
        Some(RuleCommand::Accept(args)) => accept::run(args).await,
        Some(RuleCommand::Reject(args)) => reject::run(args),
        Some(RuleCommand::Off(args)) => off::off(args).await,
        Some(RuleCommand::On(args)) => off::on(args).await,
        Some(RuleCommand::Remove(args)) => remove::run(args).await,
        Some(RuleCommand::Reference) => reference::run(),
    }
}
