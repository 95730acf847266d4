//! A plugin of which no image can be taken has `configure` run in each instance: it means the same as once, beforehand.
//!
//! What `configure` prints makes the test plugin such a one: it then holds a stream of its host, which no image can.

use crate::failure_kinds::with_limits;
use crate::support::{builder, host, plugin, session, spec};
use hookhost::capability::{Message, Model, ModelRequest, Transcript};
use hookhost::config::{Entry, Settings};
use hookhost::{Config, Host, Session, TransformOutcome};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Two plugins of one behaviour: of the first an image is taken, of the second none.
fn both(steps: &[Value], behaviour: &Value) -> [Entry; 2] {
    [None, Some(json!({"print": "configuring"}))].map(|print| {
        let steps: Vec<_> = print.iter().chain(steps).collect();
        let mut config = behaviour.clone();
        config["configure"] = json!({ "do": steps });
        with_limits(plugin("p", config), |_| {})
    })
}

/// What the plugin makes of a prompt.
async fn text(session: &Session) -> String {
    match session.prompt_submit("prompt".into()).await.outcome {
        TransformOutcome::Passed { value } => value,
        TransformOutcome::Withheld(rejection) => panic!("{rejection}"),
    }
}

#[tokio::test]
async fn configure_runs_in_each_instance_where_no_image_can_be_taken() {
    let [image, each] = both(&[], &json!({"prompt-submit": {"verdict": "replace", "value": "{value} {calls}"}}));
    for (entry, preinitialised) in [(image, true), (each, false)] {
        let host = host(vec![entry]).await;
        assert_eq!(host.plugins()[0].is_preinitialised(), preinitialised);
        let session = host.open_session(spec()).unwrap();
        for _ in 0..2 {
            assert_eq!(text(&session).await, "prompt 1");
        }
    }
}

struct Answers;

impl Model for Answers {
    fn complete<'a>(
        &'a self,
        _: &'a str,
        _: ModelRequest,
    ) -> futures_util::future::BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::ready(Ok("an answer".into())))
    }
}

impl Transcript for Answers {
    fn length(&self) -> u32 {
        1
    }
    fn message(&self, index: u32) -> Option<Message> {
        (index == 0).then(|| Message::new("user", "hello"))
    }
}

