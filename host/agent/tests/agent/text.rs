//! Tests of the events that carry text: `prompt-submit`, `stream-delta`, `stream-end` and `finalize-content`.

use crate::support::{Harness, SharedHost, calls, on, says, says_and_calls, stored};
use hookhost::contract::EventKind;
use hookhost_agent::agent::{AgentEvent, MAX_REVISIONS, Status};
use hookhost_models::message::{Author, Message};
use serde_json::{Value, json};

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_replaced_prompt_is_what_the_model_and_the_transcript_get",
            "guard",
            json!({ "prompt-submit": { "verdict": "replace", "value": "{value}, please" } }),
        ),
        on(
            "a_rejected_prompt_never_reaches_the_model",
            "guard",
            json!({ "prompt-submit": { "verdict": "reject", "reason": "not here" } }),
        ),
        on(
            "what_is_shown_passes_stream_delta_in_whole_lines",
            "guard",
            json!({ "stream-delta": { "verdict": "replace", "value": "<{value}>" } }),
        ),
        on("before_a_call", "guard", json!({ "stream-delta": { "verdict": "replace", "value": "<{value}>" } })),
        on(
            "a_rejected_line_is_replaced_by_a_note",
            "guard",
            json!({ "stream-delta": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "hush" } }),
        ),
    ]
});

/// A host with a plugin that subscribes to `finalize-content`. In [`HOST`], no plugin does.
static FINAL: SharedHost = SharedHost::new(|| {
    vec![
        on("revised", "guard", no_passwords()),
        on("revised", "guard", json!({ "before-inference": { "verdict": "modify", "value": { "prompt": "please" } } })),
        on(
            "turn.refused.often",
            "guard",
            json!({ "turn-start": { "verdict": "reject", "reason": "not now", "retryable": true } }),
        ),
        on("turn.refused.finally", "guard", json!({ "turn-start": { "verdict": "reject", "reason": "never" } })),
        on("revised.often", "guard", no_passwords()),
        on(
            "revised.stopped",
            "guard",
            json!({ "finalize-content": { "verdict": "reject", "reason": "no", "retryable": true, "stop": true } }),
        ),
        on(
            "revised.used_up",
            "guard",
            json!({
                "finalize-content": { "verdict": "reject", "reason": "no", "retryable": true },
                "token-usage": { "verdict": "reject", "reason": "enough" },
            }),
        ),
        on("withheld", "guard", json!({ "finalize-content": { "verdict": "reject", "reason": "hush" } })),
        on(
            "withheld.stop",
            "guard",
            json!({ "finalize-content": { "verdict": "reject", "reason": "hush", "stop": true } }),
        ),
        on(
            "text_waits_until_it_is_final_if_a_plugin_subscribes_to_finalize_content",
            "masker",
            json!({ "finalize-content": { "verdict": "replace", "value": "masked" } }),
        ),
        on(
            "a_held_final_text_still_passes_stream_delta",
            "guard",
            json!({ "finalize-content": { "verdict": "replace", "value": "{value} (final)" } }),
        ),
        on(
            "a_held_final_text_still_passes_stream_delta",
            "masker",
            json!({ "stream-delta": { "verdict": "replace", "value": "<{value}>" } }),
        ),
        on("shown.stop", "guard", json!({ "finalize-content": { "verdict": "replace", "value": "{value} (final)" } })),
        on(
            "shown.stop",
            "masker",
            json!({ "stream-delta": { "when": { "contains": "(final)" }, "verdict": "reject", "reason": "hush", "stop": true } }),
        ),
        on("a_plugin_that_cannot_finalise_withholds", "guard", json!({ "finalize-content": { "misbehave": "trap" } })),
        on(
            "plugins_can_read_the_conversation_so_far",
            "guard",
            json!({ "finalize-content": { "do": [{ "transcript": [0, 10] }], "verdict": "replace", "value": "{last}" } }),
        ),
    ]
});

