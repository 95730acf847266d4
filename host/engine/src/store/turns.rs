//! Turns: the events of one session are settled one at a time, in order of arrival, across processes.
//!
//! Each arrival holds a ticket until it leaves. A ticket is a kernel lock on one byte of a file, and ends with the process
//! that holds it. `docs/decisions/0025-shared-sessions.md` has the protocol.

use super::StoreError;
use super::identity::{Identity, identity_of};
use crate::callback::Waiting;
use crate::config::Digest;
use crate::files;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Bits of a session's place in the file. Sessions that share a place wait for each other, which costs only time.
const PLACE_BITS: u32 = 30;

/// Bits of a ticket within its place: bytes that a session has for its door and its tickets.
const TICKET_BITS: u32 = 32;

/// The first of the bytes that processes lock to show that they are alive; it comes after all places.
const ALIVE: u64 = 1 << (PLACE_BITS + TICKET_BITS);

/// How long to wait before checking again whether another process still holds a ticket or a door.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Cells of 8 bytes at the start of the file. Each contains the handle that had the last turn of a session of this cell.
const CELLS: u64 = 1 << 16;

/// The turns of a store's sessions; without a file there is no other process.
#[derive(Default)]
pub(crate) struct Turns {
    file: Option<Arc<TicketFile>>,
    lines: Mutex<HashMap<u64, Weak<Order>>>,
}

/// The state that all handles of one place share in this process.
#[derive(Default)]
struct Order {
    /// Lets one of them arrive at a time, in order.
    door: tokio::sync::Mutex<()>,
    held: Mutex<Held>,
    /// Notified when one of them leaves.
    left: Notify,
}

#[derive(Default)]
struct Held {
    /// Tickets that this process holds, in ascending order: the kernel does not report a process's own locks.
    tickets: VecDeque<u64>,
    /// The handle that had the last turn in this process.
    last: u64,
}

impl Order {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle's place in the queue of a session.
pub(crate) struct TurnQueue {
    place: u64,
    order: Arc<Order>,
    file: Option<Arc<TicketFile>>,
    /// A random number that identifies the handle, across processes.
    handle: u64,
}

/// A turn: until it is dropped, no other handle settles an event of the session.
#[must_use]
pub(crate) struct Turn {
    /// Whether another handle of the session may have had a turn since this one's last.
    pub(crate) is_stale: bool,
    _ticket: Ticket,
}

struct TicketFile {
    path: PathBuf,
    file: File,
    /// The number of the byte that this process has locked to show that it is alive, counted from [`ALIVE`].
    alive: OnceLock<u32>,
}

/// A place in the queue, until this is dropped.
struct Ticket {
    order: Arc<Order>,
    file: Option<Arc<TicketFile>>,
    byte: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut held = self.order.held();
        if let Some(file) = &self.file {
            // Unlocking an own lock does not fail; at the latest the lock ends with the process.
            let _ = file.unlock(self.byte);
        }
        // After unlocking: the next holder of this number locks it again.
        match held.tickets.front() == Some(&self.byte) {
            true => drop(held.tickets.pop_front()),
            // The event gave up while it waited.
            false => held.tickets.retain(|ticket| *ticket != self.byte),
        }
        drop(held);
        self.order.left.notify_waiters();
    }
}

/// The door of a place is locked until this is dropped.
struct Door<'a> {
    file: &'a TicketFile,
    byte: u64,
}

impl Drop for Door<'_> {
    fn drop(&mut self) {
        let _ = self.file.unlock(self.byte);
    }
}

