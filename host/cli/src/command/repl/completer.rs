//! Completes commands and their arguments when the person presses Tab.

use super::slash::COMMANDS;
use crate::args::Approve;
use crate::output::{one_line, truncate::cut};
use clap::ValueEnum as _;
use hookhost::contract::EventKind;
use hookhost_agent::session_store::SessionStore;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of sessions that are offered as completions. The sessions that were used last come first.
const SESSIONS: usize = 50;

/// Maximum number of characters of a session's prompt that are shown beside the session's id.
const WORDS: usize = 40;

/// The values that can be completed.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) store: SessionStore,
    /// The providers, each with its known models.
    pub(super) providers: Vec<(String, Vec<String>)>,
    /// The current provider.
    pub(super) provider: Mutex<String>,
}

impl Choices {
    /// The known models of a provider.
    fn models(&self, provider: &str) -> Vec<String> {
        let known = self.providers.iter().find(|(name, _)| name == provider);
        known.map(|(_, models)| models.clone()).unwrap_or_default()
    }

    /// Returns the words that can follow these words of a command. Each result is a pair of the displayed text and the inserted text.
    fn next(&self, words: &[&str]) -> Vec<(String, String)> {
        let plain = |words: Vec<String>| words.into_iter().map(|word| (word.clone(), word)).collect();
        let names = |names: &[&str]| plain(names.iter().map(|name| (*name).to_owned()).collect());
        match words {
            [] => plain(COMMANDS.iter().map(|command| format!("/{}", command.name)).collect()),
            ["/hooks"] => plain(EventKind::ALL.iter().map(|event| event.name().to_owned()).collect()),
            ["/session"] => names(&["list", "new", "resume"]),
            ["/session", "resume"] => self.sessions(),
            ["/model"] => {
                let provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let mut words: Vec<_> = self.providers.iter().map(|(name, _)| name.clone()).collect();
                words.extend(self.models(&provider));
                plain(words)
            }
            ["/model", provider] => plain(self.models(provider)),
            ["/approve"] => {
                let values = Approve::value_variants().iter().filter_map(Approve::to_possible_value);
                plain(values.map(|value| value.get_name().to_owned()).collect())
            }
            _ => Vec::new(),
        }
    }

    fn sessions(&self) -> Vec<(String, String)> {
        let mut sessions = self.store.list().unwrap_or_default();
        sessions.retain(|session| session.header.parent.is_none());
        let shown = |id: &str, prompt: Option<&str>| format!("{id}  {}", cut(&one_line(prompt.unwrap_or("")), WORDS));
        let pair = |id: String, prompt: Option<String>| (shown(&id, prompt.as_deref()), id);
        sessions.into_iter().take(SESSIONS).map(|session| pair(session.header.id, session.prompt)).collect()
    }
}

/// Completes and validates the typed line.
#[derive(Debug)]
pub(super) struct LineHelper(pub(super) Arc<Choices>);

impl Completer for LineHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..position).unwrap_or(line);
        let start = typed.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let (before, begun) = typed.split_at(start);
        if !typed.starts_with('/') {
            return Ok((start, Vec::new()));
        }
        let words: Vec<_> = before.split_whitespace().collect();
        let mut found = self.0.next(&words);
        found.retain(|(_, word)| word.starts_with(begun));
        Ok((start, found.into_iter().map(|(display, replacement)| Pair { display, replacement }).collect()))
    }
}

/// A line that ends with a backslash continues on the next line.
impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for LineHelper {
    type Hint = String;
}

impl Highlighter for LineHelper {}

impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::MemHistory;

    fn completed(line: &str) -> (usize, Vec<String>) {
        let providers = vec![("openai".into(), vec!["gpt-x".into()]), ("scripted".into(), vec!["s".into()])];
        let store = SessionStore::new("/nowhere");
        let helper = LineHelper(Arc::new(Choices { store, providers, provider: Mutex::new("scripted".into()) }));
        let history = MemHistory::new();
        let (start, pairs) = helper.complete(line, line.len(), &Context::new(&history)).unwrap();
        (start, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn commands_and_what_follows_them_are_completed_and_prompts_are_not() {
        assert_eq!(completed("/s"), (0, vec!["/session".into(), "/show".into()]));
        assert_eq!(completed("/session r"), (9, vec!["resume".into()]));
        assert_eq!(completed("/approve "), (9, vec!["ask".into(), "deny".into()]));
        assert_eq!(completed("/model "), (7, vec!["openai".into(), "scripted".into(), "s".into()]));
        assert_eq!(completed("/model openai g"), (14, vec!["gpt-x".into()]));
        assert_eq!(completed("/session resume "), (16, vec![]));
        assert_eq!(completed("s"), (0, vec![]));
        assert_eq!(completed("/hooks x"), (7, vec![]));
    }
}
