//! A sentence that a model, or an agent on this machine, turns into rules.
//!
//! The model gets the reference of rules and the rules in force. Its rules are checked, and it gets its mistakes back. Then a person
//! decides: nothing that a model wrote is in force without that.

use super::headless::HeadlessAgent;
use super::{accept, reference};
use crate::args::{RuleArgs, RuleWordsArgs};
use crate::command::run::{WithoutKey, choose};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use crate::output::{self, entry, progress::Progress, quoted, style::DIM};
use crate::proposals;
use crate::rows::{self, Rows};
use anyhow::anyhow;
use clap::{Args as _, Command};
use hookhost_agent::config::{Overrides, ProviderChoice};
use hookhost_models::message::Message;
use hookhost_models::{Request, RetryPolicy, answer};
use std::time::Duration;

/// Maximum number of answers. After each but the last, the model gets its mistakes.
const MAX_ANSWERS: usize = 3;

/// Maximum length of an answer, in tokens.
const MAX_TOKENS: u32 = 8_000;

/// Maximum time for an answer of a model.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of rules in force that the model gets.
const MAX_RULES: usize = 100;

/// The task of the model, before the reference.
const TASK: &str = "You turn a person's wish into rules for hookhost, which checks the actions of coding agents. Answer with one fenced \
block of TOML that has only `[[rule]]` tables, and nothing else. Write as few rules as the wish needs, and none that it does not ask for. \
Choose an id, and write reasons, that the person would understand. Every rule that rejects or asks needs `stops` and `passes`; hookhost \
tries these examples, and also tries the rules on the agents' past calls. Rules that stop ordinary work are refused. The reference:\n\n";

pub(super) async fn run(sentence: &str, args: &RuleWordsArgs) -> Result<Exit, CliError> {
    let author = Author::choose(args).await?;
    let rows = write(&author, sentence).await?;
    let first = rows.ids().into_iter().next().unwrap_or_default();
    let proposal = proposals::store(&configuration::places()?, &first, &author.name(), Some(sentence), &rows.text)?;
    accept::offer(&proposal, args.accept).await
}

/// Returns the sentence. One or two words are probably a misspelt command.
pub(super) fn sentence(words: &[String]) -> Result<String, CliError> {
    let sentence = words.join(" ").trim().to_owned();
    let mut parts = sentence.split_whitespace();
    let first = parts.next().unwrap_or_default();
    let more = parts.count();
    let command = RuleArgs::augment_args(Command::new("rule"));
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let near = nearest(first, commands).filter(|_| more <= 1);
    match near {
        Some(near) => {
            let rest = sentence[first.len()..].to_owned();
            Err(CliError::usage(format!("there is no command `hookhost rule {first}`"))
                .advise(format!("hookhost rule {near}{rest}"))
                .advise("hookhost rule --help"))
        }
        None if more == 0 => {
            Err(CliError::usage(format!("{} is no sentence: say what the rule should do", quoted(&sentence)))
                .advise("hookhost rule \"never push to main\""))
        }
        None => Ok(sentence),
    }
}

/// Who writes the rules.
enum Author {
    Model(Box<ProviderChoice>),
    Agent(HeadlessAgent),
}

