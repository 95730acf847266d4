//! Filters listings of tools. The filter decides which definitions the client gets, and so which tools the client can call.

use super::results::{UNEXPECTED_QUESTION, asks};
use super::{Judge, ServerState, failed};
use crate::jsonrpc::message::{Id, Members, Message, MessageKind, OutgoingMessage};
use crate::mcp::answer;
use crate::mcp::listing::ListingFilter;
use crate::mcp::lock::{HeldDefinitions, LockFile, bound, is_same};
use crate::mcp::operation::Method;
use crate::mcp::policy::{Pinning, Policy};
use bytes::Bytes;
use hookhost_agents::mcp_proxy::Point;
use hookhost_client::async_client::LongWaitCallback;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the cursor of the requested page of a listing, or `None` for the first page.
///
/// # Errors
/// One sentence, if the server could read another cursor from the parameters.
pub(super) fn cursor(params: &Members) -> Result<Option<String>, String> {
    if let Some(why) = params.ambiguity(&["cursor", "_meta"]) {
        return Err(format!("`params` of tools/list {why}"));
    }
    match params.value("cursor") {
        None if params.get("cursor").is_some() => Err("`params.cursor` of tools/list cannot be read".to_owned()),
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor)),
        Some(_) => Err("`params.cursor` of tools/list is no text".to_owned()),
    }
}

/// The refusal of a call to a tool that is not available to the client.
#[derive(Debug)]
pub(super) struct MissingTool {
    /// The answer.
    pub(super) answer: Bytes,
    /// The reason, for the record. `None` if the configuration or the approvals cannot be read.
    pub(super) reason: Option<&'static str>,
}

impl Judge {
    /// Returns the answer to a call to a tool that is not available to this client. Returns `None` if the tool is available.
    pub(super) fn missing_tool(&self, id: &Id, tool: &str, is_stateless: bool) -> Option<MissingTool> {
        let rejected = |why: &str| answer::rejected(Method::CallTool, id, why, is_stateless);
        let refused = |answer: Bytes, reason: &'static str| Some(MissingTool { answer, reason: Some(reason) });
        let unknown = |why: &str| Some(MissingTool { answer: rejected(&failed(why)), reason: None });
        let policy = match self.rules.policy(&self.server) {
            Ok(policy) => policy,
            Err(why) => return unknown(&why),
        };
        if !policy.has(tool) {
            return refused(answer::no_such_tool(id, tool), "it was called, and the configuration forbids it");
        }
        let mut state = self.state();
        if let Err(why) = self.refresh(&mut state) {
            return unknown(&why);
        }
        if let Some(held) = state.held.get(tool) {
            let (server, remedy) = (&self.server, held.remedy(&self.server));
            let why = format!(
                "The tool {tool} of the MCP server {server} is held back: {}. Tell the user: {remedy}.",
                held.why
            );
            return refused(rejected(&why), "it was called while it is held back");
        }
        let own = state.lock.servers.get(self.server.as_str());
        let is_there = match own {
            Some(tools) => tools.contains_key(tool) && !state.left_out.contains(tool),
            // Nothing is approved for this server yet. With `FirstUse`, its first listing will approve its tools.
            None => policy.definitions == Pinning::FirstUse,
        };
        if is_there { None } else { refused(answer::no_such_tool(id, tool), "it was called, but is not approved") }
    }

    /// Returns true if a message calls a tool that is not available to the client. The proxy answers such a call itself, even if
    /// the call is also invalid in other ways.
    pub fn lacks_tool(&self, message: &Message) -> bool {
        let MessageKind::Request { id, method } = &message.kind else { return false };
        if method != Method::CallTool.name() {
            return false;
        }
        let tool = message.params().unwrap_or_default().text("name");
        tool.is_some_and(|tool| self.missing_tool(id, &tool, true).is_some())
    }

    /// Records that tools are held back. `tools` contains the name of each tool, with the reason.
    pub async fn note_held_back(&self, tools: &[(String, String)], on_wait: LongWaitCallback<'_>) {
        let mut event = self.event(Point::HeldBack, None);
        event.arguments = tools.iter().map(|(tool, why)| (tool.clone(), Value::from(why.as_str()))).collect();
        self.ask_host(&event, on_wait).await;
    }

    /// If the lock file has changed, reads it again and releases the tools that were approved meanwhile.
    fn refresh(&self, state: &mut ServerState) -> Result<(), String> {
        let path = self.rules.lock_file();
        let stamp = std::fs::metadata(&path).ok().and_then(|found| Some((found.modified().ok()?, found.len())));
        let stamp = Some((path, stamp));
        if state.stamp == stamp {
            return Ok(());
        }
        let lock = LockFile::read(&self.rules.lock_file()).map_err(|error| error.to_string())?;
        state.held.retain(|tool, held| {
            let approved = lock.definition(self.server.as_str(), tool);
            held.is_final || !approved.is_some_and(|approved| is_same(approved, &held.definition))
        });
        state.lock = Arc::new(lock);
        state.stamp = stamp;
        Ok(())
    }

    /// Returns a number that changes when approvals or the configuration change, because the next listing could then differ from
    /// the last listing. Several sessions can share this judge, so each of them compares the number with the last number that it
    /// got.
    pub fn listing_changes(&self) -> u64 {
        let policy = self.rules.policy(&self.server);
        let mut state = self.state();
        // An error is ignored here. The next request reads the file again and is refused if the file still cannot be read.
        if let Ok(policy) = policy
            && self.refresh(&mut state).is_ok()
            && state.seen.is_some()
        {
            self.note_seen(&mut state, policy);
        }
        state.changes
    }

