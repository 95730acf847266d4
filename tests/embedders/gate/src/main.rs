//! `gate COMPILED`: asks a rule of the program itself and a component that was compiled ahead.

use hookhost::config::{CompiledComponent, Entry};
use hookhost::contract::{Refusal, ToolCall, ToolCallVerdict};
use hookhost::{Config, Decision, Host};
use serde_json::json;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: gate COMPILED")?;
    // SAFETY: the file was written by `Engine::compile` a moment ago, and is ours.
    let compiled = unsafe { CompiledComponent::from_bytes(std::fs::read(file)?)? };
    let guard = Entry::from_compiled("path-guard", compiled).with("protected", json!(["infra/**"]));
    let host = Host::builder(Config::empty()).plugin(guard).rule("no-deploys", no_deploys).build_blocking()?;
    let session = host.session("an-agent", "/home/me/project")?;
    for (tool, arguments) in [
        ("write_file", json!({"path": "src/main.rs", "content": ""})),
        ("write_file", json!({"path": "infra/main.tf", "content": ""})),
        ("deploy", json!({"to": "production"})),
    ] {
        match session.check_tool(tool, &arguments).outcome {
            Decision::Allowed { value } => println!("{} may run", value.name()),
            Decision::Responded { .. } => println!("{tool} is answered"),
            Decision::Rejected(rejection) => println!("{tool} is rejected: {rejection}"),
        }
    }
    Ok(())
}

fn no_deploys(call: &ToolCall) -> ToolCallVerdict {
    match call.name.as_str() {
        "deploy" => Refusal::new("deploys go through the pipeline").into(),
        _ => ToolCallVerdict::Allow,
    }
}
