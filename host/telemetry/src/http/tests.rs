use super::Receiver;
use crate::otlp::{Otlp, OtlpTarget, Signal};
use crate::sink::{Sent, Sink as _};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceResponse};
use prost::Message as _;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

/// Starts a server that gives this answer to each request. Returns its address.
fn answering(head: &str, body: &[u8]) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/logs", listener.local_addr().unwrap()).parse().unwrap();
    let length = body.len();
    let answer =
        [format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n").as_bytes(), body].concat();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            reader.take(length).read_to_end(&mut Vec::new()).unwrap();
            let _ = stream.write_all(&answer);
        }
    });
    url
}

async fn posted(head: &str, body: &str) -> Result<Vec<u8>, Sent> {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer s3cret"));
    let receiver = Receiver::new(answering(head, body.as_bytes()), headers, "text/plain", Duration::from_secs(10));
    receiver.unwrap().post(b"body".to_vec(), HeaderMap::new()).await
}

#[tokio::test]
async fn a_status_says_whether_the_records_are_given_up_sent_later_or_kept_until_a_setting_changes() {
    for status in ["400", "409", "413", "415", "422", "431", "451"] {
        assert!(matches!(posted(status, "").await, Err(Sent::Refused { .. })), "{status}");
    }
    for status in ["408", "425", "429", "500", "502", "503", "504"] {
        assert!(matches!(posted(status, "").await, Err(Sent::Later { after: None, .. })), "{status}");
    }
    for status in ["301", "307", "401", "402", "403", "404", "405", "407", "410"] {
        assert!(matches!(posted(status, "").await, Err(Sent::Misconfigured { .. })), "{status}");
    }
    let busy = posted("503 Busy\r\nretry-after: 7", "").await;
    assert!(matches!(busy, Err(Sent::Later { after: Some(after), .. }) if after == Duration::from_secs(7)), "{busy:?}");
    assert_eq!(posted("200", "well").await, Ok(b"well".to_vec()));
}

#[tokio::test]
async fn the_words_of_a_receiver_are_one_short_line_without_the_key() {
    let said = "your key is s3cret\n\u{1b}[31m\u{202e}".to_owned() + &"x".repeat(100_000);
    let Err(Sent::Misconfigured { because }) = posted("401 Unauthorized", &said).await else { panic!("it was taken") };
    assert!(because.contains("401 Unauthorized: your key is (masked)"), "{because}");
    assert!(because.len() < 400 && !because.contains(['\n', '\u{1b}', '\u{202e}']), "{because}");
}

#[tokio::test]
async fn what_a_receiver_refuses_of_a_message_is_counted_and_not_sent_again() {
    let sent = |rejected, message: &str| {
        let partial = ExportLogsPartialSuccess { rejected_log_records: rejected, error_message: message.to_owned() };
        let body = ExportLogsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let target = OtlpTarget {
            url: answering("200 OK", &body),
            headers: HeaderMap::new(),
            timeout: Duration::from_secs(10),
            resource: Vec::new(),
        };
        async move { Otlp::new(Signal::Logs, target, false).unwrap().send(&crate::tests::entries()).await }
    };
    assert_eq!(sent(2, "too old").await, Sent::AllBut { refused: 2, because: "too old".into() });
    assert_eq!(sent(0, "a warning").await, Sent::All);
}
