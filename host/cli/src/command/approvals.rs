//! `hookhost approvals`: shows the questions that agents could not show to the user, and the rejected calls that the user can let pass once,
//! each with the exact call. The user answers a question by its code.

use super::{off::person, ui};
use crate::args::{ApprovalsArgs, ApprovalsCommand};
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    question::{asked, describe, headline},
    style::{DIM, NAME, WARNING},
};
use crate::{audit_log, inside_agent};
use anyhow::anyhow;
use hookhost::approval::{Approval, ApprovalRequest};
use hookhost::{Config, Host};
use hookhost_agents::ancestry::AgentSign;
use hookhost_client::frame::LinkPurpose;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) async fn run(args: &ApprovalsArgs) -> Result<Exit, CliError> {
    if matches!(args.command, Some(ApprovalsCommand::Yes { .. })) {
        inside_agent::refuse("answers a question of an agent")?;
    }
    let (host, mut open) = open_questions().await?;
    if AgentSign::of_this_process().is_some() {
        // An agent that runs this command must not learn the codes by which its rejected calls can pass.
        open.iter_mut().filter(|request| request.is_overridable()).for_each(|request| request.code.clear());
    }
    match &args.command {
        None if args.json => output::print_json(&Value::Array(open.iter().map(|request| json!(request)).collect()))?,
        None => output::print(&list(&open))?,
        Some(ApprovalsCommand::Show { code }) => {
            let request = named(&open, code, QUESTION)?;
            if args.json { output::print_json(&json!(request))? } else { output::print(&show(request))? }
        }
        Some(ApprovalsCommand::Yes { code }) => {
            let request = named(&open, code, QUESTION)?;
            if request.is_overridable() {
                let error = CliError::usage(
                    "this call was rejected, so it cannot run now: it can only pass once when it comes again",
                );
                return Err(error.advise(format!("hookhost allow-once {code}")));
            }
            refuse_without_passkey(&host, request).await?;
            answer(&host, request, Approval::yes(), "hookhost approvals").await?;
            output::print(&format!("It may run, once: {}\n", headline(request)))?;
        }
        Some(ApprovalsCommand::No { code, because }) => {
            let no = because.iter().fold(Approval::no(), |no, because| no.because(because.clone()));
            let request = named(&open, code, QUESTION)?;
            answer(&host, request, no, "hookhost approvals").await?;
            output::print(&format!("It does not run: {}\n", headline(request)))?;
        }
    }
    Ok(Exit::Done)
}

/// Opens the store, and returns its open questions.
pub(super) async fn open_questions() -> Result<(Host, Vec<ApprovalRequest>), CliError> {
    let builder = Host::builder(Config::empty()).store(audit_log::prepared()?).share_questions();
    let host = builder.build().await.map_err(anyhow::Error::new)?;
    let open = host.questions().await.map_err(|error| audit_log::unusable(&error))?;
    Ok((host, open))
}

/// Fails if a passkey is registered, because a terminal cannot ask for one. Opens the page, on which the user can answer.
pub(super) async fn refuse_without_passkey(host: &Host, request: &ApprovalRequest) -> Result<(), CliError> {
    let passkeys = host.passkeys().await.map_err(|error| audit_log::unusable(&error))?;
    if !passkeys.is_required() {
        return Ok(());
    }
    let why = match passkeys.altered() {
        Some(why) => anyhow!("the passkeys cannot be trusted, so no yes counts: {why}"),
        None => {
            ui::show(&ui::link(LinkPurpose::Approvals)?, false)?;
            anyhow!("a passkey is registered, so you can say yes only on the page: {}", headline(request))
        }
    };
    Err(CliError::new(Exit::Rejected, why).advise("hookhost ui"))
}

/// Answers a question in the user's name. `via` is the command that the user has run.
pub(super) async fn answer(
    host: &Host,
    request: &ApprovalRequest,
    approval: Approval,
    via: &str,
) -> Result<(), CliError> {
    let approval = person().into_iter().fold(approval.via(via), Approval::by);
    let answered = host.answer(&request.id, approval).await;
    answered.map_err(|error| CliError::from(anyhow!(error)).advise("hookhost approvals"))
}

/// Finds a question by its full code. No other name is accepted, because a person who types the code has seen the question. If there is
/// none, the error is about something `wanted`, such as [`QUESTION`].
pub(super) fn named<'a>(
    open: &'a [ApprovalRequest],
    code: &str,
    wanted: &str,
) -> Result<&'a ApprovalRequest, CliError> {
    let code = code.trim();
    let found = open.iter().find(|request| !code.is_empty() && request.code == code);
    found.ok_or_else(|| {
        let why = if code.is_empty() {
            format!("the code is empty: give the code of a {wanted}")
        } else if open.iter().any(|request| request.id == code || request.code.starts_with(code)) {
            format!("{code:?} is only a part of a code: give all of it")
        } else {
            format!("no {wanted} has the code {code:?}: its time is over, or it is answered")
        };
        CliError::usage(why).advise("hookhost approvals")
    })
}

/// Names a question in the errors of [`named`].
const QUESTION: &str = "question that waits";

fn list(open: &[ApprovalRequest]) -> String {
    if open.is_empty() {
        return "No question waits for an answer.\n".to_owned();
    }
    let mut text = String::new();
    for request in open {
        let _ = writeln!(text, "{NAME}{}{NAME:#}  {}", shown_code(request), headline(request));
        if request.is_overridable() {
            let _ = writeln!(text, "    {WARNING}rejected{WARNING:#}; hookhost allow-once CODE lets it pass once");
        }
        text.extend(asked(request).lines().map(|line| format!("    {line}\n")));
        let _ = writeln!(text, "    {DIM}in the session {}{DIM:#}", one_line(&request.session));
    }
    let yes =
        if open.iter().all(ApprovalRequest::is_overridable) { "" } else { ", hookhost approvals yes CODE lets it run" };
    let _ = writeln!(text, "\n{DIM}hookhost approvals show CODE shows exactly what would run{yes}{DIM:#}");
    text
}

/// Returns the code, or a note that it is hidden from the agent that runs this command.
fn shown_code(request: &ApprovalRequest) -> String {
    if request.code.is_empty() { "(code hidden from agents)".to_owned() } else { one_line(&request.code) }
}

fn show(request: &ApprovalRequest) -> String {
    let (code, session) = (shown_code(request), one_line(&request.session));
    format!(
        "{NAME}{code}{NAME:#}  {DIM}{}, in the session {session}{DIM:#}\n{}",
        one_line(&request.id),
        describe(request, None)
    )
}
