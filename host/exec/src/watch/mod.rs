//! The watch: while a program runs inside, guarded files that appear are moved away, and keys of files that an agent
//! writes itself are restored. It works outside, after the fact, and with every mechanism.
//!
//! A program inside can put anything at a watched path, so nothing here follows its links, waits for its pipes, or
//! reads without a limit.
//!
//! It is a process of its own, because a program inside can stop itself, and the supervisor stops with it.
//!
//! `walk` finds what is at a path, `quarantine` moves it away, and `restored_file` decides about keys.

mod quarantine;
mod restored_file;
mod walk;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Access, AtFlags, Mode, accessat, fstat};
use rustix::process::{geteuid, setsid};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::channel::{Channel, Order, Report, from_memory};
use crate::error::Notice;
use crate::settings::WatchList;
use quarantine::Quarantine;
use restored_file::{Occasion, Remedy, RestoredState, WriteMethod, write};
use walk::{Found, FoundEntry, Links, NewLinks, OpenDirectories, OpenDirectory, Walk, descriptor_path, fits};

/// How often everything is checked if the kernel cannot watch a directory, and how often a file that is being written.
const SHORT_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How often restored files are checked for changes that the kernel does not report, through memory mappings.
const LONG_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How often one path is put right at once. What changes it meanwhile is reported by the kernel.
const MAX_ATTEMPTS: usize = 5;

/// How long the watch waits for the end of all processes inside, if the supervisor was killed.
const ORPHAN_TIME: Duration = Duration::from_secs(1);

/// Serves the supervisor on standard input, until the program has ended.
pub(crate) fn run() -> u8 {
    let Ok(supervisor) = Channel::of_standard_input() else { return 126 };
    if watch(&supervisor).is_ok() { 0 } else { 126 }
}

fn watch(supervisor: &Channel) -> io::Result<()> {
    // Keys at the terminal are for the supervisor, and descriptors of its parent are not for the watch.
    setsid()?;
    close_fds::set_fds_cloexec(3, &[]);
    let Some((Order::Watch, mut descriptors)) = supervisor.receive()? else { return Ok(()) };
    let list = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
    let mut watch = Watch::new(&from_memory(list)?, supervisor);
    supervisor.send(&Report::Watching, &[])?;
    watch.serve();
    supervisor.send(&Report::Over, &[])
}

/// A watched path.
#[derive(Debug)]
struct WatchedPath {
    path: PathBuf,
    duty: Duty,
}

/// What a watched path is watched for.
#[derive(Debug)]
enum Duty {
    /// Nothing may appear there. What was there at the start is guarded by mounts.
    Absent {
        known: HashSet<PathBuf>,
    },
    Restored(Box<RestoredState>),
}

#[derive(Debug)]
struct Watch<'a> {
    supervisor: &'a Channel,
    quarantine: Quarantine,
    write_method: WriteMethod,
    watched: Vec<WatchedPath>,
    /// The links of the start.
    links: Links,
    interests: Interests,
}

/// The directories that the kernel watches.
#[derive(Debug)]
struct Interests {
    inotify: Option<OwnedFd>,
    /// A directory cannot be watched, so everything is checked at an interval.
    is_polled: bool,
    /// For each watched directory, its names of interest and what they are for. A file has an empty name.
    names: HashMap<i32, BTreeSet<(OsString, usize)>>,
}

impl Interests {
    fn new() -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        Self { is_polled: inotify.is_none(), inotify, names: HashMap::new() }
    }

    /// Watches a directory for a name. One that this user cannot change, nobody inside changes.
    fn add_directory(&mut self, directory: &OpenDirectory, name: &OsStr, index: usize) {
        let descriptor = &directory.descriptor;
        let is_own = || fstat(descriptor).is_ok_and(|stat| stat.st_uid == geteuid().as_raw());
        let can_write = || accessat(descriptor, c".", Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        let watch = directory.watch.get_or_init(|| {
            let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
            let path = descriptor_path(descriptor);
            if can_write() || is_own() { self.add(&path, flags | WatchFlags::ONLYDIR) } else { None }
        });
        if let Some(watch) = watch {
            self.names.entry(*watch).or_default().insert((name.to_owned(), index));
        }
    }

    /// Watches the content of a file, also through its other names.
    fn add_file(&mut self, entry: &FoundEntry, index: usize) {
        let path = descriptor_path(&entry.directory.descriptor).join(&entry.name);
        let flags = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::DONT_FOLLOW;
        if let Some(watch) = self.add(&path, flags) {
            self.names.entry(watch).or_default().insert((OsString::new(), index));
        }
    }

    fn add(&mut self, path: &Path, flags: WatchFlags) -> Option<i32> {
        match inotify::add_watch(self.inotify.as_ref()?, path, flags) {
            Ok(watch) => Some(watch),
            Err(rustix::io::Errno::NOENT) => None,
            Err(_) => {
                self.is_polled = true;
                None
            }
        }
    }

    /// Reads all events, and returns what they are about. `None` stands for everything.
    fn read(&mut self) -> Option<BTreeSet<usize>> {
        let inotify = self.inotify.as_ref()?;
        let mut found = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let interests = self.names.get(&event.wd()).into_iter().flatten();
            found.extend(
                interests.filter(|(part, _)| name.is_none_or(|name| fits(part, name))).map(|(_, index)| *index),
            );
            if event.events().contains(ReadFlags::IGNORED) {
                self.names.remove(&event.wd());
            }
        }
        Some(found)
    }
}

