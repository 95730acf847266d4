//! Tests of one session with many prompts in one process: the session starts and ends once, and each prompt sees the
//! prompts before it.

use crate::support::{Fake, Harness, SharedHost, USED, calls, on, results, says, stored};
use hookhost_agent::agent::{Agent, AgentEvent, Dialogue, RunOutcome, Status};
use hookhost_agent::session_store::{SessionStore, StoredSession};
use hookhost_models::message::Message;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on("two_prompts", "starter", json!({ "session-start": { "value": [{ "prompt": "look around" }] } })),
        on("no_model", "resolver", json!({ "provider-resolve": { "verdict": "reject", "reason": "not this model" } })),
        on(
            "stopped",
            "guard",
            json!({ "prompt-submit": { "when": { "contains": "bad" }, "verdict": "reject", "reason": "no", "stop": true } }),
        ),
    ]
});

impl Harness {
    fn dialogue(&self, session: Option<&str>) -> Dialogue {
        let provider = Arc::clone(&self.provider);
        let agent = Agent::builder(self.host.clone(), provider, self.tools.clone(), self.config.clone()).build();
        agent.unwrap().dialogue(session).unwrap()
    }

    async fn prompt(&self, dialogue: &mut Dialogue, prompt: &str) -> RunOutcome {
        dialogue.prompt(prompt, &self.recorded, &CancellationToken::new()).await.unwrap()
    }

    fn count(&self, is: impl Fn(&AgentEvent) -> bool) -> usize {
        self.events().iter().filter(|event| is(event)).count()
    }
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::text).collect()
}

#[tokio::test]
async fn each_prompt_has_those_before_it_and_the_session_starts_and_ends_once() {
    let answers = [says("One."), says("A directory."), says("Two.")];
    let harness = Harness::on(&HOST, "two_prompts", answers).await;
    let mut dialogue = harness.dialogue(None);
    assert_eq!((dialogue.session(), dialogue.turns()), ("two_prompts", 0));
    let first = harness.prompt(&mut dialogue, "first").await;
    assert_eq!((first.status, first.text.as_str(), first.turns), (Status::Success, "A directory.", 2));
    let path = dialogue.transcript().unwrap().to_owned();
    assert_eq!(StoredSession::read(&path).unwrap().ending, None, "it is not ended");
    let second = harness.prompt(&mut dialogue, "second").await;
    assert_eq!((second.text.as_str(), second.turns, second.usage.input_tokens), ("Two.", 3, 3 * USED.input_tokens));
    assert_eq!((dialogue.turns(), dialogue.usage()), (3, second.usage));
    let last = harness.fake.requests().pop().unwrap();
    assert_eq!(texts(&last.messages), ["first", "One.", "look around", "A directory.", "second"]);
    assert_eq!(harness.count(|event| matches!(event, AgentEvent::SessionEnded { .. })), 0);

    dialogue.end(&harness.recorded).await;
    assert_eq!(texts(&stored(&second)), ["first", "One.", "look around", "A directory.", "second", "Two."]);
    assert_eq!(harness.count(|event| matches!(event, AgentEvent::SessionStarted { .. })), 1);
    assert_eq!(harness.count(|event| matches!(event, AgentEvent::SessionEnded { status: Status::Success, .. })), 1);
}

