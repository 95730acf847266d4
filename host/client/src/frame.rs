//! The protocol of the socket. A frame begins with a length, which is written as four bytes in little-endian order. Then that number of
//! bytes follows.
//!
//! A request begins with [`MAGIC`], whose last byte is the version of the protocol. Each string and each sequence of bytes in a frame
//! begins with its own length, written in the same way.

use hookhost_agents::Reply;
use std::path::PathBuf;

/// The beginning of a request: three letters, and the version of the protocol.
pub const MAGIC: [u8; 4] = *b"HKH\x01";

/// Maximum length of a frame, in bytes. A frame of this length can contain a message of 16 MiB and the fields around the message.
pub const MAX_FRAME: usize = 18 * 1024 * 1024;

/// A request to the resident host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Decide on an agent's message.
    Hook(HookRequest),
    /// Report the host's status as JSON, with the rules that are active in this directory.
    Status {
        /// The directory.
        directory: PathBuf,
    },
    /// Make a link to the host's page, for the user to open.
    Page {
        /// The directory whose rules the page shows.
        directory: PathBuf,
        /// What the user wants to do there.
        purpose: LinkPurpose,
    },
    /// End after deciding on all pending events.
    Stop,
    /// Keep the connection open. From here on, each frame to the resident host is a [`NumberedRequest`]. Each frame from the host begins
    /// with a number, written as eight bytes in little-endian order. The number identifies the message that the host answers. The response
    /// follows the number.
    Keep,
    /// Register the sender as the supervisor of a program in `hookhost exec`, until the connection is closed. The host sends
    /// [`Response::Waiting`] at once and then each second.
    Supervise,
}

/// What a user wants to do on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkPurpose {
    /// See what happens.
    View = 0,
    /// Answer a question.
    Approvals = 1,
    /// Register or remove a passkey. The tab may register the first one.
    Passkeys = 2,
}

impl LinkPurpose {
    fn of(byte: u8) -> Result<Self, FrameError> {
        let all = [Self::View, Self::Approvals, Self::Passkeys];
        all.into_iter().find(|purpose| *purpose as u8 == byte).ok_or(FrameError::Garbage)
    }
}

/// A frame to the resident host on a connection that is kept open ([`Request::Keep`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberedRequest {
    /// Decide on a message. Its number differs from the numbers of all pending messages on the connection.
    Hook {
        /// The number.
        number: u64,
        /// The message.
        request: HookRequest,
    },
    /// The sender no longer waits for the answer to a message.
    Gone {
        /// The number of the message.
        number: u64,
    },
}

/// A message of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookRequest {
    /// The agent that the command line names.
    pub agent: String,
    /// The hook point that the command line names. Empty if the command line names no hook point.
    pub point: String,
    /// The directory in which the hook was started.
    pub directory: PathBuf,
    /// Environment variables of the hook that name the project's directory and the directories of hookhost's files.
    pub variables: Vec<(String, String)>,
    /// The message.
    pub message: Vec<u8>,
}

/// A response of the resident host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The host works on the event. The host sends this response each second until the reply.
    Waiting {
        /// Maximum time until the reply, in seconds, if a person or a model is being asked. 0 leaves the deadline unchanged.
        seconds: u32,
    },
    /// The hook's reply to the agent.
    Reply(Reply),
    /// The host makes no decision, for the given reason.
    Refused(String),
    /// The host's status, a JSON object.
    Status(String),
    /// A link to the host's page.
    Link(String),
}

/// The reason why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The other side uses another protocol, or another version of this protocol.
    #[error("the other side speaks another version of the protocol")]
    OtherVersion,
    /// The bytes are too few or too many, or contain an invalid value.
    #[error("the other side sent bytes that are not a valid frame")]
    Garbage,
}

impl Request {
    /// Encodes the request as a frame with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = MAGIC.to_vec();
        match self {
            Self::Hook(request) => {
                body.push(1);
                request.put(&mut body);
            }
            Self::Status { directory } => {
                body.push(2);
                put(&mut body, bytes_of(directory));
            }
            Self::Stop => body.push(3),
            Self::Keep => body.push(4),
            Self::Supervise => body.push(6),
            Self::Page { directory, purpose } => {
                body.extend_from_slice(&[5, *purpose as u8]);
                put(&mut body, bytes_of(directory));
            }
        }
        framed(&body)
    }

    /// Reads the body of a frame.
    ///
    /// # Errors
    /// If the body has another version of the protocol, or is not a request.
    pub fn from_body(body: &[u8]) -> Result<Self, FrameError> {
        let Some((magic, rest)) = body.split_first_chunk::<4>() else { return Err(FrameError::Garbage) };
        if *magic != MAGIC {
            return Err(FrameError::OtherVersion);
        }
        let mut reader = Reader { rest };
        let request = match reader.byte()? {
            1 => Self::Hook(HookRequest::read(&mut reader)?),
            2 => Self::Status { directory: reader.path()? },
            3 => Self::Stop,
            4 => Self::Keep,
            5 => Self::Page { purpose: LinkPurpose::of(reader.byte()?)?, directory: reader.path()? },
            6 => Self::Supervise,
            _ => return Err(FrameError::Garbage),
        };
        reader.end(request)
    }
}

