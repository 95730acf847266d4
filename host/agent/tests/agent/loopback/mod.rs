//! An HTTP server on the loopback interface. It answers each request with the next prepared answer of a list, in
//! chunks, and stores the requests.

pub(crate) mod dialects;

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One prepared answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    cut: bool,
}

impl Reply {
    /// A stream of server-sent events. `text` is sent in pieces of 7 bytes, so that no piece is a complete event.
    pub(crate) fn events(text: &str) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream; charset=utf-8".into())],
            chunks: text.as_bytes().chunks(7).map(<[u8]>::to_vec).collect(),
            cut: false,
        }
    }

    /// Adds a chunk that is sent in one piece.
    pub(crate) fn chunk(mut self, text: String) -> Self {
        self.chunks.push(text.into_bytes());
        self
    }

    /// An error with a JSON body.
    pub(crate) fn error(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            chunks: vec![body.as_bytes().to_vec()],
            cut: false,
        }
    }

    /// Adds a header, or replaces the header of the same name.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(existing, _)| existing != name);
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Closes the connection in the middle of the answer, after the first `bytes` of the body.
    pub(crate) fn cut_after(mut self, bytes: usize) -> Self {
        let body = self.chunks.concat();
        self.chunks = vec![body[..bytes].to_vec()];
        self.cut = true;
        self
    }
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. It ends together with the test's runtime.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts a server that gives these answers in order. After the last of them, it answers with status 418.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (answers, kept) = (Arc::clone(&answers), Arc::clone(&kept));
                tokio::spawn(async move { serve(connection, &answers, &kept).await });
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Returns an address at which no server listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

/// Answers one request on a connection. With `connection: close`, the client does not send a second request on it.
async fn serve(mut connection: TcpStream, answers: &Mutex<VecDeque<Reply>>, asked: &Mutex<Vec<Asked>>) {
    let Some(request) = read(&mut connection).await else { return };
    asked.lock().unwrap().push(request);
    let answer = answers.lock().unwrap().pop_front().unwrap_or_else(|| Reply::error(418, "{}"));
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let _ = connection.write_all(head.as_bytes()).await;
    for chunk in &answer.chunks {
        let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        if connection.write_all(&framed).await.is_err() || connection.flush().await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    if !answer.cut {
        let _ = connection.write_all(b"0\r\n\r\n").await;
    }
    let _ = connection.shutdown().await;
}

async fn read(connection: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let (head, body_start) = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break (String::from_utf8(bytes[..end].to_vec()).ok()?, end + 4);
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    while bytes.len() < body_start + length {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[body_start..body_start + length]).ok()?;
    Some(Asked { path, headers, body })
}
