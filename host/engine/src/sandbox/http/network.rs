//! Sends a plugin's HTTP request. The host resolves the server's name once, checks every address, and connects only to
//! these addresses.

use super::address::is_public;
use super::body::BoundedBody;
use super::stream::BoundedStream;
use crate::config::ServerHost;
use futures_util::future::{BoxFuture, Either, select};
use http::{Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// Maximum time to connect, including TLS. A plugin can ask for a shorter time.
const CONNECT: Duration = Duration::from_secs(10);

/// Maximum size of the head of a response, in bytes.
const RESPONSE_HEAD: usize = 64 * 1024;

/// Maximum number of bytes that are read from a server until the head is complete. This number includes interim
/// responses, and the part of the body that arrives together with the head.
const BEFORE_RESPONSE: usize = RESPONSE_HEAD;

/// Returns the maximum number of bytes that are read from a server after the head, for a body of at most `body` bytes.
/// More bytes than the body itself are allowed, because each chunk of a chunked body has a line with its length.
const fn behind_head(body: usize) -> usize {
    body.saturating_mul(2).saturating_add(FRAMING)
}

/// Number of bytes that are allowed in any case, for the chunk lines of a small body and for trailers.
const FRAMING: usize = 128 * 1024;

/// Resolves the names of servers to addresses. The host checks these addresses, and does not connect if any address of
/// a name is not on the public internet.
pub trait Resolver: Send + Sync {
    /// Returns the addresses of `name`. The name is in lower case, has no dot at its end, and is neither `localhost`
    /// nor an address.
    ///
    /// # Errors
    /// Fails if the name could not be looked up.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// The state that all requests of a host share.
pub(crate) struct Network {
    resolver: Arc<dyn Resolver>,
    /// Created by the first request that needs it, because it reads the system's certificates.
    tls: OnceLock<Option<Arc<ClientConfig>>>,
}

/// The destination of a request.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) host: ServerHost,
    pub(super) port: u16,
    pub(super) https: bool,
}

impl Destination {
    /// Returns the host and port as they are written in a URL.
    pub(super) fn authority(&self) -> String {
        let host = match &self.host {
            ServerHost::Localhost => "localhost".to_owned(),
            ServerHost::Address(IpAddr::V6(address)) => format!("[{address}]"),
            ServerHost::Address(IpAddr::V4(address)) => address.to_string(),
            ServerHost::Name(name) => name.clone(),
        };
        if self.port == if self.https { 443 } else { 80 } { host } else { format!("{host}:{}", self.port) }
    }
}

/// Addresses to which a request may be sent. Only [`Network::addresses`] creates this type.
struct PermittedAddresses(Vec<SocketAddr>);

/// A response, and the connection that carries its body. The caller must poll the connection while it reads the body.
pub(super) type PendingResponse = (Response<WasiBody>, Rest);
pub(super) type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl Default for Network {
    fn default() -> Self {
        Self::new(Arc::new(SystemResolver))
    }
}

impl Network {
    pub(crate) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, tls: OnceLock::new() }
    }

    /// Sends a request to a destination that the entry grants. `body_limit` is the maximum size of the request's body
    /// and of the response's body, in bytes.
    pub(super) async fn send(
        &self,
        destination: &Destination,
        mut request: Request<WasiBody>,
        options: RequestOptions,
        body_limit: usize,
    ) -> Result<PendingResponse, Error> {
        // The request goes to the server itself and not to a proxy, so it has only the path and not the whole URL.
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = Uri::builder().path_and_query(path).build().map_err(|_| Error::HttpRequestUriInvalid)?;
        let request = request.map(|body| BoundedBody::new(body, body_limit, Error::HttpRequestBodySize).boxed_unsync());

        let connect_within = options.connect_timeout.map_or(CONNECT, |asked| asked.min(CONNECT));
        let connecting = async {
            let addresses = self.addresses(destination).await?;
            let stream = connected(&addresses).await?;
            if destination.https { self.encrypted(stream, &destination.host).await } else { Ok(boxed(stream)) }
        };
        let stream = tokio::time::timeout(connect_within, connecting).await.map_err(|_| Error::ConnectionTimeout)??;
        let (stream, has_head) = BoundedStream::new(stream, BEFORE_RESPONSE, behind_head(body_limit));
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(RESPONSE_HEAD).handshake(TokioIo::new(stream)).await?;
        let mut connection = Box::pin(connection);
        let exchange = async {
            let mut exchange = pin!(sender.send_request(request));
            Ok(match select(exchange.as_mut(), connection.as_mut()).await {
                Either::Left((response, _)) => (response?, false),
                Either::Right((Ok(()), _)) => (exchange.await?, true),
                Either::Right((Err(error), _)) => return Err(Error::Hyper(error)),
            })
        };
        let (response, closed) = match options.first_byte_timeout {
            Some(within) => {
                tokio::time::timeout(within, exchange).await.map_err(|_| Error::ConnectionReadTimeout)??
            }
            None => exchange.await?,
        };
        has_head.store(true, Ordering::Relaxed);
        let response = response.map(|body| {
            BoundedBody::new(body, body_limit, Error::HttpResponseBodySize)
                .with_silence(options.between_bytes_timeout)
                .boxed_unsync()
        });
        let rest = async move { if closed { Ok(()) } else { connection.await.map_err(Error::Hyper) } };
        Ok((response, Box::new(rest)))
    }

    /// Returns the addresses of a destination. If the destination is an address or `localhost`, it is always allowed,
    /// because the entry names it. If the destination is a name, all of its addresses must be on the public internet.
    async fn addresses(&self, destination: &Destination) -> Result<PermittedAddresses, Error> {
        let addresses = match &destination.host {
            ServerHost::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ServerHost::Address(address) => vec![*address],
            ServerHost::Name(name) => {
                let found = self.resolver.resolve(name).await;
                let found = found.map_err(|_| Error::DnsError { rcode: None, info_code: None })?;
                if found.is_empty() {
                    return Err(Error::DestinationNotFound);
                }
                // If a name has both private and public addresses, it is an attack or an internal name. The grant
                // covers neither of them.
                if let Some(address) = found.iter().find(|address| !is_public(**address)) {
                    tracing::warn!(name, %address, "no request is sent to a name that leads to such an address");
                    return Err(Error::DestinationIpProhibited);
                }
                found
            }
        };
        Ok(PermittedAddresses(
            addresses.into_iter().map(|address| SocketAddr::new(address, destination.port)).collect(),
        ))
    }

    async fn encrypted(&self, stream: TcpStream, host: &ServerHost) -> Result<Box<dyn Stream>, Error> {
        let name = match host {
            ServerHost::Localhost => ServerName::try_from("localhost"),
            ServerHost::Address(address) => Ok(ServerName::from(*address)),
            ServerHost::Name(name) => ServerName::try_from(name.clone()),
        };
        let name = name.map_err(|_| Error::HttpRequestUriInvalid)?;
        let config = self.tls.get_or_init(tls).clone().ok_or(Error::ConfigurationError)?;
        Ok(boxed(TlsConnector::from(config).connect(name, stream).await.map_err(Error::Tls)?))
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

/// Returns the TLS configuration, which trusts the system's certificates.
fn tls() -> Option<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier);
    match config {
        Ok(config) => Some(Arc::new(config.with_no_client_auth())),
        Err(error) => {
            tracing::warn!(%error, "plugins can send no request over https");
            None
        }
    }
}