impl<'a> Watch<'a> {
    /// Reads the files as they are now, and watches from here on.
    fn new(list: &WatchList, supervisor: &'a Channel) -> Self {
        let mut watch = Self {
            supervisor,
            quarantine: Quarantine(list.quarantine.clone()),
            write_method: WriteMethod::Rename,
            watched: Vec::new(),
            links: Links::new(),
            interests: Interests::new(),
        };
        let (links, interests) = (&mut watch.links, &mut watch.interests);
        let index = std::cell::Cell::new(0);
        let mut enter = |directory: &OpenDirectory, name: &OsStr| interests.add_directory(directory, name, index.get());
        let opened = &mut OpenDirectories::new();
        let mut walk = Walk { links, new_links: NewLinks::Learned, enter: &mut enter, opened };
        for absent in &list.absent {
            index.set(watch.watched.len());
            let known = walk.find(&absent.path).entries.into_iter().map(|entry| entry.path).collect();
            watch.watched.push(WatchedPath { path: absent.path.clone(), duty: Duty::Absent { known } });
        }
        let mut files = Vec::new();
        for file in &list.restored {
            index.set(watch.watched.len());
            let entry = walk.find(&file.path).entries.pop();
            match RestoredState::new(file.clone(), entry.as_ref()) {
                Ok(state) => {
                    files.extend(entry.map(|entry| (entry, index.get())));
                    watch.watched.push(WatchedPath { path: file.path.clone(), duty: Duty::Restored(Box::new(state)) });
                }
                Err(because) => notify(supervisor, Notice::NotWatched { path: file.path.clone(), because }),
            }
        }
        for (entry, index) in &files {
            watch.interests.add_file(entry, *index);
        }
        watch
    }

    /// Puts right what changes, until the supervisor says that the program has ended, or has ended itself.
    fn serve(&mut self) {
        let all = 0..self.watched.len();
        let mut changed = BTreeSet::new();
        loop {
            let mut opened = OpenDirectories::new();
            for index in all.clone() {
                if changed.contains(&index) {
                    self.check(index, Occasion::Event, &mut opened);
                } else if matches!(self.watched[index].duty, Duty::Restored(_)) {
                    self.check(index, Occasion::Interval, &mut opened);
                }
            }
            let mut polled = vec![PollFd::new(self.supervisor, PollFlags::IN)];
            polled.extend(self.interests.inotify.as_ref().map(|inotify| PollFd::new(inotify, PollFlags::IN)));
            _ = poll(&mut polled, self.interval().as_ref());
            if !polled[0].revents().is_empty() {
                match self.supervisor.receive::<Order>() {
                    Ok(Some((Order::WriteInPlace, _))) => self.write_method = WriteMethod::InPlace,
                    Ok(Some((Order::Finish, _))) => break,
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => {
                        // The kernel ends the processes inside meanwhile.
                        std::thread::sleep(ORPHAN_TIME);
                        break;
                    }
                }
            }
            changed = match self.interests.read() {
                Some(found) if !self.interests.is_polled => found,
                _ => all.clone().collect(),
            };
        }
        let mut opened = OpenDirectories::new();
        for index in all {
            self.check(index, Occasion::End, &mut opened);
        }
    }

    /// How long the watch waits at most.
    fn interval(&self) -> Option<Timespec> {
        let mut restored = self.watched.iter().filter_map(|watched| match &watched.duty {
            Duty::Restored(state) => Some(state),
            Duty::Absent { .. } => None,
        });
        if self.interests.is_polled || restored.clone().any(|state| state.is_unsettled()) {
            return Some(SHORT_INTERVAL);
        }
        restored.next().map(|_| LONG_INTERVAL)
    }

