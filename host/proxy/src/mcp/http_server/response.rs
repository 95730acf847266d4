//! The responses of the HTTP server.

use super::streams::Delivery;
use crate::jsonrpc::message::{self, INVALID_REQUEST, Id};
use crate::mcp::sse::event;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// A response.
pub(super) type Answer = Response<ResponseBody>;

/// The body of a response, which is either a single text or a stream of events.
pub(super) struct ResponseBody {
    pub(super) first: Option<Bytes>,
    pub(super) messages: Option<mpsc::Receiver<Delivery>>,
    /// The session that ends when the body ends.
    pub(super) keeps: Option<Arc<dyn Any + Send + Sync>>,
}

impl ResponseBody {
    pub(super) fn of(text: Bytes) -> Self {
        Self { first: (!text.is_empty()).then_some(text), messages: None, keeps: None }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let Some(messages) = &mut this.messages else { return Poll::Ready(None) };
        let Some(delivery) = ready!(messages.poll_recv(context)) else { return Poll::Ready(None) };
        if delivery.kind.is_last() {
            this.messages = None;
            this.keeps = None;
        }
        Poll::Ready(Some(Ok(Frame::data(event(delivery.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.messages.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.messages {
            None => SizeHint::with_exact(self.first.as_ref().map_or(0, |first| first.len() as u64)),
            Some(_) => SizeHint::default(),
        }
    }
}

/// Returns the HTTP status for an error with this code.
pub(super) fn status_of(code: Option<i64>) -> StatusCode {
    match code {
        Some(-32_601) => StatusCode::NOT_FOUND,
        Some(-32_022..=-32_020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

pub(super) fn stream(body: ResponseBody) -> Answer {
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    answer
}

pub(super) fn too_large() -> Answer {
    refused(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, "the message is too large")
}

pub(super) fn no_session() -> Answer {
    refused(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "there is no such session: begin with `initialize`")
}

pub(super) fn refused(status: StatusCode, id: Option<&Id>, code: i64, why: &str) -> Answer {
    let mut answer = Response::new(ResponseBody::of(message::error(id, code, why)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn text(status: StatusCode, body: &str) -> Answer {
    let mut answer = Response::new(ResponseBody::of(Bytes::copy_from_slice(body.as_bytes())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
