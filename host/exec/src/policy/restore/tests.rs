use super::{FileFormat, at, changed, restored, value_of};
use hookhost_agents::install::json;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toml_edit::DocumentMut;

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

#[test]
fn servers_get_back_their_start_and_the_rest_stays_as_it_is() {
    let before = r#"{
  // mine
  "mcpServers": { "files": { "command": "npx" } },
  "theme": "dark",
  "projects": { "/a": { "mcpServers": { "x": {} }, "history": [1] } }
}
"#;
    let now = r#"{
  // mine
  "mcpServers": { "files": { "command": "evil" }, "new": {} },
  "theme": "light",
  "projects": { "/a": { "history": [1, 2] }, "/b": { "mcpServers": {}, "history": [] } }
}
"#;
    let keys = keys(&["mcpServers", "projects.*.mcpServers"]);
    let text = restored(FileFormat::Json, Some(before), now, &keys).unwrap().unwrap();
    assert!(text.contains("// mine") && text.contains(r#""theme": "light""#), "{text}");
    let value = json::value(&text).unwrap();
    assert_eq!(value["mcpServers"], json!({ "files": { "command": "npx" } }));
    let projects = json!({ "/a": { "history": [1, 2], "mcpServers": { "x": {} } }, "/b": { "history": [] } });
    assert_eq!(value["projects"], projects);
    assert_eq!(restored(FileFormat::Json, Some(before), &text, &keys), Ok(None));
    // A file that did not exist has none of the keys.
    let text = restored(FileFormat::Json, None, r#"{ "a": 1, "mcpServers": {} }"#, &keys).unwrap().unwrap();
    assert_eq!(json::value(&text).unwrap(), json!({ "a": 1 }));
}

#[test]
fn hooks_of_toml_get_back_their_start() {
    let before = "model = 'a'\n[features]\nhooks = true\n[mcp_servers.x]\ncommand = 'npx' # mine\n";
    let now = "model = 'b'\nsandbox_mode = 'danger-full-access'\n[features]\nhooks = false\n[projects.\"/w\"]\ntrust_level = 'trusted'\n";
    let keys = keys(&["features", "mcp_servers", "sandbox_mode"]);
    let text = restored(FileFormat::Toml, Some(before), now, &keys).unwrap().unwrap();
    let expected = "model = 'b'\n[features]\nhooks = true\n[projects.\"/w\"]\ntrust_level = 'trusted'\n";
    let value = |text: &str| value_of(text.parse::<DocumentMut>().unwrap().as_item());
    assert_eq!(value(&text), value(&format!("{expected}[mcp_servers.x]\ncommand = 'npx'")), "{text}");
    assert_eq!(restored(FileFormat::Toml, Some(before), &text, &keys), Ok(None));
}

#[test]
fn programs_of_gits_configuration_get_back_their_start() {
    let before = "[core]\n\tbare = false\n\tfsmonitor = true\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n";
    let now = "[core] hooksPath = /evil\n\tbare = false\n\tFSMONITOR = \"/e # vil\" ; x\n[filter \"lfs\"]\n\tclean = sh -c \\\n  evil\n\
               [remote \"origin\"]\n\turl = git@example.com:a\n[alias]\n\tx = !evil";
    let keys = keys(&["core.hooksPath", "core.fsmonitor", "filter.*.*", "alias.*"]);
    let text = restored(FileFormat::GitConfig, Some(before), now, &keys).unwrap().unwrap();
    assert!(!text.contains("evil"), "{text}");
    assert!(text.contains("bare = false") && text.contains("url = git@example.com:a"), "{text}");
    let end = "[core]\n\tfsmonitor = true\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(restored(FileFormat::GitConfig, Some(before), &text, &keys), Ok(None));
    assert_eq!(restored(FileFormat::GitConfig, Some(before), before, &keys), Ok(None));
    // Quotes in a comment open nothing.
    for comment in ["#", ";"] {
        let text = format!("[core]\n\tbare = false {comment} \"\n\thooksPath = evil\n");
        let text = restored(FileFormat::GitConfig, None, &text, &keys).unwrap().unwrap();
        assert!(text.contains("bare = false") && !text.contains("evil"), "{text}");
    }
    for old in ["[filter.LFS]\nclean = evil", "[filter \"a\\\"b\"]\nclean"] {
        let text = restored(FileFormat::GitConfig, None, old, &keys).unwrap().unwrap();
        assert!(!text.contains("clean"), "{text}");
    }
}

#[test]
fn a_text_that_cannot_be_read_is_named() {
    for (format, before, now, says) in [
        (FileFormat::Json, "{}", "{", "the present text is not valid JSON"),
        (FileFormat::Json, "{}", r#"{ "a": 1, "a": 2 }"#, "the present text has the key \"a\" twice"),
        (FileFormat::Json, "[]", "{}", "the earlier text is not a JSON object"),
        (FileFormat::Toml, "", "a =", "the present text is not TOML"),
        (FileFormat::GitConfig, "", "a = 1", "the present text is no configuration of git"),
        (FileFormat::GitConfig, "[a \"b]", "", "the earlier text is no configuration of git"),
        (FileFormat::GitConfig, "", "[core]\n x = \"a\n", "the present text is no configuration of git"),
    ] {
        let error = restored(format, Some(before), now, &keys(&["a"])).unwrap_err().to_string();
        assert!(error.starts_with(says) && error.ends_with("put back the whole text of the start"), "{error}");
    }
}

/// A small value, with keys that collide with the guarded ones.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..3).prop_map(Value::from),
        "[a-c/ \"#]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[a-c]|a b", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-c]|a b", value()), 0..4).prop_map(|members| members.into_iter().collect())
}

/// Removes what the keys match, and the objects that are empty then.
fn others(value: &mut Value, keys: &[&str]) {
    let Some((key, rest)) = keys.split_first() else { return };
    let Some(members) = value.as_object_mut() else { return };
    let names: Vec<String> = members.keys().filter(|name| *key == "*" || name == key).cloned().collect();
    for name in names {
        if rest.is_empty() {
            members.remove(&name);
        } else if let Some(inner) = members.get_mut(&name) {
            others(inner, rest);
            if inner.as_object().is_some_and(Map::is_empty) {
                members.remove(&name);
            }
        }
    }
}

const GUARDED: [&str; 3] = ["a", "b.*.c", "c.a b"];

fn is_restored(before: &Value, now: &Value, after: &Value) -> Result<(), TestCaseError> {
    prop_assert!(changed(before, after, &keys(&GUARDED)).is_empty(), "{after}");
    let (mut now, mut after) = (now.clone(), after.clone());
    for key in GUARDED {
        let parts: Vec<&str> = key.split('.').collect();
        others(&mut now, &parts);
        others(&mut after, &parts);
    }
    // A value that is no object makes room for a guarded key below it.
    for name in ["b", "c"] {
        let has_made_room = |value: &Value| at(value, &keys(&[name])).is_none_or(|value| !value.is_object());
        if has_made_room(&now) || name == "b" {
            now.as_object_mut().unwrap().remove(name);
            after.as_object_mut().unwrap().remove(name);
        }
    }
    prop_assert_eq!(now, after);
    Ok(())
}

proptest! {
    #[test]
    fn json_keeps_all_but_the_keys(before in object(), now in object()) {
        let (before, now) = (Value::Object(before), Value::Object(now));
        let text = format!("{now:#}");
        let after = restored(FileFormat::Json, Some(&before.to_string()), &text, &keys(&GUARDED)).unwrap().unwrap_or(text);
        is_restored(&before, &now, &json::value(&after).unwrap())?;
    }

    #[test]
    fn toml_keeps_all_but_the_keys(before in object(), now in object()) {
        let texts = [&before, &now].map(|value| toml::to_string(value).unwrap());
        let values = [&texts[0], &texts[1]].map(|text| value_of(text.parse::<DocumentMut>().unwrap().as_item()));
        let after = restored(FileFormat::Toml, Some(&texts[0]), &texts[1], &keys(&GUARDED)).unwrap().unwrap_or(texts[1].clone());
        is_restored(&values[0], &values[1], &value_of(after.parse::<DocumentMut>().unwrap().as_item()))?;
    }

    #[test]
    fn no_text_ends_the_program(before in ".{0,40}", now in "[\\[\\]a-c\"= \\\\\n#{}:,.]{0,40}") {
        for format in [FileFormat::Json, FileFormat::Toml, FileFormat::GitConfig] {
            let _ = restored(format, Some(&before), &now, &keys(&["a", "a.*", "a.*.b"]));
            let _ = restored(format, Some(&now), &before, &keys(&["a", "a.*", "a.*.b"]));
        }
    }

    #[test]
    fn gits_configuration_keeps_no_new_program(now in prop::collection::vec("(\\[core\\]|\\[a \"b\"\\]|hooksPath = x|\tbare = 1|c = \"y # z\" # z|hookspath|# c \\\\)", 0..8)) {
        let text = format!("[core]\n{}", now.join("\n"));
        let key = keys(&["core.hooksPath"]);
        let after = restored(FileFormat::GitConfig, Some("[core]\n\thooksPath = mine\n"), &text, &key).unwrap().unwrap();
        prop_assert!(after.ends_with("[core]\n\thooksPath = mine\n"), "{}", after);
        prop_assert_eq!(restored(FileFormat::GitConfig, Some("[core]\n\thooksPath = mine\n"), &after, &key), Ok(None));
    }
}
