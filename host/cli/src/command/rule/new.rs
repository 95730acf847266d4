//! `hookhost rule new`: a rule from four questions. Each answer is checked before the next question.

use super::accept;
use crate::args::AcceptOptions;
use crate::command::off::person;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use crate::output::{
    self,
    style::{DIM, NAME, WARNING},
    wrap::wrapped,
};
use crate::rows::{self, Rows};
use crate::{inside_agent, proposals};
use hookhost::contract::rule::{AnswerKey, RuleOn};
use hookhost_imports::slug;
use std::io;
use toml::Value;

/// The answers that need one sentence.
const ANSWERS: &[AnswerKey] = &[AnswerKey::Reject, AnswerKey::Ask, AnswerKey::Remind, AnswerKey::Note];

/// The word for a rule about a tool.
const TOOL: &str = "tool";

/// Maximum length of an id that is made of an answer.
const MAX_ID: usize = 32;

pub(super) async fn run(options: AcceptOptions) -> Result<Exit, CliError> {
    inside_agent::refuse("makes a rule")?;
    let rows = ask_all().await?;
    let id = rows.ids().into_iter().next().unwrap_or_default();
    let by = person().unwrap_or_else(|| "you".to_owned());
    let proposal = proposals::store(&configuration::places()?, &id, &by, None, &rows.text)?;
    accept::offer(&proposal, options).await
}

/// Asks the four questions.
async fn ask_all() -> Result<Rows, CliError> {
    let on = ask_about()?;
    let draft = ask_matchers(&on).await?;
    let (draft, answer) = ask_answer(&on, draft).await?;
    ask_examples(draft, answer).await
}

/// The keys of a rule so far, in the order of the file.
#[derive(Clone, Debug, Default)]
struct Draft(Vec<(&'static str, Value)>);

impl Draft {
    fn with(&self, key: &'static str, value: impl Into<Value>) -> Self {
        let mut keys = self.0.clone();
        keys.push((key, value.into()));
        Self(keys)
    }

    /// Adds a key whose value is one string or several.
    fn with_words(self, key: &'static str, words: &[&str]) -> Self {
        match words {
            [] => self,
            [word] => self.with(key, *word),
            words => self.with(key, words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>()),
        }
    }

    fn text(&self) -> String {
        let lines = self.0.iter().map(|(key, value)| format!("{key} = {value}\n"));
        format!("[[rule]]\n{}", lines.collect::<String>())
    }

    async fn check(&self) -> Result<Result<Rows, String>, CliError> {
        rows::check(&self.text(), "(your rule)").await
    }

    /// Checks the rule as far as it goes. A note is the one answer that needs no examples.
    async fn check_so_far(&self) -> Result<Result<Rows, String>, CliError> {
        self.with("note", "to be continued").check().await
    }
}

/// Prints a question, and reads the answer.
fn ask(question: &str, hint: &str) -> Result<String, CliError> {
    output::note(&format!("{NAME}{}{NAME:#}\n  {DIM}{}{DIM:#}\n> ", wrapped(question, 3), wrapped(hint, 2)));
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) => Err(CliError::usage("the answers ended before the rule was complete: nothing was written")),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(CliError::usage(format!("the answer cannot be read: {error}"))),
    }
}

fn wrong(why: &str) {
    output::note(&format!("{WARNING}!{WARNING:#} {}\n", output::printable(why)));
}

fn ask_about() -> Result<String, CliError> {
    let words: Vec<&str> = RuleOn::WORDS.iter().map(|(word, _)| *word).chain([TOOL]).collect();
    loop {
        let said = ask("1. What is the rule about?", &format!("one of {}", words.join(", ")))?;
        if words.contains(&said.as_str()) {
            return Ok(said);
        }
        let near = nearest(&said, words.iter().copied());
        wrong(&near.map_or("that is none of these words".to_owned(), |near| format!("did you mean {near}?")));
    }
}

/// Asks what exactly the rule is about.
async fn ask_matchers(on: &str) -> Result<Draft, CliError> {
    let (what, hint) = match on {
        "shell" => (
            "Which command?",
            "a program with its subcommand and options, such as `git push --force -f`; empty for every command",
        ),
        "read" | "write" | "delete" => {
            ("Which files?", "patterns such as `.env* !.env.example`, where `!` begins an exception; empty for all")
        }
        "web" => ("Which hosts?", "patterns such as `*.example.com`, or `!github.com` for all others; empty for all"),
        "mcp" => ("Which tools?", "patterns such as `github/delete_*`, the server and the tool; empty for all"),
        TOOL => ("Which tool?", "the name of a tool, or a pattern such as `web_*`"),
        "session" | "task-complete" => return Ok(Draft::default().with("id", free_id(on)?).with("on", on)),
        _ => ("Which text?", "a part of the text, in this spelling; empty for every text"),
    };
    loop {
        let said = ask(&format!("2. {what}"), hint)?;
        if on == TOOL && said.is_empty() {
            wrong("name a tool");
            continue;
        }
        let draft = Draft::default().with("id", free_id(if said.is_empty() { on } else { &said })?);
        let draft = matchers(&draft, on, &said);
        match draft.check_so_far().await? {
            Ok(_) => return Ok(draft),
            Err(mistakes) => wrong(&mistakes),
        }
    }
}

