//! `hookhost approvals`: the questions that no agent can show, exactly what each would let run, and their answers.

use crate::args::{ApprovalsArgs, ApprovalsCommand};
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, difference, one_line, printable,
    style::{CHANGED, DIM, NAME, WARNING},
    truncate::SHOWN,
};
use anyhow::anyhow;
use hookhost::approval::{Approval, ApprovalRequest};
use hookhost::{Config, Host};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) async fn run(args: &ApprovalsArgs) -> Result<Exit, CliError> {
    let builder = Host::builder(Config::empty()).store(audit_log::prepared()?).share_questions();
    let host = builder.build().await.map_err(anyhow::Error::new)?;
    let open = host.questions().await.map_err(|error| audit_log::unusable(&error))?;
    match &args.command {
        None if args.json => output::print_json(&Value::Array(open.iter().map(|request| json!(request)).collect()))?,
        None => output::print(&list(&open))?,
        Some(ApprovalsCommand::Show { id }) => {
            let request = named(&open, id)?;
            if args.json { output::print_json(&json!(request))? } else { output::print(&show(request))? }
        }
        Some(ApprovalsCommand::Yes { id }) => {
            answer(&host, named(&open, id)?, Approval::yes()).await?;
            output::print("It may run, once.\n")?;
        }
        Some(ApprovalsCommand::No { id, because }) => {
            let no = because.iter().fold(Approval::no(), |no, because| no.because(because.clone()));
            answer(&host, named(&open, id)?, no).await?;
            output::print("It does not run.\n")?;
        }
    }
    Ok(Exit::Done)
}

async fn answer(host: &Host, request: &ApprovalRequest, approval: Approval) -> Result<(), CliError> {
    let person = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    let approval = approval.via("hookhost approvals");
    let approval = if person.is_empty() { approval } else { approval.by(person) };
    let answered = host.answer(&request.id, approval).await;
    answered.map_err(|error| CliError::from(anyhow!(error)).advise("hookhost approvals"))
}

/// The question of this identifier, or the only one that begins so.
fn named<'a>(open: &'a [ApprovalRequest], id: &str) -> Result<&'a ApprovalRequest, CliError> {
    let mut found = open.iter().filter(|request| request.id.starts_with(id));
    let exact = open.iter().find(|request| request.id == id);
    match (exact, found.next(), found.next()) {
        (Some(request), ..) | (None, Some(request), None) => Ok(request),
        (None, Some(_), Some(_)) => {
            Err(CliError::usage(format!("several questions begin with {id:?}: name one in full"))
                .advise("hookhost approvals"))
        }
        (None, None, _) => Err(CliError::usage(format!(
            "no question {id:?} waits for an answer: it was answered, or its time is over"
        ))
        .advise("hookhost approvals")),
    }
}

fn list(open: &[ApprovalRequest]) -> String {
    if open.is_empty() {
        return "No question waits for an answer.\n".to_owned();
    }
    let mut text = String::new();
    for request in open {
        let _ = writeln!(text, "{NAME}{}{NAME:#}  {}", one_line(&request.id), one_line(&subject(request)));
        for question in &request.questions {
            let asked = one_line(&question.escalation.question);
            let _ = writeln!(text, "    {WARNING}{} asks:{WARNING:#} {asked}", one_line(&question.by.to_string()));
        }
    }
    let _ = writeln!(text, "\n{DIM}hookhost approvals show ID shows exactly what would run{DIM:#}");
    text
}

/// The tool and its command or path, in a line.
fn subject(request: &ApprovalRequest) -> String {
    let value: Value = serde_json::from_str(request.value.get()).unwrap_or_default();
    let name = value.get("name").and_then(Value::as_str).unwrap_or_else(|| request.event.name());
    let arguments = value.get("arguments").map(Value::to_string).unwrap_or_default();
    output::truncate::cut(&format!("{name} {arguments}"), SHOWN)
}

fn show(request: &ApprovalRequest) -> String {
    let value: Value = serde_json::from_str(request.value.get()).unwrap_or_default();
    let original: Value = serde_json::from_str(request.original.get()).unwrap_or_default();
    let mut text = format!("{NAME}{}{NAME:#}\n", one_line(&request.id));
    let _ = writeln!(text, "  {DIM}session {}, depth {}{DIM:#}", one_line(&request.session), request.agent.depth);
    if let Some(task) = &request.agent.task {
        let _ = writeln!(text, "  {DIM}at work on: {}{DIM:#}", one_line(task));
    }
    for question in &request.questions {
        let code = question.escalation.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
        let asked = one_line(&format!("{}{code}", question.escalation.question));
        let _ = writeln!(text, "  {WARNING}{} asks:{WARNING:#} {asked}", one_line(&question.by.to_string()));
    }
    if !request.changed_by.is_empty() {
        let _ = writeln!(text, "  {CHANGED}changed{CHANGED:#} by {}", one_line(&request.changed_by.join(", ")));
        text.push_str(&difference::lines(&original, &value, usize::MAX));
    }
    if let Some(response) = &request.response {
        let result = printable(response.result.get());
        let _ = writeln!(text, "  it would not run; its result, of {}:\n{result}", one_line(&response.by));
    }
    let exact = serde_json::to_string_pretty(&value).unwrap_or_default();
    let _ = writeln!(text, "  this would run:\n{}", printable(&exact));
    text
}