/// Like [`FINAL`], but with the setting `stream-unfinalised`.
static UNFINALISED: SharedHost = SharedHost::under(
    |settings| settings.stream_unfinalised = true,
    || vec![on("shown.at_once", "masker", json!({ "finalize-content": { "verdict": "replace", "value": "masked" } }))],
);

#[tokio::test]
async fn a_replaced_prompt_is_what_the_model_and_the_transcript_get() {
    let harness =
        Harness::on(&HOST, "a_replaced_prompt_is_what_the_model_and_the_transcript_get", [says("Done.")]).await;
    let outcome = harness.run().await;
    let prompt = Message::user("do it, please");
    assert_eq!(harness.fake.requests()[0].messages, std::slice::from_ref(&prompt));
    assert_eq!(stored(&outcome)[0], prompt);
    let changed = AgentEvent::Changed {
        event: EventKind::PromptSubmit,
        by: vec!["guard".into()],
        before: json!("do it"),
        after: json!("do it, please"),
    };
    assert!(harness.events().contains(&changed));
}

#[tokio::test]
async fn a_rejected_prompt_never_reaches_the_model() {
    let harness = Harness::on(&HOST, "a_rejected_prompt_never_reaches_the_model", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.reason.as_deref(), Some("Rejected by guard: not here"));
    assert!(harness.fake.requests().is_empty());
    assert!(stored(&outcome).is_empty());
}