    /// Looks at a path, and puts it right.
    fn check(&mut self, index: usize, occasion: Occasion, opened: &mut OpenDirectories) {
        for _ in 0..MAX_ATTEMPTS {
            let WatchedPath { path, duty } = &mut self.watched[index];
            let mut enter = |directory: &OpenDirectory, name: &OsStr| {
                if occasion != Occasion::End {
                    self.interests.add_directory(directory, name, index);
                }
            };
            let links = &mut self.links;
            let mut walk = Walk { links, new_links: NewLinks::Found, enter: &mut enter, opened: &mut *opened };
            let Found { entries, parent } = walk.find(path);
            let is_unwanted = |entry: &&FoundEntry| match duty {
                _ if self.quarantine.0.starts_with(&entry.path) => false,
                Duty::Absent { known } => !known.contains(&entry.path),
                Duty::Restored(_) => entry.is_on_the_way,
            };
            let unwanted: Vec<&FoundEntry> = entries.iter().filter(is_unwanted).collect();
            if !unwanted.is_empty() {
                // What was opened is no longer at its path.
                opened.clear();
                for entry in unwanted {
                    let path = entry.path.clone();
                    match self.quarantine.take(entry) {
                        Ok(moved_to) => notify(self.supervisor, Notice::Quarantined { path, moved_to }),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => {
                            let because = format!("it cannot be moved away ({error})");
                            notify(self.supervisor, Notice::NotWatched { path, because });
                        }
                    }
                }
                continue;
            }
            let (Duty::Restored(state), Some(directory)) = (duty, parent) else { return };
            let entry = entries.last();
            if let Some(entry) = entry {
                self.interests.add_file(entry, index);
            }
            let method = self.write_method;
            match restore(state, entry, &directory.descriptor, occasion, method, &self.quarantine) {
                Ok(Restoration::Settled) => return,
                Ok(Restoration::Changed) => {}
                Ok(Restoration::Noticed(notice)) => notify(self.supervisor, notice),
                Err(error) => {
                    let because = format!("its keys cannot be restored ({error})");
                    notify(self.supervisor, Notice::NotWatched { path: path.clone(), because });
                    return;
                }
            }
        }
    }
}

/// Tells the supervisor. If it is stopped and hears nothing, the watch goes on.
fn notify(supervisor: &Channel, notice: Notice) {
    _ = supervisor.try_send(&Report::Noticed(notice));
}

/// The result of one attempt to restore a file.
enum Restoration {
    /// Nothing is to be done now.
    Settled,
    /// The file has changed meanwhile.
    Changed,
    /// The file was changed, as the notice says.
    Noticed(Notice),
}

/// Restores a file once, if it has to be.
fn restore(
    state: &mut RestoredState,
    entry: Option<&FoundEntry>,
    directory: &OwnedFd,
    occasion: Occasion,
    method: WriteMethod,
    quarantine: &Quarantine,
) -> io::Result<Restoration> {
    let path = state.file.path.clone();
    let Some(name) = path.file_name() else { return Ok(Restoration::Settled) };
    match state.remedy(entry, occasion) {
        Remedy::Nothing | Remedy::Wait => Ok(Restoration::Settled),
        Remedy::Write { text, keys } => {
            let of_start = state.start.as_ref().map(|(_, mode)| *mode);
            let present = entry.map(|entry| Mode::from_raw_mode(entry.stat.st_mode));
            let mode = present.or(of_start).unwrap_or(Mode::RUSR | Mode::WUSR);
            if !write(directory, name, &text, mode, entry.map(|entry| &entry.stat), method)? {
                return Ok(Restoration::Changed);
            }
            Ok(Restoration::Noticed(Notice::KeysRestored { path, keys }))
        }
        Remedy::PutBack => {
            let moved_to = entry.map(|entry| quarantine.take(entry)).transpose();
            let moved_to = match moved_to {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Restoration::Changed),
                moved_to => moved_to?,
            };
            match (&state.start, moved_to) {
                (Some((text, mode)), moved_to) => {
                    write(directory, name, text, *mode, None, method)?;
                    Ok(Restoration::Noticed(Notice::TextRestored { path, moved_to }))
                }
                (None, Some(moved_to)) => Ok(Restoration::Noticed(Notice::Quarantined { path, moved_to })),
                (None, None) => Ok(Restoration::Settled),
            }
        }
    }
}
