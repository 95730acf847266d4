//! Turns order the events of a session: the events are decided one at a time, in order of arrival, even if several
//! processes send them.
//!
//! Each event holds a ticket from its arrival to its end. A ticket is a kernel lock on one byte of a file, so the
//! ticket ends with the process that holds it. `docs/decisions/0025-shared-sessions.md` describes the protocol.

use super::StoreError;
use super::identity::{Identity, identity_of};
use crate::callback::Waiting;
use crate::config::Digest;
use crate::files;
use crate::locked::locked;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Number of bits in the number of a place. A place is a range of bytes in the file. A session's place is determined by
/// its hash, so several sessions may have the same place. They then wait for each other, which costs only time.
const PLACE_BITS: u32 = 30;

/// Number of bits in the position of a byte within its place. The first byte of a place is its door, which a process
/// locks while it takes a ticket. Each of the other bytes is a ticket.
const TICKET_BITS: u32 = 32;

/// Offset of the first byte that a process may lock to show that it is alive. These bytes come after all places.
const ALIVE: u64 = 1 << (PLACE_BITS + TICKET_BITS);

/// Interval at which a task checks whether another process still holds a ticket or a door.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Number of 8-byte cells at the start of the file. Several sessions may share a cell. The cell contains the number of
/// the handle that had the last turn in any of these sessions.
const CELLS: u64 = 1 << 16;

/// The turns of a store's sessions. There is no file if only this process uses the store.
#[derive(Default)]
pub(crate) struct Turns {
    file: Option<Arc<TicketFile>>,
    lines: Mutex<HashMap<u64, Weak<Order>>>,
}

/// The state that all handles of one place share in this process.
#[derive(Default)]
struct Order {
    /// Lets events arrive one at a time, in order.
    door: tokio::sync::Mutex<()>,
    held: Mutex<HeldTickets>,
    /// Notified when an event gives up its ticket.
    left: Notify,
}

#[derive(Default)]
struct HeldTickets {
    /// Tickets that this process holds, in ascending order. They are listed because the kernel does not report a
    /// process's own locks.
    tickets: VecDeque<u64>,
    /// A ticket that stays locked for the next event, while no event of this process has a ticket.
    kept: Option<u64>,
    /// True if this place is in the list of [`KeptTickets`].
    is_listed: bool,
    /// The handle that had the last turn in this process.
    last: u64,
}

/// The places in which this process keeps a ticket for the next event.
#[derive(Default)]
struct KeptTickets {
    /// True if a thread will give the tickets back soon. If it is false, no ticket is kept.
    is_open: bool,
    places: Vec<Arc<Order>>,
}

/// The queue of a session, as one handle of the session sees it.
pub(crate) struct TurnQueue {
    place: u64,
    order: Arc<Order>,
    file: Option<Arc<TicketFile>>,
    /// A number that identifies the handle across processes. Its upper half is the random number of the store.
    handle: u64,
}

/// A turn. Until it is dropped, no other handle decides an event of the session.
#[must_use]
pub(crate) struct Turn {
    /// True if another handle of the session may have had a turn since the last turn of this handle.
    pub(crate) is_stale: bool,
    /// True if a handle of another store had the previous turn. That store may be in another process.
    pub(crate) is_after_another_store: bool,
    _ticket: Ticket,
}

/// Facts about the previous turn that a handle needs when its own turn begins.
#[derive(Clone, Copy)]
struct Before {
    is_other_handle: bool,
    is_other_store: bool,
}

struct TicketFile {
    path: PathBuf,
    file: File,
    /// A random number that identifies the store that has the file open.
    store: u32,
    /// Number of handles that were created so far.
    handles: AtomicU32,
    kept: Mutex<KeptTickets>,
    /// The number of the byte that this process has locked to show that it is alive, counted from [`ALIVE`].
    alive: OnceLock<u32>,
}

