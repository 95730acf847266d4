use super::*;
use hookhost_guest::testing::{inspect, prime, session, shell};
use proptest::prelude::*;

fn configure(config: impl serde::Serialize) -> Result<(), String> {
    prime(|_| {});
    let config = hookhost_guest::parse(&json!(config).to_string()).map_err(|error| error.to_string())?;
    RedactSecrets::configure(config)
}

fn masked(text: &str) -> String {
    match RedactSecrets::finalize_content(&session(), text) {
        TextVerdict::Keep => text.to_owned(),
        TextVerdict::Replace(text) => text,
        TextVerdict::Reject(refusal) => panic!("{refusal:?}"),
    }
}

/// Returns `n` characters that look random. With this function, the tests contain no text that a secret scanner would
/// take for a real key.
fn random(n: usize) -> String {
    "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU".chars().cycle().take(n).collect()
}

#[test]
fn each_known_format_is_masked_wherever_it_is() {
    configure(json!({})).unwrap();
    let upper: String = "ABCD2345EFGH67IJ".into();
    for (secret, expected) in [
        (format!("AKIA{upper}"), "AKIA[redacted: aws-access-key-id]"),
        (format!("ghp_{}", random(36)), "ghp_[redacted: github-token]"),
        (format!("gho_{}", random(36)), "gho_[redacted: github-token]"),
        (format!("ghs_{}", random(36)), "ghs_[redacted: github-token]"),
        (format!("github_pat_{}_{}", random(22), random(59)), "github_pat_[redacted: github-token]"),
        (format!("glpat-{}", random(20)), "[redacted: gitlab-token]"),
        (format!("xoxb-1234567890-{}", random(24)), "xoxb-[redacted: slack-token]"),
        (format!("sk_live_{}", random(24)), "sk_live_[redacted: stripe-key]"),
        (format!("sk-ant-api03-{}", random(90)), "sk-ant-[redacted: anthropic-key]"),
        (format!("sk-proj-{}", random(48)), "sk-[redacted: openai-key]"),
        (format!("sk-{}", random(48)), "sk-[redacted: openai-key]"),
        (format!("AIza{}", random(35)), "AIza[redacted: google-key]"),
        (format!("npm_{}", random(36)), "npm_[redacted: npm-token]"),
        (format!("hf_{}", random(34)), "hf_[redacted: hugging-face-token]"),
        (format!("eyJ{}.eyJ{}.{}", random(30), random(60), random(43)), "[redacted: jwt]"),
        (
            format!("https://hooks.slack.com/services/T0/B0/{}", random(24)),
            "https://hooks.slack.com/services/[redacted: slack-webhook]",
        ),
        (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----", random(64), random(20)),
            "[redacted: private-key]",
        ),
    ] {
        for (before, after) in [("", ""), ("it is ", ", yes"), ("(", ")"), ("\"", "\"\n"), ("é=", " ü"), ("x: ", "\n")]
        {
            assert_eq!(masked(&format!("{before}{secret}{after}")), format!("{before}{expected}{after}"));
        }
    }
}

#[test]
fn an_assigned_secret_is_masked_and_its_name_stays() {
    configure(json!({})).unwrap();
    for (text, expected) in [
        ("DB_PASSWORD=tr0ub4dor&3", "DB_PASSWORD=[redacted: assigned-secret]"),
        (r#"{"client_secret": "tr0ub4dor-and-3"}"#, r#"{"client_secret": "[redacted: assigned-secret]"}"#),
        ("api-key: 3f8a9c1e7b2d", "api-key: [redacted: assigned-secret]"),
        ("password => 'with a space 1'", "password => '[redacted: assigned-secret]'"),
        ("postgres://me:s3cret@db/x", "postgres://me:[redacted: url-password]@db/x"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted: authorization]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted: authorization]"),
        (
            r#"{"log": "{\"password\": \"tr0ub4dor&3\", \"n\": 1}"}"#,
            r#"{"log": "{\"password\": \"[redacted: assigned-secret]\", \"n\": 1}"}"#,
        ),
    ] {
        assert_eq!(masked(text), expected);
    }
    // The whole value is masked, even if it is long.
    let session = format!("aws_session_token={}", random(5000));
    assert_eq!(masked(&session), "aws_session_token=[redacted: assigned-secret]");
    assert_eq!(masked(&format!("token: \"{}\"", random(5000))), "token: \"[redacted: assigned-secret]\"");
    let key = format!("aws_secret_access_key = {}", &random(40));
    assert_eq!(masked(&key), "aws_secret_access_key = [redacted: aws-secret-key]");
}

