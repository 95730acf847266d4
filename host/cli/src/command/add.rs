//! `hookhost add`: allows a plugin that the program contains. The component is written to the disk, and is then allowed like any other file.

use super::allow;
use super::inspect::Metadata;
use crate::args::{AddArgs, AllowArgs};
use crate::bundled::{self, BundledPlugin};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self,
    style::{DIM, NAME},
    wrap::wrapped,
};
use crate::profile::{self, Profile};
use hookhost::config::{Entry, UserDirectories};
use serde_json::json;

pub(crate) async fn run(args: &AddArgs) -> Result<Exit, CliError> {
    let Some(name) = &args.name else { return list(args.json) };
    inside_agent::refuse("allows a plugin")?;
    let plugin = bundled::find(name)?;
    let places = configuration::places()?;
    let is_as_it_comes = !args.project && args.set.is_empty() && args.grants.is_empty();
    if is_as_it_comes && let Some(profile) = profile_with(plugin, &places)? {
        let says = format!("{name} is in force already, from the profile {profile}. To set its keys:");
        output::print(&format!("{says}\n  hookhost add {name} --set KEY=VALUE\n"))?;
        return Ok(Exit::Done);
    }
    let mut allow_args = AllowArgs {
        name: Some(name.clone()),
        project: args.project,
        set: args.set.clone(),
        grants: args.grants.clone(),
        yes: args.yes,
        ..AllowArgs::default()
    };
    let wasm = if args.project {
        // A colleague gets the component with the project.
        let directory = allow::target(&allow_args, &places)?.with_file_name("plugins");
        let path = directory.join(format!("{}.wasm", name.replace('-', "_")));
        plugin.write(&path)?;
        path
    } else {
        plugin.install(&places)?
    };
    allow_args.wasm = Some(wasm);
    let exit = allow::run(&allow_args).await?;
    bundled::remove_unused(&places);
    Ok(exit)
}

/// Returns the profile in force if exactly this plugin is in force from it, and not from the user's own file.
fn profile_with(plugin: &BundledPlugin, places: &UserDirectories) -> Result<Option<Profile>, CliError> {
    let Some(found) = profile::in_force(places)? else { return Ok(None) };
    let config = configuration::find(None, &places.config)?.config;
    let (file, digest) = (places.profile_file(), plugin.digest()?);
    let is_of_profile = |entry: &Entry| entry.origin.as_ref().is_some_and(|origin| origin.file == file);
    let is_same = |entry: &Entry| entry.name == plugin.name && entry.code.digest() == Some(digest);
    Ok(config.enabled().any(|entry| is_same(entry) && is_of_profile(entry)).then_some(found.profile))
}

fn list(as_json: bool) -> Result<Exit, CliError> {
    let plugins = bundled::all()?;
    let described =
        plugins.iter().map(|plugin| Ok((plugin, description(plugin)?))).collect::<Result<Vec<_>, CliError>>()?;
    if as_json {
        let plugins: Vec<_> = described
            .iter()
            .map(|(plugin, description)| {
                Ok(json!({
                    "name": plugin.name,
                    "description": description,
                    "sha256": plugin.digest()?,
                    "bytes": plugin.size(),
                }))
            })
            .collect::<Result<_, CliError>>()?;
        output::print_json(&json!({ "plugins": plugins }))?;
        return Ok(Exit::Done);
    }
    let width = plugins.iter().map(|plugin| plugin.name.len()).max().unwrap_or_default();
    let line = |(plugin, description): &(&BundledPlugin, String)| {
        let description = wrapped(&output::one_line(description), width + 2);
        format!("{NAME}{:width$}{NAME:#}  {description}\n", plugin.name)
    };
    let lines: String = described.iter().map(line).collect();
    output::print(&format!("{lines}{DIM}to allow one: hookhost add NAME{DIM:#}\n"))?;
    Ok(Exit::Done)
}

/// Returns what a plugin says about itself, in one sentence.
fn description(plugin: &BundledPlugin) -> Result<String, CliError> {
    Ok(Metadata::of(plugin.component()?).description().unwrap_or_default().to_owned())
}
