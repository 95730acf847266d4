//! The hosts of an address.
//!
//! Programs do not agree on some addresses: `https://a\@b` leads a browser to `a`, and curl to `b`. Such an address has several hosts. A
//! part that nobody knows, such as a variable of a shell, is a control character, and the host may then be any other, too.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Schemes in which a backslash is a slash, and slashes may be missing (<https://url.spec.whatwg.org/#special-scheme>).
const SPECIAL: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// The number of addresses for which one with lists may stand.
const MAX_EXPANDED: usize = 64;

/// The characters after the host: for a browser, for curl, and for wget.
const ENDS: [&[char]; 3] = [&['/', '?', '#', '\\'], &['/', '?', '#'], &['/', '?', '#', ';']];

/// An address, as programs read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// The address in the form for comparison, once for each host: scheme and host in lower case, without a user and without a usual
    /// port.
    pub urls: Vec<String>,
    /// The hosts to which it may lead, in lower case: without user, port, brackets and dots at the end. Numbers that stand for an IPv4
    /// address, such as `0x7f.1`, are the usual four. There is none in `mailto:`, and none if no program would accept it.
    pub hosts: Vec<String>,
    /// True if it may also lead to a host that nobody knows before the program runs.
    pub has_unknown: bool,
}

impl Address {
    /// Reads a URL. One without a scheme is as a command line may have it: `example.com/path`. A list in the host, which curl expands, also
    /// leads to each of its hosts.
    #[must_use]
    pub fn of_url(url: &str) -> Self {
        let mut address = Self::of_one(url);
        if address.has_unknown && url.contains(['{', '[']) {
            for one in expanded(url, MAX_EXPANDED).unwrap_or_default() {
                let Self { urls, hosts, .. } = Self::of_one(&one);
                urls.into_iter().for_each(|url| add_new(&mut address.urls, url));
                hosts.into_iter().for_each(|host| add_new(&mut address.hosts, host));
            }
        }
        address
    }

    fn of_one(url: &str) -> Self {
        // Programs ignore these characters within a URL.
        let url = url.trim().replace(['\t', '\n', '\r'], "");
        let guessed = ("http".to_owned(), url.trim_start_matches(['/', '\\']));
        let mut address = Self::default();
        match scheme(&url) {
            Some((scheme, rest)) if SPECIAL.contains(&scheme.as_str()) => {
                address.add(&scheme, rest.trim_start_matches(['/', '\\']));
                // For curl, `http:80` is a host with a port.
                if !rest.starts_with(['/', '\\']) {
                    address.add(&guessed.0, guessed.1);
                }
            }
            Some((scheme, rest)) if rest.starts_with("//") => address.add(&scheme, &rest[2..]),
            Some((scheme, rest)) if rest.starts_with('/') => address.add(&scheme, ""),
            // In `localhost:80` and `user:password@host`, there is no scheme.
            _ => address.add(&guessed.0, guessed.1),
        }
        address
    }

    /// Reads a place on another machine: `user@host:path`, `user@host`, `host`.
    #[must_use]
    pub fn of_place(place: &str) -> Self {
        if place.contains("://") {
            return Self::of_url(place);
        }
        let after_user = place.rsplit_once('@').map_or(place, |(_, rest)| rest);
        let of_ipv6 = |address: Ipv6Addr| address.to_canonical().to_string();
        let (host, length) = match (after_user.parse().map(of_ipv6), after_user.starts_with('[')) {
            (Ok(address), _) => (Some(address), after_user.len()),
            (_, true) => (bracketed(after_user).map(|(address, _)| address), after_user.len()),
            (_, false) => {
                let host = after_user.split([':', '/']).next().unwrap_or_default();
                (normal(host), host.len())
            }
        };
        let has_unknown = is_unknown(&place[..place.len() - after_user.len() + length]);
        Self { urls: Vec::new(), hosts: host.into_iter().collect(), has_unknown }
    }

    /// Returns true if all programs connect to the same host, or to none.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        !self.has_unknown && self.hosts.len() <= 1
    }

    /// Adds each reading of what follows the scheme and its slashes.
    fn add(&mut self, scheme: &str, rest: &str) {
        for ends in ENDS {
            let (authority, path) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
            self.has_unknown |= is_unknown(authority);
            let Some((host, port)) = host_and_port(authority) else { continue };
            let is_usual = matches!((scheme, port), (_, "" | ":") | ("http" | "ws", ":80") | ("https" | "wss", ":443"));
            let (port, path) = (if is_usual { "" } else { port }, if path.is_empty() { "/" } else { path });
            let url = format!("{scheme}://{host}{port}{path}");
            add_new(&mut self.urls, url);
            add_new(&mut self.hosts, host);
        }
    }
}