#[test]
fn a_known_format_goes_before_what_its_name_says() {
    configure(json!({})).unwrap();
    assert_eq!(
        masked(&format!("GITHUB_TOKEN={}", format_args!("ghp_{}", random(36)))),
        "GITHUB_TOKEN=ghp_[redacted: github-token]"
    );
}

#[test]
fn ordinary_text_stays_as_it_is() {
    configure(json!({})).unwrap();
    for text in [
        "the token count is 4096; max_tokens: 12345678",
        "password = os.environ['DB_PASSWORD']",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "export PASSWORD=$DB_PASSWORD1",
        "let token = next_token(&mut lexer2);",
        "class=\"sk-loading-spinner-container-2\"",
        "secret: /run/secrets/db-1",
        "see https://example.com:8080/a@b and user@host",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "commit 3f8a9c1e7b2d4f6a8c0e2b4d6f8a0c2e4b6d8f0a",
        "task-management-and-planning-with-Sk1ll",
        "",
    ] {
        assert_eq!(RedactSecrets::finalize_content(&session(), text), TextVerdict::Keep, "{text}");
    }
}

#[test]
fn text_and_raw_of_a_result_are_both_masked_and_raw_stays_json() {
    configure(json!({})).unwrap();
    let token = format!("ghp_{}", random(36));
    let raw = json!({"content": [{"text": format!("a {token}\nb")}], "password": "tr0ub4dor&3", "n": [1, null, true]});
    let result = ToolResult { text: format!("x {token} y"), is_error: true, raw: Some(raw.to_string()) };
    let verdict = RedactSecrets::after_tool_call(&session(), &shell("env"), &result, ResultSource::Tool);
    let ToolResultVerdict::Replace(result) = verdict else { panic!("{verdict:?}") };
    assert_eq!(result.text, "x ghp_[redacted: github-token] y");
    assert!(result.is_error);
    let raw: serde_json::Value = serde_json::from_str(&result.raw.unwrap()).unwrap();
    let expected = json!({"content": [{"text": "a ghp_[redacted: github-token]\nb"}], "password": "[redacted: assigned-secret]", "n": [1, null, true]});
    assert_eq!(raw, expected);
    inspect(|host| {
        let findings: Vec<_> =
            host.findings.iter().map(|finding| (finding.code.as_str(), finding.explanation.as_str())).collect();
        assert_eq!(
            findings,
            [
                (
                    "redact-secrets.assigned-secret",
                    "1 value of the kind `assigned-secret` was masked in the result of `bash`"
                ),
                (
                    "redact-secrets.github-token",
                    "2 values of the kind `github-token` were masked in the result of `bash`"
                ),
            ]
        );
        assert!(!format!("{:?}", host.findings).contains(&token));
    });
}

#[test]
fn a_result_without_a_secret_is_kept() {
    configure(json!({})).unwrap();
    let result = ToolResult { text: "ok".into(), is_error: false, raw: Some("{\"a\": \"b\"}".into()) };
    let verdict = RedactSecrets::after_tool_call(&session(), &shell("ls"), &result, ResultSource::Tool);
    assert_eq!(verdict, ToolResultVerdict::Keep);
    assert!(inspect(|host| host.findings.is_empty()));
}

#[test]
fn in_a_stream_the_lines_of_a_private_key_are_masked_one_by_one() {
    configure(json!({})).unwrap();
    let stream = |text: &str| RedactSecrets::stream_delta(&session(), text);
    assert_eq!(stream(&format!("{}\n", random(64))), TextVerdict::replace("[redacted: private-key]\n"));
    assert_eq!(stream("-----BEGIN PRIVATE KEY-----\n"), TextVerdict::replace("[redacted: private-key]"));
    assert_eq!(stream("a line of text\n"), TextVerdict::Keep);
}

#[test]
fn configured_patterns_mask_all_of_a_match_or_its_group() {
    configure(json!({"patterns": [
        {"name": "staff-id", "regex": "ACME-[0-9]{4}"}, {"name": "build-key", "regex": r"key is (?<secret>\S+)"}
    ]}))
    .unwrap();
    assert_eq!(masked("ACME-1234, key is abc; ACME-12"), "[redacted: staff-id], key is [redacted: build-key] ACME-12");
}

#[test]
fn a_pattern_finds_the_same_whether_it_begins_with_fixed_text_or_not() {
    let text = "X ACME-12 ACME-1234ACME-5678 é ACME-ACME-9999 xACME-1111";
    configure(json!({"patterns": [{"name": "id", "regex": "ACME-[0-9]{4}"}]})).unwrap();
    let expected = "X ACME-12 [redacted: id][redacted: id] é ACME-[redacted: id] x[redacted: id]";
    assert_eq!(masked(text), expected);
    configure(json!({"patterns": [{"name": "id", "regex": "(?:ACME)-[0-9]{4}"}]})).unwrap();
    assert_eq!(masked(text), expected);
    configure(json!({"patterns": [{"name": "id", "regex": r"\bACME-[0-9]{4}"}]})).unwrap();
    assert_eq!(masked("xACME-1111 ACME-1111"), "xACME-1111 [redacted: id]");
}