#[tokio::test]
async fn what_is_shown_passes_stream_delta_in_whole_lines() {
    let harness = Harness::on(
        &HOST,
        "what_is_shown_passes_stream_delta_in_whole_lines",
        [says("one line\nand another\nand the rest")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(harness.shown(), "<one line\n><and another\n><and the rest>");
    assert_eq!(outcome.text, harness.shown());
    // The replacement affects only the text that the user sees. The conversation keeps the model's text.
    assert_eq!(stored(&outcome)[1].text(), "one line\nand another\nand the rest");
}

#[tokio::test]
async fn a_rejected_line_is_replaced_by_a_note() {
    let harness = Harness::on(&HOST, "a_rejected_line_is_replaced_by_a_note", [says("fine\na secret\nfine\n")]).await;
    harness.run().await;
    assert_eq!(harness.shown(), "fine\n[withheld: Rejected by guard: hush]\nfine\n");
}

#[tokio::test]
async fn text_waits_until_it_is_final_if_a_plugin_subscribes_to_finalize_content() {
    let harness = Harness::on(
        &FINAL,
        "text_waits_until_it_is_final_if_a_plugin_subscribes_to_finalize_content",
        [says_and_calls("I look at hunter2.", [("list_dir", json!({ "path": "." }))]), says("It is hunter2.")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "masked"));
    // The text is shown twice: once beside the call, and once as the final text.
    assert_eq!(harness.shown(), "maskedmasked");
    assert!(!serde_json::to_string(&harness.events()).unwrap().contains("hunter2"));
    assert_eq!(stored(&outcome).last().unwrap().text(), "masked");
}

#[tokio::test]
async fn text_beside_calls_that_is_rejected_is_withheld_and_stop_ends_the_task_before_the_next_request() {
    for (name, stop) in [("withheld", false), ("withheld.stop", true)] {
        let answers = [says_and_calls("It is hunter2.", [("list_dir", json!({ "path": "." }))]), says("Done.")];
        let harness = Harness::on(&FINAL, name, answers).await;
        let outcome = harness.run().await;
        // Without `stop`, this rejection does not end the task. The task ends because its final text is rejected, too.
        assert_eq!(outcome.status, Status::Rejected);
        assert!(harness.shown().starts_with("[withheld: Rejected by guard: hush]"), "{}", harness.shown());
        assert!(!serde_json::to_string(&harness.events()).unwrap().contains("hunter2"));
        assert_eq!(harness.fake.requests().len(), if stop { 1 } else { 2 });
        stored(&outcome);
    }
}

#[tokio::test]
async fn a_refusal_with_stop_of_a_final_text_as_it_is_shown_ends_the_run() {
    let harness = Harness::on(&FINAL, "shown.stop", [says("Done."), says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 1));
    assert_eq!(outcome.reason.as_deref(), Some("Rejected by masker: hush"));
    assert_eq!(harness.shown(), "[withheld: Rejected by masker: hush]");
    stored(&outcome);
}

#[tokio::test]
async fn text_without_subscribers_is_shown_as_it_comes() {
    let harness = Harness::bare([says("a line without an end")]).await;
    let outcome = harness.run().await;
    let pieces = harness.events().into_iter().filter(|event| matches!(event, AgentEvent::Text { .. })).count();
    // The fake provider sends five bytes at a time.
    assert_eq!((pieces, outcome.text.as_str()), (5, "a line without an end"));
}

#[tokio::test]
async fn text_before_a_call_is_shown_before_the_call_begins() {
    // This must hold with and without a plugin that subscribes to `stream-delta`.
    let name = "before_a_call";
    let answers = || [says_and_calls("I look.", [("list_dir", json!({ "path": "." }))]), says("Done.")];
    for harness in [Harness::on(&HOST, name, answers()).await, Harness::bare(answers()).await] {
        harness.run().await;
        let events = harness.events();
        let place = |wanted: fn(&AgentEvent) -> bool| events.iter().position(wanted).unwrap();
        let text =
            place(|event| matches!(event, AgentEvent::Text { text } if text.contains('.') || text.contains("look")));
        assert!(text < place(|event| matches!(event, AgentEvent::ToolStarted { .. })), "{events:?}");
    }
}

#[tokio::test]
async fn a_held_final_text_still_passes_stream_delta() {
    let harness = Harness::on(&FINAL, "a_held_final_text_still_passes_stream_delta", [says("Done.")]).await;
    let outcome = harness.run().await;
    assert_eq!(harness.shown(), "<Done. (final)>");
    assert_eq!(outcome.text, "<Done. (final)>");
    assert_eq!(stored(&outcome)[1].text(), "Done. (final)");
}

#[tokio::test]
async fn a_held_final_text_that_nobody_changes_is_shown_in_the_end() {
    // No behaviour is configured for a session with this name, so the plugin allows everything.
    let harness = Harness::on(&FINAL, "kept", [says("Done.")]).await;
    let outcome = harness.run().await;
    assert_eq!((harness.shown().as_str(), outcome.text.as_str()), ("Done.", "Done."));
}

#[tokio::test]
async fn text_is_shown_at_once_where_the_configuration_says_so() {
    let harness = Harness::on(&UNFINALISED, "shown.at_once", [says("first\n")]).await;
    let outcome = harness.run().await;
    assert_eq!(harness.shown(), "first\nmasked");
    assert_eq!((outcome.text.as_str(), stored(&outcome)[1].text()), ("masked", "masked"));
}

#[tokio::test]
async fn a_rejected_final_text_is_withheld_with_a_note() {
    for (name, stop) in [("withheld", false), ("withheld.stop", true)] {
        let harness = Harness::on(&FINAL, name, [says("hunter2")]).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.status, outcome.rejection.as_ref().unwrap().ends.is_some()), (Status::Rejected, stop));
        assert_eq!(outcome.text, "[withheld: Rejected by guard: hush]");
        assert_eq!(stored(&outcome)[1].text(), outcome.text);
        assert_eq!(harness.fake.requests().len(), 1, "the refusal does not say that trying again helps");
        assert!(!serde_json::to_string(&harness.events()).unwrap().contains("hunter2"));
    }
}

fn no_passwords() -> Value {
    json!({ "finalize-content": { "when": { "contains": "hunter2" }, "verdict": "reject", "reason": "no passwords", "retryable": true } })
}

