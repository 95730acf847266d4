//! `hookhost ui`: opens the page of the resident host in the browser, with a link that can be used once.

use crate::args::UiArgs;
use crate::exit::{CliError, Exit};
use crate::output::{self, style::DIM};
use crate::{configuration, inside_agent};
use anyhow::anyhow;
use hookhost_client::connection::ConnectionError;
use hookhost_client::frame::LinkPurpose;
use hookhost_client::paths::HostPaths;
use hookhost_client::{control, start};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time until the resident host has started and made a link.
const LINK_TIMEOUT: Duration = Duration::from_secs(10);

/// Programs that open a link in the user's browser.
const OPENERS: &[&str] =
    if cfg!(target_os = "macos") { &["/usr/bin/open"] } else { &["/usr/bin/xdg-open", "/usr/bin/gio open"] };

pub(crate) fn run(args: &UiArgs) -> Result<Exit, CliError> {
    // Whoever opens the page can answer questions on it.
    inside_agent::refuse("opens the page, on which a person answers questions")?;
    let link = link(LinkPurpose::View)?;
    if args.plain {
        let (origin, code) = link.split_once('#').unwrap_or((&link, ""));
        output::print(&format!("{origin}plain\n{code}\n"))?;
        output::note(&format!("{DIM}Type the code on that page within a minute. It is valid once.{DIM:#}\n"));
        return Ok(Exit::Done);
    }
    show(&link, args.no_open)?;
    Ok(Exit::Done)
}

/// Asks the resident host for a link to its page. Starts the host if none runs.
pub(super) fn link(purpose: LinkPurpose) -> Result<String, CliError> {
    let place = HostPaths::below(&configuration::places()?.state);
    let program = start::program().map_err(CliError::not_loaded)?;
    control::page(&place, &program, &configuration::cwd()?, purpose, LINK_TIMEOUT).map_err(not_made)
}

/// Prints a link, and opens it in the browser.
pub(super) fn show(link: &str, no_open: bool) -> Result<(), CliError> {
    output::print(&format!("{link}\n"))?;
    output::note(&format!("{DIM}The link opens the page once, within a minute.{DIM:#}\n"));
    if !no_open && !opens(link) {
        output::note(&output::notice("no browser could be started: open the link yourself"));
    }
    Ok(())
}

/// Starts the browser. Without a display there is none.
fn opens(link: &str) -> bool {
    let has_display =
        cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_display
        && OPENERS.iter().any(|opener| {
            let mut words = opener.split(' ');
            let program = words.next().unwrap_or_default();
            let mut command = Command::new(program);
            command.args(words).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            Path::new(program).is_file() && command.status().is_ok_and(|status| status.success())
        })
}

fn not_made(error: ConnectionError) -> CliError {
    CliError::from(anyhow!(error)).advise("hookhost serve --status")
}
