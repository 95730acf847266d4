//! The network inside: none, or some hosts through a proxy outside.

#![cfg(target_os = "linux")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::Output;
use support::{NO_NAMESPACES, User, World, text};

/// A server and a socket on the loopback interface of this machine.
struct Outside {
    port: u16,
    datagrams: UdpSocket,
}

impl Outside {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut head = Vec::new();
                    let mut chunk = [0; 1024];
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read(&mut chunk) {
                            Ok(length) if length > 0 => head.extend_from_slice(&chunk[..length]),
                            _ => return,
                        }
                    }
                    let head = String::from_utf8_lossy(&head).replace("\r\n", "|");
                    let body = format!("outside works: {head}\n");
                    let length = body.len();
                    _ = stream
                        .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes());
                });
            }
        });
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
        datagrams.set_nonblocking(true).expect("it is a socket");
        Self { port, datagrams }
    }

    fn received_nothing(&self) -> bool {
        self.datagrams.recv(&mut [0; 16]).is_err()
    }

    /// The script with the ports of this server.
    fn script(&self, script: &str) -> String {
        let port = self.datagrams.local_addr().expect("an address").port();
        format!("TCP={}; UDP={port}; {DIRECT}{script}", self.port)
    }
}

/// Functions that try to get out without a proxy, and say what has come out.
const DIRECT: &str = r#"
python_says() { python3 -c "
import socket, os, sys
try:
    $1
    print('open')
except OSError as error:
    print(error.strerror or error)
" 2>&1; }
tcp() { python_says "socket.create_connection(('$1', $2), 3)"; }
udp() { python_says "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('$1', $2))"; }
export -f python_says tcp udp
"#;

fn world(user: User, network: &str) -> World {
    let world = World::new(user);
    world.plan_also(&format!("network {network}"));
    world
}

/// Returns true if a feature cannot be removed here.
fn is_skipped(output: &Output) -> bool {
    let is_skipped = output.status.code() == Some(77);
    if is_skipped {
        eprintln!("skipped, because the limit cannot be set here");
    }
    is_skipped
}

#[test]
fn by_default_the_network_is_that_of_the_machine() {
    let outside = Outside::new();
    let world = World::new(User::ordinary("all"));
    let output = text(&world.inside(&outside.script("tcp 127.0.0.1 $TCP; echo $HTTPS_PROXY; udp 127.0.0.1 $UDP")));
    assert_eq!(output, "open\n\nopen\n");
    assert!(!outside.received_nothing());
}

#[test]
fn without_a_network_only_programs_inside_reach_each_other() {
    for user in User::all("none") {
        let outside = Outside::new();
        let world = world(user, "none");
        let output = text(&world.inside(&outside.script(
            "tcp 127.0.0.1 $TCP; udp 127.0.0.1 $UDP; tcp 192.0.2.1 80; udp 192.0.2.1 53; tcp ::1 $TCP
             python_says 'socket.getaddrinfo(\"example.com\", 80)'; curl -sS -m 5 http://127.0.0.1:$TCP/ 2>&1
             python_says 'socket.socket(40, socket.SOCK_STREAM)'
             ls /sys/class/net > /dev/null; cat /proc/net/dev | grep -c :
             python3 -m http.server -b 127.0.0.1 8000 > /dev/null 2>&1 & server=$!
             for n in {1..200}; do curl -s http://127.0.0.1:8000/ > page && break; sleep .02; done; grep -c notes page; kill $server",
        )));
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines[0], "Connection refused", "{output}");
        // The datagram stays in the namespace.
        assert_eq!(lines[1], "open", "{output}");
        assert_eq!(lines[2..4], ["Network is unreachable"; 2], "{output}");
        assert_eq!(lines[4], "Connection refused", "{output}");
        assert!(lines[5].contains("resolution") || lines[5].contains("not known"), "{output}");
        assert!(lines[6].starts_with("curl: ("), "{output}");
        assert_eq!(lines[7..], ["Operation not permitted", "1", "1"], "{output}");
        assert!(outside.received_nothing());
    }
}

#[test]
fn sockets_at_paths_are_reached_without_a_network() {
    for network in ["none", "localhost"] {
        let world = world(User::ordinary("paths"), network);
        let connect = "python3 -c 'import socket, os
s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"HOME\"] + \"/.local/state/hookhost/host.sock\"); print(\"connected\")'";
        assert_eq!(text(&world.inside(connect)), "connected\n");
    }
}