impl Turns {
    /// The turns of a database's sessions, in the file `path`, which is created if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = files::open_lock(path).map_err(|error| StoreError::file(error, path))?;
        let file = TicketFile { path: path.to_owned(), file, alive: OnceLock::new() };
        Ok(Self { file: Some(Arc::new(file)), lines: Mutex::default() })
    }

    /// The file of tickets, and which file that is.
    pub(super) fn file(&self) -> Option<(PathBuf, Option<Identity>)> {
        self.file.as_ref().map(|tickets| (tickets.path.clone(), identity_of(&tickets.file)))
    }

    /// The queue of a session.
    pub(crate) fn turn_queue(&self, session: &str) -> TurnQueue {
        let digest = Digest::of_bytes(session.as_bytes());
        let hash = digest.as_bytes().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        let place = hash >> (64 - PLACE_BITS);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let order = lines.get(&place).and_then(Weak::upgrade).unwrap_or_else(|| {
            if lines.len() >= 64 && lines.len().is_power_of_two() {
                lines.retain(|_, order| order.strong_count() > 0);
            }
            let order = Arc::default();
            lines.insert(place, Arc::downgrade(&order));
            order
        });
        TurnQueue { place, order, file: self.file.clone(), handle: rand::random::<u64>() | 1 }
    }

    /// The number by which other processes can tell whether this one is alive. The first call locks its byte.
    ///
    /// # Errors
    /// If the file cannot be locked.
    pub(super) fn alive(&self) -> Result<u32, StoreError> {
        self.file.as_ref().map_or(Ok(0), |file| file.show_alive())
    }

    /// Whether the process with this number is alive.
    ///
    /// # Errors
    /// If the file's locks cannot be read.
    pub(super) fn is_alive(&self, number: u32) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(true) };
        // The kernel does not report a process's own locks.
        if file.alive.get() == Some(&number) {
            return Ok(true);
        }
        let byte = ALIVE + u64::from(number);
        Ok(file.first_locked(byte, byte + 1)?.is_some())
    }
}

impl TurnQueue {
    /// What waits in this process while the queue's turn is held.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting::Turn(Arc::as_ptr(&self.order).addr())
    }

    /// Waits for a turn. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// If the file cannot be locked, read or written.
    pub(crate) async fn turn(&self) -> Result<Turn, StoreError> {
        let ticket = match &self.file {
            Some(file) => self.arrive(file).await?,
            None => self.take(&mut self.order.held(), 0),
        };
        loop {
            if let Some(is_stale) = self.begin(ticket.byte)? {
                return Ok(Turn { is_stale, _ticket: ticket });
            }
            self.wait(ticket.byte).await;
        }
    }

    /// Begins the turn of a ticket, if nobody is before it; whether another handle may have had a turn since this one's last.
    fn begin(&self, ticket: u64) -> Result<Option<bool>, StoreError> {
        let mut held = self.order.held();
        if held.tickets.front() != Some(&ticket) || !self.others_are_behind(ticket)? {
            return Ok(None);
        }
        let is_stale = std::mem::replace(&mut held.last, self.handle) != self.handle;
        match &self.file {
            Some(file) => file.is_other(self.place, self.handle).map(Some),
            None => Ok(Some(is_stale)),
        }
    }

    /// Takes the ticket after the highest one that is held.
    async fn arrive(&self, file: &TicketFile) -> Result<Ticket, StoreError> {
        let _arriving = self.order.door.lock().await;
        let first = self.place << TICKET_BITS;
        // One process at a time looks for the highest ticket and takes the next.
        let _door = file.open_door(first).await?;
        let mut held = self.order.held();
        let mut free = held.tickets.back().map_or(first, |last| *last) + 1;
        let end = first + (1 << TICKET_BITS);
        while let Some(locked) = file.first_locked(free, end)? {
            free = locked + 1;
        }
        if free >= end || !file.lock(free)? {
            return Err(file.error(Errno::ENOLCK));
        }
        Ok(self.take(&mut held, free))
    }

    /// Notes a ticket that no other process has; where there is no other, it is at least so high.
    fn take(&self, held: &mut Held, at_least: u64) -> Ticket {
        let byte = held.tickets.back().map_or(at_least, |last| at_least.max(last + 1));
        held.tickets.push_back(byte);
        Ticket { order: Arc::clone(&self.order), file: self.file.clone(), byte }
    }

    /// Whether no other process holds a ticket before this one.
    fn others_are_behind(&self, ticket: u64) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(true) };
        Ok(file.first_locked((self.place << TICKET_BITS) + 1, ticket)?.is_none())
    }

    /// Waits until it is worth looking again.
    async fn wait(&self, ticket: u64) {
        let mut left = pin!(self.order.left.notified());
        left.as_mut().enable();
        let front = self.order.held().tickets.front().copied();
        match front == Some(ticket) {
            // Another process is before it, and wakes nobody.
            true => tokio::time::sleep(RETRY_INTERVAL).await,
            false => left.await,
        }
    }
}

