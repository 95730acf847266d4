//! An example of a host in a program without `async`: each call blocks until the outcome is known.
//!
//! `cargo run -p hookhost --example blocking`
//!
//! Prints:
//! ```text
//! bash: Allowed
//! deploy: Rejected by no-deploys: deploys are frozen
//! the model reads: my password is ••••••
//! ```

use hookhost::config::Entry;
use hookhost::contract::{Refusal, TextVerdict, ToolCall};
use hookhost::{Config, Host, Rule, TransformOutcome};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // These two native rules are part of the program and need no wasm.
    let masks = Rule::new().prompt_submit(|_, prompt| TextVerdict::Replace(prompt.replace("mellon", "••••••")));
    let host = Host::builder(Config::empty())
        .rule("no-deploys", |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen")))
        .plugin(Entry::from_rule("masks", masks))
        // This starts a separate tokio runtime. A program that already has a runtime may call it, too.
        .build_blocking()?;
    let session = host.session("my-agent", std::env::current_dir()?)?;

    for name in ["bash", "deploy"] {
        println!("{name}: {}", session.check_tool(name, &json!({})).outcome);
    }

    // For every other event, use `wait`. Its closure gets a session whose methods are `async`.
    let prompt = "my password is mellon".to_owned();
    let settled = session.wait(|session| async move { session.prompt_submit(prompt).await });
    match settled.outcome {
        TransformOutcome::Passed { value } => println!("the model reads: {value}"),
        TransformOutcome::Withheld(rejection) => println!("the model reads nothing: {rejection}"),
    }
    Ok(())
}
