//! The address of a provider, which is a server or a program. The provider answers each request with a stream of server-sent
//! events.
//!
//! This module turns failures into [`ProviderError`]s. The module sends the key only to the server that the key belongs to. For
//! this reason, it follows no redirects. It also masks the key if a message of the server contains the key.

use crate::error::ProviderError;
use crate::keys::Keys;
use crate::origin::{Origin, carries_a_key, is_in_the_clear, is_loopback};
use crate::program::ProviderProgram;
use crate::provider::{Delta, DeltaStream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use reqwest::{Client, Response, StatusCode, Url, header::HeaderMap, header::HeaderName, redirect};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

/// Maximum length of an answer, in bytes on the wire.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// Maximum number of bytes that are read from the body of an error response.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Maximum length of the part of an error message that a server has written, in characters.
const MAX_REASON: usize = 300;

/// Time limits for a server that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Time limit for the connection.
    pub connect: Duration,
    /// Time limit until the first piece of an answer arrives, and between two pieces.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// 10 seconds for the connection, and 5 minutes for each piece of an answer.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(300) }
    }
}

/// An API key. It has neither `Display` nor `Debug`, so it cannot be printed.
#[derive(Clone)]
struct Key {
    variable: String,
    value: String,
}

/// Address of a provider, which is either a server with its key or a program.
#[derive(Clone)]
pub struct Endpoint {
    provider: String,
    transport: Transport,
}

#[derive(Clone)]
enum Transport {
    Http(Box<Server>),
    Program { program: Box<ProviderProgram>, description: Option<String>, timeouts: Timeouts },
}

/// A server and its key.
#[derive(Clone)]
struct Server {
    base: Url,
    key: Option<Key>,
    headers: HeaderMap,
    client: Client,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.transport {
            Transport::Http(server) => shown(&server.base),
            Transport::Program { program, .. } => format!("{program:?}"),
        };
        f.debug_struct("Endpoint").field("provider", &self.provider).field("place", &place).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates an endpoint below `base_url`, such as `https://api.openai.com/v1`. The key is read now, from the environment
    /// variable `key_variable`. If no variable is given, no key is sent.
    ///
    /// # Errors
    /// Returns an error if the variable is absent or empty, if `base_url` is not an http(s) URL, or if the key would be
    /// sent unencrypted to another machine.
    pub fn new(
        provider: &str,
        base_url: &str,
        key_variable: Option<&str>,
        timeouts: Timeouts,
    ) -> Result<Self, ProviderError> {
        Self::with_keys(provider, base_url, key_variable, &Keys::default(), timeouts)
    }

