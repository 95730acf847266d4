//! A provider that plays a TOML script instead of asking a model. It is used in demos and tests.
//!
//! [`Provider::notice`] tells the user that no model answers. Turn n of the script answers request n. After the last turn, each
//! request is an error.
//!
//! ```toml
//! [[turn]]
//! text = "I look at the directory first."
//! call = [{ tool = "list_dir", arguments = { path = "." } }]
//!
//! [[turn]]
//! text = "Three files."
//! usage = { input-tokens = 900, output-tokens = 4 }    # optional: by default a quarter of the bytes
//! ```

use crate::error::ProviderError;
use crate::message::{StopReason, TokenUsage, ToolUse};
use crate::provider::{Delta, DeltaStream, Provider, Request};
use crate::script::{Script, Turn};
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of characters in each piece of text. The text is split because a model would also send it in pieces.
const CHUNK_SIZE: usize = 12;

/// A provider that plays a [`Script`].
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    next: AtomicUsize,
}

impl Scripted {
    /// Creates a provider that starts at the beginning of `script`.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script, next: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn notice(&self) -> Option<String> {
        Some(format!("The answers are scripted: {} is played, no model is asked.", self.script.file().display()))
    }

    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = self.script.turn(number)?;
        let calls = turn.calls.iter().enumerate().map(|(place, call)| {
            Delta::ToolCall(ToolUse {
                id: format!("scripted-{}-{}", number + 1, place + 1),
                name: call.tool.clone(),
                arguments: call.arguments.clone(),
            })
        });
        let stop = if turn.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
        let text = pieces(&turn.text).into_iter().map(Delta::Text);
        let deltas = text.chain(calls).chain([Delta::Usage(usage(turn, &request)), Delta::Stop(stop)]);
        Ok(stream::iter(deltas.map(Ok).collect::<Vec<_>>()).boxed())
    }
}

fn usage(turn: &Turn, request: &Request) -> TokenUsage {
    turn.usage.unwrap_or_else(|| {
        let calls = turn.calls.iter().map(|call| call.tool.len() + call.arguments.to_string().len());
        let bytes = turn.text.len() + calls.sum::<usize>();
        TokenUsage {
            input_tokens: request.estimated_tokens(),
            cached_input_tokens: 0,
            output_tokens: u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX),
        }
    })
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(CHUNK_SIZE).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn request() -> Request {
        Request {
            model: "m".into(),
            system_prompt: "x".repeat(400),
            messages: Vec::new(),
            reminders: Vec::new(),
            tools: Vec::new(),
            max_output_tokens: 100,
            temperature: None,
        }
    }

    async fn play(provider: &Scripted) -> Result<Vec<Delta>, ProviderError> {
        provider.send(request()).await?.collect::<Vec<_>>().await.into_iter().collect()
    }

    fn scripted(text: &str) -> Scripted {
        Scripted::new(Script::parse(text, Path::new("demo.toml")).unwrap())
    }

    #[tokio::test]
    async fn a_turn_streams_its_text_in_pieces_then_its_calls_then_usage_and_stop() {
        let provider = scripted(
            "[[turn]]\ntext = 'Häuser stehen im Regen.'\ncall = [{ tool = 'bash', arguments = { command = 'ls' } }]\n",
        );
        let deltas = play(&provider).await.unwrap();
        assert_eq!(deltas[0], Delta::Text("Häuser stehe".into()));
        assert_eq!(deltas[1], Delta::Text("n im Regen.".into()));
        let arguments = serde_json::json!({ "command": "ls" });
        assert_eq!(deltas[2], Delta::ToolCall(ToolUse { id: "scripted-1-1".into(), name: "bash".into(), arguments }));
        assert!(
            matches!(deltas[3], Delta::Usage(TokenUsage { input_tokens: 100, output_tokens: 11, .. })),
            "{deltas:?}"
        );
        assert_eq!(deltas[4..], [Delta::Stop(StopReason::ToolCalls)]);
    }

    #[tokio::test]
    async fn usage_is_what_the_script_says() {
        let provider = scripted(
            "[[turn]]\ntext = 'x'\nusage = { input-tokens = 7, cached-input-tokens = 3, output-tokens = 2 }\n",
        );
        let usage = TokenUsage { input_tokens: 7, cached_input_tokens: 3, output_tokens: 2 };
        assert!(play(&provider).await.unwrap().contains(&Delta::Usage(usage)));
    }

    #[tokio::test]
    async fn a_script_that_has_run_out_is_an_error_that_names_the_missing_turn() {
        let provider = scripted("[[turn]]\ntext = 'only one'\n");
        play(&provider).await.unwrap();
        let error = play(&provider).await.unwrap_err();
        assert!(!error.is_transient());
        assert_eq!(
            error.to_string(),
            "the script demo.toml has run out: it has 1 turn, and the agent asks for turn 2; add a [[turn]]"
        );
    }

    #[test]
    fn it_says_that_it_is_scripted() {
        assert!(scripted("[[turn]]\ntext = 'x'\n").notice().unwrap().contains("scripted"));
    }
}
