//! The command line of `hookhost telemetry`.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  hookhost telemetry --to http://localhost:4318
  hookhost telemetry
  hookhost telemetry flush";

/// Send the log's records to other programs
///
/// Without a subcommand, shows how far each sink is. docs/telemetry.md has the settings.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct TelemetryArgs {
    /// Send records to this receiver of OpenTelemetry (OTLP over HTTP) from now on, if it takes a test record
    #[arg(long, value_name = "URL", conflicts_with = "json")]
    pub(crate) to: Option<String>,

    /// Print the state as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Option<TelemetryCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TelemetryCommand {
    /// Send a test record through each sink, or through one
    Test {
        /// The sink, such as otlp-logs
        sink: Option<String>,
    },
    /// Send all records that are left, and end. For a machine without a resident host, such as in CI
    Flush,
    /// Send nothing any more: comment the section [telemetry] out
    Off,
    /// Give up the records that a sink has not taken yet
    Skip {
        /// The sink, such as otlp-logs
        sink: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Print alert rules for Prometheus
    Rules,
    /// Print a dashboard for Grafana
    Dashboard,
}
