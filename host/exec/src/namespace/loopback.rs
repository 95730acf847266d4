//! The loopback interface of a new network namespace, which is down at first.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;

/// The number of the loopback interface in every network namespace.
const LOOPBACK_INDEX: i32 = 1;

/// Types and flags of rtnetlink. Source: `linux/netlink.h`, `linux/rtnetlink.h` and `linux/if.h`.
const RTM_NEWLINK: u16 = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const IFF_UP: u32 = 1;

/// Length of a header, and of a header with the description of an interface.
const HEADER_LENGTH: usize = 16;
const MESSAGE_LENGTH: u32 = 32;

/// Takes the interface up. It needs the capabilities of the namespace.
pub(super) fn take_up() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::new();
    message.extend(MESSAGE_LENGTH.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    // Sequence number, sender; family and type of the interface.
    message.extend([0; 4 + 4 + 4]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    // The flags, and which of them are changed.
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    rustix::io::write(&socket, &message)?;
    let mut answer = [0; 256];
    let length = rustix::io::read(&socket, &mut answer)?;
    let answer = &answer[..length];
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(HEADER_LENGTH..HEADER_LENGTH + 4).and_then(|bytes| bytes.try_into().ok());
    match (kind, error.map(i32::from_ne_bytes)) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::Error::other("the kernel gives an unknown answer")),
    }
}
