//! An example in which a person answers questions in another part of the program. Here a task stands for the user
//! interface. The task gets the questions over a channel, and each question comes with a second channel for its answer.
//!
//! `cargo run -p hookhost --example approvals_over_a_channel`
//!
//! Prints:
//! ```text
//! asked: deploy to staging?
//! Allowed
//! asked: deploy to production?
//! Rejected: not approved (asked by deploys): deploy to production? (not on a Friday)
//! ```

use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::contract::{Escalation, ToolCall};
use hookhost::{BoxFuture, Config, Host};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

type Asked = (ApprovalRequest, oneshot::Sender<Approval>);

/// Hands each question to the user interface. One approver serves all sessions of the host.
struct Questions(mpsc::Sender<Asked>);

impl Approver for Questions {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            if self.0.send((request, answer)).await.is_err() {
                return Approval::no().because("the user interface is closed");
            }
            // The host drops this future when the deadline has passed or the event was cancelled.
            answered.await.unwrap_or_else(|_| Approval::no().because("the question was closed without an answer"))
        })
    }
}

/// The user interface: Ada, who says no to production.
async fn ada(mut questions: mpsc::Receiver<Asked>) {
    while let Some((request, answer)) = questions.recv().await {
        println!("asked: {}", request.questions[0].escalation.question);
        // If the answer is yes, the agent runs exactly this call.
        let is_production = request.tool_call().is_none_or(|call| call.arguments.contains("production"));
        let approval = if is_production { Approval::no().because("not on a Friday") } else { Approval::yes() };
        // The audit log contains who answered, and over which channel. Sending fails if nobody waits for the answer any
        // more.
        let _ = answer.send(approval.by("ada").via("window"));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (asks, questions) = mpsc::channel(16);
    tokio::spawn(ada(questions));

    let deploys = |call: &ToolCall| {
        let arguments: Value = call.arguments.read().unwrap_or_default();
        let to = arguments["to"].as_str().unwrap_or("nobody knows where");
        (call.name == "deploy").then(|| Escalation::new(format!("deploy to {to}?")))
    };
    let builder = Host::builder(Config::empty()).rule("deploys", deploys);
    let host = builder.approver(Arc::new(Questions(asks))).build().await?;
    let session = host.session("my-agent", std::env::current_dir()?)?;

    for to in ["staging", "production"] {
        println!("{}", session.check_tool("deploy", &json!({ "to": to })).await.outcome);
    }
    Ok(())
}