    /// Creates an endpoint like [`Self::new`]. If the variable is absent or empty, the key that the user has stored for this
    /// provider and server is used.
    ///
    /// # Errors
    /// Returns the errors of [`Self::new`], except that an absent variable is an error only if no key is stored.
    pub fn with_keys(
        provider: &str,
        base_url: &str,
        key_variable: Option<&str>,
        keys: &Keys,
        timeouts: Timeouts,
    ) -> Result<Self, ProviderError> {
        let unusable = |reason: String| ProviderError::Unreachable {
            provider: provider.to_owned(),
            url: Url::parse(base_url).map_or_else(|_| "base-url".to_owned(), |url| shown(&url)),
            reason,
        };
        let base = Url::parse(base_url).map_err(|error| unusable(format!("base-url is not a URL, {error}")))?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(unusable("base-url is not an http or https URL".into()));
        }
        let key = match key_variable {
            None => None,
            Some(variable) => match std::env::var(variable) {
                Ok(value) if !value.trim().is_empty() => {
                    Some(Key { variable: variable.to_owned(), value: value.trim().to_owned() })
                }
                _ => Some(Key { variable: String::new(), value: kept_key(provider, &base, variable, keys)? }),
            },
        };
        if (key.is_some() || carries_a_key(&base)) && is_in_the_clear(&base) {
            return Err(ProviderError::KeyInTheClear { provider: provider.to_owned(), url: shown(&base) });
        }
        let client = http_client(&base, timeouts).map_err(|error| unusable(root_cause(&error)))?;
        let server = Server { base, key, headers: HeaderMap::new(), client };
        Ok(Self { provider: provider.to_owned(), transport: Transport::Http(Box::new(server)) })
    }

    /// Creates an endpoint for a program. `description` is the line with which the program describes itself.
    ///
    /// # Errors
    /// Returns the errors of [`ProviderProgram::check`].
    pub fn of_program(
        provider: &str,
        program: ProviderProgram,
        description: Option<String>,
        timeouts: Timeouts,
    ) -> Result<Self, ProviderError> {
        program.check()?;
        let transport = Transport::Program { program: Box::new(program), description, timeouts };
        Ok(Self { provider: provider.to_owned(), transport })
    }

    /// Adds headers to each request.
    ///
    /// # Errors
    /// Returns an error for an invalid header, and for a header that usually contains a key, because a configuration must not
    /// contain keys.
    pub fn with_headers(mut self, headers: &BTreeMap<String, String>) -> Result<Self, ProviderError> {
        for (name, value) in headers {
            let unusable = |why: &str| ProviderError::Header {
                provider: self.provider.clone(),
                header: name.clone(),
                reason: why.to_owned(),
            };
            let header: HeaderName = name.parse().map_err(|_| unusable("its name cannot be one"))?;
            if matches!(header.as_str(), "authorization" | "x-api-key" | "proxy-authorization" | "cookie") {
                return Err(unusable(
                    "it carries a key, and keys are in the environment: name the variable with key-variable",
                ));
            }
            let value = value.parse().map_err(|_| unusable("its value has characters that no header can have"))?;
            if let Transport::Http(server) = &mut self.transport {
                server.headers.insert(header, value);
            }
        }
        Ok(self)
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    fn server(&self) -> Option<&Server> {
        match &self.transport {
            Transport::Http(server) => Some(server),
            Transport::Program { .. } => None,
        }
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.server()?.key.as_ref().map(|key| key.value.as_str())
    }

    pub(crate) fn host(&self) -> Option<&str> {
        self.server()?.base.host_str()
    }

    /// Returns a notice that the provider is a program, with the program's description. Returns `None` for a server.
    pub(crate) fn notice(&self) -> Option<String> {
        let Transport::Program { description, .. } = &self.transport else { return None };
        let description = description.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
        Some(format!("{} is a program of yours{description}", self.provider))
    }

    /// Posts `body` to `path` below the base URL, or passes it to the program. Returns the pieces of the answer.
    pub(crate) async fn post<D: Decoder>(
        &self,
        path: &str,
        headers: &[(HeaderName, String)],
        body: &Value,
        decoder: D,
    ) -> Result<DeltaStream, ProviderError> {
        let server = match &self.transport {
            Transport::Http(server) => server,
            Transport::Program { program, timeouts, .. } => {
                let pieces = program.answer(body.to_string(), timeouts.idle).await?;
                return Ok(self.deltas(pieces, decoder));
            }
        };
        let mut url = server.base.clone();
        url.set_path(&format!("{}/{path}", server.base.path().trim_end_matches('/')));
        let mut request = server
            .client
            .post(url)
            .headers(server.headers.clone())
            .header("content-type", "application/json")
            .body(body.to_string());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| self.unreachable(server, &error))?;
        let response = self.accepted(response).await?;
        Ok(self.deltas(response.bytes_stream().map_err(std::io::Error::other), decoder))
    }

    fn unreachable(&self, server: &Server, error: &reqwest::Error) -> ProviderError {
        let reason = if error.is_builder() {
            // Only the key can be an invalid header value here, so the reason must not contain the value.
            "the request cannot be written; the API key may hold characters that no header can".to_owned()
        } else if error.is_timeout() {
            "no answer in time".to_owned()
        } else {
            root_cause(error)
        };
        ProviderError::Unreachable { provider: self.provider.clone(), url: shown(&server.base), reason }
    }

    /// Returns the response if its status is a success and its content type is neither HTML nor JSON.
    async fn accepted(&self, response: Response) -> Result<Response, ProviderError> {
        let status = response.status();
        let provider = || self.provider.clone();
        if status.is_success() {
            let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            return match kind.split(';').next().unwrap_or_default().trim() {
                "text/html" | "application/json" => Err(ProviderError::BadAnswer {
                    provider: provider(),
                    reason: format!("`{kind}` instead of a stream of events"),
                }),
                _ => Ok(response),
            };
        }
        let retry_after = retry_after(response.headers());
        let number = status.as_u16();
        Err(match number {
            401 | 403 => ProviderError::Unauthorized {
                provider: provider(),
                status: number,
                variable: self.server().and_then(|server| server.key.as_ref()).map(|key| key.variable.clone()),
            },
            429 => ProviderError::RateLimited { provider: provider(), retry_after },
            500..=599 => ProviderError::Server { provider: provider(), status: number, retry_after },
            _ => ProviderError::Refused { provider: provider(), status: number, reason: self.reason(response).await },
        })
    }

    /// Returns the reason that the server gives for not accepting a request.
    async fn reason(&self, response: Response) -> String {
        let status = response.status();
        if status.is_redirection() {
            return "it redirects elsewhere; set base-url to the final address".into();
        }
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BODY {
                body.truncate(MAX_ERROR_BODY);
                break;
            }
        }
        let message = serde_json::from_slice::<Value>(&body).ok().and_then(|body| error_message(&body));
        match message {
            Some(message) => self.quoted(&message),
            None if status == StatusCode::NOT_FOUND => {
                "there is no such address or model; check base-url and model".into()
            }
            None => "it gave no reason".into(),
        }
    }

    /// Shortens a text of the server to one line and masks the key in it.
    pub(crate) fn quoted(&self, words: &str) -> String {
        let masked = match self.key() {
            Some(key) => words.replace(key, "[key]"),
            None => words.to_owned(),
        };
        let line: String = masked.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().filter(|character| !character.is_control()).take(MAX_REASON).collect()
    }

    fn deltas<D, B>(&self, pieces: impl Stream<Item = std::io::Result<B>> + Send + 'static, decoder: D) -> DeltaStream
    where
        D: Decoder,
        B: Into<Bytes> + Send + 'static,
    {
        let mut left = MAX_ANSWER;
        let bytes = pieces.map_ok(Into::into).and_then(move |chunk: Bytes| {
            let fits = left.checked_sub(chunk.len());
            left = fits.unwrap_or(0);
            std::future::ready(match fits {
                Some(_) => Ok(chunk),
                None => Err(std::io::Error::other(format!("it is longer than {MAX_ANSWER} bytes"))),
            })
        });
        let reading = AnswerReader {
            events: SseByteStream::new(bytes.boxed()),
            decoder,
            ready: VecDeque::new(),
            finished: false,
            provider: self.provider.clone(),
        };
        stream::try_unfold(
            reading,
            |mut reading| async move { Ok(reading.next().await?.map(|delta| (delta, reading))) },
        )
        .boxed()
    }
}