impl HookRequest {
    fn put(&self, to: &mut Vec<u8>) {
        let Self { agent, point, directory, variables, message } = self;
        put(to, agent.as_bytes());
        put(to, point.as_bytes());
        put(to, bytes_of(directory));
        put_count(to, variables.len());
        for (name, value) in variables {
            put(to, name.as_bytes());
            put(to, value.as_bytes());
        }
        put(to, message);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        let (agent, point) = (reader.text()?, reader.text()?);
        let directory = reader.path()?;
        let count = reader.count()?;
        // Each variable takes at least eight bytes, so this limit prevents a false count from reserving much memory.
        let mut variables = Vec::with_capacity(count.min(reader.rest.len() / 8));
        for _ in 0..count {
            variables.push((reader.text()?, reader.text()?));
        }
        let message = reader.bytes()?.to_vec();
        Ok(Self { agent, point, directory, variables, message })
    }
}

impl NumberedRequest {
    /// Encodes the numbered request as a frame with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Hook { number, request } => {
                body.push(1);
                body.extend_from_slice(&number.to_le_bytes());
                request.put(&mut body);
            }
            Self::Gone { number } => {
                body.push(2);
                body.extend_from_slice(&number.to_le_bytes());
            }
        }
        framed(&body)
    }

    /// Reads the body of a frame.
    ///
    /// # Errors
    /// If the body is not a [`NumberedRequest`].
    pub fn from_body(body: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader { rest: body };
        let numbered = match reader.byte()? {
            1 => Self::Hook { number: reader.long_number()?, request: HookRequest::read(&mut reader)? },
            2 => Self::Gone { number: reader.long_number()? },
            _ => return Err(FrameError::Garbage),
        };
        reader.end(numbered)
    }
}

impl Response {
    /// Encodes the response as a frame with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = Vec::new();
        self.put(&mut body);
        framed(&body)
    }

    /// Encodes the response as a frame with its length, for a connection that is kept open.
    pub fn to_numbered_frame(&self, number: u64) -> Vec<u8> {
        let mut body = number.to_le_bytes().to_vec();
        self.put(&mut body);
        framed(&body)
    }

    /// Reads the body of a frame on a connection that is kept open. Returns the number of a message, and the response to the
    /// message.
    ///
    /// # Errors
    /// If the body does not consist of a number and a response.
    pub fn from_numbered_body(body: &[u8]) -> Result<(u64, Self), FrameError> {
        let (number, rest) = body.split_first_chunk::<8>().ok_or(FrameError::Garbage)?;
        Ok((u64::from_le_bytes(*number), Self::from_body(rest)?))
    }

    fn put(&self, body: &mut Vec<u8>) {
        match self {
            Self::Waiting { seconds } => {
                body.push(1);
                body.extend_from_slice(&seconds.to_le_bytes());
            }
            Self::Reply(Reply { exit, stdout, stderr }) => {
                body.extend_from_slice(&[2, *exit]);
                put(body, stdout.as_bytes());
                put(body, stderr.as_bytes());
            }
            Self::Refused(why) => {
                body.push(3);
                put(body, why.as_bytes());
            }
            Self::Status(json) => {
                body.push(4);
                put(body, json.as_bytes());
            }
            Self::Link(link) => {
                body.push(5);
                put(body, link.as_bytes());
            }
        }
    }

    /// Reads the body of a frame.
    ///
    /// # Errors
    /// If the body is not a response.
    pub fn from_body(body: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader { rest: body };
        let response = match reader.byte()? {
            1 => Self::Waiting { seconds: reader.number()? },
            2 => Self::Reply(Reply { exit: reader.byte()?, stdout: reader.text()?, stderr: reader.text()? }),
            3 => Self::Refused(reader.text()?),
            4 => Self::Status(reader.text()?),
            5 => Self::Link(reader.text()?),
            _ => return Err(FrameError::Garbage),
        };
        reader.end(response)
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(body.len() + 4);
    put(&mut frame, body);
    frame
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    put_count(to, bytes.len());
    to.extend_from_slice(bytes);
}

