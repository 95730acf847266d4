//! Answers of model servers, sent by a server on this machine.

use crate::lab;
use futures_util::StreamExt as _;
use hookhost_models::RemoteProvider;
use hookhost_models::message::Message;
use hookhost_models::{Delta, Endpoint, Provider, Request, Timeouts};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// Reads bytes as an answer. The first byte chooses the protocol, and whether the bytes are the whole answer or its body.
pub fn provider(bytes: &[u8]) {
    static TURN: Mutex<()> = Mutex::new(());
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let head: &[u8] = if kind & 2 == 0 {
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    } else {
        b"HTTP/1.1 "
    };
    *SERVER.answer.lock().unwrap_or_else(PoisonError::into_inner) = [head, bytes].concat();
    let provider: &dyn Provider = if kind & 1 == 0 { &SERVER.anthropic } else { &SERVER.openai };
    lab::with(|lab| lab.runtime.block_on(answer(provider)));
}

async fn answer(provider: &dyn Provider) {
    let request = Request::new("m", vec![Message::user("Hello")], 100);
    let mut deltas = match provider.send(request).await {
        Ok(deltas) => deltas,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut over = false;
    while let Some(delta) = deltas.next().await {
        assert!(!over, "{delta:?} came after the end");
        over = matches!(delta, Err(_) | Ok(Delta::Stop(_)));
    }
    assert!(over, "an answer ends with a stop or an error");
}

struct Server {
    answer: Mutex<Vec<u8>>,
    // Created once, because each reads the certificates of the machine.
    anthropic: RemoteProvider,
    openai: RemoteProvider,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // The client may hang up.
            let _ = serve(connection);
        }
    });
    let mut timeouts = Timeouts::default();
    (timeouts.connect, timeouts.idle) = (Duration::from_secs(5), Duration::from_secs(5));
    let endpoint = Endpoint::new("local", &url, None, timeouts).expect("an endpoint");
    Server {
        answer: Mutex::default(),
        anthropic: RemoteProvider::anthropic(endpoint.clone()),
        openai: RemoteProvider::openai(endpoint),
    }
});

/// Reads a request and sends the answer.
fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
    while !is_whole(&request) {
        match connection.read(&mut chunk)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
    let answer = SERVER.answer.lock().unwrap_or_else(PoisonError::into_inner).clone();
    connection.write_all(&answer)?;
    connection.shutdown(std::net::Shutdown::Write)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
