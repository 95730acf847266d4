//! `hookhost audit`: shows the records, and checks that they were not changed.

pub(crate) mod anchor;
pub(crate) mod archive;
mod follow;
mod show;
mod verify;

use crate::args::AuditCommand;
use crate::exit::{CliError, Exit};

pub(crate) async fn run(command: &AuditCommand) -> Result<Exit, CliError> {
    match command {
        AuditCommand::Show(args) => show::run(args),
        AuditCommand::Tail(args) => follow::run(args).await,
        AuditCommand::Verify(args) => verify::run(args),
        AuditCommand::Anchor(args) => anchor::run(args),
        AuditCommand::Archive(args) => archive::run(args).await,
    }
}
