//! The grant `http`: `wasi:http/outgoing-handler`, for requests to the servers that the entry names.
//!
//! The interface is linked even if the entry does not grant `http`, because the runtimes of some languages always
//! import it. Without the grant, no server is allowed, so each request is denied.
//!
//! The host checks each request and does not follow redirects. To follow a redirect, a guest has to send another
//! request. A request counts as a call of a capability. `limits.http-body` limits the size of the request's body and of
//! the response's body. All requests end when the plugin's call ends. A replay sends no requests.

mod address;
mod body;
mod network;
mod stream;

pub use network::Resolver;

pub(crate) use network::Network;

use super::clock::Busy;
use super::guest::Guest;
use crate::config::{Grants, Server, ServerHost};
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, Request, Uri, header};
use network::{Destination, PendingResponse, Rest};
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use stream::{BodyTooLong, HeadTooLong};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{self, ErrorCode, LinkOptions, TlsAlertReceivedPayload};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

/// Maximum number of bytes of a request's body that the host buffers before the server accepts them.
const CHUNK: usize = 64 * 1024;

/// The interfaces of `wasi:http` that are linked.
const INTERFACES: [&str; 2] = ["wasi:http/outgoing-handler@0.2.", "wasi:http/types@0.2."];

/// An example of the line in `[plugin.grants]` that grants `http`.
pub(crate) const GRANT: &str = r#"http = ["api.example.com"]"#;

/// Returns true if an import needs the grant `http`.
pub(crate) fn is_http(import: &str) -> bool {
    INTERFACES.iter().any(|interface| import.starts_with(interface))
}

/// Links the interfaces of the grant `http`.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, WasiHttp>(linker, &LinkOptions::default(), Guest::http)?;
    // `outgoing_handler::add_to_linker` is not used, because a request counts as a call of a capability. If there are
    // too many calls, the request ends the plugin's call.
    linker.instance(HANDLER)?.func_wrap("handle", handle)?;
    // wasmtime's function is replaced, because it does not recognise the errors that occur while a body is read.
    linker.allow_shadowing(true);
    linker.instance(TYPES)?.func_wrap("http-error-code", http_error_code)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The names of the interfaces in wasmtime's bindings. The linker accepts any compatible version.
const HANDLER: &str = "wasi:http/outgoing-handler@0.2.12";
const TYPES: &str = "wasi:http/types@0.2.12";

/// The parameters of the function `handle`.
type HandleArguments = (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>);

type Response = Result<Resource<HostFutureIncomingResponse>, ErrorCode>;

fn handle(mut store: StoreContextMut<'_, Guest>, (request, options): HandleArguments) -> wasmtime::Result<(Response,)> {
    let guest = store.data_mut();
    guest.count_call()?;
    if !guest.given.grants.http.is_empty() {
        guest.did.unrepeatable.insert("the plugin sent requests over HTTP");
    }
    Ok((match guest.http().handle(request, options) {
        Ok(response) => Ok(response),
        Err(error) => Err(error.downcast()?),
    },))
}

fn http_error_code(
    mut store: StoreContextMut<'_, Guest>,
    (error,): (Resource<wasmtime::Error>,),
) -> wasmtime::Result<(Option<ErrorCode>,)> {
    let (http, table) = store.data_mut().http_and_table();
    Ok((http.sending.code_of(table.get(&error)?),))
}

/// The state of the requests of one call.
#[derive(Debug)]
pub(super) struct Http {
    context: WasiHttpCtx,
    sending: RequestSender,
}

#[derive(Debug)]
struct RequestSender {
    servers: Arc<[Server]>,
    network: Arc<Network>,
    /// Maximum size of a body, in bytes.
    limit: usize,
    replayed: bool,
    /// The time for which connections keep threads busy. It counts as the call's own time.
    busy: Arc<Busy>,
}

/// Returns the servers that an entry grants.
pub(crate) fn servers(grants: &Grants) -> Arc<[Server]> {
    // Parsing cannot fail here, because the configuration was checked when it was read.
    grants.http.iter().filter_map(|server| Server::parse(server).ok()).collect()
}