fn refused(harness: &Harness) -> usize {
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Rejected { event: EventKind::FinalizeContent, .. });
    harness.events().iter().filter(|event| told(event)).count()
}

#[tokio::test]
async fn a_final_text_that_may_be_tried_again_is_rewritten_and_never_shown() {
    let harness = Harness::on(&FINAL, "revised", [says("It is hunter2."), says("It is a secret.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "It is a secret."));
    assert_eq!(harness.shown(), "It is a secret.");
    assert_eq!(refused(&harness), 1);
    let messages = stored(&outcome);
    let Message::User { text, author: Author::Policy } = &messages[2] else { panic!("{messages:?}") };
    assert!(text.starts_with("[From a policy, not from the user.]"), "{text}");
    assert!(text.contains("Rejected by guard: no passwords"), "{text}");
    let requests = harness.fake.requests();
    // Plugins still see the task's own prompt as the prompt, because the policy's message is not a prompt.
    assert_eq!(requests[1].messages, [&[Message::user("please")], &messages[1..3]].concat());
    for kept in [serde_json::to_string(&harness.events()).unwrap(), serde_json::to_string(&messages).unwrap()] {
        assert!(!kept.contains("hunter2"), "{kept}");
    }
}

#[tokio::test]
async fn a_final_text_is_rewritten_so_often_and_then_withheld() {
    let hunter = || says("It is hunter2.");
    let harness = Harness::on(&FINAL, "revised.often", [hunter(), hunter(), hunter(), hunter(), says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.text, "[withheld: Rejected by guard: no passwords]");
    assert_eq!(harness.shown(), outcome.text);
    let times = usize::try_from(MAX_REVISIONS).unwrap() + 1;
    assert_eq!((harness.fake.requests().len(), refused(&harness)), (times, times));
    assert!(!serde_json::to_string(&harness.events()).unwrap().contains("hunter2"));
    stored(&outcome);
}

#[tokio::test]
async fn no_final_text_is_rewritten_where_the_run_is_to_stop_or_has_used_its_limits() {
    for name in ["revised.stopped", "revised.used_up"] {
        let harness = Harness::on(&FINAL, name, [says("hunter2"), says("never")]).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.status, outcome.text.as_str()), (Status::Rejected, "[withheld: Rejected by guard: no]"));
        assert_eq!(harness.fake.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_plugin_that_cannot_finalise_withholds() {
    let harness = Harness::on(&FINAL, "a_plugin_that_cannot_finalise_withholds", [says("hunter2")]).await;
    let outcome = harness.run().await;
    assert!(outcome.text.starts_with("[withheld: Rejected because the plugin guard failed"), "{}", outcome.text);
    assert_eq!(outcome.status, Status::Rejected);
}

#[tokio::test]
async fn plugins_can_read_the_conversation_so_far() {
    let harness = Harness::on(
        &FINAL,
        "plugins_can_read_the_conversation_so_far",
        [calls([("bash", json!({ "command": "echo hi" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(
        outcome.text,
        "3 of 3\nuser: do it\nassistant: [calls {\"name\":\"bash\",\"arguments\":{\"command\":\"echo hi\"}}]\ntool: hi\n[exit code 0]"
    );
}

#[tokio::test]
async fn a_turn_that_is_refused_and_may_be_tried_again_continues_with_the_reason_in_the_conversation() {
    let harness = Harness::on(&FINAL, "turn.refused.often", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Rejected, Some("Rejected by guard: not now")));
    assert!(harness.fake.requests().is_empty());
    let reasons =
        stored(&outcome).into_iter().filter(|message| matches!(message, Message::User { author: Author::Policy, .. }));
    assert_eq!(reasons.count(), usize::try_from(MAX_REVISIONS).unwrap());

    // A refusal that allows no retry ends the task at once.
    let harness = Harness::on(&FINAL, "turn.refused.finally", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert!(!stored(&outcome).iter().any(|message| matches!(message, Message::User { author: Author::Policy, .. })));
}