/// Adds the matchers that a person has typed.
fn matchers(draft: &Draft, on: &str, said: &str) -> Draft {
    let words: Vec<&str> = said.split_whitespace().collect();
    match on {
        TOOL => draft.with("on", said),
        "shell" => {
            let draft = draft.with("on", on);
            let end = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
            let (program, rest) = words.split_at(end);
            let (flags, args): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with('-'));
            let program = program.join(" ");
            let program: &[&str] = if program.is_empty() { &[] } else { &[&program] };
            draft.with_words("program", program).with_words("flags", &flags).with_words("args", &args)
        }
        "read" | "write" | "delete" => draft.with("on", on).with_words("path", &words),
        "web" => draft.with("on", on).with_words("host", &words),
        "mcp" => {
            let known = |part: &&str| !part.is_empty();
            let pairs: Vec<(&str, &str)> =
                words.iter().map(|word| word.split_once('/').unwrap_or(("", word))).collect();
            let servers: Vec<&str> = pairs.iter().map(|(server, _)| *server).filter(known).collect();
            let tools: Vec<&str> = pairs.iter().map(|(_, tool)| *tool).filter(known).collect();
            draft.with("on", on).with_words("server", &servers).with_words("tool", &tools)
        }
        _ if said.is_empty() => draft.with("on", on),
        _ => draft.with("on", on).with("text", said),
    }
}

/// Returns an id made of a text, which no rule has yet.
fn free_id(text: &str) -> Result<String, CliError> {
    let id = slug(text, MAX_ID);
    let rules = configuration::rules().map(|(rules, off)| [rules, off].concat())?;
    let is_free = |id: &String| !rules.iter().any(|rule| rule.row.id == *id);
    let ids = std::iter::once(id.clone()).chain((2..).map(|number| format!("{id}-{number}")));
    Ok(ids.into_iter().find(is_free).unwrap_or_default())
}

/// Asks for the answer and its sentence.
async fn ask_answer(on: &str, draft: Draft) -> Result<(Draft, AnswerKey), CliError> {
    let about = RuleOn::from(on);
    let possible: Vec<AnswerKey> = ANSWERS.iter().copied().filter(|answer| about.answers().contains(answer)).collect();
    let names: Vec<&str> = possible.iter().map(|answer| answer.name()).collect();
    let hint = format!("one of {}, and a sentence: {}", names.join(", "), example(possible[0]));
    loop {
        let said = ask("3. What happens then?", &hint)?;
        let (word, sentence) = said.split_once(char::is_whitespace).unwrap_or((&said, ""));
        let Some(answer) = possible.iter().find(|answer| answer.name() == word) else {
            let near = nearest(word, names.iter().copied()).unwrap_or(names[0]);
            wrong(&format!("begin with one of {}, such as: {near} {said}", names.join(", ")));
            continue;
        };
        // The examples come later, so another answer shows whether the sentence is valid.
        match draft.with("note", sentence.trim()).check().await? {
            Ok(_) => return Ok((draft.with(answer.name(), sentence.trim()), *answer)),
            Err(mistakes) => wrong(&mistakes),
        }
    }
}

fn example(answer: AnswerKey) -> &'static str {
    match answer {
        AnswerKey::Ask => "ask Push to main?",
        AnswerKey::Remind => "remind Run the tests before you push",
        _ => "reject Nobody pushes to main",
    }
}

/// Asks for an example that the rule stops and one that it lets pass, if it needs them.
async fn ask_examples(draft: Draft, answer: AnswerKey) -> Result<Rows, CliError> {
    let stops_something = matches!(answer, AnswerKey::Reject | AnswerKey::Ask);
    let has_matchers = draft.0.iter().any(|(key, _)| !matches!(*key, "id" | "on" | "reject" | "ask"));
    if !stops_something || !has_matchers {
        return match draft.check().await? {
            Ok(rows) => Ok(rows),
            Err(mistakes) => Err(CliError::usage(mistakes)),
        };
    }
    loop {
        let stopped = ask("4. An example that it stops:", "as you answered question 2, in full")?;
        let passing = ask("And a similar one that passes:", "hookhost tries both")?;
        let draft = draft.with("stops", vec![stopped]).with("passes", vec![passing]);
        match draft.check().await? {
            Ok(rows) => return Ok(rows),
            Err(mistakes) => wrong(&mistakes),
        }
    }
}
