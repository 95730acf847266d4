//! `hookhost passkey`: lists the passkeys, and opens the page on which one is registered or removed. A terminal cannot ask for a passkey,
//! so the page does both.

use super::approvals::open_questions;
use crate::args::{PasskeyArgs, PasskeyCommand};
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, ERROR, NAME},
};
use hookhost::passkey::Passkeys;
use serde_json::json;
use std::fmt::Write as _;

pub(crate) async fn run(args: &PasskeyArgs) -> Result<Exit, CliError> {
    let (host, _) = open_questions().await?;
    let passkeys = host.passkeys().await.map_err(|error| audit_log::unusable(&error))?;
    if args.json {
        output::print_json(&as_json(&passkeys))?;
    } else {
        output::print(&list(&passkeys))?;
    }
    Ok(if passkeys.altered().is_some() { Exit::Failed } else { Exit::Done })
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