impl TicketFile {
    async fn open_door(&self, byte: u64) -> Result<Door<'_>, StoreError> {
        while !self.lock(byte)? {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        Ok(Door { file: self, byte })
    }

    /// Notes that `handle` has the turn. Returns whether another handle may have had one since this one's last.
    fn is_other(&self, place: u64, handle: u64) -> Result<bool, StoreError> {
        let of = |error: std::io::Error| StoreError::io(&error, &self.path);
        let at = (place % CELLS) * 8;
        let mut last = [0; 8];
        // A file that ends before this cell has no value in it.
        let is_written = self.file.read_at(&mut last, at).map_err(of)? == last.len();
        if is_written && u64::from_le_bytes(last) == handle {
            return Ok(false);
        }
        self.file.write_all_at(&handle.to_le_bytes(), at).map_err(of)?;
        Ok(true)
    }

    fn show_alive(&self) -> Result<u32, StoreError> {
        if let Some(number) = self.alive.get() {
            return Ok(*number);
        }
        loop {
            let number = rand::random::<u32>() >> 1;
            if self.lock(ALIVE + u64::from(number))? {
                let kept = *self.alive.get_or_init(|| number);
                if kept != number {
                    self.unlock(ALIVE + u64::from(number))?;
                }
                return Ok(kept);
            }
        }
    }

    /// Locks a byte, unless another process has it locked.
    fn lock(&self, byte: u64) -> Result<bool, StoreError> {
        match fcntl(&self.file, ranges::set(&range(libc::F_WRLCK, byte, byte + 1))) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(error) => Err(self.error(error)),
        }
    }

    fn unlock(&self, byte: u64) -> Result<(), StoreError> {
        let unlocked = fcntl(&self.file, ranges::set(&range(libc::F_UNLCK, byte, byte + 1)));
        unlocked.map(drop).map_err(|error| self.error(error))
    }

    /// The first byte in `from..end` that another process has locked.
    fn first_locked(&self, from: u64, end: u64) -> Result<Option<u64>, StoreError> {
        if from >= end {
            return Ok(None);
        }
        let mut found = range(libc::F_WRLCK, from, end);
        fcntl(&self.file, ranges::get(&mut found)).map_err(|error| self.error(error))?;
        let is_locked = i32::from(found.l_type) != libc::F_UNLCK;
        Ok(is_locked.then_some(found.l_start.cast_unsigned().max(from)))
    }

    fn error(&self, error: Errno) -> StoreError {
        StoreError::io(&error.into(), &self.path)
    }
}

fn range(kind: i32, from: u64, end: u64) -> libc::flock {
    libc::flock {
        // The constants are `int`, the field is `short`; the values are small.
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: 0,
        l_start: from.cast_signed(),
        l_len: (end - from).cast_signed(),
        l_pid: 0,
    }
}

/// Locks of an open file description, which also work between two hosts of one process.
/// <https://man7.org/linux/man-pages/man2/F_GETLK.2const.html>
#[cfg(target_os = "linux")]
mod ranges {
    use super::{FcntlArg, libc};

    pub(super) fn set(range: &libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_OFD_SETLK(range)
    }

    pub(super) fn get(range: &mut libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_OFD_GETLK(range)
    }
}

/// Locks of the process, on systems without the other kind: there, only one host of a process may open a database.
#[cfg(not(target_os = "linux"))]
mod ranges {
    use super::{FcntlArg, libc};

    pub(super) fn set(range: &libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_SETLK(range)
    }

    pub(super) fn get(range: &mut libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_GETLK(range)
    }
}

#[cfg(test)]
mod tests;
