//! The servers that keys belong to, and checks that a key is sent only over an encrypted connection.

use reqwest::Url;
use std::fmt;

/// A server, identified by scheme, host and port (<https://url.spec.whatwg.org/#origin>). A different port of the same host is a
/// different server, because another user of the machine may run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Returns the server of an http or https URL, or `None` for any other URL.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        Url::parse(url).ok().and_then(|url| Self::of_url(&url))
    }

    pub(crate) fn of_url(url: &Url) -> Option<Self> {
        matches!(url.scheme(), "http" | "https").then(|| Self(url.origin().ascii_serialization()))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if the server is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns true if a key that is sent to this URL could be read in transit, because the URL leads to another machine without TLS.
pub fn is_in_the_clear(url: &Url) -> bool {
    url.scheme() != "https" && !is_loopback(url)
}

/// Returns true if the URL itself contains a key.
pub fn carries_a_key(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_host_or_port_is_another_server() {
        let origin = |url| Origin::of(url).unwrap();
        assert_eq!(origin("https://H.example:443/v1?x#y"), origin("https://h.example"));
        assert_eq!(origin("http://[::1]:80/v1").to_string(), "http://[::1]");
        for other in ["http://h.example", "https://h.example:8443", "https://h.example.org", "http://h.example:443"] {
            assert_ne!(origin(other), origin("https://h.example"), "{other}");
        }
        assert_eq!((Origin::of("file:///etc"), Origin::of("h.example")), (None, None));
    }

    #[test]
    fn a_key_is_read_on_the_way_without_tls_and_not_on_this_machine() {
        let clear = |url| is_in_the_clear(&Url::parse(url).unwrap());
        for url in
            ["https://h.example", "http://localhost:1", "http://127.0.0.1", "http://127.9.0.1:8", "http://[::1]:8"]
        {
            assert!(!clear(url), "{url}");
        }
        for url in
            ["http://h.example", "http://h.example:443", "http://10.0.0.1", "http://localhost.example", "http://[::2]"]
        {
            assert!(clear(url), "{url}");
        }
    }
}
