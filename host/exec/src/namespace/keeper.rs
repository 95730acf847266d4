//! The keeper: a process outside of the program's process namespace. It makes the mounts, starts the first process
//! inside, and repairs a mount when its path is replaced from outside, because that removes the mount everywhere.

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, set_parent_process_death_signal, setsid};
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::map::{Identity, map_identities};
use super::{loopback, mounts, nested};
use crate::channel::{Channel, Order, ProgramNetwork, Report, World, from_memory};
use crate::failure::{AtStep as _, Failure, Step, kept};
use crate::plan::MountKind;
use crate::settings::HELPER_WORD;

/// How often the mounts are checked where the kernel cannot watch directories.
const CHECK_INTERVAL: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How often a repair is tried, because a path may be replaced again meanwhile.
const REPAIR_ATTEMPTS: usize = 100;

/// Serves the supervisor on standard input, until the program ends.
pub(crate) fn run(command: &[OsString]) -> u8 {
    let Ok(supervisor) = Channel::of_standard_input() else { return 126 };
    match keep(&supervisor, command) {
        Ok(()) => 0,
        Err(failure) => {
            // If the supervisor has ended, nobody reads the failure.
            _ = supervisor.send(&Report::Failed(failure), &[]);
            126
        }
    }
}

fn keep(supervisor: &Channel, command: &[OsString]) -> Result<(), Failure> {
    // A ^C at the terminal is for the supervisor, and descriptors of its parent are for nobody inside.
    setsid().step(Step::Message)?;
    close_fds::set_fds_cloexec(3, &[]);
    let Some((Order::Keep, descriptors)) = supervisor.receive().step(Step::Message)? else {
        return Err(unexpected());
    };
    let [memory, init_socket] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| unexpected())?;
    let mut world: World = from_memory(memory).step(Step::Message)?;

    let namespaces = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWCGROUP;
    let identity = Identity::current().step(Step::Unshare)?;
    unshare(namespaces).step(Step::Unshare)?;
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::Unshare)?;
    let is_ordinary = identity.map().step(Step::Map)?;
    if !is_ordinary {
        supervisor.send(&Report::Unshared, &[]).step(Step::Message)?;
        let Some((Order::Mapped, _)) = supervisor.receive().step(Step::Message)? else { return Err(unexpected()) };
    }

    take_network(supervisor, world.network)?;
    mounts::make(&mut world)?;
    let watch = Watch::new(&world);
    let table = File::open("/proc/self/mountinfo").step(Step::Keep)?;
    let (init, mut child) = start_init(init_socket, command)?;
    let pid = Pid::from_child(&child);
    if !is_ordinary && init.receive::<Report>().step(Step::Message)?.is_some() {
        map_identities(pid).step(Step::Map)?;
        init.send(&Order::Mapped, &[]).step(Step::Message)?;
    }
    let kept = keep_mounts(supervisor, &init, &world, &watch, &table, pid);
    if kept.is_err() {
        _ = child.kill();
    }
    _ = child.wait();
    kept?;
    supervisor.send(&Report::Over, &[]).step(Step::Message)
}

/// Takes a network namespace, if the program gets no other network. With a proxy, it sends the socket for it: a socket
/// stays in the namespace in which it was made.
fn take_network(supervisor: &Channel, network: ProgramNetwork) -> Result<(), Failure> {
    if network == ProgramNetwork::Shared {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWNET).step(Step::Network)?;
    loopback::take_up().step(Step::Network)?;
    if let ProgramNetwork::Proxy(port) = network {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).step(Step::Network)?;
        supervisor.send(&Report::Listening, &[listener.as_fd()]).step(Step::Message)?;
    }
    Ok(())
}

/// Starts the first process of the process namespace, and returns the channel to it.
fn start_init(socket: OwnedFd, command: &[OsString]) -> Result<(Channel, Child), Failure> {
    let (init, other) = Channel::pair().step(Step::Message)?;
    // An ordinary user's process loses its capabilities when it starts a program, but not those in this set.
    let mut sets = capabilities(None).step(Step::Capabilities)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets).step(Step::Capabilities)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true).step(Step::Capabilities)?;
    let child = Command::new("/proc/self/exe")
        .arg0("hookhost-exec")
        .args([HELPER_WORD, "init", "--"])
        .args(command)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::from(other))
        .stderr(Stdio::null())
        .spawn()
        .step(Step::Keep)?;
    Ok((init, child))
}

