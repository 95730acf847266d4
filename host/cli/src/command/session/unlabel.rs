//! `hookhost session unlabel`: removes labels of a session. Only a person at a terminal can do this.

use super::labels::{AddingCalls, labelled};
use crate::args::UnlabelArgs;
use crate::audit_log;
use crate::command::is_on_a_terminal;
use crate::command::off::{open_log, person};
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{self, quoted};

pub(crate) async fn run(args: &UnlabelArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("removes labels of a session")?;
    let shown = quoted(&args.session);
    if !is_on_a_terminal() {
        let why = "this needs a terminal, on which it shows you the labels and asks you: nothing was removed";
        return Err(CliError::usage(why).advise(format!("hookhost session unlabel {shown}, in a terminal")));
    }
    let host = open_log().await?;
    let found = labelled(&host).await?.into_iter().find(|one| one.session == args.session);
    let Some(mut found) = found else {
        let why = format!("the session {shown} has no labels of its own; a sub-agent has the labels of its session");
        return Err(CliError::usage(why).advise("hookhost session labels"));
    };
    if let Some(unknown) = args.labels.iter().find(|name| found.labels.iter().all(|label| label.name != **name)) {
        let why = format!("the session {shown} has no label {}", quoted(unknown));
        return Err(CliError::usage(why).advise(format!("hookhost session labels {shown}")));
    }
    found.labels.retain(|label| args.labels.is_empty() || args.labels.contains(&label.name));
    output::print(&AddingCalls::find(std::slice::from_ref(&found))?.as_text(&found))?;
    if !output::confirm("Remove these labels from the session?", ": nothing was removed")? {
        output::print("Nothing was removed.\n")?;
        return Ok(Exit::Rejected);
    }
    let removed = host.remove_labels(&found.session, found.labels, person()).await;
    removed.and(audit_log::drain(&host).await.map(drop)).map_err(|error| audit_log::unusable(&error))?;
    output::print("The labels are removed. A later call can add them again.\n")?;
    Ok(Exit::Done)
}