fn add_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// Splits off the scheme, if there is one.
fn scheme(url: &str) -> Option<(String, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Returns true if only a shell or a program knows what stands here: a variable, or a list that curl expands, such as `{a,b}` or `[a-z]`.
fn is_unknown(authority: &str) -> bool {
    let is_list = || authority.find('[').is_some_and(|at| bracketed(&authority[at..]).is_none());
    authority.contains(|c: char| c.is_control() || matches!(c, '{' | '}')) || is_list()
}

/// Returns the texts for which lists such as `{a,b}` and `[a-c]` stand. Returns `None` if there are more than `most`, or if a list is none.
fn expanded(text: &str, most: usize) -> Option<Vec<String>> {
    let Some(at) = text.find(['{', '[']) else { return Some(vec![text.to_owned()]) };
    let is_range = text[at..].starts_with('[');
    let (list, rest) = text[at + 1..].split_once(if is_range { ']' } else { '}' })?;
    let parts: Vec<String> = match list.split_once('-') {
        Some((from, to)) if is_range => {
            (from.parse::<char>().ok()?..=to.parse().ok()?).take(most + 1).map(String::from).collect()
        }
        _ if is_range => return None,
        _ => list.split(',').map(str::to_owned).collect(),
    };
    if parts.is_empty() || parts.len() > most {
        return None;
    }
    let rests = expanded(rest, most / parts.len().max(2))?;
    let joined = parts.iter().flat_map(|part| rests.iter().map(move |rest| format!("{}{part}{rest}", &text[..at])));
    Some(joined.collect())
}

/// Returns the host in the form for comparison, and the port with its colon. Returns `None` if no program would connect, or if the host is
/// unknown.
fn host_and_port(authority: &str) -> Option<(String, &str)> {
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.starts_with('[') {
        true => bracketed(place)?,
        false => {
            let (host, port) = place.find(':').map_or((place, ""), |colon| place.split_at(colon));
            (normal(host)?, port)
        }
    };
    // A port that nobody knows is one all the same.
    let is_port = |port: &str| port.chars().all(|c| c.is_ascii_digit() || c.is_control());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some((host, port))
}

/// Reads an IPv6 address in brackets. Returns it with what follows.
fn bracketed(place: &str) -> Option<(String, &str)> {
    let (address, rest) = place.strip_prefix('[')?.split_once(']')?;
    let address: Ipv6Addr = address.split('%').next()?.parse().ok()?;
    Some((address.to_canonical().to_string(), rest))
}

/// Returns a name or an IPv4 address in the form for comparison. Returns `None` if it is neither.
fn normal(host: &str) -> Option<String> {
    // Other characters that look like ASCII, and those that nobody sees, as in domain names of other alphabets.
    let narrow = |c: char| match c {
        '\u{3002}' | '\u{FF0E}' | '\u{FF61}' => Some('.'),
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        '\u{AD}' | '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}' => None,
        c => Some(c),
    };
    let host: String = decoded(host)?.chars().filter_map(narrow).flat_map(char::to_lowercase).collect();
    let host = host.trim_end_matches('.');
    let is_of_name = |c: char| match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
        c => !c.is_whitespace() && !c.is_control(),
    };
    match is_numeric(host) {
        _ if host.is_empty() || !host.chars().all(is_of_name) => None,
        true => ipv4(host).map(|address| address.to_string()),
        false => Some(host.to_owned()),
    }
}

/// Replaces `%41` by its byte. Returns `None` if the result is no text.
fn decoded(host: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(host.len());
    let mut rest = host.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let code = digit(rest.next())? * 16 + digit(rest.next())?;
                u8::try_from(code).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Returns true if the last part is a number, so that the host is an IPv4 address or nothing.
fn is_numeric(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    match last.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Reads an IPv4 address of one to four parts (<https://url.spec.whatwg.org/#concept-ipv4-parser>). The last part fills what is left.
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let parts: Option<Vec<u32>> = host.split('.').map(number).collect();
    let parts = parts?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let free = 8 * (4 - u32::try_from(first.len()).ok()?);
    if free < 32 && *last >= 1 << free {
        return None;
    }
    let high = first.iter().zip([24, 16, 8]).map(|(part, shift)| part << shift).sum::<u32>();
    Some(Ipv4Addr::from(high + last))
}

/// Reads a number in decimal, octal (`010`) or hexadecimal (`0x8`), in lower case.
fn number(text: &str) -> Option<u32> {
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    match text.strip_prefix('0') {
        Some("") => Some(0),
        Some(rest) => match rest.strip_prefix('x') {
            Some("") => Some(0),
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => u32::from_str_radix(rest, 8).ok(),
        },
        None => text.parse().ok(),
    }
}