/// A ticket of an event. Dropping it takes the event out of the queue.
struct Ticket {
    order: Arc<Order>,
    file: Option<Arc<TicketFile>>,
    byte: u64,
    /// True if the ticket was kept since the last turn. No other process can have had a turn since then.
    was_kept: bool,
    /// True if the turn of this ticket has come.
    has_turn: bool,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut held = locked(&self.order.held);
        if let Some(file) = &self.file {
            let is_only_one = self.has_turn && held.tickets.len() == 1;
            if is_only_one && file.keep(&self.order, &mut held) {
                held.kept = Some(self.byte);
            } else {
                // Unlocking one's own lock does not fail. If it did, the lock would end with the process.
                let _ = file.unlock(self.byte);
            }
        }
        // The ticket is removed from the list only after its byte is unlocked, because the next holder of this number
        // locks the byte again.
        match held.tickets.front() == Some(&self.byte) {
            true => drop(held.tickets.pop_front()),
            // The event gave up while it waited.
            false => held.tickets.retain(|ticket| *ticket != self.byte),
        }
        drop(held);
        self.order.left.notify_waiters();
    }
}

/// The lock on the door of a place. Dropping it unlocks the door.
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
    /// Opens the file `path` for the turns of a database's sessions, and creates it if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = files::open_lock(path).map_err(|error| StoreError::file(error, path))?;
        let file = TicketFile {
            path: path.to_owned(),
            file,
            store: rand::random(),
            handles: AtomicU32::new(0),
            kept: Mutex::default(),
            alive: OnceLock::new(),
        };
        Ok(Self { file: Some(Arc::new(file)), lines: Mutex::default() })
    }

    /// Returns the path and the identity of the file of tickets.
    pub(super) fn file(&self) -> Option<(PathBuf, Option<Identity>)> {
        self.file.as_ref().map(|tickets| (tickets.path.clone(), identity_of(&tickets.file)))
    }

    /// Returns the queue of a session.
    pub(crate) fn turn_queue(&self, session: &str) -> TurnQueue {
        let digest = Digest::of_bytes(session.as_bytes());
        let hash = digest.as_bytes().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        let place = hash >> (64 - PLACE_BITS);
        let mut lines = locked(&self.lines);
        let order = lines.get(&place).and_then(Weak::upgrade).unwrap_or_else(|| {
            if lines.len() >= 64 && lines.len().is_power_of_two() {
                lines.retain(|_, order| order.strong_count() > 0);
            }
            let order = Arc::default();
            lines.insert(place, Arc::downgrade(&order));
            order
        });
        let handle = self.file.as_ref().map_or_else(rand::random, |file| file.next_handle());
        TurnQueue { place, order, file: self.file.clone(), handle }
    }

    /// From now on, an event that ends leaves its ticket to the next event of the same place. The caller must make sure
    /// that kept tickets are given back soon.
    pub(super) fn keep(&self) {
        if let Some(file) = &self.file {
            locked(&file.kept).is_open = true;
        }
    }

    /// Gives back the kept tickets. No ticket is kept until [`Self::keep`] is called again.
    pub(super) fn give_back(&self) {
        let Some(file) = &self.file else { return };
        let places = {
            let mut kept = locked(&file.kept);
            kept.is_open = false;
            std::mem::take(&mut kept.places)
        };
        for place in places {
            let mut held = locked(&place.held);
            held.is_listed = false;
            if let Some(byte) = held.kept.take() {
                let _ = file.unlock(byte);
            }
        }
    }

    /// Returns the number by which other processes can tell whether this process is alive. The first call locks the
    /// byte of this number.
    ///
    /// # Errors
    /// If the file cannot be locked.
    pub(super) fn alive(&self) -> Result<u32, StoreError> {
        self.file.as_ref().map_or(Ok(0), |file| file.show_alive())
    }

    /// Returns true if the process with this number is alive.
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
    /// Returns the value that stands for an event that has its turn in this queue.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting::Turn(Arc::as_ptr(&self.order).addr())
    }

    /// Waits for a turn. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// If the file cannot be locked, read or written.
    pub(crate) async fn turn(&self) -> Result<Turn, StoreError> {
        // Yield the thread from time to time. Otherwise, a series of events that never have to wait would keep other
        // tasks of the thread from running.
        tokio::task::coop::consume_budget().await;
        let mut ticket = match &self.file {
            Some(file) => match self.take_over_at_once(file)? {
                Some(ticket) => ticket,
                // This future is rarely needed, so it is boxed: see the module `boxed`.
                None => Box::pin(self.arrive(file)).await?,
            },
            None => self.take(&mut locked(&self.order.held), 0),
        };
        loop {
            if let Some(before) = self.begin(&ticket)? {
                ticket.has_turn = true;
                let Before { is_other_handle: is_stale, is_other_store: is_after_another_store } = before;
                return Ok(Turn { is_stale, is_after_another_store, _ticket: ticket });
            }
            Box::pin(self.wait(ticket.byte)).await;
        }
    }

    /// Begins the turn of a ticket, if no other ticket is before it.
    fn begin(&self, ticket: &Ticket) -> Result<Option<Before>, StoreError> {
        let mut held = locked(&self.order.held);
        let is_front = held.tickets.front() == Some(&ticket.byte);
        if !is_front || !(ticket.was_kept || self.others_are_behind(ticket.byte)?) {
            return Ok(None);
        }
        let is_other_handle = std::mem::replace(&mut held.last, self.handle) != self.handle;
        let before = Before { is_other_handle, is_other_store: false };
        match &self.file {
            // No other store had a turn since the last turn of this store.
            Some(_) if ticket.was_kept && !is_other_handle => Ok(Some(before)),
            Some(file) if ticket.was_kept => file.note(self.place, self.handle).map(|_| Some(before)),
            Some(file) => file.note(self.place, self.handle).map(Some),
            None => Ok(Some(before)),
        }
    }

    /// Takes the ticket after the highest ticket that is held.
    async fn arrive(&self, file: &TicketFile) -> Result<Ticket, StoreError> {
        let _arriving = self.order.door.lock().await;
        if let Some(ticket) = self.take_over(file)? {
            return Ok(ticket);
        }
        let first = self.place << TICKET_BITS;
        // The door lets only one process at a time look for the highest ticket and take the ticket after it.
        let _door = file.open_door(first).await?;
        let mut held = locked(&self.order.held);
        // An event of this process may have ended meanwhile, and left a kept ticket.
        if let Some(byte) = held.kept.take() {
            file.unlock(byte)?;
        }
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

    /// Takes over the kept ticket. Returns `None` if there is no kept ticket, or if another event is arriving at this
    /// moment.
    fn take_over_at_once(&self, file: &TicketFile) -> Result<Option<Ticket>, StoreError> {
        self.order.door.try_lock().map_or(Ok(None), |_arriving| self.take_over(file))
    }

    /// Takes over the kept ticket. If an event of another process has arrived meanwhile, the kept ticket is given back
    /// instead, because that event must come first.
    fn take_over(&self, file: &TicketFile) -> Result<Option<Ticket>, StoreError> {
        let mut held = locked(&self.order.held);
        let Some(byte) = held.kept else { return Ok(None) };
        let end = (self.place << TICKET_BITS) + (1 << TICKET_BITS);
        let has_others = file.first_locked(byte + 1, end)?.is_some();
        held.kept = None;
        if has_others {
            return file.unlock(byte).map(|()| None);
        }
        held.tickets.push_back(byte);
        Ok(Some(self.ticket(byte, true)))
    }

    fn ticket(&self, byte: u64, was_kept: bool) -> Ticket {
        let (order, file) = (Arc::clone(&self.order), self.file.clone());
        Ticket { order, file, byte, was_kept, has_turn: false }
    }

    /// Adds a ticket to the list of this process's tickets. The number of the new ticket is at least `at_least`, and
    /// higher than the numbers of all other tickets in the list.
    fn take(&self, held: &mut HeldTickets, at_least: u64) -> Ticket {
        let byte = held.tickets.back().map_or(at_least, |last| at_least.max(last + 1));
        held.tickets.push_back(byte);
        self.ticket(byte, false)
    }

    /// Returns true if no other process holds a ticket before this one.
    fn others_are_behind(&self, ticket: u64) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(true) };
        Ok(file.first_locked((self.place << TICKET_BITS) + 1, ticket)?.is_none())
    }

    /// Waits until the turn of this ticket may have come.
    async fn wait(&self, ticket: u64) {
        let mut left = pin!(self.order.left.notified());
        left.as_mut().enable();
        let front = locked(&self.order.held).tickets.front().copied();
        match front == Some(ticket) {
            // A ticket of another process is first, and that process cannot wake this task.
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

    /// Returns true if a ticket of this place may be kept. In this case, the place is added to the list of places whose
    /// tickets are given back later.
    fn keep(&self, place: &Arc<Order>, held: &mut HeldTickets) -> bool {
        let mut kept = locked(&self.kept);
        if kept.is_open && !held.is_listed {
            held.is_listed = true;
            kept.places.push(Arc::clone(place));
        }
        kept.is_open
    }

    /// Returns a number for the next handle. The number is not 0, because a cell that nobody has written contains 0.
    fn next_handle(&self) -> u64 {
        let number = self.handles.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        u64::from(self.store) << 32 | u64::from(number)
    }

    /// Records that `handle` has the turn. Returns what is known about the previous turn. If several sessions share the
    /// cell, the previous turn may be a turn of another session.
    fn note(&self, place: u64, handle: u64) -> Result<Before, StoreError> {
        let of = |error: std::io::Error| StoreError::io(&error, &self.path);
        let at = (place % CELLS) * 8;
        let mut last = [0; 8];
        // If the file ends before this cell, the cell has no value.
        let is_written = self.file.read_at(&mut last, at).map_err(of)? == last.len();
        let last = if is_written { u64::from_le_bytes(last) } else { 0 };
        if last != handle {
            self.file.write_all_at(&handle.to_le_bytes(), at).map_err(of)?;
        }
        let is_other_store = last != 0 && last >> 32 != handle >> 32;
        Ok(Before { is_other_handle: last != handle, is_other_store })
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

    /// Returns the first byte in `from..end` that another process has locked.
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
        match error {
            Errno::ENOLCK => StoreError::NoLocks(self.path.clone()),
            error => StoreError::io(&error.into(), &self.path),
        }
    }
}

/// Returns false if the file system of a database has no locks. The function tries to lock a separate file beside the
/// database, because opening and closing the database would release this process's locks on the database.
pub(super) fn has_locks(database: &Path) -> bool {
    let mut trial = database.as_os_str().to_owned();
    trial.push(".lock-trial");
    let trial = Path::new(&trial);
    let Ok(file) = files::open_lock(trial) else { return true };
    let locked = fcntl(&file, FcntlArg::F_SETLK(&range(libc::F_WRLCK, 0, 1)));
    let _ = std::fs::remove_file(trial);
    locked != Err(Errno::ENOLCK)
}

fn range(kind: i32, from: u64, end: u64) -> libc::flock {
    libc::flock {
        // The constants have the type `int` and the field has the type `short`. The values are small enough for both.
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: 0,
        l_start: from.cast_signed(),
        l_len: (end - from).cast_signed(),
        l_pid: 0,
    }
}

/// Locks that belong to an open file description. They also work between two hosts in one process.
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

/// Locks that belong to a process, for systems without locks of an open file description. On these systems, only one
/// host in a process may open a database.
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
