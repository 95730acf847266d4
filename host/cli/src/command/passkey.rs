//! `hookhost passkey`: lists the passkeys, and opens the page on which one is registered or removed. A terminal cannot ask for a passkey,
//! so the page does both.

use super::approvals::open_questions;
use super::ui;
use crate::args::{PasskeyArgs, PasskeyCommand};
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, ERROR, NAME},
};
use crate::{audit_log, inside_agent};
use hookhost::passkey::Passkeys;
use serde_json::json;
use std::fmt::Write as _;

pub(crate) async fn run(args: &PasskeyArgs) -> Result<Exit, CliError> {
    let does = match args.command {
        None => None,
        Some(PasskeyCommand::Add { .. }) => Some("registers a passkey"),
        Some(PasskeyCommand::Remove { .. }) => Some("removes a passkey"),
    };
    if let Some(does) = does {
        inside_agent::refuse(does)?;
    }
    let (host, _) = open_questions().await?;
    let passkeys = host.passkeys().await.map_err(|error| audit_log::unusable(&error))?;
    match &args.command {
        None => {}
        Some(PasskeyCommand::Add { no_open }) => return add(&passkeys, !no_open),
        Some(PasskeyCommand::Remove { no_open }) => return remove(&passkeys, !no_open),
    }
    if args.json {
        output::print_json(&as_json(&passkeys))?;
    } else {
        output::print(&list(&passkeys))?;
    }
    Ok(if passkeys.altered().is_some() { Exit::Failed } else { Exit::Done })
}

/// Opens the page on which a passkey is registered. The first one is registered on trust, so a person at a terminal must ask for it.
fn add(passkeys: &Passkeys, opens_browser: bool) -> Result<Exit, CliError> {
    if !super::is_on_a_terminal() {
        let error = CliError::usage("this needs a terminal, on which it asks you: nothing was registered");
        return Err(error.advise("hookhost passkey add, in a terminal"));
    }
    if !passkeys.is_required() {
        let question =
            "From the first passkey on, you say yes to your agents only on the page, with the passkey. Register one?";
        if !output::confirm(question, ": nothing was registered")? {
            output::print("Nothing was registered.\n")?;
            return Ok(Exit::Rejected);
        }
    }
    ui::open(true, opens_browser)?;
    output::note("The link opens the page once, within a minute. Register the passkey there.\n");
    Ok(Exit::Done)
}

/// Opens the page on which a passkey is removed, which needs a registered one.
fn remove(passkeys: &Passkeys, opens_browser: bool) -> Result<Exit, CliError> {
    if passkeys.registered().is_empty() {
        return Err(CliError::usage("no passkey is registered").advise("hookhost passkey add"));
    }
    ui::open(true, opens_browser)?;
    output::note("The link opens the page once, within a minute. Remove the passkey there, with a registered one.\n");
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
