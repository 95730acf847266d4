use super::*;
use hookhost_guest::testing::{self, inference, prime, session, usage};

fn configure(config: impl serde::Serialize) -> Result<(), String> {
    prime(|_| {});
    let config = hookhost_guest::parse(&json!(config).to_string()).map_err(|error| error.to_string())?;
    TokenBudget::configure(config)
}

fn refusal(verdict: UsageVerdict) -> Refusal {
    match verdict {
        UsageVerdict::Reject(refusal) => refusal,
        UsageVerdict::Allow => panic!("was allowed"),
    }
}

#[test]
fn at_the_budget_the_loop_ends_and_below_it_continues() {
    configure(json!({"session-tokens": 100})).unwrap();
    assert_eq!(TokenBudget::token_usage(&session(), &usage(60, 39)), UsageVerdict::Allow);
    let refusal = refusal(TokenBudget::token_usage(&session(), &usage(60, 40)));
    assert!(refusal.stop);
    assert!(refusal.reason.contains("used 100 tokens of its 100 tokens: 60 input and 40 output"), "{}", refusal.reason);
}

#[test]
fn output_tokens_can_count_more_than_input_tokens() {
    configure(json!({"session-tokens": 100, "output-weight": 5})).unwrap();
    assert_eq!(TokenBudget::token_usage(&session(), &usage(49, 10)), UsageVerdict::Allow);
    let refusal = refusal(TokenBudget::token_usage(&session(), &usage(50, 10)));
    assert!(refusal.reason.contains("100 weighted tokens"), "{}", refusal.reason);
}

#[test]
fn a_costly_model_has_the_tighter_budget_and_never_a_wider_one() {
    configure(json!({"session-tokens": 100, "models": {"opus*": 10, "haiku": 1000}})).unwrap();
    let used = |model: &str, tokens| Usage { model: model.into(), ..usage(tokens, 0) };
    assert!(matches!(TokenBudget::token_usage(&session(), &used("opus-5", 10)), UsageVerdict::Reject(_)));
    assert_eq!(TokenBudget::token_usage(&session(), &used("sonnet", 10)), UsageVerdict::Allow);
    assert!(matches!(TokenBudget::token_usage(&session(), &used("haiku", 100)), UsageVerdict::Reject(_)));
}

#[test]
fn the_model_is_warned_once_when_the_line_is_crossed() {
    configure(json!({"session-tokens": 100, "warn-at": 0.8})).unwrap();
    let calls = [(40, 40), (79, 39), (80, 1), (90, 10)];
    let mut reminders = Vec::new();
    for (total, last) in calls {
        let usage = Usage { input_tokens: last, output_tokens: 0, ..usage(total, 0) };
        assert_eq!(TokenBudget::token_usage(&session(), &usage), UsageVerdict::Allow);
        reminders.push(testing::inspect(|host| host.reminders.len()));
    }
    assert_eq!(reminders, [0, 0, 1, 1]);
}

#[test]
fn a_request_larger_than_the_budget_is_never_sent() {
    configure(json!({"session-tokens": 100})).unwrap();
    assert_eq!(TokenBudget::before_inference(&session(), &inference("x", 100)), InferenceVerdict::Allow);
    assert!(matches!(TokenBudget::before_inference(&session(), &inference("x", 101)), InferenceVerdict::Reject(_)));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    for (config, name) in [
        (json!({}), "session-tokens"),
        (json!({"session-tokens": 0}), "session-tokens"),
        (json!({"session-tokens": 1, "warn-at": 1.0}), "warn-at"),
        (json!({"session-tokens": 1, "output-weight": 0}), "output-weight"),
        (json!({"session-tokens": 1, "models": {"x": 0}}), "models.x"),
        (json!({"session-tokens": 1, "sesion": 1}), "sesion"),
    ] {
        let error = configure(&config).unwrap_err();
        assert!(error.contains(name), "{config}: {error}");
    }
}

#[test]
fn totals_beyond_any_budget_do_not_overflow() {
    configure(json!({"session-tokens": u64::MAX, "output-weight": 1_000_000})).unwrap();
    let usage = usage(u64::MAX, u64::MAX);
    assert!(matches!(TokenBudget::token_usage(&session(), &usage), UsageVerdict::Reject(_)));
}

#[test]
fn a_sub_agent_is_weighed_with_the_whole_run() {
    configure(json!({ "session-tokens": 1_000 })).unwrap();
    let child = Usage { run_input_tokens: 1_000, ..usage(10, 0) };
    let refusal = refusal(TokenBudget::token_usage(&session(), &child));
    assert!(refusal.stop && refusal.reason.contains("1000 input"), "{}", refusal.reason);
}
