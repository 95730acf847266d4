//! The fallback without namespaces: one process that Landlock and the filter restrict, and that starts the program.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;

use crate::channel::{Channel, Order, Report, from_memory};
use crate::failure::{AtStep as _, Failure, Step};
use crate::plan::MountPlan;
use crate::session;

/// Serves the supervisor on standard input, until the program ends.
pub(crate) fn run(command: &[OsString]) -> u8 {
    let Ok(supervisor) = Channel::of_standard_input() else { return 126 };
    match enter(&supervisor, command) {
        Ok(code) => code,
        Err(failure) => {
            _ = supervisor.send(&Report::Failed(failure), &[]);
            126
        }
    }
}

fn enter(supervisor: &Channel, command: &[OsString]) -> Result<u8, Failure> {
    let lost = || Failure::new(Step::Message, io::Error::other("the supervisor has ended"));
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::Message)?;
    close_fds::set_fds_cloexec(3, &[]);
    let Some((Order::Start(start), mut descriptors)) = supervisor.receive().step(Step::Message)? else {
        return Err(lost());
    };
    // The plan comes after the descriptors of the program.
    let plan: MountPlan = from_memory(descriptors.pop().ok_or_else(lost)?).step(Step::Message)?;
    session::serve(supervisor, &start, descriptors, command, Some(&plan))
}