/// A session that has everything to give.
async fn rich_session(mut entry: Entry) -> Session {
    entry.grants.clock = true;
    entry.grants.random = true;
    entry.grants.env = ["PATH".into()].into();
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let host = builder(config).model(Arc::new(Answers)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    session.set_transcript(Arc::new(Answers));
    session
}

#[tokio::test]
async fn configure_has_no_capability_but_the_log_whether_once_or_in_each_instance() {
    let no_state = r#"error: Error::Unavailable("`configure` has no state")"#;
    let steps = [
        (json!({"get": ["plugin", "n"]}), no_state),
        (json!({"set": ["plugin", "n", "7"]}), no_state),
        (json!({"increment": ["session", "n", 1]}), no_state),
        (json!({"model": ["a", "b"]}), r#"error: Error::Denied("the allowlist grants no model")"#),
        (json!({"transcript": [0, 9]}), "0 of 0\n"),
        (json!({"env": "PATH"}), "error: environment variable not found"),
        (json!("clock"), "0"),
        (json!("raw"), "nothing"),
    ];
    let gives: String = steps.iter().map(|(_, gives)| format!("{gives}\n")).collect();
    let steps: Vec<_> = steps.into_iter().map(|(step, _)| step).chain([json!("random")]).collect();
    let behaviour = json!({"prompt-submit": {"verdict": "replace", "value": "{configured}"}});
    let mut numbers = BTreeSet::new();
    for entry in both(&steps, &behaviour) {
        let session = rich_session(entry).await;
        for _ in 0..2 {
            let given = text(&session).await;
            let number = given.strip_prefix(&gives).unwrap_or_else(|| panic!("{given}"));
            numbers.insert(number.trim_end().parse::<u64>().unwrap());
        }
    }
    // The first of the stream of no event, although the entry grants real ones.
    assert_eq!(numbers.len(), 1, "{numbers:?}");
}

#[tokio::test]
async fn an_event_after_configure_has_what_it_has_without_and_nothing_of_configures() {
    let steps = [json!({"remind": "configure"}), json!({"report": "configure"}), json!("clock"), json!("random")];
    let seen = |step: &str| json!({"do": [step], "verdict": "replace", "value": "{last} {time} {id} {round}"});
    let behaviour = json!({"prompt-submit": seen("clock"), "finalize-content": seen("random")});
    let mut numbers = BTreeSet::new();
    for entry in both(&steps, &behaviour) {
        for _ in 0..2 {
            let mut spec = spec();
            spec.id = Some("the-same".into());
            let session = host(vec![entry.clone()]).await.open_session(spec).unwrap();
            let settled = session.prompt_submit("prompt".into()).await;
            let time = settled.record.header.time;
            let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:?}", settled.record) };
            assert_eq!(value, format!("{time} {time} the-same.0 1"));
            assert!(settled.record.calls[0].findings.is_empty());
            assert!(session.reminders().is_empty());
            let TransformOutcome::Passed { value } = session.finalize_content("x".into()).await.outcome else {
                panic!()
            };
            numbers.insert(value.split(' ').next().unwrap().to_owned());
        }
    }
    // Seeded from the event's identifier, which is the same, and drawn from for the first time.
    assert_eq!(numbers.len(), 1, "{numbers:?}");
}

#[tokio::test]
async fn what_configure_has_used_up_is_not_taken_from_the_event() {
    let lines = |count| vec![json!({"log": "ten bytes!"}); count];
    let mut fuel = Vec::new();
    for mut entry in both(&lines(40), &json!({"prompt-submit": {"do": lines(30)}})) {
        // A line is 40 bytes in the log.
        entry.limits.log = 1_800.try_into().unwrap();
        entry.limits.capability_calls = 50.try_into().unwrap();
        let settled = session(vec![entry]).await.prompt_submit("prompt".into()).await;
        let call = &settled.record.calls[0];
        let lines = call.log.iter().filter(|line| line.message == "ten bytes!").count();
        assert_eq!((&call.failure, lines, call.log_dropped), (&None, 30, 0), "{call:?}");
        fuel.push(call.fuel);
    }
    // The two have not the same memory before them, and so not quite the same way through it.
    let (image, each) = (fuel[0], fuel[1]);
    assert!(each.abs_diff(image) < image / 10, "{fuel:?}");
}

#[tokio::test]
async fn an_event_sees_none_of_configures_state_and_keeps_its_own() {
    let steps = [json!({"set": ["session", "n", "5"]})];
    let behaviour = json!({"prompt-submit": {"do": [{"increment": ["session", "n", 1]}], "verdict": "replace",
                                             "value": "{last}"}});
    for entry in both(&steps, &behaviour) {
        let session = session(vec![entry]).await;
        assert_eq!(text(&session).await, "1");
        assert_eq!(text(&session).await, "2");
    }
}

#[tokio::test]
async fn a_plugin_out_of_the_cache_is_configured_in_each_instance_too() {
    let directory = tempfile::tempdir().unwrap();
    let behaviour = json!({"prompt-submit": {"verdict": "replace", "value": "{configured}"}});
    let [_, each] = both(&[json!("raw")], &behaviour);
    for _ in 0..2 {
        let config = Config::from_entries(vec![each.clone()], Settings::default()).unwrap();
        // The directory of the cache must be the user's alone, and is made so.
        let host = Host::builder(config).cache(directory.path().join("cache")).build().await.unwrap();
        assert!(!host.plugins()[0].is_preinitialised());
        assert_eq!(text(&host.open_session(spec()).unwrap()).await, "nothing\n");
    }
    let kept = std::fs::read_dir(directory.path().join("cache")).unwrap();
    let code = kept.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "cwasm"));
    // What it was tried in, and what its events run in.
    assert_eq!(code.count(), 2);
}

#[tokio::test]
async fn a_configuration_that_is_refused_or_fails_is_found_when_the_plugin_is_loaded() {
    for (behaviour, why) in [
        (json!({"error": "I do not like it"}), "plugin `p` refuses its configuration: I do not like it"),
        (json!({"misbehave": "trap"}), "trapped: "),
        (json!({"misbehave": "exit"}), "exited instead of answering"),
    ] {
        for steps in [json!([]), json!([{"print": "configuring"}])] {
            let mut behaviour = behaviour.clone();
            behaviour["do"] = steps;
            let entry = plugin("p", json!({ "configure": behaviour }));
            let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
            let error = builder(config).build().await.unwrap_err().to_string();
            assert!(error.contains(why), "{behaviour}: {error}");
        }
    }
}
