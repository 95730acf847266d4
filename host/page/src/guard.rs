//! Decides which requests are answered, from the head of a request alone.
//!
//! Any program can send any head. The guard protects against web pages: a browser says truthfully for which host it sends a request, and
//! which page made it do so.

use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN, UPGRADE};
use hyper::{Method, StatusCode, Uri};

/// Maximum length of the body of a request, in bytes.
pub(crate) const MAX_BODY: u64 = 64 * 1024;

/// The header in which a browser says where the page is from that made it send the request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The path of the pages without a script. Only their forms send another type than JSON.
pub(crate) const PLAIN: &str = "/plain";

/// The requests that a page answers: those that its own origin sends to its own name.
#[derive(Clone, Debug)]
pub(crate) struct RequestGuard {
    host: String,
    origin: String,
}

/// The reason why a request is not answered, with the status that says so.
pub(crate) type Refusal = (StatusCode, &'static str);

impl RequestGuard {
    /// Creates the guard of the page at this port.
    pub(crate) fn new(port: u16) -> Self {
        Self { host: format!("localhost:{port}"), origin: format!("http://localhost:{port}") }
    }

    /// Checks the head of a request. The name of the host is compared byte by byte: a page of another name that resolves to this machine
    /// ("DNS rebinding") sends its own name.
    ///
    /// # Errors
    /// The status of the refusal, and one sentence.
    pub(crate) fn check(&self, method: &Method, target: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if target.authority().is_some()
            || target.scheme().is_some()
            || only(headers, &HOST) != Some(self.host.as_bytes())
        {
            return Err((StatusCode::MISDIRECTED_REQUEST, "this page has another address: run `hookhost ui`"));
        }
        if headers.contains_key(ORIGIN) && only(headers, &ORIGIN) != Some(self.origin.as_bytes()) {
            return Err((StatusCode::FORBIDDEN, "the page answers no other origin"));
        }
        if headers.contains_key(FETCH_SITE) && !matches!(only(headers, &FETCH_SITE), Some(b"same-origin" | b"none")) {
            return Err((StatusCode::FORBIDDEN, "the page answers no other site"));
        }
        if headers.contains_key(UPGRADE) || ![Method::GET, Method::POST].contains(method) {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "the page knows GET and POST"));
        }
        if *method == Method::POST {
            let is_plain = target.path() == PLAIN;
            let wanted: &[u8] = if is_plain { b"application/x-www-form-urlencoded" } else { b"application/json" };
            if only(headers, &CONTENT_TYPE) != Some(wanted) {
                return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the page accepts another type of content here"));
            }
            let length =
                only(headers, &CONTENT_LENGTH).and_then(|length| std::str::from_utf8(length).ok()?.parse().ok());
            if length.is_none_or(|length: u64| length > MAX_BODY) {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, "the page accepts at most 64 KiB of a known length"));
            }
        }
        Ok(())
    }
}

/// Returns the value of a header that must occur once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then(|| first.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::RequestGuard;
    use hyper::{Request, StatusCode};

    /// Checks a request with these headers, in addition to a right `Host`.
    fn check(method: &str, target: &str, headers: &[(&str, &str)]) -> Result<(), StatusCode> {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        RequestGuard::new(4000).check(&head.method, &head.uri, &head.headers).map_err(|(status, _)| status)
    }

    const HOST: (&str, &str) = ("host", "localhost:4000");
    const JSON: (&str, &str) = ("content-type", "application/json");
    const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
    const LENGTH: (&str, &str) = ("content-length", "2");

    #[test]
    fn a_request_of_the_page_itself_is_answered() {
        for (method, target, headers) in [
            ("GET", "/", vec![HOST]),
            ("GET", "/search?q=a", vec![HOST, ("sec-fetch-site", "none")]),
            ("GET", "/live", vec![HOST, ("sec-fetch-site", "same-origin")]),
            ("POST", "/session", vec![HOST, JSON, LENGTH, ("origin", "http://localhost:4000")]),
            ("POST", "/plain", vec![HOST, FORM, LENGTH]),
        ] {
            assert_eq!(check(method, target, &headers), Ok(()), "{method} {target} {headers:?}");
        }
    }

    #[test]
    fn a_request_to_another_name_or_another_port_is_misdirected() {
        for host in [
            "evil.test:4000",
            "127.0.0.1:4000",
            "[::1]:4000",
            "0.0.0.0:4000",
            "localhost.:4000",
            "LocalHost:4000",
            "localhost",
            "localhost:4001",
            "localhost:04000",
            "user@localhost:4000",
            "localhost:4000 ",
            "",
        ] {
            // A header cannot contain all of these; those cannot arrive.
            if hyper::header::HeaderValue::from_str(host).is_ok() {
                assert_eq!(check("GET", "/", &[("host", host)]), Err(StatusCode::MISDIRECTED_REQUEST), "{host}");
            }
        }
        assert_eq!(check("GET", "/", &[]), Err(StatusCode::MISDIRECTED_REQUEST));
        assert_eq!(check("GET", "/", &[HOST, HOST]), Err(StatusCode::MISDIRECTED_REQUEST));
        for target in ["http://localhost:4000/", "http://evil.test/", "localhost:4000"] {
            assert_eq!(check("GET", target, &[HOST]), Err(StatusCode::MISDIRECTED_REQUEST), "{target}");
        }
    }

    #[test]
    fn a_request_that_another_page_caused_is_refused() {
        for header in [
            ("origin", "http://evil.test:4000"),
            ("origin", "http://localhost:4001"),
            ("origin", "https://localhost:4000"),
            ("origin", "http://127.0.0.1:4000"),
            ("origin", "null"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "other"),
        ] {
            assert_eq!(check("GET", "/", &[HOST, header]), Err(StatusCode::FORBIDDEN), "{header:?}");
            assert_eq!(
                check("POST", "/session", &[HOST, JSON, LENGTH, header]),
                Err(StatusCode::FORBIDDEN),
                "{header:?}"
            );
        }
        let origin = ("origin", "http://localhost:4000");
        assert_eq!(check("GET", "/", &[HOST, origin, origin]), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn only_plain_methods_and_short_bodies_of_the_right_type_are_read() {
        for method in ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PATCH"] {
            assert_eq!(check(method, "/", &[HOST]), Err(StatusCode::METHOD_NOT_ALLOWED), "{method}");
        }
        assert_eq!(check("GET", "/live", &[HOST, ("upgrade", "websocket")]), Err(StatusCode::METHOD_NOT_ALLOWED));
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", ""] {
            let refused = Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
            assert_eq!(check("POST", "/session", &[HOST, LENGTH, ("content-type", kind)]), refused, "{kind}");
        }
        assert_eq!(check("POST", "/plain", &[HOST, LENGTH, JSON]), Err(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        for length in ["65537", "-1", "18446744073709551616", "x"] {
            let refused = Err(StatusCode::PAYLOAD_TOO_LARGE);
            assert_eq!(check("POST", "/session", &[HOST, JSON, ("content-length", length)]), refused, "{length}");
        }
        // The length of a body in chunks is not known before it is read.
        assert_eq!(check("POST", "/session", &[HOST, JSON]), Err(StatusCode::PAYLOAD_TOO_LARGE));
    }
}
