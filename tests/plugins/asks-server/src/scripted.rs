//! Sends the requests of a script such as `{"requests": […], "at-once": true}`, and returns one line for each answer.
//!
//! | key of a request | meaning |
//! |---|---|
//! | `url`, `method` | the URL, and the method, by default `GET` |
//! | `headers` | names and values |
//! | `body` | the number of bytes to send; each byte is an `x` |
//! | `connect-ms`, `first-byte-ms`, `between-bytes-ms` | timeouts, in milliseconds |
//! | `follow` | the maximum number of redirects to follow |
//! | `abandon` | if true, the plugin does not wait for the answer |
//!
//! The line for an answer contains the status and the text, such as `200 text`. For a long text, it contains the length in place of the
//! text. If the request fails, the line is the error.

use serde::Deserialize;
use std::collections::BTreeMap;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions,
    Scheme,
};
use wasip2::io::streams::StreamError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Script {
    requests: Vec<Request>,
    #[serde(default)]
    at_once: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Request {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<usize>,
    connect_ms: Option<u64>,
    first_byte_ms: Option<u64>,
    between_bytes_ms: Option<u64>,
    #[serde(default)]
    follow: u32,
    #[serde(default)]
    abandon: bool,
}

/// Maximum length of a text that is shown unchanged, in bytes.
const SHOWN: usize = 200;

pub(crate) fn run(script: &str) -> String {
    let script: Script = match serde_json::from_str(script) {
        Ok(script) => script,
        Err(error) => return format!("no script: {error}"),
    };
    let answers: Vec<_> = if script.at_once {
        let sent: Vec<_> = script.requests.iter().map(send).collect();
        sent.into_iter().map(|sent| sent.and_then(|waiting| read(&waiting))).collect()
    } else {
        script.requests.into_iter().map(answer).collect()
    };
    let lines = answers.into_iter().map(|answer| answer.unwrap_or_else(|error| error));
    lines.collect::<Vec<_>>().join("\n")
}

fn answer(mut request: Request) -> Result<String, String> {
    loop {
        let waiting = send(&request)?;
        if request.abandon {
            return Ok("abandoned".into());
        }
        if request.follow == 0 {
            return read(&waiting);
        }
        let response = response(&waiting)?;
        let location = response.headers().get("location").into_iter().next();
        let Some(location) = location else { return body(&response) };
        request.url = String::from_utf8_lossy(&location).into_owned();
        request.follow -= 1;
    }
}

fn send(request: &Request) -> Result<FutureIncomingResponse, String> {
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers.append(name, value.as_bytes()).map_err(|error| format!("header {name}: {error}"))?;
    }
    let (scheme, rest) = request.url.split_once("://").ok_or("a URL has a scheme")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let method = match request.method.as_deref() {
        None | Some("GET") => Method::Get,
        Some(other) => Method::Other(other.to_owned()),
    };
    let outgoing = OutgoingRequest::new(headers);
    outgoing.set_method(&method).map_err(|()| "no such method")?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| "no such scheme")?;
    outgoing.set_authority(Some(authority)).map_err(|()| "no such authority")?;
    outgoing.set_path_with_query(Some(path)).map_err(|()| "no such path")?;
    let options = RequestOptions::new();
    let nanos = |ms: Option<u64>| ms.map(|ms| ms * 1_000_000);
    let set = options.set_connect_timeout(nanos(request.connect_ms)).is_ok()
        && options.set_first_byte_timeout(nanos(request.first_byte_ms)).is_ok()
        && options.set_between_bytes_timeout(nanos(request.between_bytes_ms)).is_ok();
    if !set {
        return Err("no such timeout".into());
    }
    let body = request.body.map(|bytes| (outgoing.body(), bytes));
    let waiting = handle(outgoing, Some(options)).map_err(text)?;
    if let Some((body, bytes)) = body {
        // A server that has read enough may close the stream. The error is ignored, because the response contains the reason.
        if let Ok(body) = body
            && write(&body, bytes).is_ok()
        {
            OutgoingBody::finish(body, None).map_err(text)?;
        }
    }
    Ok(waiting)
}

fn write(body: &OutgoingBody, bytes: usize) -> Result<(), ()> {
    let stream = body.write()?;
    let chunk = [b'x'; 4096];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(chunk.len());
        stream.blocking_write_and_flush(&chunk[..now]).map_err(drop)?;
        left -= now;
    }
    Ok(())
}

fn read(waiting: &FutureIncomingResponse) -> Result<String, String> {
    body(&response(waiting)?)
}

fn response(waiting: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    waiting.subscribe().block();
    let response = waiting.get().and_then(Result::ok).ok_or("it is ready, and was not taken before")?;
    response.map_err(text)
}

fn body(response: &IncomingResponse) -> Result<String, String> {
    let body = response.consume().map_err(|()| "the body was not taken before")?;
    let stream = body.stream().map_err(|()| "the stream was not taken before")?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(16 * 1024) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error);
                return Err(format!("{} after {} bytes", code.map_or_else(|| "some error".into(), text), bytes.len()));
            }
        }
    }
    let shown = match String::from_utf8(bytes) {
        Ok(text) if text.len() <= SHOWN => text,
        Ok(text) => format!("({} bytes)", text.len()),
        Err(error) => format!("({} bytes)", error.as_bytes().len()),
    };
    Ok(format!("{} {shown}", response.status()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
fn text(code: ErrorCode) -> String {
    format!("{code:?}")
}