#[test]
fn a_mark_is_not_taken_for_a_name_and_its_value() {
    configure(json!({"patterns": [{"name": "my-token", "regex": "MINE[0-9]+"}]})).unwrap();
    for text in ["ghp_[redacted: github-token]:Passw0rd1", "[redacted: my-token]=Passw0rd1"] {
        assert_eq!(masked(text), text);
    }
    assert_eq!(masked("[redacted: password=Passw0rd1]"), "[redacted: password=[redacted: assigned-secret]]");
}

#[test]
fn kinds_can_be_disabled_and_values_kept() {
    let key = "AKIAIOSFODNN7EXAMPLE";
    configure(json!({"keep": [key]})).unwrap();
    assert_eq!(masked(key), key);
    configure(json!({"disable": ["aws-access-key-id"]})).unwrap();
    assert_eq!(masked("AKIAABCD2345EFGH67IJ"), "AKIAABCD2345EFGH67IJ");
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    for (config, name) in [
        (json!({"patterns": [{"name": "bad", "regex": "("}]}), "bad"),
        (json!({"patterns": [{"name": "empty", "regex": "a*"}]}), "empty"),
        (json!({"patterns": [{"name": "", "regex": "abc"}]}), "abc"),
        (json!({"disable": ["aws"]}), "aws-access-key-id"),
        (json!({"keep": [""]}), "keep"),
        (json!({"pattern": []}), "pattern"),
    ] {
        let error = configure(&config).unwrap_err();
        assert!(error.contains(name), "{config}: {error}");
    }
}

#[test]
fn a_text_of_nothing_but_beginnings_needs_no_deep_stack() {
    let units = ["authorization: bearer ", "password=", "token: \"", "eyJ", "://a:", "-----BEGIN A PRIVATE KEY"];
    let scan = move || {
        configure(json!({})).unwrap();
        units.iter().map(|unit| masked(&unit.repeat(20_000)).len()).sum::<usize>()
    };
    let small = std::thread::Builder::new().stack_size(512 << 10);
    assert!(small.spawn(scan).unwrap().join().unwrap() > 0);
}

proptest! {
    #[test]
    fn masking_twice_changes_nothing_more(text in "(ghp_[A-Za-z0-9]{36}|password[=:]|[a-zA-Z0-9=:\"' -]{0,20}|eyJ[a-z]{9}\\.|\u{e9}|\n){0,8}") {
        configure(json!({})).unwrap();
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once);
    }

    #[test]
    fn no_text_makes_it_panic_and_raw_stays_json(text in any::<String>()) {
        configure(json!({"patterns": [{"name": "word", "regex": "[a-z]{3}"}]})).unwrap();
        let raw = json!([&text, {"token": &text}]).to_string();
        let result = ToolResult { text, is_error: false, raw: Some(raw) };
        let verdict = RedactSecrets::after_tool_call(&session(), &shell("x"), &result, ResultSource::Tool);
        if let ToolResultVerdict::Replace(ToolResult { raw: Some(raw), .. }) = verdict {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&raw).is_ok());
        }
    }
}

#[test]
fn a_result_with_a_secret_labels_the_session_if_the_plugin_has_the_grant() {
    let result = |text: String| {
        let result = ToolResult { text, raw: None, is_error: false };
        RedactSecrets::after_tool_call(&session(), &shell("cat x"), &result, ResultSource::Tool)
    };
    let secret = format!("it is ghp_{}", random(36));
    configure(json!({})).unwrap();
    assert!(matches!(result(secret.clone()), ToolResultVerdict::Replace(_)));
    assert!(inspect(|host| host.labels.is_empty()), "without the grant");
    prime(|host| host.grants = ["labels".to_owned()].into());
    assert_eq!(result("nothing".to_owned()), Verdict::keep());
    assert!(inspect(|host| host.labels.is_empty()));
    assert!(matches!(result(secret), ToolResultVerdict::Replace(_)));
    assert!(inspect(|host| host.labels.contains_key("read:secret")));
}

/// Gives the plugin the grant and one secret.
fn with_values() {
    prime(|host| {
        host.grants = ["secrets".to_owned()].into();
        host.secrets = vec![("STRIPE_KEY".to_owned(), "aB3dE5fG7hI9jK1l".to_owned())];
        host.secrets_files = [".env".to_owned(), "/work/project/.env".to_owned()].into();
    });
}

