//! Measures the time from the last byte of a tool call that a server sends to the start of the tool. The server is still sending its answer
//! at this time.

use crate::subject::{IdleTool, agent, host};
use bench::measure::{Compared, median, times_of};
use bench::table::{Row, Table};
use hookhost::Host;
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_models::RemoteProvider;
use hookhost_models::{Endpoint, Timeouts};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Pause of the server before it sends the last bytes. In this time, the agent reads all earlier bytes.
const PAUSE: Duration = Duration::from_millis(2);

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const CALL: &str = concat!(
    r#"data: {"type":"message_start","message":{"usage":{"input_tokens":25}}}"#,
    "\n\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{}}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}"#,
    "\n\n",
);
const LAST: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
const CALLED: &str = concat!(
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
    "\n\n",
    r#"data: {"type":"message_stop"}"#,
    "\n\n",
);
const DONE: &str = concat!(
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}"#,
    "\n\n",
    r#"data: {"type":"message_stop"}"#,
    "\n\n",
);

pub(crate) fn rows(table: &mut Table, runs: usize) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (off, on) = runtime.block_on(async { (host(false, None).await, host(true, None).await) });
    let row = |component| Row {
        what: "last byte of a tool call in the stream to the tool's start",
        component,
        log: "off",
        why: "",
    };
    let bare = || runtime.block_on(loopback());
    let started = |host: &Host| runtime.block_on(started(host.clone()));
    let reference = "a byte over the same loopback, to its reader";
    table.compared(&row("none"), &compare(runs, || started(&off), bare), reference, None);
    table.compared(&row("no-force-push"), &compare(runs, || started(&on), || started(&off)), "without plugins", None);
}

fn compare(runs: usize, subject: impl Fn() -> Duration, reference: impl Fn() -> Duration) -> Compared {
    let (mut ratios, mut references) = (Vec::new(), Vec::new());
    let subject = times_of(runs, || {
        let (subject, reference) = (subject(), reference());
        ratios.push(subject.as_secs_f64() / reference.as_secs_f64());
        references.push(reference);
        subject
    });
    let mut references = references.into_iter();
    let reference = times_of(runs, || references.next().unwrap());
    Compared { subject, reference, ratio: median(ratios) }
}

/// Runs an agent once, with a server that sends the rest of a tool call and then waits for the tool. Returns the measured time.
async fn started(host: Host) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (begun, begins) = unbounded_channel();
    let server = tokio::spawn(serve(listener, begins));
    let endpoint = Endpoint::new("bench", &url, None, Timeouts::default()).unwrap();
    let agent = agent(host, Arc::new(RemoteProvider::anthropic(endpoint)), IdleTool { begun: Some(begun) }, None);
    let reporter = |_: &AgentEvent| {};
    let outcome = agent.run("Go.", &reporter, &Default::default()).await.unwrap();
    assert_eq!(outcome.status, Status::Success, "{:?}", outcome.reason);
    server.await.unwrap()
}

async fn serve(listener: TcpListener, mut begins: UnboundedReceiver<Instant>) -> Duration {
    let mut connection = asked(&listener).await;
    connection.write_all(format!("{HEAD}{CALL}").as_bytes()).await.unwrap();
    tokio::time::sleep(PAUSE).await;
    let sent = Instant::now();
    connection.write_all(LAST.as_bytes()).await.unwrap();
    let began = begins.recv().await.unwrap();
    connection.write_all(CALLED.as_bytes()).await.unwrap();
    drop(connection);
    let mut connection = asked(&listener).await;
    connection.write_all(format!("{HEAD}{DONE}").as_bytes()).await.unwrap();
    began - sent
}

/// Accepts a connection, and reads the request.
async fn asked(listener: &TcpListener) -> TcpStream {
    let (mut connection, _) = listener.accept().await.unwrap();
    connection.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap();
            if body.len() >= length.parse().unwrap() {
                return connection;
            }
        }
        assert!(connection.read_buf(&mut bytes).await.unwrap() > 0, "the request broke off");
    }
}

/// Returns the time in which the same bytes reach a reader that does nothing with them.
async fn loopback() -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let reader = tokio::spawn(async move {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let mut bytes = vec![0; LAST.len()];
        connection.read_exact(&mut bytes).await.unwrap();
        Instant::now()
    });
    let (mut connection, _) = listener.accept().await.unwrap();
    connection.set_nodelay(true).unwrap();
    tokio::time::sleep(PAUSE).await;
    let sent = Instant::now();
    connection.write_all(LAST.as_bytes()).await.unwrap();
    reader.await.unwrap() - sent
}
