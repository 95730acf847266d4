//! `hookhost allow-once`: lets exactly one rejected call pass once. Only a person at a terminal can do this.

use super::approvals::{answer, named, open_questions, refuse_without_passkey};
use crate::args::AllowOnceArgs;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{self, one_line, question::describe, style::DIM};
use hookhost::approval::Approval;

pub(crate) async fn run(args: &AllowOnceArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("lets a rejected call pass")?;
    let Some(code) = &args.code else {
        let why = "name the code of a rejected call; not every call that is rejected has one";
        return Err(CliError::usage(why).advise("hookhost approvals, which lists the calls with their codes"));
    };
    if !super::is_on_a_terminal() {
        let why = "this needs a terminal, on which it shows you the call and asks you: nothing was allowed";
        let command = format!("hookhost allow-once {}, in a terminal", output::quoted(code));
        return Err(CliError::usage(why).advise(command));
    }
    let (host, open) = open_questions().await?;
    let request = named(&open, code, "rejected call of the last ten minutes")?;
    if !request.is_overridable() {
        let error = CliError::usage("this call was not rejected: it still waits for your answer");
        return Err(error.advise(format!("hookhost approvals yes {}", request.code)));
    }
    refuse_without_passkey(&host, request).await?;
    let session = one_line(&request.session);
    output::print(&format!("{}{DIM}in the session {session}{DIM:#}\n", describe(request, None)))?;
    if !output::confirm("Let exactly this call pass once?", ": nothing was allowed")? {
        output::print("Nothing was allowed.\n")?;
        return Ok(Exit::Rejected);
    }
    answer(&host, request, Approval::yes(), "hookhost allow-once").await?;
    output::print(
        "It may pass once within ten minutes, under the present rules. Tell the agent to try exactly this again.\n",
    )?;
    Ok(Exit::Done)
}
