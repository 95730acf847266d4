//! Connections of the program to hosts that it may reach.

use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::allowlist::Allowlist;
use super::request::{MalformedRequest, parse};
use crate::error::Notice;
use crate::notices::{NoticeSender, WakeEvent};

/// Maximum number of connections at once. A further one is refused.
const MAX_CONNECTIONS: usize = 256;

/// Maximum size of the head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;

/// Maximum time until the head of a request has arrived.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time to connect to one address of a host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long one direction may be silent when the other one has ended.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum time in which a client takes some bytes, or a host does.
const WRITE_TIMEOUT: Duration = Duration::from_secs(300);

/// Size of the stack of a thread, which looks names up and copies.
const STACK_SIZE: usize = 512 << 10;

/// A proxy for a list of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    allowlist: Arc<Allowlist>,
    notices: NoticeSender,
    stop: WakeEvent,
    connections: Arc<AtomicUsize>,
}

/// The answer to a request that is refused.
struct Refusal {
    status: &'static str,
    sentence: String,
}

impl Proxy {
    pub(crate) fn new(hosts: &[String], notices: NoticeSender) -> io::Result<Self> {
        let allowlist = Arc::new(Allowlist::new(hosts));
        Ok(Self { allowlist, notices, stop: WakeEvent::new()?, connections: Arc::default() })
    }

    /// Serves the connections to a socket, in threads of its own.
    pub(crate) fn serve(&self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let proxy = self.clone();
        thread::Builder::new().name("proxy".to_owned()).spawn(move || proxy.accept(&listener))?;
        Ok(())
    }

    /// Accepts no further connection. Those that exist end with the program.
    pub(crate) fn stop(&self) {
        self.stop.set();
    }

    fn accept(&self, listener: &TcpListener) {
        loop {
            let mut polled = [PollFd::new(&self.stop, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
            _ = poll(&mut polled, None);
            if !polled[0].revents().is_empty() {
                return;
            }
            let Ok((client, _)) = listener.accept() else {
                // There may be too many open files, which only takes time.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let proxy = self.clone();
            let place = Place::take(&self.connections);
            // What cannot be read or sent is the end of the connection, and nobody's business.
            let serve = move || match place {
                Some(_place) => _ = proxy.answer(&client),
                None => _ = refuse(&client, &Refusal::too_many()),
            };
            _ = thread::Builder::new().name("connection".to_owned()).stack_size(STACK_SIZE).spawn(serve);
        }
    }

    /// Serves one connection until its end.
    fn answer(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let Some((head, rest)) = read_head(client)? else { return refuse(client, &Refusal::too_large()) };
        let request = match parse(&head) {
            Ok(request) => request,
            Err(malformed) => return refuse(client, &Refusal::malformed(malformed)),
        };
        let mut host = match self.connect(&request.host, request.port) {
            Ok(host) => host,
            Err(refusal) => return refuse(client, &refusal),
        };
        match &request.head {
            Some(head) => host.write_all(head.as_bytes())?,
            None => (&mut &*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        }
        host.write_all(&rest)?;
        join(client, &host)
    }

    /// Connects to a host that the program may reach.
    fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        if !self.allowlist.contains(host) {
            let because = "`network` of [sandbox] does not name it: add it there outside, and start the program again";
            return Err(self.forbid(host, because.to_owned()));
        }
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![(address, port).into()],
            Err(_) => match (host, port).to_socket_addrs() {
                Ok(addresses) => addresses.collect(),
                Err(error) => return Err(Refusal::unreachable(host, &error)),
            },
        };
        let (open, private): (Vec<SocketAddr>, Vec<_>) =
            addresses.into_iter().partition(|address| self.allowlist.may_be_at(address.ip()));
        if let (true, Some(private)) = (open.is_empty(), private.first()) {
            let because = format!(
                "its name leads to {}, which is no address of the internet: if you trust that, add the address too to \
                 `network` of [sandbox]",
                private.ip()
            );
            return Err(self.forbid(host, because));
        }
        let mut last = io::Error::from(ErrorKind::NotFound);
        for address in open {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    let is_set = stream.set_write_timeout(Some(WRITE_TIMEOUT)).and_then(|()| stream.set_nodelay(true));
                    return is_set.map(|()| stream).map_err(|error| Refusal::unreachable(host, &error));
                }
                Err(error) => last = error,
            }
        }
        Err(Refusal::unreachable(host, &last))
    }

    fn forbid(&self, host: &str, because: String) -> Refusal {
        let sentence = format!("hookhost refuses {host}, because {because}");
        self.notices.send(Notice::HostRefused { host: host.to_owned(), because });
        Refusal { status: "403 Forbidden", sentence }
    }
}

impl Refusal {
    fn too_many() -> Self {
        let sentence = format!("hookhost serves at most {MAX_CONNECTIONS} connections at once: close one");
        Self { status: "503 Service Unavailable", sentence }
    }

    fn too_large() -> Self {
        let sentence = format!("hookhost reads at most {MAX_HEAD} bytes as the head of a request");
        Self { status: "431 Request Header Fields Too Large", sentence }
    }

