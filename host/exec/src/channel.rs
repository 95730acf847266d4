//! Messages between the supervisor, the keeper and the first process inside. A message is JSON in one packet, with
//! descriptors beside it.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use crate::error::Notice;
use crate::failure::Failure;
use crate::plan::{MountPlan, path_bytes};

/// Maximum size of a message in bytes. A plan travels in a file of its own.
const MAX_MESSAGE: usize = 64 << 10;

/// What the keeper needs. It travels in a file in memory, because a plan has no maximum size.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct World {
    pub(crate) plan: MountPlan,
    /// Programs that gain privileges. A sentence is in their place.
    pub(crate) refused_programs: Vec<KeptPath>,
    pub(crate) network: ProgramNetwork,
}

/// The network of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProgramNetwork {
    /// That of the machine.
    Shared,
    /// None.
    Nothing,
    /// A proxy on this port of the loopback interface.
    Proxy(u16),
}

/// A path that travels as its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptPath(#[serde(with = "path_bytes")] pub(crate) PathBuf);

/// What the first process inside needs. The descriptors 0 to 2 that are not terminals travel beside it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    #[serde(with = "path_bytes")]
    pub(crate) directory: PathBuf,
    /// The directory of the user's sockets, which is replaced by one with the paths of `kept` only.
    pub(crate) runtime: Option<KeptPath>,
    pub(crate) kept: Vec<KeptPath>,
    /// Which of the descriptors 0 to 2 are the terminal.
    pub(crate) terminals: [bool; 3],
    pub(crate) network: ProgramNetwork,
}

/// A message of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// To the keeper, with the file of the [`World`] and the socket of the first process.
    Keep,
    Start(Start),
    /// The identities of the namespace are mapped.
    Mapped,
    /// The terminal is set up.
    Go,
    /// To the watch, with the file of the list.
    Watch,
    /// To the watch: restored files stay the same files, because Landlock lets the program reach no other.
    WriteInPlace,
    /// To the watch: all processes inside have ended.
    Finish,
    /// Sends a signal.
    Signal {
        number: i32,
        target: Target,
    },
}

/// The processes that get a signal.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Target {
    Program,
    /// The program's process group.
    Group,
    /// The foreground of the program's terminal, or its process group if it has none.
    Foreground,
}

/// A message to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The keeper is in its namespaces, and needs its identities.
    Unshared,
    /// The program's network has a socket for the proxy, which is a descriptor beside the message.
    Listening,
    /// The terminal's other end, as a descriptor beside the message.
    Terminal,
    /// The restrictions are in place. The text names what they lack.
    Restricted {
        lacks: Vec<String>,
    },
    Started,
    Stopped,
    Exited(u8),
    Killed(i32),
    /// The program cannot be started, with the error number.
    NotStarted(i32),
    Failed(Failure),
    /// From the keeper: all processes inside have ended. From the watch: it has looked once more. Their own ends take the
    /// kernel some more milliseconds.
    Over,
    /// A guarded path was replaced from outside and is guarded again; `ended` processes could have changed it.
    Replaced {
        path: KeptPath,
        ended: usize,
    },
    /// From the watch: what is changed from now on is found.
    Watching,
    Noticed(Notice),
    /// Nobody could have entered the directory, and its mode is as before.
    ModeRestored(KeptPath),
}

/// One end of a socket for messages.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// Creates two connected ends. The second one is for another process.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(one), other))
    }

    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Takes the socket that a parent has passed as standard input.
    pub(crate) fn of_standard_input() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?))
    }

    pub(crate) fn send(&self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_with(message, descriptors, SendFlags::NOSIGNAL)
    }

    /// Sends a message, or fails if the other end reads too slowly.
    pub(crate) fn try_send(&self, message: &impl Serialize) -> io::Result<()> {
        self.send_with(message, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    fn send_with(&self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        if text.len() > MAX_MESSAGE {
            return Err(io::Error::other("a message is too long"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("a message has too many descriptors"));
        }
        sendmsg(&self.0, &[IoSlice::new(&text)], &mut control, flags)?;
        Ok(())
    }

    /// Waits for the next message. Returns `None` if the other end is closed.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut text = vec![0; MAX_MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let read = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(&mut text)], &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) => break received.bytes,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => break 0,
                Err(error) => return Err(error.into()),
            }
        };
        if read == 0 {
            return Ok(None);
        }
        let descriptors = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let descriptors = descriptors.flatten().collect();
        Ok(Some((serde_json::from_slice(&text[..read])?, descriptors)))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Writes a value into a file in memory.
pub(crate) fn to_memory(value: &impl Serialize) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create("hookhost-exec", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(&serde_json::to_vec(value)?)?;
    file.rewind()?;
    Ok(file.into())
}

/// Reads a value from a file in memory.
pub(crate) fn from_memory<T: DeserializeOwned>(memory: OwnedFd) -> io::Result<T> {
    let mut text = Vec::new();
    std::fs::File::from(memory).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
