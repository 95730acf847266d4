//! An entry of the grant `http`: a server to which a plugin may send requests.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU16;

/// A server, as written in the grant `http`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    host: ServerHost,
    port: Option<NonZeroU16>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerHost {
    /// `localhost`: this machine, which needs no resolver.
    Localhost,
    /// A literal address.
    Address(IpAddr),
    /// A name that must be resolved, in lower case and without a dot at its end.
    Name(String),
}

impl Server {
    /// The port of `https`.
    const HTTPS: u16 = 443;

    /// Reads `name`, `name:port`, `address` or `address:port`. An IPv6 address is in brackets.
    ///
    /// # Errors
    /// Returns one sentence about the mistake in the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let after_host = match text.find(']') {
            Some(bracket) => bracket + 1,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at(after_host);
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => Some(None),
            None => None,
            Some(port) if port.starts_with(|c: char| c.is_ascii_digit()) => port.parse().ok().map(Some),
            Some(_) => None,
        };
        let host = ServerHost::parse(host);
        host.zip(port)
            .map(|(host, port)| Self { host, port })
            .ok_or_else(|| format!("{text:?} is not a host: write `name` or `name:port`, without scheme, path or `*`"))
    }

    /// Returns true if a request may be sent to this host and port. `https` is allowed on the port of the entry, or on
    /// port 443 if the entry has no port. Plain `http` is allowed only if the entry has a port other than 443.
    pub(crate) fn admits(&self, host: &ServerHost, port: u16, https: bool) -> bool {
        let named = self.port.map(NonZeroU16::get);
        let port_is_right =
            if https { named.unwrap_or(Self::HTTPS) == port } else { named == Some(port) && port != Self::HTTPS };
        port_is_right && self.host == *host
    }
}

impl ServerHost {
    /// Parses a host as written in a URL. Returns `None` if the text is not a host.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(address) = text.strip_prefix('[') {
            let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse() {
            return match address {
                IpAddr::V4(_) => Some(Self::Address(address)),
                IpAddr::V6(_) => None,
            };
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            let odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_');
            !label.is_empty() && label.len() <= 63 && !label.contains(odd)
        };
        // Many programs treat names such as `127.1`, `2130706433` and `0x7f.1` as addresses, so such names are rejected
        // here.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.chars().all(|c| c.is_ascii_digit()) || last.starts_with("0x");
        if name.len() > 253 || is_number || !name.split('.').all(is_label) {
            return None;
        }
        Some(if name == "localhost" { Self::Localhost } else { Self::Name(name) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Server, ServerHost};

    fn admits(server: &str, host: &str, port: u16, https: bool) -> bool {
        Server::parse(server).unwrap().admits(&ServerHost::parse(host).unwrap(), port, https)
    }

    #[test]
    fn without_a_port_only_https_to_its_own_port_is_meant() {
        assert!(admits("example.com", "example.com", 443, true));
        assert!(!admits("example.com", "example.com", 8443, true));
        for port in [80, 443, 8080] {
            assert!(!admits("example.com", "example.com", port, false), "{port}");
        }
    }

    #[test]
    fn a_port_that_is_named_is_the_only_one_and_may_be_plain_http() {
        for https in [true, false] {
            assert!(admits("example.com:8080", "example.com", 8080, https));
            assert!(!admits("example.com:8080", "example.com", 80, https));
            assert!(!admits("example.com:8080", "example.com", 443, https));
        }
        assert!(admits("example.com:80", "example.com", 80, false));
        assert!(admits("example.com:443", "example.com", 443, true));
        assert!(!admits("example.com:443", "example.com", 443, false), "no secret in the clear by a slip");
    }

    #[test]
    fn a_host_is_that_host_and_none_below_or_beside_it() {
        assert!(admits("Example.COM", "eXample.com", 443, true));
        assert!(admits("example.com", "example.com.", 443, true));
        for other in ["a.example.com", "example.com.evil.org", "xample.com", "com", "localhost", "127.0.0.1"] {
            assert!(!admits("example.com", other, 443, true), "{other}");
        }
        assert!(admits("[::1]:80", "[0:0::1]", 80, false));
        assert!(!admits("127.0.0.1:80", "localhost", 80, false));
        assert!(!admits("localhost:80", "127.0.0.1", 80, false));
        assert!(!admits("127.0.0.1:80", "[::ffff:127.0.0.1]", 80, false));
    }

    #[test]
    fn what_is_not_a_host_is_refused() {
        for text in [
            "",
            ":80",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "a:80:80",
            "a/b",
            "http://a",
            "*.a",
            "a b",
            "a..b",
            ".a",
            "-:",
            "::1",
            "[::1",
            "::1]",
            "[::1]80",
            "[127.0.0.1]",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "1.2.3.4.5",
            "a@b",
            "ä.de",
            "a\0",
            ".",
        ] {
            assert!(Server::parse(text).is_err(), "{text}");
        }
        for text in
            ["a", "a:80", "a.", "a_b.c-d", "127.0.0.1", "127.0.0.1:1", "[::1]", "[fe80::1]:65535", "1.2.3.4.example"]
        {
            assert!(Server::parse(text).is_ok(), "{text}");
        }
    }
}
