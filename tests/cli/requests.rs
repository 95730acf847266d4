//! The grant `http` over TLS: the system's certificates decide which server is believed.

use hookhost_tests::{Ended, Entry, User, plugin};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// A server with a certificate for `name`, and the file with the certificate of who issued it.
struct Server {
    port: u16,
    issuer: PathBuf,
}

impl Server {
    fn start(user: &User, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = Stream::new(&mut connection, &mut stream);
                // A client that does not believe it goes away in the middle.
                if stream.read(&mut [0; 4096]).is_ok() {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret");
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        Self { port, issuer: user.write("issuer.pem", issuer.pem()) }
    }

    fn name(&self) -> String {
        format!("localhost:{}", self.port)
    }
}

/// What a plugin gets from there, where the system trusts these certificates.
fn answer(user: &User, server: &Server, trusted: &Path) -> String {
    let entry = Entry::new("asks", &plugin("asks-server")).grants(&format!("http = [{:?}]\n", server.name()));
    user.configure(&entry.to_toml());
    let script = json!({"requests": [{"url": format!("https://{}/", server.name())}]});
    let payload = user.write("payload.json", json!({"prompt": script.to_string()}).to_string());
    let mut command = user.command(["dispatch", "prompt-submit", "--payload"]);
    let ended = Ended::of(command.arg(payload).env("SSL_CERT_FILE", trusted));
    ended.expect(0, &[]);
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    object["final"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_whose_certificate_the_system_trusts_is_talked_to() {
    let user = User::new();
    let server = Server::start(&user, "localhost");
    assert_eq!(answer(&user, &server, &server.issuer), "200 secret");
}

#[test]
fn a_server_whose_certificate_the_system_does_not_trust_is_not() {
    let user = User::new();
    let other = Server::start(&user, "localhost");
    let others = user.path("others.pem");
    std::fs::rename(&other.issuer, &others).unwrap();
    let server = Server::start(&user, "localhost");
    assert_eq!(answer(&user, &server, &others), "ErrorCode::TlsCertificateError");
}

#[test]
fn a_server_whose_certificate_is_for_another_name_is_not() {
    let user = User::new();
    let server = Server::start(&user, "elsewhere.example");
    assert_eq!(answer(&user, &server, &server.issuer), "ErrorCode::TlsCertificateError");
}
