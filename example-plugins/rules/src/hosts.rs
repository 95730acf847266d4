//! Finds the host of a URL.
//!
//! Programs do not agree on some URLs: `https://a\@b` leads a browser to `a`, and curl to `b`. Such a URL has several hosts, and a rule
//! applies if one of them matches, while an exception must hold for all of them.

use call_paths::arguments::decoded;
use shell_reader::UNKNOWN;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A URL with the hosts to which it may lead. Without a host, its host is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The URL in the form for comparison: scheme and host in lower case, without a user and without a usual port.
    pub(crate) urls: Vec<String>,
    pub(crate) hosts: Vec<String>,
}

impl Request {
    /// Reads a URL, which may lack its scheme.
    pub(crate) fn of_url(url: &str) -> Self {
        // Programs ignore these characters within a URL.
        let url: String = url.trim().chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
        let (scheme, rest) = scheme(&url);
        let rest = rest.trim_start_matches(['/', '\\']);
        let mut request = Self::default();
        for ends in [&['/', '?', '#', '\\'][..], &['/', '?', '#'][..]] {
            let end = rest.find(ends).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let Some((host, port)) = host_and_port(authority) else { continue };
            let is_usual = matches!((&*scheme, port), (_, "") | ("http", "80") | ("https", "443"));
            let port = if is_usual { String::new() } else { format!(":{port}") };
            let path = if path.is_empty() { "/" } else { path };
            let url = format!("{scheme}://{host}{port}{path}");
            if !request.urls.contains(&url) {
                request.urls.push(url);
            }
            if !request.hosts.contains(&host) {
                request.hosts.push(host);
            }
        }
        request
    }

    /// Reads a place on another machine: `user@host:path`, `user@host`, `host`.
    pub(crate) fn of_place(place: &str) -> Self {
        if place.contains("://") {
            return Self::of_url(place);
        }
        let after_user = place.rsplit_once('@').map_or(place, |(_, rest)| rest);
        let is_bracketed = after_user.starts_with('[');
        let host = if is_bracketed { after_user } else { after_user.split([':', '/']).next().unwrap_or_default() };
        Self { urls: Vec::new(), hosts: host_and_port(host).map(|(host, _)| host).into_iter().collect() }
    }
}

/// Splits the scheme from a URL. The scheme of a URL without one is `http`, as for curl.
fn scheme(url: &str) -> (String, &str) {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let is_web = |text: &str| ["http", "https", "ftp", "ws", "wss"].iter().any(|web| text.eq_ignore_ascii_case(web));
    match url.split_once(':') {
        // `localhost:80` has no scheme, but `https:example.com` has one.
        Some((scheme, rest)) if is_scheme(scheme) && (rest.starts_with(['/', '\\']) || is_web(scheme)) => {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => ("http".to_owned(), url),
    }
}

/// Returns the host in the form for comparison, and the port. Returns `None` if the host is unknown.
fn host_and_port(authority: &str) -> Option<(String, &str)> {
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address, port.strip_prefix(':').unwrap_or_default()),
        None => place.rsplit_once(':').unwrap_or((place, "")),
    };
    let host = normal(host);
    // Programs refuse such a host, or end it there.
    let is_impossible = |c: char| c.is_control() || c.is_whitespace() || "/\\?#@%<>^|[]".contains(c) || c == UNKNOWN;
    (!host.is_empty() && !host.contains(is_impossible)).then_some((host, port))
}

/// Returns a host in the form for comparison: in lower case, decoded, and without a dot at its end. An address has its usual spelling.
fn normal(host: &str) -> String {
    let decoded = decoded(host);
    let narrow = |c: char| match c {
        '\u{3002}' | '\u{FF0E}' | '\u{FF61}' => '.',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        c => c,
    };
    let host: String = decoded.chars().map(narrow).flat_map(char::to_lowercase).collect();
    let host = host.trim_end_matches('.');
    if let Ok(address) = host.split('%').next().unwrap_or(host).parse::<Ipv6Addr>() {
        return address.to_canonical().to_string();
    }
    ipv4(host).map_or_else(|| host.to_owned(), |address| address.to_string())
}

/// Reads an address in any spelling that programs accept: `127.1`, `0x7f000001`, `017700000001`.
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match part {
        "" => None,
        part if part.starts_with("0x") => u32::from_str_radix(&part[2..], 16).ok(),
        part if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        part => part.parse().ok(),
    };
    let numbers: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let high = first.iter().zip([24, 16, 8]).map(|(part, shift)| part << shift).sum::<u32>();
    let fits = first.is_empty() || u64::from(*last) < 1 << (8 * (4 - first.len()));
    fits.then(|| Ipv4Addr::from(high | last))
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn hosts(url: &str) -> Vec<String> {
        Request::of_url(url).hosts
    }

    #[test]
    fn the_host_of_a_url_is_where_the_request_goes() {
        for (url, host) in [
            ("https://good.com@evil.com/x", "evil.com"),
            ("https://good.com:443@evil.com", "evil.com"),
            ("HTTPS://EVIL.com:8443/a", "evil.com"),
            ("https://evil.com./", "evil.com"),
            ("https:/\\evil.com", "evil.com"),
            ("https:evil.com", "evil.com"),
            ("///evil.com/x", "evil.com"),
            ("evil.com:8080/https://good.com", "evil.com"),
            ("https://evil.com#@good.com", "evil.com"),
            ("https://evil.com?@good.com", "evil.com"),
            ("https://e%76il.com", "evil.com"),
            ("ht\ntps://ev\til.com", "evil.com"),
            ("https://ｅvil。com/", "evil.com"),
            ("http://[::1]:80/x", "::1"),
            ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
        ] {
            assert_eq!(hosts(url), [host], "{url}");
        }
    }

    #[test]
    fn a_url_that_programs_read_differently_has_each_of_its_hosts() {
        assert_eq!(hosts("https://good.com\\@evil.com/"), ["good.com", "evil.com"]);
    }

    #[test]
    fn a_url_with_an_unknown_host_has_none() {
        for url in
            ["https://\u{1a}/x", "https://api.\u{1a}/", "\u{1a}", "", "https://a%00.b.com", "https://a%2f.b.com/"]
        {
            assert!(hosts(url).is_empty(), "{url}");
        }
    }

    #[test]
    fn a_url_is_compared_without_its_user_and_usual_port() {
        assert_eq!(Request::of_url("HTTPS://a:b@Evil.com:443").urls, ["https://evil.com/"]);
        assert_eq!(Request::of_url("evil.com:81/x?y").urls, ["http://evil.com:81/x?y"]);
    }

    #[test]
    fn a_place_of_ssh_has_a_host() {
        for (place, host) in
            [("git@github.com:a/b.git", "github.com"), ("me@[::1]:x", "::1"), ("Host", "host"), ("rsync://h/m", "h")]
        {
            assert_eq!(Request::of_place(place).hosts, [host], "{place}");
        }
    }
}
