//! A registry for npm on this machine, with the packages that were written.

use crate::{Outcome, npm, release::Release};
use data_encoding::BASE64;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha512};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

/// A server that runs until this program ends.
pub(super) struct Registry {
    address: String,
}

impl Registry {
    /// Serves all npm packages of the release.
    pub(super) fn serve(release: &Release) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("a registry: {error}"))?;
        let port = listener.local_addr().map_err(|error| format!("a registry: {error}"))?.port();
        let address = format!("http://127.0.0.1:{port}");
        let files = Arc::new(files(release, &address)?);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let files = Arc::clone(&files);
                thread::spawn(move || answer(stream, &files));
            }
        });
        Ok(Self { address })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

/// Returns the content of each path: the packages, and the document that lists their versions.
fn files(release: &Release, address: &str) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let (mut files, mut versions) = (BTreeMap::new(), Map::new());
    for name in release.names()?.into_iter().filter(|name| name.starts_with("hookhost-npm-")) {
        let bytes = release.read(&name)?;
        let manifest = npm::file(&bytes, "package.json").and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let mut manifest = manifest.ok_or_else(|| format!("{name} has no package.json"))?;
        let integrity = format!("sha512-{}", BASE64.encode(&Sha512::digest(&bytes)));
        manifest["dist"] = json!({ "tarball": format!("{address}/-/{name}"), "integrity": integrity });
        versions.insert(manifest["version"].as_str().unwrap_or_default().to_owned(), manifest);
        files.insert(format!("/-/{name}"), bytes);
    }
    let document = json!({ "name": "hookhost", "dist-tags": { "latest": release.version }, "versions": versions });
    files.insert("/hookhost".to_owned(), document.to_string().into_bytes());
    Ok(files)
}

/// Answers one request.
fn answer(mut stream: TcpStream, files: &BTreeMap<String, Vec<u8>>) {
    let mut lines = BufReader::new(&stream).take(65_536).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    let _ = lines.find(String::is_empty);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match files.get(path) {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b"{}"[..]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
