//! The head of a request to the proxy.

/// Where a request leads, and what is sent there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: String,
    pub(super) port: u16,
    /// The head as the host gets it; `None` for a tunnel, in which the client says everything itself.
    pub(super) head: Option<String>,
}

/// The reason why a request is no request to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedRequest(pub(super) &'static str);

/// Headers between a client and its proxy, and those that the proxy sets itself.
const OWN_HEADERS: [&str; 6] =
    ["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade"];

/// Reads a head, which ends with an empty line. `CONNECT host:port` and a method with an address such as
/// `http://host/path` are understood.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest, MalformedRequest> {
    let head = std::str::from_utf8(head).map_err(|_| MalformedRequest("its head is no text"))?;
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else {
        return Err(MalformedRequest("it is not HTTP 1"));
    };
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(ProxyRequest { host, port, head: None });
    }
    let Some(address) = target.strip_prefix("http://") else {
        return Err(MalformedRequest(
            "this is a proxy, which understands CONNECT and addresses that begin with http://",
        ));
    };
    let (named, path) = address.split_at(address.find(['/', '?']).unwrap_or(address.len()));
    let (host, port) = authority(named, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The host answers one request. The next one of this client can be for another host.
    let mut forwarded = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n");
    for line in lines.filter(|line| !line.is_empty()) {
        let Some((name, _)) = line.split_once(':') else {
            return Err(MalformedRequest("a line of its head has no name"));
        };
        if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(MalformedRequest("the name of a header has a space"));
        }
        if !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            forwarded.push_str(line);
            forwarded.push_str("\r\n");
        }
    }
    forwarded.push_str("\r\n");
    Ok(ProxyRequest { host, port, head: Some(forwarded) })
}

/// Reads a host and a port. The host has only the characters of names and addresses, so that it can be shown.
fn authority(text: &str, default: Option<u16>) -> Result<(String, u16), MalformedRequest> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(MalformedRequest("its address is not closed"))?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match (port.strip_prefix(':').map(str::parse), default) {
        (Some(Ok(port)), _) => port,
        (None, Some(port)) if port_is_left_out(text, host) => port,
        _ => return Err(MalformedRequest("it names no port")),
    };
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    if host.is_empty() || host.len() > 253 || !host.bytes().all(is_usual) {
        return Err(MalformedRequest("it names no host"));
    }
    Ok((host.to_owned(), port))
}

/// Returns true if a text is a host alone, with or without brackets.
fn port_is_left_out(text: &str, host: &str) -> bool {
    text.len() == host.len() || text.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_names_host_and_port() {
        for (target, host, port) in
            [("github.com:443", "github.com", 443), ("[::1]:80", "::1", 80), ("10.0.0.1:1", "10.0.0.1", 1)]
        {
            let request = parse(format!("CONNECT {target} HTTP/1.1\r\nHost: other\r\n\r\n").as_bytes());
            assert_eq!(request, Ok(ProxyRequest { host: host.to_owned(), port, head: None }));
        }
    }

    #[test]
    fn an_address_is_forwarded_with_its_own_host() {
        let head = "POST http://a.org:81/x?y=1 HTTP/1.1\r\nHost: evil.org\r\nA: b\r\nProxy-Connection: c\r\n\r\n";
        let request = parse(head.as_bytes()).unwrap();
        assert_eq!((request.host.as_str(), request.port), ("a.org", 81));
        let expected = "POST /x?y=1 HTTP/1.1\r\nHost: a.org:81\r\nConnection: close\r\nA: b\r\n\r\n";
        assert_eq!(request.head.as_deref(), Some(expected));
        let request = parse(b"GET http://a.org?q HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((request.port, request.head.unwrap().lines().next()), (80, Some("GET /?q HTTP/1.1")));
    }

    #[test]
    fn everything_else_is_malformed() {
        for head in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "CONNECT a.org:0x50 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:99999 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "CONNECT user@a.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT \u{1b}[2Ja.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
            "CONNECT  a.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:443 HTTP/2\r\n\r\n",
            "GET http://user:word@a.org/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert!(parse(head.as_bytes()).is_err(), "{head}");
        }
    }
}
