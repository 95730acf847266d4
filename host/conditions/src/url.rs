//! The host of an address, as a browser or `curl` would find it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Schemes in which a backslash is a slash, and slashes may be missing (<https://url.spec.whatwg.org/#special-scheme>).
const SPECIAL: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Returns the host of an address in lower case: without user, password, port, brackets and the dot at the end. Numbers that stand for
/// an IPv4 address, such as `0x7f.1`, become the usual four. An address without a scheme is one that a command line may have:
/// `example.com/path`.
///
/// Returns `None` if there is no host, as in `file:///etc` and `mailto:a@b.c`, or if no program would accept it.
#[must_use]
pub fn host(url: &str) -> Option<String> {
    let url: String = url.trim_matches(|character: char| character <= ' ').replace(['\t', '\n', '\r'], "");
    let (scheme, rest) = match scheme(&url) {
        Some((scheme, rest)) => (scheme, rest),
        None => ("http".to_owned(), url.as_str()),
    };
    let is_special = SPECIAL.contains(&scheme.as_str());
    let is_slash = |character| character == '/' || (is_special && character == '\\');
    let authority = match rest.strip_prefix("//") {
        Some(authority) if !is_special => authority,
        _ if is_special => rest.trim_start_matches(is_slash),
        _ => return None,
    };
    let end = authority.find(|character| is_slash(character) || matches!(character, '?' | '#'));
    let authority = &authority[..end.unwrap_or(authority.len())];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(bracketed) = host.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        return is_port(port).then(|| address.to_string());
    }
    let (host, port) = host.find(':').map_or((host, ""), |colon| host.split_at(colon));
    let host = decoded(host)?.to_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let is_name =
        !host.is_empty() && !host.contains(|character: char| character <= ' ' || "/\\@:[]?#%<>^|".contains(character));
    if !is_name || !is_port(port) {
        return None;
    }
    match is_numeric(host) {
        true => ipv4(host).map(|address| address.to_string()),
        false => Some(host.to_owned()),
    }
}

/// Splits the scheme off, if there is one. In `localhost:80`, there is none.
fn scheme(url: &str) -> Option<(String, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let scheme = scheme.to_ascii_lowercase();
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = is_port && !SPECIAL.contains(&scheme.as_str());
    (is_scheme && !is_host).then_some((scheme, rest))
}

/// Returns true for what may follow a host: nothing, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
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
