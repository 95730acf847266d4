//! The streams on which a relay receives and sends messages: lines of bytes, or a channel to another task of this process.

use crate::jsonrpc::lines::{self, Line};
use crate::jsonrpc::message::{self, KEPT_END_SIZE, Message, OutgoingMessage, UnreadableMessage, on_one_line};
use bytes::Bytes;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

/// Size of a stream's read buffer, in bytes.
const READ_BUFFER_SIZE: usize = 64 * 1024;

/// A message that has arrived.
#[derive(Debug)]
pub enum IncomingMessage {
    /// A valid message.
    Message(Message),
    /// A message that cannot be read and is not forwarded.
    Unreadable {
        /// The reason, and the requests that wait for an answer.
        refused: UnreadableMessage,
        /// The beginning of the message. This is the whole message unless the message exceeds the maximum length.
        head: Bytes,
        /// The end of the message, at most [`KEPT_END_SIZE`] bytes.
        tail: Bytes,
    },
}

impl IncomingMessage {
    /// Parses a message.
    pub fn of(bytes: Bytes) -> Self {
        match Message::of(bytes.clone()) {
            Ok(message) => Self::Message(message),
            Err(refused) => {
                let tail = bytes.slice(bytes.len().saturating_sub(KEPT_END_SIZE)..);
                Self::Unreadable { refused, head: bytes, tail }
            }
        }
    }
}

/// A stream from which a relay receives messages.
pub trait MessageSource: Send {
    /// Returns the next message, or `None` at the end of the stream.
    ///
    /// # Errors
    /// If the stream cannot be read.
    fn next(&mut self) -> impl Future<Output = io::Result<Option<IncomingMessage>>> + Send;
}

/// A stream on which a relay sends messages.
pub trait MessageSink: Send {
    /// Sends a message.
    ///
    /// # Errors
    /// If the receiver has gone.
    fn send(&mut self, message: OutgoingMessage) -> impl Future<Output = io::Result<()>> + Send;

    /// Tells the receiver that no more messages follow.
    ///
    /// # Errors
    /// If the receiver has gone.
    fn end(self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The messages in the lines of a byte stream.
#[derive(Debug)]
pub struct LineSource<R> {
    reader: BufReader<R>,
    is_first: bool,
}

impl<R: AsyncRead> LineSource<R> {
    /// Creates a source of the messages in this byte stream.
    pub fn new(stream: R) -> Self {
        Self { reader: BufReader::with_capacity(READ_BUFFER_SIZE, stream), is_first: true }
    }
}

impl<R: AsyncRead + Unpin + Send> MessageSource for LineSource<R> {
    async fn next(&mut self) -> io::Result<Option<IncomingMessage>> {
        Ok(Some(match lines::next(&mut self.reader).await? {
            Line::Whole(line) => {
                let is_first = std::mem::take(&mut self.is_first);
                IncomingMessage::of(if is_first { lines::without_mark(line) } else { line })
            }
            Line::TooLong { head, tail } => {
                IncomingMessage::Unreadable { refused: message::too_long(&head, &tail), head, tail }
            }
            Line::End => return Ok(None),
        }))
    }
}

/// Writes messages as lines to a byte stream.
#[derive(Debug)]
pub struct LineSink<W> {
    stream: W,
    line: Vec<u8>,
}

impl<W: AsyncWrite> LineSink<W> {
    /// Creates a sink that writes to this byte stream.
    pub const fn new(stream: W) -> Self {
        Self { stream, line: Vec::new() }
    }
}

impl<W: AsyncWrite + Unpin + Send> MessageSink for LineSink<W> {
    async fn send(&mut self, message: OutgoingMessage) -> io::Result<()> {
        self.line.clear();
        // Carriage returns are replaced too, because some programs end a line at a carriage return, and would read the rest as
        // another message.
        self.line.extend_from_slice(&on_one_line(message.into_bytes()));
        self.line.push(b'\n');
        self.stream.write_all(&self.line).await?;
        self.stream.flush().await
    }

    async fn end(mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }
}

impl MessageSource for mpsc::Receiver<IncomingMessage> {
    async fn next(&mut self) -> io::Result<Option<IncomingMessage>> {
        Ok(self.recv().await)
    }
}

impl MessageSink for mpsc::Sender<OutgoingMessage> {
    async fn send(&mut self, message: OutgoingMessage) -> io::Result<()> {
        Self::send(self, message).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn end(self) -> io::Result<()> {
        Ok(())
    }
}