    /// Stores the approved definitions and the policy, on which listings depend.
    fn note_seen(&self, state: &mut ServerState, policy: Policy) {
        let now = Some((state.lock.servers.get(self.server.as_str()).cloned(), policy));
        if state.seen.is_some() && state.seen != now {
            state.changes += 1;
        }
        state.seen = now;
    }

    /// Returns a listing of tools without the tools that the client must not get. Tells the user once about each tool that is held
    /// back.
    pub(super) async fn listing(
        &self,
        cursor: Option<&str>,
        message: &Message,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<OutgoingMessage, String> {
        if message.members.get("error").is_some() {
            return Ok(message.into());
        }
        let result = message.members.within("result")?;
        if asks(&result) {
            return Err(UNEXPECTED_QUESTION.to_owned());
        }
        let policy = self.rules.policy(&self.server)?;
        let (listed, new) = self.filtered(cursor, &result, &policy)?;
        for (tool, held) in &new {
            let (server, remedy) = (&self.server, held.remedy(&self.server));
            self.tell(&format!("the tool {tool} of the MCP server {server} is held back: {}; {remedy}", held.why));
        }
        let new: Vec<_> = new.into_iter().map(|(tool, held)| (tool, held.why)).collect();
        if !new.is_empty() {
            self.note_held_back(&new, on_wait).await;
        }
        Ok(if listed.to_json() == result.to_json() { message.into() } else { message.with_result(listed.to_raw()) })
    }

    /// Returns the filtered result. Also returns the tools that are newly held back.
    fn filtered(
        &self,
        cursor: Option<&str>,
        result: &Members,
        policy: &Policy,
    ) -> Result<(Members, HeldDefinitions), String> {
        let failed = |error: crate::mcp::lock::LockError| error.to_string();
        let _changing = self.held_back.changing().map_err(failed)?;
        let mut state = self.state();
        self.refresh(&mut state)?;
        let is_new = !state.lock.servers.contains_key(self.server.as_str());
        let is_first = policy.definitions == Pinning::FirstUse
            && (cursor.is_none() && is_new || cursor.is_some_and(|cursor| state.first_pages.remove(cursor)));
        let lock = Arc::clone(&state.lock);
        let filter =
            ListingFilter { lock: &lock, server: &self.server, policy, is_first, is_unseen: self.checks.is_unseen };
        let listed = filter.filter(result)?;
        if listed.nameless > 0 {
            let count = listed.nameless;
            self.tell(&format!("{count} tools of the MCP server {} have no name, and are left out", self.server));
        }
        if is_first {
            state.first_pages.extend(result.text("nextCursor"));
            let mut approved = LockFile::clone(&lock);
            approved.approve(self.server.as_str(), listed.approved);
            approved.write(&self.rules.lock_file()).map_err(failed)?;
            state.stamp = None;
            self.refresh(&mut state)?;
        }
        let before = state.held.clone();
        let is_whole = cursor.is_none() && result.get("nextCursor").is_none();
        let is_listed: HashSet<&String> = listed.tools.iter().collect();
        state.held.retain(|tool, _| !is_whole && !is_listed.contains(tool));
        state.held.extend(listed.held);
        let is_approved = |tool: &&String| lock.definition(self.server.as_str(), tool).is_some();
        let changed: Vec<String> = state.held.keys().filter(is_approved).cloned().collect();
        let left_out = bound(&mut state.held);
        state.left_out.retain(|tool| !is_whole && !is_listed.contains(tool));
        let ServerState { held, left_out: unheld, .. } = &mut *state;
        unheld.extend(changed.into_iter().filter(|tool| !held.contains_key(tool)));
        if left_out > 0 {
            let server = &self.server;
            self.tell(&format!(
                "{left_out} more tools of the MCP server {server} are too many to be held back, and are left out: name those that \
                 you need in `tools` of [mcp-proxy.servers.{server}]"
            ));
        }
        self.note_seen(&mut state, policy.clone());
        let new = state
            .held
            .iter()
            .filter(|(tool, held)| before.get(*tool) != Some(*held))
            .map(|(tool, held)| (tool.clone(), held.clone()))
            .collect();
        // Another proxy in front of the same server may hold back other tools. Tools in the file that are unknown to this proxy
        // stay in the file.
        let kept = self.held_back.read(self.server.as_str()).map_err(failed)?;
        let mut held = kept.clone();
        held.retain(|tool, _| !before.contains_key(tool) && !is_listed.contains(tool));
        held.extend(state.held.clone());
        if bound(&mut held) > 0 {
            held.clone_from(&state.held);
        }
        if held != kept {
            self.held_back.write(self.server.as_str(), &held).map_err(failed)?;
        }
        Ok((listed.result, new))
    }

    /// Returns the approved schema of a tool's arguments.
    pub(super) fn pinned_schema(&self, tool: &str) -> Option<Value> {
        self.state().lock.definition(self.server.as_str(), tool)?.get("inputSchema").cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Members, cursor};

    #[test]
    fn a_page_that_a_server_could_read_otherwise_is_refused() {
        let of = |params: &str| cursor(&Members::of(params).unwrap());
        assert_eq!((of("{}"), of(r#"{"cursor":null}"#)), (Ok(None), Ok(None)));
        assert_eq!(of(r#"{"cursor":"c2","_meta":{}}"#), Ok(Some("c2".to_owned())));
        for params in
            [r#"{"cursor":5}"#, r#"{"Cursor":"c2"}"#, r#"{"cursor":"a","CURSOR":"b"}"#, r#"{"cursor":"\ud800"}"#]
        {
            assert!(of(params).is_err(), "{params}");
        }
    }
}
