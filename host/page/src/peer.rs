//! Finds the user to whom the other end of a loopback connection belongs.
//!
//! A program that opens a link passes it to the browser in its arguments, which other users of the machine can read. So a code is accepted
//! only from this user's own connections, as far as the system says whose they are.

use std::net::SocketAddr;

/// Returns false if the connection from `peer` to `own` belongs to another user, or the system does not know it. On systems without
/// `/proc/net`, returns true: there, a code that somebody else used first is at least noticed by the person, whose own tab is refused.
pub(crate) fn is_of_this_user(peer: SocketAddr, own: SocketAddr) -> bool {
    let table = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    match std::fs::read_to_string(table) {
        Ok(table) => owner(&table, peer, own) == Some(rustix::process::getuid().as_raw()),
        Err(_) => !cfg!(target_os = "linux"),
    }
}

/// Finds the user id of the socket with this local and this remote address.
fn owner(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let (local, remote) = (hex(local), hex(remote));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_it = fields.next() == Some(&*local) && fields.next() == Some(&*remote);
        // The state, two queues, the timer and the retransmissions lie between the addresses and the user.
        if is_it { fields.nth(4)?.parse().ok() } else { None }
    })
}

/// Formats an address as the kernel does: each group of four bytes as a number of this machine, then the port.
fn hex(address: SocketAddr) -> String {
    let bytes: Vec<u8> = match address {
        SocketAddr::V4(address) => address.ip().octets().to_vec(),
        SocketAddr::V6(address) => address.ip().octets().to_vec(),
    };
    let groups = bytes.chunks_exact(4).map(|group| {
        let group = <[u8; 4]>::try_from(group).unwrap_or_default();
        format!("{:08X}", u32::from_ne_bytes(group))
    });
    format!("{}:{:04X}", groups.collect::<String>(), address.port())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{is_of_this_user, owner};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn a_connection_of_this_process_belongs_to_this_user() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let own = listener.local_addr().unwrap();
            let stream = TcpStream::connect(own).unwrap();
            let peer = stream.local_addr().unwrap();
            assert!(is_of_this_user(peer, own));
            assert!(!is_of_this_user(own, (Ipv4Addr::LOCALHOST, 9).into()));
        }
    }

    #[test]
    fn the_user_of_a_socket_is_read_from_its_line() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n\
                     \x20  1: 0100007F:0FA0 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2\n";
        let (local, remote) = ("127.0.0.1:4000".parse().unwrap(), "127.0.0.1:8080".parse().unwrap());
        if cfg!(target_endian = "little") {
            assert_eq!(owner(table, local, remote), Some(1000));
            assert_eq!(owner(table, remote, local), None);
        }
    }
}
