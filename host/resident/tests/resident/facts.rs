//! Facts about the agent: its mode is in its message, and its variables are those of the process that waits.

use crate::support::{Lab, bash};
use hookhost::Config;
use hookhost::config::{Entry, Settings};
use hookhost::contract::{FactName, Refusal, ToolCall};
use hookhost::native::Rule;
use hookhost_agents::{Message, by_name};
use hookhost_guest::facts;
use std::path::Path;
use std::process::{Child, Command};

/// A process with the environment of an agent. It ends with the test.
struct Hook(Child);

impl Drop for Hook {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_facts_of_an_agent_come_from_its_message_and_from_the_process_that_waits() {
    let rule = Rule::new().before_tool_call(|_, _: &ToolCall| {
        let read = ["session.mode", "docker.context", "env.DOCKER_CONTEXT"].map(|name| facts::read(name, None));
        Some(Refusal::new(format!("{read:?}")))
    });
    let mut entry = Entry::from_rule("reader", rule);
    entry.grants.facts =
        [FactName::SessionMode, FactName::DockerContext, FactName::Variable("DOCKER_CONTEXT".into())].into();
    let lab = Lab::new(Rule::new()).await;
    *lab.configuration.config.lock().unwrap() = Ok(Config::from_entries(vec![entry], Settings::default()).unwrap());
    std::fs::write(&lab.configuration.file, "with facts").unwrap();

    let sleep = Command::new("sleep").arg("60").env_clear().env("DOCKER_CONTEXT", "remote").spawn();
    let hook = Hook(sleep.unwrap());
    let own = std::env::current_exe().unwrap();
    // Between `fork` and `exec`, the child has the environment of this process.
    while std::fs::read_link(format!("/proc/{}/exe", hook.0.id())).unwrap() == own {
        std::thread::yield_now();
    }
    let said = async |id: &str, process: Option<u32>| {
        let mut call = bash("PreToolUse", id, "ls");
        call["permission_mode"] = "acceptEdits".into();
        let bytes = call.to_string().into_bytes();
        let mut message = Message::new(&bytes, Path::new("/work"));
        message.process = process;
        lab.settler.reply(by_name("claude-code").unwrap(), &message, &|_| {}).await.stdout
    };
    let known = said("1", Some(hook.0.id())).await;
    assert!(known.contains("accept-edits") && known.matches("remote").count() == 2, "{known}");
    let unknown = said("2", None).await;
    assert!(unknown.contains("accept-edits") && unknown.matches("not known").count() == 2, "{unknown}");
    drop(hook);
}
