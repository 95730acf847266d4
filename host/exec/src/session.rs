//! The process that starts the program: its session, terminal and restrictions, and the reports of its stops and end.

use nix::sys::signal::SigSet;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, ioctl_tiocsctty, kill_process, kill_process_group,
    set_child_subreaper, set_dumpable_behavior, setsid, wait,
};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::channel::{Channel, Order, ProgramNetwork, Report, Start, Target};
use crate::error::ExecError;
use crate::failure::{AtStep as _, Failure, Step};
use crate::filter::{self, SocketFilter};
use crate::plan::MountPlan;
use crate::ruleset;
use crate::settings::HELPER_WORD;

/// What ends the processes that the program leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftovers {
    /// They end with their process namespace.
    EndWithNamespace,
    /// This process adopts and ends them.
    AreEnded,
}

/// Capabilities that root keeps inside. With the others it could unmount what is mounted again, or reach devices.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::IPC_OWNER)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::LEASE);

/// Restricts this process, starts the program, and serves the supervisor until the program ends. With a plan, Landlock
/// enforces it, because there are no namespaces. Returns the exit code of this process; the supervisor gets reports.
pub(crate) fn serve(
    supervisor: &Channel,
    start: &Start,
    descriptors: Vec<OwnedFd>,
    command: &[OsString],
    plan: Option<&MountPlan>,
) -> Result<u8, Failure> {
    let leftovers = if plan.is_some() { Leftovers::AreEnded } else { Leftovers::EndWithNamespace };
    let lost = || Failure::new(Step::Message, io::Error::other("the supervisor has ended"));
    // Nothing inside may trace this process or open its descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(Step::Capabilities)?;
    std::env::set_current_dir(&start.directory).step_at(Step::Directory, &start.directory)?;
    setsid().step(Step::Terminal)?;
    let terminal = if start.terminals.contains(&true) {
        let slave = open_terminal(supervisor).step(Step::Terminal)?;
        let Some((Order::Go, _)) = supervisor.receive().step(Step::Message)? else { return Err(lost()) };
        Some(slave)
    } else {
        None
    };

    set_no_new_privs(true).step(Step::Capabilities)?;
    drop_capabilities().step(Step::Capabilities)?;
    if leftovers == Leftovers::AreEnded {
        set_child_subreaper(Some(getpid())).step(Step::Capabilities)?;
    }
    let lacks = ruleset::restrict(plan.map(|plan| (plan, start.network)))?;
    filter::apply(match (start.network, leftovers) {
        (ProgramNetwork::Shared, _) => SocketFilter::All,
        (_, Leftovers::EndWithNamespace) => SocketFilter::Usual,
        (ProgramNetwork::Nothing, Leftovers::AreEnded) => SocketFilter::Local,
        (ProgramNetwork::Proxy(_), Leftovers::AreEnded) => SocketFilter::Tcp,
    })?;
    supervisor.send(&Report::Restricted { lacks }, &[]).step(Step::Message)?;

    let Some((program, arguments)) = command.split_first() else { return Err(lost()) };
    let mut plain = descriptors.into_iter();
    let [input, output, errors] = start.terminals.map(|is_terminal| match (&terminal, is_terminal) {
        (Some(terminal), true) => terminal.try_clone().map(Stdio::from),
        _ => Ok(plain.next().map_or_else(Stdio::null, Stdio::from)),
    });
    // A program expects to be in the foreground from its first instruction on, and only it can put itself there.
    let mut program = if terminal.is_some() {
        let mut launcher = Command::new("/proc/self/exe");
        launcher.arg0("hookhost-exec").args([HELPER_WORD, "launch", "--"]).args(command);
        launcher
    } else {
        let mut program = Command::new(program);
        program.args(arguments);
        program
    };
    let started = program
        .process_group(0)
        .stdin(input.step(Step::Terminal)?)
        .stdout(output.step(Step::Terminal)?)
        .stderr(errors.step(Step::Terminal)?)
        .spawn();
    let child = match started {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let report = Report::NotStarted(error.raw_os_error().unwrap_or(0));
            supervisor.send(&report, &[]).step(Step::Message)?;
            return Ok(126);
        }
    };
    drop(plain);
    supervisor.send(&Report::Started, &[]).step(Step::Message)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_end(supervisor, child);
            if leftovers == Leftovers::AreEnded {
                end_children();
            }
            std::process::exit(0)
        });
        follow_orders(supervisor, terminal.as_ref(), child);
        // Without a supervisor nobody would see the program.
        if leftovers == Leftovers::AreEnded {
            end_children();
        }
        std::process::exit(126)
    })
}

