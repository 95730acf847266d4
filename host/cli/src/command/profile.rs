//! `hookhost profile`: shows the profile in force, prints a profile, and puts one into force.

use crate::args::{ProfileArgs, ProfileCommand, UseProfileArgs};
use crate::bundled;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::loading;
use crate::output::{
    self, one_line,
    progress::Progress,
    style::{DIM, GOOD, NAME},
    wrap::wrapped,
};
use crate::profile::{self, PreparedProfile, Profile, ProfileInForce};
use anyhow::anyhow;
use std::collections::BTreeMap;

pub(crate) async fn run(args: &ProfileArgs) -> Result<Exit, CliError> {
    match &args.command {
        None => show_all(),
        Some(ProfileCommand::Show(args)) => {
            let prepared = args.profile.prepare(&configuration::places()?)?;
            let _ = output::print_exactly(&(prepared.text.clone() + &more(&prepared)?))?;
            Ok(Exit::Done)
        }
        Some(ProfileCommand::Use(args)) => put_into_force(args).await,
    }
}

/// Lists the profiles, and marks the one in force.
fn show_all() -> Result<Exit, CliError> {
    let places = configuration::places()?;
    let found = profile::in_force(&places)?;
    let mut text = String::new();
    for one in Profile::ALL {
        let is_this = found.is_some_and(|found| found.profile == one);
        let prepared = one.prepare(&places)?;
        text.push_str(&format!(
            "{} {NAME}{:11}{NAME:#} {}\n{:14}{DIM}{}{DIM:#}\n",
            if is_this { "*" } else { " " },
            one.name(),
            wrapped(one.summary(), 14),
            "",
            wrapped(&counted(&prepared)?, 14)
        ));
    }
    let file = one_line(&places.profile_file().to_string_lossy());
    text.push_str(&match found {
        None => "\nNo profile is in force. To start: hookhost on\n".to_owned(),
        Some(ProfileInForce { profile, is_current: true }) => {
            format!("\n{profile} is in force: {file}\nTo change: hookhost profile use NAME\n")
        }
        Some(ProfileInForce { profile, is_current: false }) => format!(
            "\n{profile} is in force: {file}\n\
             The file differs from the profile of this hookhost. To write it again: hookhost profile use {profile}\n"
        ),
    });
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Returns what a profile does not say itself, as comments: the rules within its plugins, and their limits.
fn more(prepared: &PreparedProfile) -> Result<String, CliError> {
    let mut text = format!("\n# {}. The rules of shell-guard: hookhost rule explain\n", counted(prepared)?);
    let mut limits: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in prepared.config.entries() {
        limits.entry(output::entry::limits(entry)).or_default().push(&entry.name);
    }
    for (limits, plugins) in limits {
        text.push_str(&format!("# Limits of {} for each event: {limits}\n", plugins.join(", ")));
    }
    Ok(text)
}

/// Describes how many rules a profile has.
fn counted(prepared: &PreparedProfile) -> Result<String, CliError> {
    let counts = profile::rule_counts(&prepared.config)?;
    let rest = if profile::asks_about_unknown(&prepared.config) {
        "; every other command that does more than read is asked about"
    } else {
        ""
    };
    Ok(format!("{} rules reject, {} ask{rest}", counts.rejecting, counts.asking))
}

async fn put_into_force(args: &UseProfileArgs) -> Result<Exit, CliError> {
    inside_agent::refuse("changes the profile")?;
    let places = configuration::places()?;
    let prepared = args.profile.prepare(&places)?;
    output::note(&describe(&prepared)?);
    if !args.yes && !output::confirm("Use it?", " whether to use this profile")? {
        return Err(CliError::new(Exit::Rejected, anyhow!("nothing was written")));
    }
    prepared.install_plugins(&places)?;
    // A profile that does not load would stop every call.
    loading::compile(&prepared.config, &Progress::start("compiling rules")).await?;
    let copy = prepared.put_into_force(&places)?;
    bundled::remove_unused(&places);
    if let Some(copy) = copy {
        output::note(&format!("the profile as it was is in {}\n", one_line(&copy.to_string_lossy())));
    }
    output::print(&format!("{GOOD}in force{GOOD:#} {}\n", prepared.profile))?;
    Ok(Exit::Done)
}

/// Describes what will be written: the file, and the plugins with their digests.
pub(super) fn describe(prepared: &PreparedProfile) -> Result<String, CliError> {
    let profile = prepared.profile;
    let mut text = format!("{NAME}{profile}{NAME:#} {DIM}{}{DIM:#}\n", profile.summary());
    output::row(&mut text, 7, "rules", &counted(prepared)?);
    for (at, entry) in prepared.config.entries().iter().enumerate() {
        let digest = entry.code.digest().map(|digest| digest.to_string()).unwrap_or_default();
        let label = if at == 0 { "plugins" } else { "" };
        output::row(&mut text, 7, label, &format!("{}, sha256 {digest}", entry.name));
    }
    output::row(&mut text, 7, "file", &one_line(&prepared.file.to_string_lossy()));
    Ok(text)
}
