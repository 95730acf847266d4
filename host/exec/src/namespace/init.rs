//! The first process inside: it sets up what the program sees, seals the mounts, and starts the program.

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;

use super::map::Identity;
use super::{mounts, world};
use crate::channel::{Channel, KeptPath, Order, Report};
use crate::failure::{AtStep as _, Failure, Step};
use crate::session;

/// Serves the supervisor on standard input and the keeper on standard output, until the program ends.
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
    let lost = || Failure::new(Step::Message, io::Error::other("the keeper has ended"));
    let keeper = Channel::new(io::stdout().as_fd().try_clone_to_owned().step(Step::Message)?);
    let Some((Order::Start(start), descriptors)) = supervisor.receive().step(Step::Message)? else {
        return Err(lost());
    };
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::Seal)?;
    // The keeper keeps its own /proc: what is mounted from here on stays here, but its repairs arrive.
    unshare(CloneFlags::CLONE_NEWNS).step(Step::Seal)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC).step(Step::Seal)?;
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).step(Step::Seal)?;
    unmount(mounts::STAGE, UnmountFlags::DETACH).step(Step::Seal)?;
    world::mount_proc()?;
    world::mount_devices()?;
    if let Some(KeptPath(runtime)) = &start.runtime {
        world::replace_runtime(runtime, &start.kept)?;
    }
    // In a second user namespace, all mounts of the first one are locked.
    let identity = Identity::current().step(Step::Seal)?;
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).step(Step::Seal)?;
    if !identity.map().step(Step::Map)? {
        keeper.send(&Report::Unshared, &[]).step(Step::Message)?;
        let Some((Order::Mapped, _)) = keeper.receive::<Order>().step(Step::Message)? else { return Err(lost()) };
    }
    // Copies that a nested sandbox makes get the keeper's repairs too.
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).step(Step::Seal)?;
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::Seal)?;
    session::serve(supervisor, &start, descriptors, command, None)
}