impl Author {
    async fn choose(args: &RuleWordsArgs) -> Result<Self, CliError> {
        if let Some(name) = &args.agent {
            return HeadlessAgent::find(name).map(Self::Agent);
        }
        let config = configuration::find(None, &configuration::cwd()?)?.config;
        let section = configuration::agent(&config)?;
        let overrides = Overrides::new(args.provider.clone(), args.model.clone(), args.script.clone());
        let is_named = overrides != Overrides::default() || section.provider.is_some();
        match choose(&section, overrides, WithoutKey::Stop).await {
            Ok(choice) => Ok(Self::Model(Box::new(choice))),
            Err(error) if is_named => Err(error),
            Err(_) => Err(nobody()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Model(choice) => format!("{} of {}", choice.model, choice.provider.name()),
            Self::Agent(agent) => agent.title.to_owned(),
        }
    }

    /// Sends the conversation so far, and returns the next answer.
    async fn answer(&self, instructions: &str, messages: &[Message]) -> Result<String, CliError> {
        let choice = match self {
            Self::Model(choice) => choice,
            Self::Agent(agent) => {
                let spoken = messages.iter().map(|message| format!("{}:\n{}", message.role(), message.text()));
                return agent.ask(&format!("{instructions}\n\n{}", spoken.collect::<Vec<_>>().join("\n\n"))).await;
            }
        };
        let most = choice.limits.max_output_tokens.map_or(MAX_TOKENS, |most| most.get().min(MAX_TOKENS));
        let mut request = Request::new(&choice.model, messages.to_vec(), most);
        request.system_prompt = instructions.to_owned();
        let retry = RetryPolicy::default();
        let answered = tokio::time::timeout(TIMEOUT, answer(&*choice.provider, request, &retry)).await;
        match answered {
            Ok(answered) => answered.map_err(|error| CliError::new(Exit::Failed, error)),
            Err(_) => {
                let why = anyhow!("{} did not answer within {} s", self.name(), TIMEOUT.as_secs());
                Err(CliError::new(Exit::Failed, why))
            }
        }
    }
}

/// Returns the error for the case that there is neither a model nor a named agent.
fn nobody() -> CliError {
    let why = "no model is set up, and no agent is named, so nobody can turn the sentence into a rule";
    let error = CliError::new(Exit::Failed, anyhow!(why)).advise("hookhost rule new, which needs no model");
    let error = match HeadlessAgent::any() {
        Some(agent) => error.advise(output::this_command_and(&format!("--agent {agent}"))),
        None => error,
    };
    error.advise("hookhost auth set PROVIDER, to set up a model")
}

/// Lets the author write rules, until they have no mistakes.
async fn write(author: &Author, sentence: &str) -> Result<Rows, CliError> {
    let name = author.name();
    let instructions = format!("{TASK}{}", reference::text());
    let mut messages = vec![Message::user(format!("{}The wish:\n{sentence}", in_force()?))];
    let progress = Progress::start(format!("asking {name}"));
    let mut left = MAX_ANSWERS;
    loop {
        let answer = author.answer(&instructions, &messages).await?;
        left -= 1;
        progress.next("trying the examples");
        let mistakes = match rows_in(&answer) {
            Some(text) => match rows::check(&text, "(answer)").await? {
                Ok(rows) => return Ok(rows),
                Err(mistakes) => mistakes,
            },
            None => "the answer has no [[rule]] table".to_owned(),
        };
        if left == 0 {
            drop(progress);
            output::note(&format!("{DIM}the last answer of {name}:{DIM:#}\n{}\n\n", output::printable(answer.trim())));
            let why =
                anyhow!("{name} wrote no valid rule in {MAX_ANSWERS} answers, so nothing is proposed\n{mistakes}");
            return Err(CliError::new(Exit::Failed, why).advise("hookhost rule new, which needs no model"));
        }
        progress.next(format!("asking {name} to correct the rules"));
        messages.push(Message::assistant(answer, Vec::new()));
        let again = format!("hookhost cannot use this:\n{mistakes}\n\nAnswer with all rules again, corrected.");
        messages.push(Message::user(again));
    }
}

/// Describes the rules in force, of which none may be repeated.
fn in_force() -> Result<String, CliError> {
    let rules = configuration::rules().map(|(rules, off)| [rules, off].concat())?;
    if rules.is_empty() {
        return Ok(String::new());
    }
    let lines: String = rules.iter().take(MAX_RULES).map(|rule| format!("- {}\n", entry::rule(rule))).collect();
    Ok(format!("These rules are in force already; do not repeat them or their ids:\n{lines}\n"))
}

/// Returns the rules in an answer: the fenced blocks that have rules, or else everything from the first rule on.
fn rows_in(answer: &str) -> Option<String> {
    let mut blocks = String::new();
    let mut rest = answer;
    while let Some((_, after)) = rest.split_once("```") {
        let Some((block, after)) = after.split_once("```") else { break };
        let block = block.split_once('\n').map_or("", |(_, block)| block);
        if block.contains("[[rule]]") {
            blocks.push_str(block.trim_matches('\n'));
            blocks.push_str("\n\n");
        }
        rest = after;
    }
    if blocks.is_empty() {
        blocks.push_str(&answer[answer.find("[[rule]]")?..]);
    }
    Some(format!("{}\n", blocks.trim()))
}

#[cfg(test)]
mod tests {
    use super::{rows_in, sentence};

    #[test]
    fn rules_are_found_in_fences_and_without_them() {
        let rows = "[[rule]]\nid = 'a'\n";
        for answer in [
            rows.to_owned(),
            format!("Here you are:\n{rows}"),
            format!("Here you are:\n```toml\n{rows}```\nRun `x`."),
            format!("```sh\nls\n```\n\n```\n{rows}\n```"),
        ] {
            assert_eq!(rows_in(&answer).as_deref(), Some(rows), "{answer}");
        }
        assert_eq!(
            rows_in("```toml\n[[rule]]\na\n```\n```toml\n[[rule]]\nb\n```").unwrap(),
            "[[rule]]\na\n\n[[rule]]\nb\n"
        );
        assert_eq!(rows_in("I cannot do that."), None);
    }

    #[test]
    fn a_misspelt_command_is_no_sentence_and_a_sentence_is_no_command() {
        let message = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            sentence(&words).map_err(|error| error.message())
        };
        assert!(message(&["lits"]).unwrap_err().contains("try: hookhost rule list"));
        assert!(message(&["remvoe", "push-main"]).unwrap_err().contains("try: hookhost rule remove push-main"));
        assert!(message(&["curl"]).unwrap_err().contains("no sentence"));
        for words in [&["never", "push", "to", "main"][..], &["no curl"], &["accept no pull requests"]] {
            assert_eq!(message(words), Ok(words.join(" ")));
        }
    }
}