/// Connects to the first address that accepts a connection.
async fn connected(addresses: &PermittedAddresses) -> Result<TcpStream, Error> {
    let mut failed = Error::DestinationNotFound;
    for address in &addresses.0 {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // A failure has no effect except a higher latency.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => failed = Error::Connect(error),
        }
    }
    Err(failed)
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

fn boxed(stream: impl Stream + 'static) -> Box<dyn Stream> {
    Box::new(stream)
}

#[cfg(test)]
mod tests {
    use super::{BEFORE_RESPONSE, FRAMING, behind_head};

    /// Returns the text of a page without its line breaks.
    fn words(page: &str) -> String {
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_page_has_the_bound_of_what_comes_before_a_response() {
        let page = include_str!("../../../../../docs/hostile.md");
        let bound = format!("{} KiB", BEFORE_RESPONSE >> 10);
        assert!(words(page).contains(&format!("The host reads at most {bound}, including interim responses")));
        let rows = page.lines().filter(|line| line.starts_with("| `/interim/") || line.starts_with("| `/head/"));
        assert_eq!(rows.filter(|row| row.contains(&format!("| {bound} |"))).count(), 4);
    }

    #[test]
    fn the_page_has_the_bound_of_what_comes_after_a_head() {
        let page = include_str!("../../../../../docs/hostile.md");
        let framing = format!("{} KiB", FRAMING >> 10);
        assert!(words(page).contains(&format!("After the head it reads at most 2 × `limits.http-body` + {framing}")));
        assert_eq!(behind_head(1_000), 2 * 1_000 + FRAMING);
        let rows = page.lines().filter(|line| line.starts_with("| `/chunk/"));
        assert_eq!(rows.filter(|row| row.contains(&format!("| 2 × `limits.http-body` + {framing} |"))).count(), 2);
    }
}