impl Http {
    pub(super) fn new(
        servers: &Arc<[Server]>,
        network: &Arc<Network>,
        limit: usize,
        replayed: bool,
        busy: &Arc<Busy>,
    ) -> Self {
        let (servers, network, busy) = (Arc::clone(servers), Arc::clone(network), Arc::clone(busy));
        let sending = RequestSender { servers, network, limit, replayed, busy };
        Self { context: WasiHttpCtx::new(), sending }
    }
}

impl RequestSender {
    /// Converts the error of a stream to the error code of its request. Returns `None` for an error that is not about
    /// HTTP.
    fn code_of(&mut self, error: &wasmtime::Error) -> Option<ErrorCode> {
        if let Some(code) = error.downcast_ref::<ErrorCode>() {
            return Some(code.clone());
        }
        Some(match error.downcast_ref::<Error>()? {
            Error::Hyper(error) => self.p2_error_from_hyper(error),
            Error::HttpResponseBodySize(size) => ErrorCode::HttpResponseBodySize(*size),
            Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
            _ => ErrorCode::InternalError(None),
        })
    }

    /// Returns the destination of a request, if the request is allowed.
    fn destination(&self, method: &Method, uri: &Uri) -> Result<Destination, Error> {
        if self.replayed {
            return Err(Error::HttpRequestDenied);
        }
        if method.as_str().eq_ignore_ascii_case(Method::CONNECT.as_str()) {
            // CONNECT would ask the server to forward the connection to another server.
            return Err(Error::HttpRequestMethodInvalid);
        }
        let destination = destination(uri).ok_or(Error::HttpRequestUriInvalid)?;
        let Destination { host, port, https } = &destination;
        if self.servers.iter().any(|server| server.admits(host, *port, *https)) {
            Ok(destination)
        } else {
            Err(Error::HttpRequestDenied)
        }
    }
}

/// Returns the destination of a URL, or `None` if the URL is ambiguous.
fn destination(uri: &Uri) -> Option<Destination> {
    let (host, authority) = (uri.host()?, uri.authority()?.as_str());
    // A URL with a user name before the host, or with an invalid port, is refused.
    let port = match authority.strip_prefix(host)? {
        "" => None,
        port => Some(port.strip_prefix(':')?.parse::<u16>().ok().filter(|port| *port > 0)?),
    };
    let https = match uri.scheme_str()? {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let port = port.unwrap_or(if https { 443 } else { 80 });
    Some(Destination { host: ServerHost::parse(host)?, port, https })
}

/// Returns the cause of an error of hyper.
fn cause<T: std::error::Error + 'static>(error: &hyper::Error) -> Option<&T> {
    error.source()?.downcast_ref()
}