    fn malformed(MalformedRequest(why): MalformedRequest) -> Self {
        Self { status: "400 Bad Request", sentence: format!("hookhost cannot serve this request, because {why}") }
    }

    fn unreachable(host: &str, error: &io::Error) -> Self {
        Self { status: "502 Bad Gateway", sentence: format!("hookhost cannot reach {host} ({error})") }
    }
}

/// One of the connections that are served at once.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(connections: &Arc<AtomicUsize>) -> Option<Self> {
        // Only the thread that accepts takes places.
        if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            return None;
        }
        connections.fetch_add(1, Ordering::Relaxed);
        Some(Self(Arc::clone(connections)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads until the empty line, and returns the head and what follows it. `None` if the head is too large.
fn read_head(mut client: &TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    const END: &[u8] = b"\r\n\r\n";
    let deadline = Instant::now() + HEAD_TIMEOUT;
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    while head.len() <= MAX_HEAD {
        let left = deadline.saturating_duration_since(Instant::now());
        client.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let length = client.read(&mut chunk)?;
        if length == 0 || left.is_zero() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // The end may be parted by the chunks.
        let from = head.len().saturating_sub(END.len() - 1);
        head.extend_from_slice(&chunk[..length]);
        if let Some(at) = head[from..].windows(END.len()).position(|window| window == END) {
            let rest = head.split_off(from + at + END.len());
            return Ok(Some((head, rest)));
        }
    }
    Ok(None)
}

/// Answers with a sentence, and ends the connection.
fn refuse(mut client: &TcpStream, Refusal { status, sentence }: &Refusal) -> io::Result<()> {
    let length = sentence.len() + 1;
    client.write_all(
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: \
             close\r\n\r\n{sentence}\n"
        )
        .as_bytes(),
    )?;
    client.shutdown(Shutdown::Write)?;
    // The answer is lost if the connection ends before everything is read.
    client.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut chunk = [0; 4096];
    for _ in 0..MAX_HEAD / chunk.len() {
        if client.read(&mut chunk)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Copies in both directions, until both have ended.
fn join(client: &TcpStream, host: &TcpStream) -> io::Result<()> {
    for stream in [client, host] {
        stream.set_read_timeout(Some(SILENCE_TIMEOUT))?;
    }
    let has_one_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("upload".to_owned()).stack_size(STACK_SIZE);
        builder.spawn_scoped(scope, || copy(client, host, &has_one_ended))?;
        copy(host, client, &has_one_ended);
        Ok(())
    })
}

/// Copies until the end of one stream, and ends the other one.
fn copy(mut from: &TcpStream, mut to: &TcpStream, has_one_ended: &AtomicBool) {
    let mut chunk = [0; 16 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                if to.write_all(&chunk[..length]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if has_one_ended.load(Ordering::Relaxed) {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    has_one_ended.store(true, Ordering::Relaxed);
    _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::NoticeReceiver;

    fn start(hosts: &[&str]) -> (SocketAddr, Proxy, NoticeReceiver) {
        let (receiver, sender) = NoticeReceiver::new().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let proxy = Proxy::new(&hosts, sender).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        proxy.serve(listener).unwrap();
        (address, proxy, receiver)
    }

    fn ask(proxy: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(proxy).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A proxy that has refused may take no more.
        _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_request_that_is_none_is_answered_with_a_sentence() {
        let (address, _, mut receiver) = start(&["a.org"]);
        for (request, answer) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
            (format!("GET http://a.org/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(20 << 10)), "HTTP/1.1 431 "),
            ("CONNECT b.org:443 HTTP/1.1\r\n\r\n".to_owned(), "HTTP/1.1 403 "),
        ] {
            let got = ask(address, &request);
            assert!(got.starts_with(answer) && got.contains("\r\n\r\nhookhost "), "{got}");
        }
        let notices = receiver.take();
        assert!(matches!(&notices[..], [Notice::HostRefused { host, .. }] if host == "b.org"), "{notices:?}");
    }

    #[test]
    fn a_tunnel_carries_both_directions_and_their_ends() {
        let (address, ..) = start(&["127.0.0.1"]);
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let echo = thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            stream.write_all(&all).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        // The first bytes come together with the head.
        stream.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nfirst ").as_bytes()).unwrap();
        let sent = "x".repeat(300_000);
        stream.write_all(sent.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        echo.join().unwrap();
        assert_eq!(answer, format!("HTTP/1.1 200 Connection established\r\n\r\nfirst {sent}"));
    }

    #[test]
    fn there_is_a_maximum_of_connections() {
        let (address, proxy, _) = start(&[]);
        let open: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let deadline = Instant::now() + Duration::from_secs(20);
        while proxy.connections.load(Ordering::Relaxed) < MAX_CONNECTIONS && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(ask(address, "").starts_with("HTTP/1.1 503 "));
        drop(open);
        while proxy.connections.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(ask(address, "CONNECT a.org:1 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
    }
}