/// Repairs the mounts until the first process inside has ended.
fn keep_mounts(
    supervisor: &Channel,
    init: &Channel,
    world: &World,
    watch: &Watch,
    table: &File,
    pid: Pid,
) -> Result<(), Failure> {
    // A directory with many names takes milliseconds, so the program starts meanwhile.
    watch.add(world);
    repair(supervisor, world, pid)?;
    watch.restore_modes(supervisor);
    loop {
        let mut polled = [
            PollFd::new(init, PollFlags::IN),
            PollFd::new(supervisor, PollFlags::IN),
            PollFd::new(table, PollFlags::PRI | PollFlags::ERR),
            PollFd::from_borrowed_fd(watch.inotify.as_ref().map_or(table.as_fd(), OwnedFd::as_fd), PollFlags::IN),
        ];
        let polled = if watch.inotify.is_some() { &mut polled[..] } else { &mut polled[..3] };
        match poll(polled, watch.inotify.is_none().then_some(&CHECK_INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Failure::new(Step::Keep, error)),
        }
        let is_ready = |index: usize| polled.get(index).is_some_and(|polled| !polled.revents().is_empty());
        if is_ready(0) {
            watch.restore_modes(supervisor);
            return Ok(());
        }
        if is_ready(1) {
            return Err(unexpected());
        }
        let is_named = watch.inotify.is_some() && is_ready(3) && watch.names_a_planned_path();
        if is_named || is_ready(2) || watch.inotify.is_none() {
            repair(supervisor, world, pid)?;
            watch.restore_modes(supervisor);
            watch.add(world);
        }
    }
}

/// Mounts again what is no longer mounted, and ends the processes that could have changed a path meanwhile.
fn repair(supervisor: &Channel, world: &World, init: Pid) -> Result<(), Failure> {
    for planned in world.plan.mounts() {
        let repaired = remount(&planned.path, || mounts::attach(planned, &[]))?;
        if repaired && planned.kind != MountKind::Pin {
            let ended = nested::end_processes_with_access(init, &planned.path).step(Step::Keep)?;
            let report = Report::Replaced { path: kept(&planned.path), ended };
            tell(supervisor, &report);
        }
    }
    for link in world.plan.links() {
        if remount(&link.path, || mounts::attach_link(link))? {
            tell(supervisor, &Report::Replaced { path: kept(&link.path), ended: 0 });
        }
    }
    Ok(())
}

/// Tells the supervisor, unless it reads nothing: a program inside can stop it, and must not stop the repairs with it.
fn tell(supervisor: &Channel, report: &Report) {
    _ = supervisor.try_send(report);
}

/// Mounts a path if it exists and is not mounted. Returns true if it was mounted.
fn remount(path: &Path, attach: impl Fn() -> Result<(), Errno>) -> Result<bool, Failure> {
    let mut last = Errno::AGAIN;
    for _ in 0..REPAIR_ATTEMPTS {
        // A path that does not exist has nothing to guard. When it appears, its directory reports it.
        if mounts::is_mounted(path) != Some(false) {
            return Ok(false);
        }
        match attach() {
            Ok(()) => return Ok(true),
            Err(error) => last = error,
        }
        std::thread::yield_now();
    }
    Err(Failure::at(Step::Guard, path, last))
}

/// Watches the directories of planned paths, and their modes.
struct Watch {
    inotify: Option<OwnedFd>,
    names: HashSet<OsString>,
    /// The pinned directories, with their modes at the start.
    modes: Vec<(std::path::PathBuf, u32)>,
}

impl Watch {
    fn new(world: &World) -> Self {
        let paths = world.plan.mounts().iter().map(|mount| &mount.path);
        let names = paths.chain(world.plan.links().iter().map(|link| &link.path)).filter_map(|path| path.file_name());
        let pins = world.plan.mounts().iter().filter(|mount| mount.kind == MountKind::Pin);
        let modes = pins.filter_map(|pin| Some((pin.path.clone(), mode(&pin.path)?)));
        Self {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            names: names.map(OsStr::to_owned).collect(),
            modes: modes.collect(),
        }
    }

    /// Watches the directories at the planned paths, which may be other ones than before.
    fn add(&self, world: &World) {
        let Some(inotify) = &self.inotify else { return };
        let flags = WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR;
        let links = world.plan.links().iter().map(|link| link.path.as_path());
        let parents =
            world.plan.mounts().iter().map(|mount| mount.path.as_path()).chain(links).filter_map(Path::parent);
        let directories: HashSet<&Path> = parents.chain(self.modes.iter().map(|(path, _)| path.as_path())).collect();
        for directory in directories {
            // A directory that is missing or cannot be read is checked with the next event.
            _ = inotify::add_watch(inotify, directory, flags);
        }
    }

    /// Reads all events, and returns true if one is about a planned path or a watched directory itself.
    fn names_a_planned_path(&self) -> bool {
        let Some(inotify) = &self.inotify else { return true };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut is_named = false;
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| OsString::from_vec(name.to_bytes().to_vec()));
            is_named |= name.is_none_or(|name| self.names.contains(&name));
        }
        is_named
    }

    /// Gives pinned directories back the permissions of their owner, without which guarded files are out of reach for
    /// everybody, also outside.
    fn restore_modes(&self, supervisor: &Channel) {
        for (path, expected) in &self.modes {
            let lost = mode(path).is_some_and(|mode| expected & !mode & 0o700 != 0);
            if lost && fs::set_permissions(path, Permissions::from_mode(*expected)).is_ok() {
                tell(supervisor, &Report::ModeRestored(kept(path)));
            }
        }
    }
}

fn mode(path: &Path) -> Option<u32> {
    Some(fs::symlink_metadata(path).ok()?.permissions().mode() & 0o7777)
}

fn unexpected() -> Failure {
    Failure::new(Step::Message, io::Error::other("the supervisor has ended"))
}
