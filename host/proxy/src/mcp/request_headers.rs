//! Checks the headers of an HTTP request that determine its origin and its content type.

use hyper::header::{ACCEPT, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Uri};

/// Returns true if the request is addressed to this machine. If a web page sends the request, the page must also have been loaded
/// from this machine.
pub fn is_local(address: &Uri, headers: &HeaderMap) -> bool {
    let is_named = address.authority().is_none_or(|authority| is_loopback(authority.as_str()));
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    let host = text(HOST).is_some_and(is_loopback);
    let origin = text(ORIGIN).is_none_or(|origin| origin.split_once("://").is_some_and(|(_, rest)| is_loopback(rest)));
    is_named && host && origin
}

/// Returns a header that occurs more than once although the decision about the request depends on it. The proxy and the service
/// could use different values of such a header.
pub fn repeated(headers: &HeaderMap) -> Option<&HeaderName> {
    let is_judged = |name: &HeaderName| {
        ["host", "origin", "authorization", "content-type"].contains(&name.as_str())
            || name.as_str().starts_with("mcp-")
    };
    let mut judged = headers.keys().filter(|name| is_judged(name));
    judged.find(|name| headers.get_all(*name).iter().nth(1).is_some())
}

/// Returns true if this content type is JSON, the content type of messages.
pub fn is_json(kind: &HeaderValue) -> bool {
    is_media_type(kind, "application/json")
}

/// Returns true if a content type is this media type, with any parameters. The case of letters is ignored.
pub(crate) fn is_media_type(kind: &HeaderValue, media_type: &str) -> bool {
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(media_type)
}

fn is_loopback(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_port && is_loopback_host(host)
}

/// Returns true if a host name or address means this machine. An IPv6 address must have no brackets.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns true if a client accepts a stream of events as the response.
pub fn accepts_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderName, HeaderValue, Uri, is_json, is_local, repeated};

    #[test]
    fn a_page_that_is_not_of_this_machine_gets_no_answer() {
        let of = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert("origin", HeaderValue::from_str(origin).unwrap());
            }
            is_local(&Uri::from_static("/mcp"), &headers)
        };
        assert!(of("127.0.0.1:80", None) && of("localhost", Some("http://localhost:3000")) && of("[::1]:9", None));
        for (host, origin) in [
            ("evil.example:80", None),
            ("127.0.0.1.evil.example", None),
            ("localhost", Some("https://evil.example")),
            ("localhost", Some("null")),
            ("localhost", Some("http://localhost.evil.example")),
            ("localhost", Some("http://localhost:80@evil.example")),
            ("localhost:80.evil.example", None),
        ] {
            assert!(!of(host, origin), "{host} {origin:?}");
        }
        assert!(!is_local(&Uri::from_static("/mcp"), &HeaderMap::new()));
    }

    #[test]
    fn an_address_in_the_request_line_counts_as_well() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("localhost"));
        assert!(is_local(&Uri::from_static("http://localhost:80/mcp"), &headers));
        assert!(!is_local(&Uri::from_static("http://evil.example/mcp"), &headers));
    }

    #[test]
    fn a_header_by_which_a_request_is_judged_occurs_once() {
        let mut headers = HeaderMap::new();
        for name in ["accept", "accept", "host", "mcp-name"] {
            headers.append(name, HeaderValue::from_static("a"));
        }
        assert_eq!(repeated(&headers), None);
        headers.append("mcp-name", HeaderValue::from_static("a"));
        assert_eq!(repeated(&headers).map(HeaderName::as_str), Some("mcp-name"));
    }

    #[test]
    fn the_kind_of_a_message_has_parameters_and_any_case() {
        assert!(is_json(&HeaderValue::from_static("Application/JSON; charset=utf-8")));
        assert!(
            !is_json(&HeaderValue::from_static("text/plain"))
                && !is_json(&HeaderValue::from_static("application/json5"))
        );
    }
}
