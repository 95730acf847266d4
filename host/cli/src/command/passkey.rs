//! `hookhost passkey`: lists the passkeys, and opens the page on which one is registered or removed. A terminal cannot ask for a passkey,
//! so the page does both.

use super::{approvals::open_questions, ui};
use crate::args::{PasskeyArgs, PasskeyCommand};
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, ERROR, NAME},
};
use crate::{audit_log, inside_agent};
use hookhost::passkey::Passkeys;
use hookhost_client::frame::LinkPurpose;
use serde_json::json;
use std::fmt::Write as _;

pub(crate) async fn run(args: &PasskeyArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => {}
        Some(PasskeyCommand::Add { no_open }) => return open_page("registers a passkey", *no_open),
        Some(PasskeyCommand::Remove { no_open }) => return open_page("removes a passkey", *no_open),
    }
    let (host, _) = open_questions().await?;
    let passkeys = host.passkeys().await.map_err(|error| audit_log::unusable(&error))?;
    if args.json {
        output::print_json(&as_json(&passkeys))?;
    } else {
        output::print(&list(&passkeys))?;
    }
    Ok(if passkeys.altered().is_some() { Exit::Failed } else { Exit::Done })
}

/// Opens the page on which passkeys are registered and removed. Whoever opens it may register the first one, so a person has to agree.
fn open_page(does: &str, no_open: bool) -> Result<Exit, CliError> {
    inside_agent::refuse(does)?;
    if !super::is_on_a_terminal() {
        let why = "this needs a terminal, on which you agree: nothing was changed";
        return Err(CliError::usage(why).advise("hookhost passkey add, in a terminal"));
    }
    if !output::confirm("Open the page on which passkeys are registered and removed?", ": nothing was changed")? {
        output::print("Nothing was changed.\n")?;
        return Ok(Exit::Rejected);
    }
    ui::show(&ui::link(LinkPurpose::Passkeys)?, no_open)?;
    Ok(Exit::Done)
}

fn as_json(passkeys: &Passkeys) -> serde_json::Value {
    let registered: Vec<_> =
        passkeys.registered().iter().map(|passkey| json!({ "id": passkey.id, "name": passkey.name })).collect();
    json!({ "passkeys": registered, "problem": passkeys.altered() })
}

fn list(passkeys: &Passkeys) -> String {
    let mut text = String::new();
    for (number, passkey) in (1..).zip(passkeys.registered()) {
        let _ = writeln!(
            text,
            "{number}  {NAME}{}{NAME:#}  {DIM}{}{DIM:#}",
            one_line(&passkey.name),
            one_line(&passkey.id)
        );
    }
    match passkeys.altered() {
        Some(why) => {
            let why = one_line(why);
            let _ = writeln!(
                text,
                "{ERROR}No yes counts:{ERROR:#} the passkeys cannot be trusted: {why}.\nTo see what was changed: hookhost audit verify"
            );
        }
        None if passkeys.registered().is_empty() => {
            text.push_str("No passkey is registered, so every program of yours can say yes to an agent.\nTo register one: hookhost passkey add\n");
        }
        None => text.push_str("Each yes needs one of these, on the page: hookhost ui\n"),
    }
    text
}
