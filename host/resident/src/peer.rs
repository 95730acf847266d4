//! The process at the other end of a connection, and the supervisors of programs in `hookhost exec`.

use hookhost_agents::ancestry::ancestors;
use hookhost_client::connection::peer_process;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::UnixStream;

/// The process at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The number of the process, if the system reports it.
    pub(crate) process: Option<u32>,
    /// True if the kernel keeps the process from what this process may do, for example in `hookhost exec`. Such a process must not stop
    /// this host, or open its page.
    pub(crate) is_confined: bool,
}

impl Peer {
    /// Asks the kernel about the process that has connected.
    pub(crate) fn of(stream: &UnixStream) -> Self {
        #[cfg(target_os = "linux")]
        let is_confined = hookhost_exec::peer_place(stream) == hookhost_exec::PeerPlace::Inside;
        #[cfg(not(target_os = "linux"))]
        let is_confined = false;
        Self { process: peer_process(stream), is_confined }
    }
}

/// The processes that supervise a program in `hookhost exec`, with the number of their connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Supervisors(Arc<Mutex<BTreeMap<u32, usize>>>);

impl Supervisors {
    /// Registers a process until the returned value is dropped.
    pub(crate) fn register(&self, process: u32) -> Registration {
        *self.all().entry(process).or_default() += 1;
        Registration { supervisors: self.clone(), process }
    }

    /// Returns true if no process is registered.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Returns true if the peer is confined by one of these processes.
    pub(crate) fn confine(&self, peer: Peer) -> bool {
        let Some(process) = peer.process.filter(|_| peer.is_confined && !self.is_empty()) else { return false };
        let parents: Vec<u32> = ancestors(process).collect();
        let all = self.all();
        parents.iter().any(|parent| all.contains_key(parent))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registration of a supervisor.
#[derive(Debug)]
pub(crate) struct Registration {
    supervisors: Supervisors,
    process: u32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut all = self.supervisors.all();
        if let Some(count) = all.get_mut(&self.process) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.process);
            }
        }
    }
}
