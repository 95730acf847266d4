//! Streams of server-sent events from the service. They contain answers to requests, and messages that the service sends on its own
//! initiative.

use super::{SESSION_HEADER, Service, ServiceAnswer, SessionState, VERSION_HEADER, cause, is_answer_to};
use crate::jsonrpc::message::{Id, Message, MessageKind};
use crate::jsonrpc::message_streams::IncomingMessage;
use crate::mcp::request_headers::is_media_type;
use crate::mcp::sse::EventParser;
use crate::mcp::subscription::{LISTEN, cancelled};
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The first and the longest pause before a stream of the service is opened again.
const RECONNECT_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Maximum number of times in a row that a stream may end without an event. After that, the stream is not requested again.
const MAX_EMPTY_STREAMS: u32 = 5;

/// Minimum pause before a stream is requested again, even if the service asks for a shorter pause.
const MIN_RECONNECT_PAUSE: Duration = Duration::from_millis(100);

const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");

impl Service {
    /// Forwards the messages of a stream. If the stream belongs to a request, it ends with the answer to the request, and the
    /// answer is returned. If the stream breaks before its end, it is resumed, provided that one of its events had an identifier.
    pub(super) async fn stream(
        &self,
        mut response: Response,
        asked: Option<(&Id, &Message)>,
    ) -> Result<Option<ServiceAnswer>, String> {
        let session = response.headers().get(SESSION_HEADER).cloned();
        let mut events = EventParser::default();
        // Number of times in a row that the stream has ended without an event.
        let mut silent = 0;
        loop {
            let part = response.chunk().await;
            let Ok(Some(part)) = part else {
                let broken = match &part {
                    Err(error) => format!("the service's answer broke off: {}", cause(error)),
                    _ => "the service ended its answer too early".to_owned(),
                };
                let Some(last) = events.last_id().map(str::to_owned) else {
                    return if asked.is_some() { Err(broken) } else { Ok(None) };
                };
                silent += 1;
                if silent > MAX_EMPTY_STREAMS {
                    return Err(broken);
                }
                sleep(events.retry().unwrap_or(RECONNECT_PAUSES.0).clamp(MIN_RECONNECT_PAUSE, RECONNECT_PAUSES.1))
                    .await;
                response = self.get(Some(&last)).await.map_err(|_| broken.clone())?;
                if !response.status().is_success() {
                    return Err(broken);
                }
                continue;
            };
            for data in events.take(&part).map_err(|error| error.to_string())? {
                silent = 0;
                if data.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let message = match IncomingMessage::of(data) {
                    IncomingMessage::Message(message) => message,
                    IncomingMessage::Unreadable { refused, head, tail } => {
                        // The client gets an error, because otherwise it would wait for the answer forever.
                        if asked.is_some_and(|(id, _)| refused.answered_requests().any(|of| of == id)) {
                            return Err(format!("the service's answer cannot be passed on: {refused}"));
                        }
                        if !refused.is_answer {
                            // The answers in a batch belong to requests of other streams, so the proxy must not see them.
                            let unreadable = match &*refused.answers {
                                [] => IncomingMessage::Unreadable { refused, head, tail },
                                _ => IncomingMessage::of(Bytes::from_static(b"[]")),
                            };
                            // The invalid message is forwarded to the part of the proxy that refuses and reports such messages.
                            self.forward(unreadable).await;
                        }
                        continue;
                    }
                };
                match (&message.kind, asked) {
                    (MessageKind::Response { .. }, Some((id, _))) if is_answer_to(id, &message) => {
                        return Ok(Some(ServiceAnswer { message: message.with_id(id), session, room: None }));
                    }
                    // An answer to another request does not belong on this stream.
                    (MessageKind::Response { .. } | MessageKind::ErrorAboutNoRequest, _) => {}
                    // The service has ended the subscription on its own initiative, so this stream has no more messages.
                    (MessageKind::Notification { .. }, Some((id, request)))
                        if request.method() == Some(LISTEN) && cancelled(&message).as_ref() == Some(id) =>
                    {
                        self.forward(IncomingMessage::Message(message)).await;
                        return Ok(None);
                    }
                    // This notification is dropped, because it would end a subscription that belongs to another stream.
                    (MessageKind::Notification { .. }, _)
                        if cancelled(&message).is_some_and(|id| self.state().subscriptions.contains_key(&id)) => {}
                    _ => self.forward(IncomingMessage::Message(message)).await,
                }
            }
        }
    }

    pub(super) fn start_listening(&self, state: &mut SessionState) {
        let service = self.clone();
        let listening = tokio::spawn(async move { service.listen().await }).abort_handle();
        if let Some(earlier) = state.listening.replace(listening) {
            earlier.abort();
        }
    }

    /// Reads the stream of messages that the service sends on its own initiative, if the service offers such a stream.
    pub(super) async fn listen(&self) {
        let mut pause = RECONNECT_PAUSES.0;
        // The service may refuse the stream before it has received `notifications/initialized`.
        let _ = timeout(pause, self.0.begun.notified()).await;
        loop {
            let got = self.get(None).await;
            self.0.listens.notify_one();
            match got {
                Ok(response) if response.status().is_success() => {
                    pause = RECONNECT_PAUSES.0;
                    let _ = self.stream(response, None).await;
                }
                Ok(response) if response.status().is_client_error() => return,
                _ => pause = (pause * 2).min(RECONNECT_PAUSES.1),
            }
            sleep(pause).await;
        }
    }

    /// Requests a stream. If `after` is given, requests only the part of a stream that follows this event.
    pub(super) async fn get(&self, after: Option<&str>) -> reqwest::Result<Response> {
        let mut request = self.0.client.get(self.0.url.clone()).headers(self.0.headers.clone());
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            request = request.header(LAST_EVENT_HEADER, after);
        }
        {
            let state = self.state();
            for (name, value) in [(SESSION_HEADER, &state.session), (VERSION_HEADER, &state.version)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        request.send().await
    }
}

/// Returns true if an answer is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| is_media_type(kind, "text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::{IncomingMessage, Service};
    use crate::jsonrpc::unreadable_lines::lost_answer;

    #[tokio::test]
    async fn answers_in_a_batch_on_a_stream_reach_no_request_of_another_stream() {
        let service = Service::new("http://127.0.0.1:9/mcp", None, &[], |_| {}).unwrap();
        let mut streams = service.connect();
        let batch = r#"[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":9,"result":{}}]"#;
        let events = format!("data:  \n\ndata: {batch}\n\n");
        assert!(service.stream(hyper::http::Response::new(events).into(), None).await.is_ok());
        let Some(IncomingMessage::Unreadable { refused, head, .. }) = streams.output.recv().await else {
            panic!("the batch was not reported")
        };
        assert!(refused.answered_requests().next().is_none() && lost_answer(&head).is_none());
    }
}
