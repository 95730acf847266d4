//! Rules whose decisions do not take effect: what they decide is recorded, and each event continues as it was.

use crate::support::{asking, bash, builder, plugin, spec};
use hookhost::config::{Enforcement, Entry};
use hookhost::contract::{Completion, OutcomeKind, TransformOutcome};
use hookhost::{Decision, Host};
use serde_json::json;

/// A plugin that rejects `denied`, changes `original`, withholds the prompt `secret`, adds a task and a reminder.
fn busy() -> Entry {
    plugin(
        "busy",
        json!({
            "before-tool-call": [
                { "when": { "contains": "denied" }, "verdict": "reject", "reason": "no", "do": [{ "remind": "careful" }] },
                { "when": { "contains": "original" }, "verdict": "modify", "value": { "command": "rewritten" } }
            ],
            "prompt-submit": { "verdict": "reject", "reason": "secret" },
            "task-complete": { "verdict": "go-on", "value": [{ "prompt": "more", "title": "More" }] }
        }),
    )
}

async fn host(observe: bool) -> Host {
    builder(asking("deploy*", &format!("observe = {observe}"), vec![busy()])).build().await.unwrap()
}

#[tokio::test]
async fn what_observed_rules_decide_is_recorded_and_has_no_effect() {
    for observe in [true, false] {
        let host = host(observe).await;
        let session = host.open_session(spec()).unwrap();
        let expected = if observe { Enforcement::Observed } else { Enforcement::Enforced };
        for (command, decided) in
            [("denied", OutcomeKind::Rejected), ("original", OutcomeKind::Allowed), ("ls", OutcomeKind::Allowed)]
        {
            let settled = session.before_tool_call(bash(&session, command)).await;
            assert_eq!((settled.record.outcome, settled.record.enforcement), (decided, expected), "{command}");
            assert_eq!(settled.record.is_changed(), command == "original" && !observe);
            assert_eq!(settled.record.changed_by.len(), usize::from(command == "original"));
            if observe {
                let Decision::Allowed { value } = settled.outcome else { panic!("{command}: {:?}", settled.outcome) };
                let arguments: serde_json::Value = serde_json::from_str(&value.arguments).unwrap();
                assert_eq!(arguments["command"], command, "it continues as it was");
            } else {
                assert_eq!(settled.outcome.is_allowed(), decided == OutcomeKind::Allowed);
            }
        }
        let asked = session.check_tool("deploy", &json!({})).await;
        assert_eq!(asked.outcome.is_allowed(), observe, "nobody is there to ask");
        assert_eq!((asked.record.outcome, asked.record.questions.len()), (OutcomeKind::Escalated, 1));
        assert!(host.questions().await.unwrap().is_empty(), "no question waits");
        let prompt = session.prompt_submit("secret".into()).await;
        assert_eq!(prompt.record.outcome, OutcomeKind::Withheld);
        assert_eq!(prompt.outcome == TransformOutcome::Passed { value: "secret".into() }, observe);
        let tasks = session.task_complete(Completion::default()).await.outcome;
        assert_eq!((tasks.is_empty(), session.reminders().is_empty()), (observe, observe));
    }
}

#[tokio::test]
async fn a_paused_configuration_asks_no_rule_and_says_so_in_the_record() {
    let config = asking("deploy*", "require-plugins = true\naudit.mask = ['password']", vec![busy()]);
    let paused = config.clone().paused();
    assert_ne!(paused.digest(), config.digest(), "no outcome of the rules is kept for the pause");
    assert_eq!(paused.settings().audit, config.settings().audit, "what is masked stays masked");
    let host = builder(config.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    assert!(!session.before_tool_call(bash(&session, "denied")).await.outcome.is_allowed());
    assert!(!host.reload(&paused).await.unwrap().is_empty());
    for name in ["deploy", "any"] {
        let settled = session.check_tool(name, &json!({ "command": "denied" })).await;
        assert!(settled.outcome.is_allowed() && settled.record.calls.is_empty());
        assert_eq!(settled.record.enforcement, Enforcement::Paused);
    }
    assert!(!host.reload(&config).await.unwrap().is_empty());
    let settled = session.before_tool_call(bash(&session, "denied")).await;
    assert_eq!((settled.outcome.is_allowed(), settled.record.enforcement), (false, Enforcement::Enforced));
}
