//! The command line of `hookhost on` and `hookhost off`.

use super::agents::agent;
use crate::profile::Profile;
use clap::Args;
use std::time::Duration;

const ON_EXAMPLES: &str = "\
Examples:
  hookhost on
  hookhost on --dry-run
  hookhost on --agent claude-code --profile careful
  hookhost on --observe";

/// Let your rules check the agents on this machine
///
/// Finds the agents, chooses rules (a profile), installs the hook, proves that it works, and tries the rules on what the agents did before.
/// A second `on` changes nothing. `off` undoes it.
#[derive(Debug, Args)]
#[command(after_help = ON_EXAMPLES)]
pub(crate) struct OnArgs {
    /// Only this agent; can be repeated [default: each that is found]
    #[arg(long = "agent", value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// The rules: careful, developer or unattended [default: the profile in force, or developer]
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = true)]
    pub(crate) profile: Option<Profile>,

    /// Also make shims, by which the agents start in `hookhost exec`
    #[arg(long)]
    pub(crate) sandbox: bool,

    /// Only record what the rules decide, and block nothing
    #[arg(long)]
    pub(crate) observe: bool,

    /// Show what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show each line that changes in the files
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

const OFF_EXAMPLES: &str = "\
Examples:
  hookhost off
  hookhost off --for 10m
  hookhost off --agent claude-code
  hookhost off --dry-run";

/// Remove hookhost from your agents, or pause it
///
/// `hookhost on` undoes both. A pause ends by itself.
#[derive(Debug, Args)]
#[command(after_help = OFF_EXAMPLES)]
pub(crate) struct OffArgs {
    /// Only this agent; can be repeated [default: each that has the hook]
    #[arg(long = "agent", value_name = "AGENT", value_parser = agent(), hide_possible_values = true)]
    pub(crate) agents: Vec<String>,

    /// Remove nothing, and ask no rule for this time, such as 30s, 10m or 2h; at most 24h
    #[arg(long = "for", value_name = "TIME", value_parser = length, conflicts_with_all = ["agents", "dry_run"])]
    pub(crate) pause: Option<Duration>,

    /// Show what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show each line that changes in the files
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Parses the length of a pause.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds: u64 = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        _ => return Err("write a number and its unit, such as 30s, 10m or 2h".to_owned()),
    };
    let length = digits.parse().ok().and_then(|count: u64| count.checked_mul(seconds)).map(Duration::from_secs);
    match length {
        None => Err("write a number and its unit, such as 30s, 10m or 2h".to_owned()),
        Some(Duration::ZERO) => Err("a pause of no length would end at once".to_owned()),
        Some(length) if length > hookhost_resident::pause::MAX_PAUSE => {
            Err("a pause lasts 24 hours at most".to_owned())
        }
        Some(length) => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::length;
    use std::time::Duration;

    #[test]
    fn the_length_of_a_pause_is_a_number_with_a_unit_of_24_hours_at_most() {
        for (text, seconds) in [("30s", 30), ("10m", 600), ("24h", 86_400), ("1440m", 86_400)] {
            assert_eq!(length(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "10", "m", "-1m", "1.5h", "10 m", "1d", "ten", "0m", "25h", "86401s", "99999999999999999999h", "é"]
        {
            assert!(length(text).is_err(), "{text}");
        }
    }
}
