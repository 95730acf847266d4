//! A tool of your own. Plugins are asked about its calls like about the calls of any other tool, and `hookhost_agent`
//! checks the arguments.
//!
//! `cargo run -p hookhost-agent --example custom_tool`

use async_trait::async_trait;
use hookhost_agent::agent::{Agent, AgentConfig, AgentEvent};
use hookhost_agent::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolbox};
use hookhost_models::{Script, Scripted};
use serde_json::{Value, json};
use std::sync::Arc;

/// Script with the model's answers, so that the example needs no model.
const SCRIPT: &str = r#"
    [[turn]]
    call = [{ tool = "count_words", arguments = { text = "to be or not to be" } }]

    [[turn]]
    text = "Six words."
"#;

#[derive(Debug)]
struct CountWords;

#[async_trait]
impl Tool for CountWords {
    fn definition(&self) -> ToolDefinition {
        let properties = json!({ "text": { "type": "string" } });
        ToolDefinition::new(
            "count_words",
            "Counts the words of a text.",
            json!({ "type": "object", "properties": properties, "required": ["text"], "additionalProperties": false }),
        )
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let text = arguments["text"].as_str().unwrap_or_default();
        Ok(ToolOutput::success(format!("{} words", text.split_whitespace().count())))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = Arc::new(Scripted::new(Script::parse(SCRIPT, "custom_tool.toml".as_ref())?));
    let host = hookhost::Host::builder(hookhost::Config::empty()).build().await?;
    let tools = Toolbox::builtin()?.with(Arc::new(CountWords))?;
    let agent = Agent::builder(host, provider, tools, AgentConfig::new(".", "scripted")).build()?;
    let reporter = |event: &AgentEvent| {
        if let AgentEvent::ToolFinished { name, text, .. } = event {
            println!("{name}: {text}");
        }
    };
    println!("{}", agent.run("How many words?", &reporter, &Default::default()).await?.text);
    Ok(())
}
