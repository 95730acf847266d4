//! Every masked value is removed, however its key is spelled, and the rest of the text is unchanged.

use super::{Redacted, redact};
use crate::config::{AuditSettings, Digest};
use proptest::{collection, prelude::*, sample};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

fn settings(mask: &[&str], largest_value: usize) -> AuditSettings {
    AuditSettings {
        largest_value: largest_value.try_into().unwrap(),
        mask: mask.iter().map(|pattern| pattern.parse().unwrap()).collect(),
    }
}

fn value(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Returns the recorded form of a value with these keys masked, and the pointers to the masked values. The value is not
/// cut.
fn masked(keys: &[&str], text: &str) -> (String, Vec<String>) {
    let value = value(text);
    let (recorded, redacted) = redact(&value, &settings(keys, 1 << 26));
    assert!(!redacted.cut && redacted.masked_unlisted == 0, "{redacted:?}");
    (recorded.get().to_owned(), redacted.masked)
}

#[test]
fn the_value_under_a_masked_key_is_replaced_at_any_depth_whatever_it_is() {
    let table: &[(&str, &str, &[&str])] = &[
        (r#"{"key":"s"}"#, r#"{"key":"(masked)"}"#, &["/key"]),
        (r#"{ "key" : "s" , "a":1 }"#, r#"{ "key" : "(masked)" , "a":1 }"#, &["/key"]),
        (r#"{"key":-1.5e3,"a":1}"#, r#"{"key":"(masked)","a":1}"#, &["/key"]),
        (r#"{"key":7}"#, r#"{"key":"(masked)"}"#, &["/key"]),
        ("{\"key\":null\n}", "{\"key\":\"(masked)\"\n}", &["/key"]),
        (r#"{"key":{"a":[{"b":"}]\"s"},2]},"c":3}"#, r#"{"key":"(masked)","c":3}"#, &["/key"]),
        (r#"{"key":[],"key":{}}"#, r#"{"key":"(masked)","key":"(masked)"}"#, &["/key", "/key"]),
        (r#"{"key":{"key":1}}"#, r#"{"key":"(masked)"}"#, &["/key"]),
        (r#"[1,[{"a":{"KEY":1}}]]"#, r#"[1,[{"a":{"KEY":"(masked)"}}]]"#, &["/1/0/a/KEY"]),
        (r#"{"a/b~c":{"key":1}}"#, r#"{"a/b~c":{"key":"(masked)"}}"#, &["/a~1b~0c/key"]),
        // A key is found even if it is written with escapes.
        (r#"{"k\u0065y":1}"#, r#"{"k\u0065y":"(masked)"}"#, &["/key"]),
        // The word is ignored where it is not a key.
        (r#"{"a":"key","b":["key","x"],"keys":1}"#, r#"{"a":"key","b":["key","x"],"keys":1}"#, &[]),
        (r#"{"a":"key: {\"key\":1}"}"#, r#"{"a":"key: {\"key\":1}"}"#, &[]),
        (r#""key""#, r#""key""#, &[]),
        (r#"{"a":"{key"}"#, r#"{"a":"{key"}"#, &[]),
    ];
    for (text, expected, pointers) in table {
        assert_eq!(
            masked(&["key"], text),
            ((*expected).to_owned(), pointers.iter().map(|p| (*p).to_owned()).collect())
        );
    }
}

#[test]
fn json_in_a_string_is_masked_too_and_so_is_json_in_a_string_in_it() {
    let inner = json!({ "key": "s", "b": 1 }).to_string();
    let hidden = json!({ "key": "(masked)", "b": 1 }).to_string();
    let table = [
        (json!({ "a": inner }), json!({ "a": hidden }), "/a/key"),
        (json!([format!(" \n[{inner}] ")]), json!([format!(" \n[{hidden}] ")]), "/0/0/key"),
        (json!(json!({ "x": [inner] }).to_string()), json!(json!({ "x": [hidden] }).to_string()), "/x/0/key"),
        (json!(json!(inner).to_string()), json!(json!(hidden).to_string()), "/key"),
        // JSON Lines.
        (json!({ "a": format!("{{}}\n{inner}\n") }), json!({ "a": format!("{{}}\n{hidden}\n") }), "/a/key"),
    ];
    for (text, expected, pointer) in table {
        assert_eq!(masked(&["key"], &text.to_string()), (expected.to_string(), vec![pointer.to_owned()]));
    }
    // The bracket is written as an escape.
    let (text, _) = masked(&["key"], r#"{"a":"\u007b\"key\":1}"}"#);
    assert_eq!(text, r#"{"a":"{\"key\":\"(masked)\"}"}"#);
}

#[test]
fn patterns_are_those_of_the_configuration() {
    let (text, _) = masked(&["*password*", "api_key"], r#"{"dbPassword":1,"API_KEY":2,"my_api_key":3}"#);
    assert_eq!(text, r#"{"dbPassword":"(masked)","API_KEY":"(masked)","my_api_key":3}"#);
}

#[test]
fn what_is_not_unicode_and_could_be_or_hold_a_masked_key_is_masked() {
    let (text, pointers) = masked(&["key"], r#"{"k\ud800":"s","b":"\ud800[{\"key\":\"s\"}]","c":"x\ud800"}"#);
    assert_eq!(text, r#"{"k\ud800":"(masked)","b":"(masked)","c":"x\ud800"}"#);
    assert_eq!(pointers, ["/\u{fffd}", "/b"]);
}

#[test]
fn no_depth_of_nesting_is_too_much() {
    let depth = 200_000;
    let text =
        format!("{}{{\"key\":{}1{}}}{}", "[".repeat(depth), "[".repeat(depth), "]".repeat(depth), "]".repeat(depth));
    for text in [text.clone(), Value::String(text).to_string()] {
        let value = value(&text);
        let (recorded, redacted) = redact(&value, &settings(&["key"], 1 << 26));
        assert_eq!(recorded.get().matches("(masked)").count(), 1);
        assert_eq!((redacted.masked.len(), redacted.masked_unlisted), (0, 1), "its pointer is too long to be listed");
    }
}

#[test]
fn strings_in_strings_end_where_the_text_does() {
    let mut text = r#"{"key":"s3cret"}"#.to_owned();
    while text.len() < 1 << 20 {
        text = json!({ "a": text }).to_string();
    }
    let (recorded, pointers) = masked(&["key"], &text);
    assert!(!recorded.contains("s3cret") && recorded.contains("(masked)"));
    assert_eq!(pointers.len(), 1);
    assert!(pointers[0].ends_with("/a/key"), "{pointers:?}");
}

#[test]
fn of_many_masked_values_some_are_listed_and_the_rest_counted() {
    let items: Vec<_> = (0..100).map(|n| json!({ "key": n })).collect();
    let text = json!([{ "x".repeat(300): { "key": 0 } }, items, "z".repeat(0)]).to_string();
    let value = value(&text);
    let (recorded, redacted) = redact(&value, &settings(&["key"], 1 << 20));
    assert_eq!(recorded.get().matches("(masked)").count(), 101);
    assert_eq!((redacted.masked.len(), redacted.masked_unlisted), (64, 37));
    assert_eq!(redacted.masked[0], "/1/0/key");
}

#[test]
fn masking_many_values_far_down_or_below_a_long_key_takes_time_in_proportion_to_the_text() {
    let members = vec![r#""key":1"#; 20_000].join(",");
    let far_down = format!("{}{{{members}}}{}", "[".repeat(20_000), "]".repeat(20_000));
    let long_key = format!("{{\"{}\":{{{members}}}}}", "\\n".repeat(1 << 20));
    for text in [far_down, long_key] {
        let value = value(&text);
        let (_, redacted) = redact(&value, &settings(&["key"], 1 << 26));
        assert_eq!(redacted.masked_unlisted, 20_000);
    }
}

#[test]
fn a_value_of_the_largest_size_is_whole_and_a_byte_more_is_cut() {
    let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    let whole = value(&text(2000));
    let (recorded, redacted) = redact(&whole, &settings(&[], 2000));
    assert!(matches!(recorded, Cow::Borrowed(_)) && redacted.is_nothing());

    let large = value(&text(2001));
    let (recorded, redacted) = redact(&large, &settings(&[], 2000));
    let expected = json!({ "cut": {
        "bytes": 2001,
        "sha256": Digest::of_bytes(large.get().as_bytes()).to_string(),
        "begins": &large.get()[..1024],
    }});
    assert_eq!(serde_json::from_str::<Value>(recorded.get()).unwrap(), expected);
    assert_eq!(redacted, Redacted { cut: true, ..Redacted::default() });
    assert!(!redacted.is_nothing());
}

#[test]
fn a_cut_never_divides_a_character() {
    for shift in 0..4 {
        let large = value(&format!("\"{}{}\"", "x".repeat(shift), "🦀".repeat(1000)));
        let (recorded, _) = redact(&large, &settings(&[], 1024));
        let begins =
            serde_json::from_str::<Value>(recorded.get()).unwrap()["cut"]["begins"].as_str().unwrap().to_owned();
        assert!(large.get().starts_with(&begins) && (1021..=1024).contains(&begins.len()), "{}", begins.len());
    }
}

#[test]
fn what_is_masked_counts_neither_for_the_size_nor_for_the_digest_nor_for_the_beginning_of_a_cut() {
    let text = |secret: &str, tail: usize| json!({ "key": secret, "tail": "t".repeat(tail) }).to_string();
    let settings = settings(&["key"], 1024);
    // This value is small after masking.
    let small = value(&text(&"s".repeat(5000), 10));
    let (recorded, redacted) = redact(&small, &settings);
    assert_eq!(recorded.get(), text("(masked)", 10));
    assert_eq!(redacted, Redacted { masked: vec!["/key".to_owned()], ..Redacted::default() });
    // This value is large even after masking. Two different secrets lead to the same record.
    let records: Vec<_> = ["s3cret", "another"]
        .iter()
        .map(|secret| {
            let large = value(&text(secret, 5000));
            let (recorded, redacted) = redact(&large, &settings);
            (recorded.get().to_owned(), redacted)
        })
        .collect();
    assert_eq!(records[0], records[1]);
    let cut: Value = serde_json::from_str(&records[0].0).unwrap();
    assert_eq!(cut["cut"]["bytes"], text("(masked)", 5000).len());
    assert_eq!(cut["cut"]["sha256"], Digest::of_bytes(text("(masked)", 5000).as_bytes()).to_string());
    assert_eq!(records[0].1, Redacted { masked: vec!["/key".to_owned()], masked_unlisted: 0, cut: true });
}

#[test]
fn the_record_says_no_more_than_there_is_to_say() {
    let all = Redacted { masked: vec!["/a".to_owned()], masked_unlisted: 3, cut: true };
    for (redacted, expected) in
        [(Redacted::default(), json!({})), (all, json!({ "masked": ["/a"], "masked-unlisted": 3, "cut": true }))]
    {
        assert_eq!(serde_json::to_value(&redacted).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Redacted>(expected).unwrap(), redacted);
    }
}

/// JSON with everything that a writer may use: repeated keys, escapes, white space, and JSON in strings.
#[derive(Clone, Debug)]
enum Json {
    Leaf(u16),
    Number(String),
    Array(Vec<Json>, String),
    Object(Vec<(String, Json)>, String),
    Inside(Box<Json>),
}

impl Json {
    /// Returns the JSON text. Leaves below a masked key are secrets. With `hidden`, the value of a masked key is
    /// `"(masked)"`.
    fn text(&self, secret: bool, hidden: bool) -> String {
        match self {
            Self::Leaf(number) => format!("\"{}{number}\"", if secret { "secret" } else { "plain" }),
            Self::Number(number) => number.clone(),
            Self::Array(items, space) => {
                let items: Vec<_> = items.iter().map(|item| format!("{space}{}", item.text(secret, hidden))).collect();
                format!("[{}{space}]", items.join(","))
            }
            Self::Object(members, space) => {
                let member = |(key, value): &(String, Self)| {
                    let is_masked = key.contains("key");
                    let text = if is_masked && hidden {
                        "\"(masked)\"".to_owned()
                    } else {
                        value.text(secret || is_masked, hidden)
                    };
                    format!("{space}\"{}\"{space}:{space}{text}{space}", key.replace("key", "k\\u0065Y"))
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
            Self::Inside(inner) => Value::String(inner.text(secret, hidden)).to_string(),
        }
    }

    /// Returns the number of values that are masked.
    fn count(&self) -> usize {
        match self {
            Self::Leaf(_) | Self::Number(_) => 0,
            Self::Array(items, _) => items.iter().map(Self::count).sum(),
            Self::Object(members, _) => {
                members.iter().map(|(key, value)| if key.contains("key") { 1 } else { value.count() }).sum()
            }
            Self::Inside(inner) => inner.count(),
        }
    }
}

fn written() -> impl Strategy<Value = Json> {
    let number = sample::select(&["0", "-1.50", "1e400", "123456789012345678901234567890", "true", "null", "\"\""][..]);
    let leaf = prop_oneof![any::<u16>().prop_map(Json::Leaf), number.prop_map(|text| Json::Number(text.to_owned()))];
    leaf.prop_recursive(6, 48, 4, |inner| {
        let key = sample::select(&["a", "key", "my_key_1", "b/~", "é", "{", "\\\"", ""][..]).prop_map(str::to_owned);
        let space = sample::select(&["", " ", "\n\t"][..]).prop_map(str::to_owned);
        prop_oneof![
            (collection::vec(inner.clone(), 0..4), space.clone()).prop_map(|(items, space)| Json::Array(items, space)),
            (collection::vec((key, inner.clone()), 0..4), space)
                .prop_map(|(members, space)| Json::Object(members, space)),
            inner.prop_map(|inner| Json::Inside(Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_under_a_masked_key_survives_and_every_other_byte_does(written in written()) {
        let text = written.text(false, false);
        let value = value(&text);
        let (recorded, redacted) = redact(&value, &settings(&["*key*"], 1 << 26));
        prop_assert!(!recorded.get().contains("secret"), "{}", recorded.get());
        prop_assert_eq!(recorded.get(), written.text(false, true), "of {}", text);
        prop_assert_eq!(redacted.masked.len() as u64 + redacted.masked_unlisted, written.count() as u64);
        prop_assert_eq!(redacted.is_nothing(), written.count() == 0);
    }

    #[test]
    fn a_value_without_masked_keys_that_is_not_too_large_is_the_value_itself(written in written()) {
        let text = written.text(false, false);
        let value = value(&text);
        let (recorded, redacted) = redact(&value, &settings(&["none of them"], text.len()));
        prop_assert!(matches!(recorded, Cow::Borrowed(same) if std::ptr::eq(same, &*value)));
        prop_assert!(redacted.is_nothing());
    }

    #[test]
    fn nothing_masked_is_in_what_a_cut_leaves(written in written(), tail in 2000_usize..3000) {
        let text = format!("[{},\"{}\"]", written.text(false, false), "t".repeat(tail));
        let value = value(&text);
        let (recorded, redacted) = redact(&value, &settings(&["*key*"], 1024));
        prop_assert!(redacted.cut && !recorded.get().contains("secret"));
        let hidden = format!("[{},\"{}\"]", written.text(false, true), "t".repeat(tail));
        let cut: Value = serde_json::from_str(recorded.get()).unwrap();
        prop_assert_eq!(&cut["cut"]["sha256"], &Digest::of_bytes(hidden.as_bytes()).to_string());
    }

    #[test]
    fn no_json_makes_the_mask_panic_or_write_what_is_not_json(text in "[\\[\\]{}:,\"\\\\ku0-9é a]{0,24}", inside in any::<bool>()) {
        let text = if inside { Value::String(text).to_string() } else { text };
        if let Ok(value) = RawValue::from_string(text) {
            let (recorded, _) = redact(&value, &settings(&["*k*", "a"], 1 << 20));
            prop_assert!(RawValue::from_string(recorded.get().to_owned()).is_ok());
        }
    }
}
