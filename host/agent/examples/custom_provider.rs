//! A provider of your own. One trait, `Provider`, describes where the model's answers come from. The provider in this
//! example has no model at all. It asks for a list of the directory, and then says what it has read.
//!
//! `cargo run -p hookhost-agent --example custom_provider`

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use hookhost_agent::agent::{Agent, AgentConfig, AgentEvent};
use hookhost_agent::tool::Toolbox;
use hookhost_models::message::{Message, StopReason, TokenUsage, ToolUse};
use hookhost_models::{Delta, DeltaStream, Provider, ProviderError, Request};
use std::sync::Arc;

#[derive(Debug)]
struct Reader;

#[async_trait]
impl Provider for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError> {
        let usage = TokenUsage::new(request.estimated_tokens(), 0);
        let (said, stop) = match request.messages.last() {
            Some(Message::Tool { text, .. }) => {
                (Delta::Text(format!("It has {} entries.\n", text.lines().count())), StopReason::EndTurn)
            }
            _ => {
                let call = ToolUse::parse("call-1".into(), "list_dir".into(), r#"{ "path": "." }"#.into());
                (Delta::ToolCall(call), StopReason::ToolCalls)
            }
        };
        // A provider that streams yields pieces as they arrive. The stream ends after `Delta::Stop`.
        Ok(stream::iter([said, Delta::Usage(usage), Delta::Stop(stop)].map(Ok)).boxed())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = hookhost::Host::builder(hookhost::Config::empty()).build().await?;
    let config = AgentConfig::new(".", "none");
    let agent = Agent::builder(host, Arc::new(Reader), Toolbox::builtin()?, config).build()?;
    let reporter = |event: &AgentEvent| {
        if let AgentEvent::Text { text } = event {
            print!("{text}");
        }
    };
    let outcome = agent.run("What is here?", &reporter, &Default::default()).await?;
    println!("{} turns", outcome.turns);
    Ok(())
}
