//! A body that ends with an error if it is too large or pauses for too long.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error;

/// A body with a maximum number of bytes.
pub(super) struct BoundedBody<B> {
    body: B,
    limit: usize,
    left: usize,
    too_large: fn(Option<u64>) -> Error,
    silence: Option<Silence>,
}

/// Time limit for the next frame.
struct Silence {
    most: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<B> BoundedBody<B> {
    /// Limits `body` to `limit` bytes. `too_large` returns the error for a longer body.
    pub(super) fn new(body: B, limit: usize, too_large: fn(Option<u64>) -> Error) -> Self {
        Self { body, limit, left: limit, too_large, silence: None }
    }

    /// Also limits the time to wait for each frame.
    pub(super) fn with_silence(mut self, most: Option<Duration>) -> Self {
        self.silence = most.map(|most| Silence { most, timer: Box::pin(tokio::time::sleep(most)) });
        self
    }
}

impl<B> Body for BoundedBody<B>
where
    B: Body<Data = Bytes, Error: Into<Error>> + Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let Poll::Ready(frame) = polled else {
            return match &mut self.silence {
                Some(silence) => silence.timer.as_mut().poll(context).map(|()| Some(Err(Error::ConnectionReadTimeout))),
                None => Poll::Pending,
            };
        };
        if let Some(Silence { most, timer }) = &mut self.silence {
            timer.as_mut().reset(Instant::now() + *most);
        }
        Poll::Ready(match frame {
            None => None,
            Some(Err(error)) => Some(Err(error.into())),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                Some(match self.left.checked_sub(bytes) {
                    Some(left) => {
                        self.left = left;
                        Ok(frame)
                    }
                    None => Err((self.too_large)(Some(self.limit as u64))),
                })
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
