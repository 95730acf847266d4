//! An example of a product's rules and their tests. The tests need no wasm, no files and no person, and take only
//! milliseconds.
//!
//! `cargo run -p hookhost --example testing`; `cargo test -p hookhost --example testing` runs the tests.
//!
//! Prints:
//! ```text
//! deploy by robot: Rejected by no-deploys: deploys are frozen
//! deploy by ada: Rejected: not approved (asked by no-deploys): deploy although deploys are frozen? (nobody is there to answer)
//! build by robot: Allowed
//! ```

use hookhost::contract::{Escalation, Refusal, ToolCall, ToolCallVerdict};
use hookhost::{Config, Host, HostBuilder};
use serde_json::{Value, json};

/// The host that the product starts. Its tests start from the same builder.
fn my_product() -> HostBuilder {
    Host::builder(Config::empty()).version(env!("CARGO_PKG_VERSION")).rule("no-deploys", no_deploys)
}

/// Rejects deploys by robots. For other deploys, asks a person.
fn no_deploys(call: &ToolCall) -> ToolCallVerdict {
    let arguments: Value = call.arguments.read().unwrap_or_default();
    match (call.name.as_str(), arguments["by"].as_str()) {
        ("deploy", Some("robot") | None) => Refusal::new("deploys are frozen").code("deploy.frozen").into(),
        ("deploy", Some(_)) => Escalation::new("deploy although deploys are frozen?").into(),
        _ => ToolCallVerdict::Allow,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = my_product().build().await?;
    let session = host.session("my-agent", std::env::current_dir()?)?;
    for (name, by) in [("deploy", "robot"), ("deploy", "ada"), ("build", "robot")] {
        println!("{name} by {by}: {}", session.check_tool(name, &json!({ "by": by })).await.outcome);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::my_product;
    use hookhost::approval::Approval;
    use hookhost::testing::{self, ScriptedApprover};
    use serde_json::json;

    #[tokio::test]
    async fn a_robot_deploys_nothing() -> Result<(), hookhost::Error> {
        let host = testing::start(my_product()).await?;
        let outcome = host.check("deploy", json!({ "by": "robot" })).await;
        assert_eq!(outcome.to_string(), "Rejected by no-deploys: deploys are frozen");
        assert!(host.check("build", json!({ "by": "robot" })).await.is_allowed());
        Ok(())
    }

    #[tokio::test]
    async fn a_person_deploys_after_a_yes() -> Result<(), hookhost::Error> {
        // The scripted answers to the questions: first yes, then no.
        let people = ScriptedApprover::new([Approval::yes(), Approval::no()]);
        let host = testing::start(my_product().approver(people.clone())).await?;
        assert!(host.check("deploy", json!({ "by": "ada" })).await.is_allowed());
        assert!(host.check("deploy", json!({ "by": "ada" })).await.rejection().is_some());
        assert_eq!(people.asked()[0].questions[0].escalation.question, "deploy although deploys are frozen?");
        Ok(())
    }
}
