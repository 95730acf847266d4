//! Runs the tests of the journal with far more killed processes than in CI, and with disks that become full at each byte of a record.

use xtask::{
    Outcome, plugins,
    workspace::{Workspace, run},
};

/// Default number of killed processes.
const DEFAULT_KILLS: u32 = 10_000;

/// Number of disk sizes that the test spreads over the bytes of a record.
const FULL_DISKS: &str = "400";

/// Number of processes that the test kills at the same time.
const CONCURRENT_KILLS: u32 = 4;

/// Runs the tests with this number of killed processes: `[PROCESSES]`.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let kills = match arguments {
        [] => DEFAULT_KILLS,
        [kills] => kills.parse().map_err(|_| format!("`{kills}` is no number of processes"))?,
        _ => return Err("usage: kills [PROCESSES]".into()),
    };
    let kills = kills.clamp(1, u32::MAX - CONCURRENT_KILLS).next_multiple_of(CONCURRENT_KILLS);
    let directory = plugins::build(workspace)?;
    let mut cargo = workspace.cargo(&["test", "--workspace", "--test", "engine", "journal::", "--", "--nocapture"]);
    cargo.env("HOOKHOST_TEST_KILLS", kills.to_string()).env("HOOKHOST_TEST_FULL_DISKS", FULL_DISKS);
    run(&format!("killing {kills} processes, and filling {FULL_DISKS} disks"), cargo.env(plugins::VARIABLE, directory))
}
