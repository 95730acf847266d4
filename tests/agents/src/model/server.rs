//! The model's HTTP server.

use super::conversation::Script;
use super::wire::{self, Body};
use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A request, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The method and the path.
    pub(crate) line: String,
    /// The body, unchanged.
    pub(crate) body: String,
    /// The script and the number of the step that answered it.
    pub(crate) step: Option<(&'static str, usize)>,
    /// The answer's texts and calls, in a form for people.
    pub(crate) said: String,
}

#[derive(Debug, Default)]
struct Shared {
    scripts: Vec<Script>,
    exchanges: Vec<Exchange>,
}

/// The running model. Its server ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    shared: Arc<Mutex<Shared>>,
    port: u16,
}

impl Model {
    /// Starts the model on a free port of loopback.
    ///
    /// # Errors
    /// If there is no loopback.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).context("no port on loopback")?;
        let model = Self { shared: Arc::default(), port: listener.local_addr()?.port() };
        let shared = Arc::clone(&model.shared);
        thread::spawn(move || runtime.block_on(serve(listener, shared)));
        Ok(model)
    }

    /// Returns the server's address, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Answers by these scripts from now on, and clears the list of requests.
    pub(crate) fn follow(&self, scripts: Vec<Script>) {
        *self.lock() = Shared { scripts, exchanges: Vec::new() };
    }

    /// Returns the exchanges since the last [`Self::follow`].
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.lock().exchanges.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(listener: tokio::net::TcpListener, shared: Arc<Mutex<Shared>>) {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::task::spawn_local(async move {
                    let service = service_fn(|request| answer(request, &shared));
                    // An agent that ends breaks its connections.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        })
        .await;
}

async fn answer(
    request: hyper::Request<Incoming>,
    shared: &Mutex<Shared>,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let path = head.uri.path();
    let (status, reply, step, said) = reply(&head.method, path, &text, &shared.scripts);
    shared.exchanges.push(Exchange { line: format!("{} {path}", head.method), body: text, step, said });
    let mut response = hyper::Response::new(Full::new(Bytes::from(reply.text)));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(reply.kind);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    Ok(response)
}

type Replied = (hyper::StatusCode, Body, Option<(&'static str, usize)>, String);

fn reply(method: &hyper::Method, path: &str, text: &str, scripts: &[Script]) -> Replied {
    let plain = |status, value: &Value| (status, Body::json(value), None, String::new());
    let ok = hyper::StatusCode::OK;
    let body = serde_json::from_str::<Value>(text).unwrap_or_default();
    if let Some(wire) = wire::of(path).filter(|_| method == hyper::Method::POST) {
        let request = wire.read(&body, path);
        let (answer, step) = request.answer(scripts);
        let calls = answer.calls.iter().map(|(call, _)| format!("{}{}", call.tool, call.arguments));
        let said = answer.text.iter().cloned().chain(calls).collect::<Vec<_>>().join("\n");
        return (ok, wire.write(&body, &request, &answer), step, said);
    }
    if path.ends_with("/count_tokens") {
        return plain(ok, &json!({ "input_tokens": 10 }));
    }
    if path.ends_with(":countTokens") {
        return plain(ok, &json!({ "totalTokens": 10 }));
    }
    if path.ends_with("/models") {
        let model = json!({ "id": "mock-model", "object": "model", "type": "model", "display_name": "Mock" });
        return plain(ok, &json!({ "object": "list", "data": [model], "models": [] }));
    }
    if path == "/" {
        return plain(ok, &json!({}));
    }
    let why = json!({ "error": { "type": "not_found_error", "message": format!("there is nothing at {path}") } });
    plain(hyper::StatusCode::NOT_FOUND, &why)
}
