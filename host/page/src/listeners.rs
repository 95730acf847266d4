//! The two loopback listeners of the page.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

/// Number of ports that are tried until one is free on both addresses.
const ATTEMPTS: usize = 16;

/// Listeners on 127.0.0.1 and on `[::1]`, with the same port. A browser resolves `localhost` to both addresses. If only one of them had a
/// listener, another user of the machine could listen on the other, and would be sent the code of a link.
#[derive(Debug)]
pub struct LoopbackListeners {
    all: Vec<TcpListener>,
    port: u16,
}

impl LoopbackListeners {
    /// Listens on a free port. On a machine without IPv6, there is only one listener.
    ///
    /// # Errors
    /// If no port is free on both addresses.
    pub fn bind() -> io::Result<Self> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = first.local_addr()?.port();
            match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
                Ok(second) => return Self::new(vec![first, second], port),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
                // No listener of another user can be there, either.
                Err(error) => {
                    tracing::debug!(%error, "the page listens on IPv4 alone");
                    return Self::new(vec![first], port);
                }
            }
        }
        Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse)))
    }

    /// Takes over the listeners of an earlier version of the program. Returns `None` unless they are those of a page.
    #[must_use]
    pub fn inherited(all: Vec<TcpListener>) -> Option<Self> {
        let places: Vec<_> = all.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let port = places.first()?.port();
        let expected = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        let is_page = places.len() == all.len() && places.len() <= expected.len();
        let is_same = places.iter().zip(expected).all(|(place, ip)| place.ip() == ip && place.port() == port);
        if is_page && is_same { Self::new(all, port).ok() } else { None }
    }

    fn new(all: Vec<TcpListener>, port: u16) -> io::Result<Self> {
        all.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        Ok(Self { all, port })
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns further handles of the listeners.
    ///
    /// # Errors
    /// If too many files are open.
    pub fn handles(&self) -> io::Result<Vec<TcpListener>> {
        self.all.iter().map(TcpListener::try_clone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::LoopbackListeners;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    #[test]
    fn both_addresses_have_the_same_port_and_nobody_else_can_take_it() {
        let listeners = LoopbackListeners::bind().unwrap();
        let port = listeners.port();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err());
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
            assert_eq!(listeners.handles().unwrap().len(), 2);
            assert!(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).is_err());
        }
    }

    #[test]
    fn only_the_listeners_of_a_page_are_taken_over() {
        let listeners = LoopbackListeners::bind().unwrap();
        let inherited = LoopbackListeners::inherited(listeners.handles().unwrap()).unwrap();
        assert_eq!(inherited.port(), listeners.port());
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mixed = listeners.handles().unwrap().into_iter().take(1).chain([other]).collect();
        assert!(LoopbackListeners::inherited(mixed).is_none());
        assert!(LoopbackListeners::inherited(Vec::new()).is_none());
        let everywhere = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        assert!(LoopbackListeners::inherited(vec![everywhere]).is_none());
    }
}