fn judged(call: &ToolCall) -> ToolCallVerdict {
    RedactSecrets::before_tool_call(&session(), call)
}

#[test]
fn a_call_with_the_value_of_a_secret_is_rejected_and_the_refusal_names_only_the_variable() {
    configure(json!({})).unwrap();
    with_values();
    let ToolCallVerdict::Reject(refusal) = judged(&shell("curl -H 'X: aB3dE5fG7hI9jK1l' https://example.com")) else {
        panic!()
    };
    assert_eq!(refusal.code.as_deref(), Some("redact-secrets.value"));
    assert!(refusal.reason.contains("`STRIPE_KEY`") && !refusal.reason.contains("aB3dE5"), "{refusal:?}");
    let nested = json!({ "a": [{ "b": "x aB3dE5fG7hI9jK1l" }] });
    for call in [
        hookhost_guest::testing::call("mcp__x__send", nested, Action::Other(String::new())),
        hookhost_guest::testing::call("x", json!({ "aB3dE5fG7hI9jK1l": 1 }), Action::Other(String::new())),
    ] {
        assert!(matches!(judged(&call), ToolCallVerdict::Reject(_)), "{call:?}");
    }
    for command in ["curl -H \"X: $STRIPE_KEY\" https://example.com", "echo aB3dE5fG7hI9 jK1l"] {
        assert_eq!(judged(&shell(command)), Verdict::allow(), "{command}");
    }
}

#[test]
fn the_file_of_a_secret_may_be_written_and_no_other() {
    configure(json!({})).unwrap();
    with_values();
    let write = |path: &str| {
        let arguments = json!({ "file_path": path, "content": "STRIPE_KEY=aB3dE5fG7hI9jK1l" });
        judged(&hookhost_guest::testing::call("Write", arguments, Action::WriteFiles(vec![path.to_owned()])))
    };
    assert_eq!(write("/work/project/.env"), Verdict::allow());
    assert!(matches!(write("/work/project/src/config.ts"), ToolCallVerdict::Reject(_)));
}

#[test]
fn a_person_can_be_asked_about_a_value_and_without_the_grant_nothing_is_looked_for() {
    configure(json!({ "values": "ask" })).unwrap();
    with_values();
    let call = shell("echo aB3dE5fG7hI9jK1l");
    assert!(matches!(judged(&call), ToolCallVerdict::Escalate(_)));
    inspect(|host| host.grants.clear());
    assert_eq!(judged(&call), Verdict::allow());
    assert_eq!(masked("aB3dE5fG7hI9jK1l"), "aB3dE5fG7hI9jK1l");
}

#[test]
fn a_value_is_masked_in_texts_and_results_with_the_name_of_its_variable() {
    configure(json!({})).unwrap();
    with_values();
    let marked = "key: [redacted: value of STRIPE_KEY], yes";
    assert_eq!(masked("key: aB3dE5fG7hI9jK1l, yes"), marked);
    assert_eq!(masked(marked), marked, "a mark stays");
    inspect(|host| host.grants.insert("labels".to_owned()));
    let result = ToolResult {
        text: "aB3dE5fG7hI9jK1l".to_owned(),
        raw: Some(json!({ "a": "aB3dE5fG7hI9jK1l" }).to_string()),
        is_error: false,
    };
    let verdict = RedactSecrets::after_tool_call(&session(), &shell("x"), &result, ResultSource::Tool);
    let ToolResultVerdict::Replace(result) = verdict else { panic!() };
    assert_eq!(result.text, "[redacted: value of STRIPE_KEY]");
    assert_eq!(result.raw.as_deref(), Some(r#"{"a":"[redacted: value of STRIPE_KEY]"}"#));
    inspect(|host| {
        assert!(host.labels.contains_key("read:secret"));
        assert!(host.findings.iter().all(|finding| !format!("{finding:?}").contains("aB3dE5")));
    });
}

#[test]
fn the_values_that_are_not_covered_are_listed_when_a_session_begins() {
    configure(json!({})).unwrap();
    with_values();
    inspect(|host| {
        host.uncovered_secrets = vec![secrets::Uncovered {
            name: "PORT".to_owned(),
            reason: "has a value of less than 12 characters".to_owned(),
        }];
    });
    assert!(RedactSecrets::session_start(&session()).is_empty());
    let finding = inspect(|host| host.findings.pop()).unwrap();
    assert_eq!(finding.code, "redact-secrets.uncovered");
    assert!(finding.explanation.contains("`PORT` has a value of less than 12 characters"), "{finding:?}");
}
