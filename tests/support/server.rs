//! A server on loopback that gives prepared replies, one request after the other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The reply to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A whole answer.
    Whole {
        /// The status, such as 200.
        status: u16,
        /// Further header lines, each ended by `\r\n`.
        headers: String,
        /// The body.
        body: String,
    },
    /// An event stream that breaks off after this text.
    BrokenStream(String),
}

impl Reply {
    /// Makes an error of a provider.
    #[must_use]
    pub fn status(status: u16) -> Self {
        let body = r#"{"type":"error","error":{"type":"x","message":"said the server"}}"#.to_owned();
        Self::Whole { status, headers: "content-type: application/json\r\n".into(), body }
    }

    /// Makes a whole event stream.
    #[must_use]
    pub fn stream(body: &str) -> Self {
        Self::Whole { status: 200, headers: "content-type: text/event-stream\r\n".into(), body: body.to_owned() }
    }
}

/// The server. It ends with the test's process.
#[derive(Debug)]
pub struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that gives these replies in order, and then repeats the last one.
    ///
    /// # Panics
    /// If there is no loopback, or no reply.
    #[must_use]
    pub fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let reply = replies.get(number).or(replies.last()).expect("a reply");
                // Some tests have clients that go away in the middle.
                if let Ok(request) = read_request(&stream) {
                    received.lock().expect("the requests").push(request);
                    let _ = answer(stream, reply);
                }
            }
        });
        Self { url, requests }
    }

    /// Its address, such as `http://127.0.0.1:4711`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bodies of the requests so far.
    ///
    /// # Panics
    /// If the server's thread has panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the requests").clone()
    }
}

fn read_request(stream: &TcpStream) -> std::io::Result<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn answer(mut stream: TcpStream, reply: &Reply) -> std::io::Result<()> {
    match reply {
        Reply::Whole { status, headers, body } => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(body.as_bytes())
        }
        Reply::BrokenStream(text) => {
            let head = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
            // The connection is closed here, without the last chunk.
            stream.flush()
        }
    }
}
