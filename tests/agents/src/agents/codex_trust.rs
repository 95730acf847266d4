//! Trusts Codex's hooks through the protocol of Codex's app server, as a person does with `/hooks`.

use crate::place::Place;
use crate::process;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Trusts all hooks that Codex finds in the project.
///
/// # Errors
/// If Codex does not list its hooks, or does not trust them afterwards.
pub(super) fn trust_all(codex: &Path, place: &Place, variables: &[(&str, &str)]) -> Result<()> {
    let mut server = Server::start(codex, place, variables)?;
    let client = json!({ "name": "hook-trust", "title": "hook-trust", "version": "0" });
    server.call("initialize", &json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } }))?;
    server.send(&json!({ "method": "initialized" }))?;
    let mut trusted = Map::new();
    for hook in server.hooks(place)? {
        let key = hook["key"].as_str().context("a hook without a key")?;
        trusted.insert(key.to_owned(), json!({ "trusted_hash": hook["currentHash"] }));
    }
    ensure!(!trusted.is_empty(), "Codex finds no hooks");
    let edit = json!({ "keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert" });
    let write = json!({ "edits": [edit], "filePath": null, "expectedVersion": null, "reloadUserConfig": true });
    server.call("config/batchWrite", &write)?;
    let left = server.hooks(place)?.into_iter().filter(|hook| hook["trustStatus"] != "trusted");
    let left: Vec<_> = left.map(|hook| hook["key"].to_string()).collect();
    ensure!(left.is_empty(), "Codex does not trust {}", left.join(", "));
    Ok(())
}

/// A running app server. Dropping the value ends it.
struct Server {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    calls: u64,
}

impl Server {
    fn start(codex: &Path, place: &Place, variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(codex);
        command.arg("app-server").env_clear().envs(process::variables(place)).envs(variables.iter().copied());
        command.current_dir(place.project()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start codex app-server")?;
        let to = child.stdin.take().context("no standard input")?;
        let from = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        Ok(Self { child, to, from, calls: 0 })
    }

    fn hooks(&mut self, place: &Place) -> Result<Vec<Value>> {
        let listed = self.call("hooks/list", &json!({ "cwds": [place.project()] }))?;
        let directories = listed["data"].as_array().cloned().unwrap_or_default();
        Ok(directories.iter().flat_map(|one| one["hooks"].as_array().cloned().unwrap_or_default()).collect())
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "id": id, "method": method, "params": parameters }))?;
        for line in self.from.by_ref() {
            let answer: Value = serde_json::from_str(&line?)?;
            if answer["id"] != id || answer.get("method").is_some() {
                continue;
            }
            ensure!(answer.get("error").is_none(), "codex app-server: {method}: {}", answer["error"]);
            return Ok(answer["result"].clone());
        }
        bail!("codex app-server ended before it answered {method}")
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.to, "{message}").context("codex app-server reads nothing")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