/// Opens a terminal of this session, and hands its other end to the supervisor.
fn open_terminal(supervisor: &Channel) -> io::Result<OwnedFd> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    ioctl_tiocsctty(&slave)?;
    supervisor.send(&Report::Terminal, &[master.as_fd()])?;
    Ok(slave)
}

/// Drops the capabilities that the program must not have, also for the programs that it starts.
fn drop_capabilities() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    // An ordinary user has no capabilities to drop, and gains none.
    let may_drop = sets.effective.contains(CapabilitySet::SETPCAP);
    for capability in CapabilitySet::all().difference(KEPT_CAPABILITIES) {
        // The kernel may know fewer.
        if may_drop && capability_is_in_bounding_set(capability).unwrap_or(false) {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    sets.effective &= KEPT_CAPABILITIES;
    sets.permitted &= KEPT_CAPABILITIES;
    sets.inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}

/// Reports each stop of the program, until it has ended. Reaps all other processes.
fn wait_for_end(supervisor: &Channel, child: Pid) {
    loop {
        let (pid, status) = match wait(WaitOptions::UNTRACED) {
            Ok(Some(changed)) => changed,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        if pid != child {
            continue;
        }
        let report = if let Some(code) = status.exit_status() {
            Report::Exited(u8::try_from(code & 0xff).unwrap_or(u8::MAX))
        } else if let Some(signal) = status.terminating_signal() {
            Report::Killed(signal)
        } else {
            Report::Stopped
        };
        let is_end = !matches!(report, Report::Stopped);
        _ = supervisor.send(&report, &[]);
        if is_end {
            return;
        }
    }
}

/// Puts its process group into the foreground of the terminal, and becomes the program.
pub(crate) fn launch(command: &[OsString]) -> u8 {
    let Some((program, arguments)) = command.split_first() else { return 126 };
    // Otherwise this would stop a process in the background. Programs start without blocked signals.
    let stops = SigSet::from(nix::sys::signal::Signal::SIGTTOU);
    let is_foreground = stops.thread_block().is_ok()
        && fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .is_ok_and(|tty| tcsetpgrp(tty, getpid()).is_ok());
    _ = stops.thread_unblock();
    if !is_foreground {
        eprintln!("hookhost exec: the program's terminal cannot be used: run it again");
        return 126;
    }
    let error = Command::new(program).args(arguments).exec();
    let error = ExecError::not_started(program, error.raw_os_error().unwrap_or(0));
    eprintln!("hookhost exec: {error}");
    error.exit_code()
}

/// Sends signals as the supervisor orders, until it closes its end.
fn follow_orders(supervisor: &Channel, terminal: Option<&OwnedFd>, child: Pid) {
    while let Ok(Some((order, _))) = supervisor.receive::<Order>() {
        let Order::Signal { number, target } = order else { continue };
        let Some(signal) = Signal::from_named_raw(number) else { continue };
        // The program may have ended meanwhile.
        let foreground = || terminal.and_then(|terminal| tcgetpgrp(terminal).ok()).unwrap_or(child);
        _ = match target {
            Target::Foreground => kill_process_group(foreground(), signal),
            Target::Group => kill_process_group(child, signal),
            Target::Program => kill_process(child, signal),
        };
    }
}

/// Ends all children, and those that become children because their parents end.
fn end_children() {
    let list = format!("/proc/self/task/{}/children", getpid().as_raw_nonzero());
    loop {
        let children = fs::read_to_string(&list).unwrap_or_default();
        let mut is_any = false;
        for child in children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            is_any = true;
            _ = kill_process(child, Signal::KILL);
        }
        let waited = wait(WaitOptions::empty());
        if !is_any || waited.is_err() {
            return;
        }
    }
}