fn put_count(to: &mut Vec<u8>, count: usize) {
    // If the length does not fit, u32::MAX is written. The other side refuses such a frame, because u32::MAX is more than
    // MAX_FRAME.
    to.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn bytes_of(path: &std::path::Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes()
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, FrameError> {
        let (&byte, rest) = self.rest.split_first().ok_or(FrameError::Garbage)?;
        self.rest = rest;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u32, FrameError> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or(FrameError::Garbage)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    fn long_number(&mut self) -> Result<u64, FrameError> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>().ok_or(FrameError::Garbage)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn count(&mut self) -> Result<usize, FrameError> {
        usize::try_from(self.number()?).map_err(|_| FrameError::Garbage)
    }

    fn bytes(&mut self) -> Result<&'a [u8], FrameError> {
        let count = self.count()?;
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(FrameError::Garbage)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, FrameError> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| FrameError::Garbage)
    }

    fn path(&mut self) -> Result<PathBuf, FrameError> {
        use std::os::unix::ffi::OsStrExt as _;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(self.bytes()?)))
    }

    fn end<T>(self, value: T) -> Result<T, FrameError> {
        if self.rest.is_empty() { Ok(value) } else { Err(FrameError::Garbage) }
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameError, HookRequest, LinkPurpose, NumberedRequest, Reply, Request, Response};
    use proptest::prelude::*;

    fn body(frame: &[u8]) -> &[u8] {
        let (length, body) = frame.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, body.len());
        body
    }

    proptest! {
        #[test]
        fn a_request_comes_as_it_was_sent(
            agent in ".*", point in ".*", directory in ".*", variables in prop::collection::vec((".*", ".*"), 0..4),
            message in prop::collection::vec(any::<u8>(), 0..200), number in any::<u64>(),
        ) {
            let asked = HookRequest { agent, point, directory: directory.into(), variables, message };
            let request = Request::Hook(asked.clone());
            prop_assert_eq!(Request::from_body(body(&request.to_frame())), Ok(request));
            for numbered in [NumberedRequest::Hook { number, request: asked }, NumberedRequest::Gone { number }] {
                prop_assert_eq!(NumberedRequest::from_body(body(&numbered.to_frame())), Ok(numbered));
            }
        }

        #[test]
        fn a_response_comes_as_it_was_sent(
            exit in any::<u8>(), stdout in ".*", seconds in any::<u32>(), text in ".*",
            number in any::<u64>(),
        ) {
            for response in [
                Response::Reply(Reply { exit, stdout: stdout.clone(), stderr: text.clone() }),
                Response::Waiting { seconds }, Response::Refused(text.clone()), Response::Status(text),
            ] {
                prop_assert_eq!(
                    Response::from_numbered_body(body(&response.to_numbered_frame(number))), Ok((number, response.clone()))
                );
                prop_assert_eq!(Response::from_body(body(&response.to_frame())), Ok(response));
            }
        }

        #[test]
        fn what_is_no_frame_is_refused_and_nothing_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Response::from_body(&bytes);
            let _ = Response::from_numbered_body(&bytes);
            let _ = NumberedRequest::from_body(&bytes);
            let _ = Request::from_body(&bytes);
            bytes.splice(0..0, *b"HKH\x01");
            let _ = Request::from_body(&bytes);
        }
    }

    #[test]
    fn another_version_is_told_from_garbage() {
        assert_eq!(Request::from_body(b"HKH\x02\x03"), Err(FrameError::OtherVersion));
        assert_eq!(Request::from_body(b"HKH\x01\x09"), Err(FrameError::Garbage));
        assert_eq!(Request::from_body(b"HKH\x01\x03extra"), Err(FrameError::Garbage));
        assert_eq!(Request::from_body(b"HK"), Err(FrameError::Garbage));
        assert_eq!(Request::from_body(b"HKH\x01\x03"), Ok(Request::Stop));
        assert_eq!(Request::from_body(b"HKH\x01\x04"), Ok(Request::Keep));
        assert_eq!(Request::from_body(b"HKH\x01\x05\x03\x00\x00\x00\x00"), Err(FrameError::Garbage));
        for purpose in [LinkPurpose::View, LinkPurpose::Approvals, LinkPurpose::Passkeys] {
            let request = Request::Page { directory: "/w".into(), purpose };
            assert_eq!(Request::from_body(request.to_frame().get(4..).unwrap()), Ok(request));
        }
    }
}