#[tokio::test]
async fn a_prompt_that_is_stopped_leaves_a_session_that_takes_the_next_one() {
    let sleeper = json!({ "command": "touch started; sleep 600" });
    let harness = Harness::bare([calls([("bash", sleeper)]), says("Well.")]).await;
    let mut dialogue = harness.dialogue(None);
    let cancel = CancellationToken::new();
    let started = harness.path("started");
    let (outcome, ()) = tokio::join!(dialogue.prompt("wait", &harness.recorded, &cancel), async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    assert_eq!(outcome.unwrap().status, Status::Cancelled);
    assert!(dialogue.is_open());
    let outcome = harness.prompt(&mut dialogue, "continue").await;
    assert_eq!((outcome.status, outcome.reason.as_deref(), outcome.text.as_str()), (Status::Success, None, "Well."));
    dialogue.end(&harness.recorded).await;
    assert_eq!(results(&stored(&outcome)), [("aborted: the run was cancelled", true)]);
}

#[tokio::test]
async fn a_refusal_that_says_stop_ends_the_prompt_and_the_last_one_decides_how_the_session_ended() {
    let harness = Harness::on(&HOST, "stopped", [says("Good.")]).await;
    let mut dialogue = harness.dialogue(None);
    assert_eq!(harness.prompt(&mut dialogue, "good").await.status, Status::Success);
    let outcome = harness.prompt(&mut dialogue, "bad").await;
    assert_eq!(outcome.status, Status::Rejected);
    assert!(dialogue.is_open());
    dialogue.end(&harness.recorded).await;
    let messages = stored(&outcome);
    assert_eq!(texts(&messages), ["good", "Good."], "what was withheld is not part of it");
}

#[tokio::test]
async fn no_prompt_runs_under_a_model_that_a_plugin_refuses() {
    let harness = Harness::on(&HOST, "no_model", [says("never")]).await;
    let mut dialogue = harness.dialogue(None);
    for _ in 0..2 {
        assert_eq!(harness.prompt(&mut dialogue, "go").await.status, Status::Rejected);
    }
    assert_eq!(harness.count(|event| matches!(event, AgentEvent::Rejected { .. })), 2, "it is asked each time");
    assert!(harness.fake.requests().is_empty());
    dialogue.end(&harness.recorded).await;
    assert_eq!(harness.count(|event| matches!(event, AgentEvent::SessionEnded { .. })), 1);
}

#[tokio::test]
async fn a_session_that_was_ended_continues_with_another_provider() {
    let mut harness = Harness::bare([says("One.")]).await;
    let mut dialogue = harness.dialogue(None);
    harness.prompt(&mut dialogue, "first").await;
    let id = dialogue.session().to_owned();
    dialogue.end(&harness.recorded).await;
    harness.fake = Fake::new("other", [says("Two.")]);
    harness.provider = Arc::clone(&harness.fake) as _;
    let mut dialogue = harness.dialogue(Some(&id));
    let outcome = harness.prompt(&mut dialogue, "second").await;
    assert_eq!((outcome.session, outcome.turns), (id.clone(), 2));
    assert_eq!(texts(&harness.fake.requests()[0].messages), ["first", "One.", "second"]);
    let said = "the session continues with model-1 of other; so far it was with model-1 of fake".to_owned();
    assert!(harness.events().contains(&AgentEvent::Notice { text: said }));
    dialogue.end(&harness.recorded).await;
    let header = SessionStore::new(harness.config.sessions_dir.as_ref().unwrap()).read(&id).unwrap().header;
    assert_eq!(header.provider, "other");
}

#[tokio::test]
async fn a_session_that_cannot_be_written_takes_no_further_prompt() {
    let remove = json!({ "command": "rm ../sessions/*.jsonl" });
    let harness = Harness::bare([calls([("bash", remove)]), says("never")]).await;
    let mut dialogue = harness.dialogue(None);
    assert_eq!(harness.prompt(&mut dialogue, "go").await.status, Status::Error);
    assert!(!dialogue.is_open());
    let error = dialogue.prompt("more", &harness.recorded, &CancellationToken::new()).await.unwrap_err();
    assert!(
        error.to_string().ends_with("is closed, since it could not be written or a prompt was cancelled: resume it")
    );
    assert_eq!(harness.fake.requests().len(), 1);
    dialogue.end(&harness.recorded).await;
}

#[tokio::test]
async fn a_session_that_took_no_prompt_ends_without_a_word() {
    let harness = Harness::bare([]).await;
    harness.dialogue(None).end(&harness.recorded).await;
    assert!(harness.events().is_empty());
}