impl WasiHttpHooks for RequestSender {
    fn send_request(
        &mut self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<PendingResponse, Error>> + Send> {
        let destination = self.destination(request.method(), request.uri());
        let (network, limit) = (Arc::clone(&self.network), self.limit);
        let busy = Arc::clone(&self.busy);
        let rest_busy = Arc::clone(&busy);
        Box::new(busy.noting(async move {
            let destination = destination?;
            // Send the host name exactly as it was checked.
            let host = HeaderValue::try_from(destination.authority()).map_err(|_| Error::HttpRequestUriInvalid)?;
            request.headers_mut().insert(header::HOST, host);
            let sending = network.send(&destination, request, options.unwrap_or_default(), limit);
            // Catch a panic of the embedding program's resolver. For example, the runtime may lack network support.
            let sent = AssertUnwindSafe(sending).catch_unwind().await;
            let (response, rest) = sent.unwrap_or(Err(Error::InternalError(None)))?;
            let rest: Rest = Box::new(rest_busy.noting(Pin::from(rest)));
            Ok((response, rest))
        }))
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        let (own, io) = (cause::<Error>(error), cause::<io::Error>(error));
        // If a body was too large, the cause of hyper's error is the error of `BoundedBody`.
        if let Some(Error::HttpRequestBodySize(size)) = own {
            ErrorCode::HttpRequestBodySize(*size)
        } else if let Some(io) = io {
            let is_of = |is: fn(&(dyn std::error::Error + Send + Sync + 'static)) -> bool| io.get_ref().is_some_and(is);
            match io.kind() {
                _ if is_of(<dyn std::error::Error + Send + Sync>::is::<HeadTooLong>) => {
                    ErrorCode::HttpResponseHeaderSectionSize(None)
                }
                _ if is_of(<dyn std::error::Error + Send + Sync>::is::<BodyTooLong>) => {
                    ErrorCode::HttpResponseBodySize(Some(self.limit as u64))
                }
                io::ErrorKind::UnexpectedEof => ErrorCode::HttpResponseIncomplete,
                _ => ErrorCode::ConnectionTerminated,
            }
        } else if error.is_parse_too_large() {
            ErrorCode::HttpResponseHeaderSectionSize(None)
        } else if error.is_incomplete_message() {
            ErrorCode::HttpResponseIncomplete
        } else if error.is_canceled() || error.is_closed() {
            ErrorCode::ConnectionTerminated
        } else {
            ErrorCode::HttpProtocolError
        }
    }

    fn p2_error_from_connect(&mut self, error: &io::Error) -> ErrorCode {
        use io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
            ErrorKind::TimedOut => ErrorCode::ConnectionTimeout,
            _ => ErrorCode::DestinationUnavailable,
        }
    }

    fn p2_error_from_tls(&mut self, error: &io::Error) -> ErrorCode {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
        match cause {
            Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
                ErrorCode::TlsCertificateError
            }
            Some(rustls::Error::AlertReceived(alert)) => ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload {
                alert_id: Some(u8::from(*alert)),
                alert_message: None,
            }),
            Some(_) => ErrorCode::TlsProtocolError,
            None => ErrorCode::ConnectionTerminated,
        }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let (http, table) = self.http_and_table();
        WasiHttpCtxView { hooks: &mut http.sending, table, ctx: &mut http.context }
    }
}

#[cfg(test)]
mod tests {
    use super::{Http, Network};
    use crate::config::Grants;
    use http::Method;
    use std::sync::Arc;
    use wasmtime_wasi_http::Error;

    fn judged(method: &Method, url: &str) -> Result<String, Error> {
        let grants = Grants { http: vec!["example.com".into(), "[::1]:8080".into()], ..Grants::default() };
        let http = Http::new(&super::servers(&grants), &Arc::new(Network::default()), 1 << 20, false, &Arc::default());
        http.sending.destination(method, &url.parse().unwrap()).map(|destination| destination.authority())
    }

    #[test]
    fn a_request_goes_where_its_url_says_and_the_entry_allows() {
        for (url, authority) in [
            ("https://example.com/a?b", "example.com"),
            ("https://EXAMPLE.com.:443/", "example.com"),
            ("http://[0:0::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(judged(&Method::GET, url).unwrap(), authority, "{url}");
        }
        for url in ["http://example.com/", "https://example.com:444/", "https://example.org/", "https://[::1]/"] {
            assert!(matches!(judged(&Method::GET, url), Err(Error::HttpRequestDenied)), "{url}");
        }
    }

    #[test]
    fn a_url_that_two_programs_could_read_in_two_ways_is_invalid() {
        for url in [
            "https://example.com@evil.org/",
            "https://evil.org@example.com/",
            "https://example.com:0/",
            "https://example.com:99999/",
            "https://example.com:/",
            "https://2130706433/",
            "https://127.1/",
            "ftp://example.com/",
        ] {
            assert!(matches!(judged(&Method::GET, url), Err(Error::HttpRequestUriInvalid)), "{url}");
        }
        for method in [Method::CONNECT, Method::from_bytes(b"connect").unwrap()] {
            assert!(matches!(judged(&method, "https://example.com/"), Err(Error::HttpRequestMethodInvalid)));
        }
    }
}