/// Returns the stored key for this provider and server.
fn kept_key(provider: &str, base: &Url, variable: &str, keys: &Keys) -> Result<String, ProviderError> {
    let origin = Origin::of_url(base);
    if let Some(kept) = origin.as_ref().and_then(|origin| keys.get(provider, origin)) {
        return Ok(kept.to_owned());
    }
    let (provider, variable) = (provider.to_owned(), variable.to_owned());
    Err(match (keys.kept_for(&provider), origin) {
        (Some(kept_for), Some(origin)) => {
            ProviderError::KeyForAnother { provider, kept_for, origin: origin.to_string(), variable }
        }
        _ => ProviderError::NoKey { provider, variable },
    })
}

/// Decodes the events of a protocol into deltas.
pub(crate) trait Decoder: Send + 'static {
    /// Decodes the data of one event. [`Delta::Stop`] ends the stream.
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError>;

    /// Called when the connection ends without a [`Delta::Stop`]. Returns the last pieces if the answer was complete nevertheless,
    /// and `None` if the answer broke off.
    fn end(&mut self) -> Option<Vec<Delta>>;
}

/// An answer that is being read.
struct AnswerReader<D, B: futures_util::TryStream> {
    events: SseByteStream<B>,
    decoder: D,
    ready: VecDeque<Delta>,
    finished: bool,
    provider: String,
}

impl<D, B> AnswerReader<D, B>
where
    D: Decoder,
    SseByteStream<B>: Stream<Item = Result<Sse, sse_stream::Error>> + Unpin,
    B: futures_util::TryStream,
{
    async fn next(&mut self) -> Result<Option<Delta>, ProviderError> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                if matches!(delta, Delta::Stop(_)) {
                    self.finished = true;
                    self.ready.clear();
                }
                return Ok(Some(delta));
            }
            if self.finished {
                return Ok(None);
            }
            match self.events.next().await {
                Some(Ok(event)) => {
                    if let Some(data) = event.data {
                        self.ready.extend(self.decoder.event(&data)?);
                    }
                }
                Some(Err(sse_stream::Error::Body(error))) => return Err(self.broken(root_cause(error.as_ref()))),
                Some(Err(_)) => {
                    let reason = "its stream is not UTF-8 text".into();
                    return Err(ProviderError::BadAnswer { provider: self.provider.clone(), reason });
                }
                None => match self.decoder.end() {
                    Some(deltas) => self.ready.extend(deltas),
                    None => return Err(self.broken("the connection was closed".into())),
                },
            }
        }
    }

    fn broken(&self, reason: String) -> ProviderError {
        ProviderError::BrokenStream { provider: self.provider.clone(), reason }
    }
}

/// Returns the message of an error body. Both protocols write `{"error": {"message": "…"}}` or `{"error": "…"}`.
pub(crate) fn error_message(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    error.get("message").unwrap_or(error).as_str().map(str::to_owned)
}

/// Creates a client that follows no redirects, because the target of a redirect would receive the key. For a server on this
/// machine, the client uses no proxy.
///
/// # Errors
/// Returns an error if TLS cannot be set up.
pub fn http_client(base: &Url, timeouts: Timeouts) -> Result<Client, reqwest::Error> {
    // reqwest is built without a TLS provider, so a provider must be installed. If the program has already installed a TLS
    // provider, that provider is used.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let builder = Client::builder()
        .user_agent(concat!("hookhost/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .read_timeout(timeouts.idle)
        .redirect(redirect::Policy::none());
    if is_loopback(base) { builder.no_proxy() } else { builder }.build()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|milliseconds| milliseconds / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns a URL without user, password and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

/// Returns the innermost cause, such as "Connection refused" instead of "error sending request".
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