#[test]
fn a_listed_host_is_reached_through_the_proxy_and_no_other() {
    for user in User::all("hosts") {
        let outside = Outside::new();
        // The name leads to this machine without a change of its files, and is no host without a proxy here.
        let world = world(user, "localhost,127.0.0.1,*.example.org");
        let output = text(&world.inside(&outside.script(
            "env | grep -ci '_proxy=http://127.0.0.1:3128$'; echo $NO_PROXY $NODE_USE_ENV_PROXY
             unset NO_PROXY no_proxy; curl -sS -m 20 http://localhost:$TCP/a; curl -sS -m 20 -p http://localhost:$TCP/b
             curl -sS -m 20 http://127.0.0.1:$TCP/c; curl -sS -m 20 http://evil.example:$TCP/; curl -sS -m 20 http://example.org/
             curl -sS -m 20 https://evil.example/ 2>&1; curl -sS -m 20 http://10.1.2.3/
             tcp 127.0.0.1 $TCP; tcp localhost $TCP; udp 127.0.0.1 $UDP; tcp 192.0.2.1 80; udp 192.0.2.1 53",
        )));
        let (lines, notices): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| !line.starts_with("inside: "));
        let refuses = |host: &str| {
            format!(
                "hookhost refuses {host}, because `network` of [sandbox] does not name it: add it there outside, and start the program again"
            )
        };
        assert_eq!(lines[..2], ["6", "localhost,127.0.0.1,::1 1"], "{output}");
        let got = |line: &str, path: &str, host: &str| {
            line.starts_with(&format!("outside works: GET {path} HTTP/1.1|Host: {host}:{}|", outside.port))
        };
        assert!(got(lines[2], "/a", "localhost") && lines[2].contains("|Connection: close|"), "{output}");
        assert!(got(lines[3], "/b", "localhost") && got(lines[4], "/c", "127.0.0.1"), "{output}");
        assert_eq!(lines[5..7], [refuses("evil.example"), refuses("example.org")], "{output}");
        assert!(output.contains("response 403") || output.contains("code 403"), "{output}");
        assert!(lines.contains(&refuses("10.1.2.3").as_str()), "{output}");
        let direct: Vec<&str> = lines[lines.len() - 5..].to_vec();
        let expected =
            ["Connection refused", "Connection refused", "open", "Network is unreachable", "Network is unreachable"];
        assert_eq!(direct, expected, "{output}");
        assert!(outside.received_nothing());
        let notice = "inside: the program was refused evil.example, because `network` of [sandbox] does not name it: ";
        assert!(notices.iter().any(|line| line.starts_with(notice)), "{output}");
    }
}

#[test]
fn a_name_that_leads_to_a_private_address_is_refused() {
    let outside = Outside::new();
    let world = world(User::ordinary("private"), "localhost");
    let script = outside.script(
        "unset NO_PROXY no_proxy; curl -sS -m 20 http://localhost:$TCP/; curl -sS -m 20 http://127.0.0.1:$TCP/",
    );
    let output = text(&world.inside(&script));
    assert!(output.contains("hookhost refuses localhost, because its name leads to "), "{output}");
    assert!(output.contains("hookhost refuses 127.0.0.1, because") && !output.contains("outside works"), "{output}");
}

#[test]
fn a_nested_sandbox_reaches_no_more() {
    let outside = Outside::new();
    for network in ["none", "localhost"] {
        let world = world(User::ordinary("nested"), network);
        let output = text(&world.inside(&outside.script(
            "unshare -Urn bash -c \"tcp 127.0.0.1 $TCP\"; unshare -Ur bash -c \"tcp 127.0.0.1 $TCP\"
             nsenter -t $$ -n true 2> /dev/null && echo entered; ip link set lo down 2> /dev/null && echo down",
        )));
        assert!(!output.contains("open") && !output.contains("entered") && !output.contains("down"), "{output}");
    }
}

#[test]
fn without_namespaces_there_are_no_sockets_of_a_network() {
    for user in User::all("nonefallback") {
        let outside = Outside::new();
        let world = world(user, "none");
        let script = outside.script("tcp 127.0.0.1 $TCP; udp 127.0.0.1 $UDP; python_says 'socket.socketpair()'");
        let output = world.inside_below(&NO_NAMESPACES, &script);
        if is_skipped(&output) {
            return;
        }
        let text = text(&output);
        assert!(text.contains("Operation not permitted\nOperation not permitted\nopen\n"), "{text}");
        assert!(text.contains("; programs inside do not reach each other by network"), "{text}");
        assert!(outside.received_nothing());
    }
}

#[test]
fn without_a_network_namespace_landlock_serves() {
    let remover = NO_NAMESPACES.map(|word| word.to_owned().replace("max_user_namespaces", "max_net_namespaces"));
    let remover: Vec<&str> = remover.iter().map(String::as_str).collect();
    let outside = Outside::new();
    let world = world(User::ordinary("nonetns"), "none");
    let output = world.inside_below(&remover, &outside.script("tcp 127.0.0.1 $TCP"));
    if is_skipped(&output) {
        return;
    }
    let text = text(&output);
    let because = "partly, because this system allows no further network namespaces (sysctl user.max_net_namespaces)";
    assert!(text.contains(because) && text.contains("Operation not permitted\n"), "{text}");
}

#[test]
fn without_namespaces_landlock_leaves_the_port_of_the_proxy() {
    for user in User::all("hostsfallback") {
        let outside = Outside::new();
        let world = world(user, "localhost,127.0.0.1");
        let script = outside.script(
            "unset NO_PROXY no_proxy; curl -sS -m 20 http://localhost:$TCP/a; curl -sS -m 20 http://evil.example/
             tcp 127.0.0.1 $TCP; tcp ::1 $TCP; udp 127.0.0.1 $UDP
             python_says \"socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', $TCP))\"
             python_says \"socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', $TCP))\"
             python_says \"socket.socket().bind(('127.0.0.1', 0))\"
             python_says \"socket.socket(17, socket.SOCK_RAW)\"; echo $HTTPS_PROXY",
        );
        let output = world.inside_below(&NO_NAMESPACES, &script);
        if is_skipped(&output) {
            return;
        }
        let text = text(&output);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("inside: ")).collect();
        assert!(lines[0].starts_with("outside works: GET /a "), "{text}");
        assert!(lines[1].starts_with("hookhost refuses evil.example, because"), "{text}");
        assert_eq!(lines[2..4], ["Permission denied"; 2], "{text}");
        assert_eq!(lines[4..7], ["Operation not permitted"; 3], "{text}");
        assert_eq!(lines[7..9], ["Permission denied", "Operation not permitted"], "{text}");
        let port = lines[9].strip_prefix("http://127.0.0.1:").expect("an address");
        assert!(
            text.contains(&format!("; every host can be reached at its port {port}; no program inside can")),
            "{text}"
        );
        assert!(outside.received_nothing());
    }
}
