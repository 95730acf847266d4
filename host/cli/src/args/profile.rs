//! The command lines of `profile` and `add`.

use crate::profile::Profile;
use clap::{Args, Subcommand};

const PROFILE_EXAMPLES: &str = "\
Examples:
  hookhost profile
  hookhost profile show careful
  hookhost profile use unattended";

/// Show or change your profile, a ready set of rules
///
/// Without a command, lists the profiles and marks the one in force.
#[derive(Debug, Args)]
#[command(after_help = PROFILE_EXAMPLES)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ProfileCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    Show(ShowProfileArgs),
    Use(UseProfileArgs),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  hookhost profile show developer
  hookhost profile show careful > careful.toml";

/// Print a profile: its plugins, rules, answers and limits
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowProfileArgs {
    /// The profile
    #[arg(value_name = "NAME", value_enum)]
    pub(crate) profile: Profile,
}

const USE_EXAMPLES: &str = "\
Examples:
  hookhost profile use careful
  hookhost profile use developer --yes";

/// Put a profile into force
///
/// It replaces the present profile. Your own hookhost.toml stays as it is.
#[derive(Debug, Args)]
#[command(after_help = USE_EXAMPLES)]
pub(crate) struct UseProfileArgs {
    /// The profile
    #[arg(value_name = "NAME", value_enum)]
    pub(crate) profile: Profile,

    /// Change the profile without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

const ADD_EXAMPLES: &str = "\
Examples:
  hookhost add
  hookhost add shell-guard
  hookhost add path-guard --project --set 'protected=[\"infra/**\"]'";

/// Add a plugin that comes with hookhost
///
/// Without a name, lists these plugins. No network is needed.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddArgs {
    /// The plugin's name [default: none; lists the plugins]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write the project's hookhost.toml, and put the plugin into `plugins/` beside it
    #[arg(long, requires = "name")]
    pub(crate) project: bool,

    /// A key of [plugin.config], as for `hookhost allow`; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "name")]
    pub(crate) set: Vec<String>,

    /// A grant, as for `hookhost allow`; can be repeated
    #[arg(long = "grant", value_name = "LINE", requires = "name")]
    pub(crate) grants: Vec<String>,

    /// Allow the plugin without asking
    #[arg(long, short, requires = "name")]
    pub(crate) yes: bool,

    /// Print the list as one JSON object
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}
