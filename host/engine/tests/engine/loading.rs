//! What is not loaded, and what is said about it. Nothing of such a file has run.

use crate::support::{builder, component, plugin};
use hookhost::command::inspect;
use hookhost::config::{Code, Digest, Entry, Settings};
use hookhost::{Config, Error};
use serde_json::json;
use std::path::Path;

/// Why an entry for these bytes does not load.
async fn refusal(bytes: &[u8], change: impl FnOnce(&mut Entry)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.wasm");
    std::fs::write(&path, bytes).unwrap();
    let mut entry = Entry::new("x", path, Digest::of_bytes(bytes));
    change(&mut entry);
    let error = load(entry).await.unwrap_err();
    error.to_string().replace(&directory.path().display().to_string(), "DIR")
}

async fn load(entry: Entry) -> Result<(), Error> {
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    builder(config).build().await.map(drop)
}

fn text(component: &str) -> Vec<u8> {
    wat::parse_str(component).unwrap()
}

/// A component that exports `hookhost:hooks/NAME` with one function of this type.
fn exporting(name: &str, function: &str, ty: &str) -> Vec<u8> {
    text(&format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "f") (param i32 i32) (result i32) unreachable)
                (func (export "g") (param i32 i32))
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            {ty}
            (instance $e (export "{function}" (func $f)))
            (export "hookhost:hooks/{name}@0.1.0" (instance $e)))"#
    ))
}

const TEXT_TO_NOTHING: &str = r#"(func $f (param "text" string)
    (canon lift (core func $i "g") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#;

#[tokio::test]
async fn a_file_that_is_not_a_component_is_refused_with_what_it_is() {
    for (bytes, why) in [
        (&b"#!/bin/sh\n"[..], "is not WebAssembly"),
        (b"", "is not WebAssembly"),
        (b"\0asm", "it ends within its header"),
        (b"\0asm\x01\0\0\0", "is a core WebAssembly module, not a component"),
        (b"\0asm\x0d\0\x01\0\x07", "is not a valid component (truncated, or damaged)"),
        (
            b"\0asm\x0c\0\x01\0",
            "is a component in version 12 of the binary format, and this host reads version 13: build it again",
        ),
        (b"\0asm\x63\0\x01\0", "is a component in version 99 of the binary format"),
        (b"\0asm\x0d\0\x02\0", "an unknown version of the binary format"),
    ] {
        let refusal = refusal(bytes, |_| {}).await;
        assert!(refusal.starts_with("plugin `x`: DIR/x.wasm ") && refusal.contains(why), "{refusal}");
    }
}

#[tokio::test]
async fn a_truncated_component_is_refused() {
    let whole = std::fs::read(component("all_events.wasm")).unwrap();
    for length in [9, 100, whole.len() / 2, whole.len() - 1] {
        let refusal = refusal(&whole[..length], |_| {}).await;
        assert!(refusal.contains("is not a valid component"), "{length}: {refusal}");
    }
}

#[tokio::test]
async fn another_digest_is_refused_and_both_are_printed() {
    let other = Digest::of_bytes(b"other");
    let bytes = text("(component)");
    let refusal =
        refusal(&bytes, |entry| entry.code = Code::File { path: entry.code.path().unwrap().to_owned(), digest: other })
            .await;
    for part in
        ["DIR/x.wasm is not the file that was allowed", &other.to_string(), &Digest::of_bytes(&bytes).to_string()]
    {
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let error = load(Entry::new("x", "/nowhere/x.wasm", Digest::of_bytes(b""))).await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/x.wasm cannot be read"), "{error}");
}

#[tokio::test]
async fn a_component_that_exports_no_event_is_refused() {
    assert!(refusal(&text("(component)"), |_| {}).await.contains("exports no event of hookhost:hooks/*@0.1.0"));
}

#[tokio::test]
async fn an_event_with_another_type_is_refused_with_the_export_and_what_was_expected() {
    for (name, function, ty, parts) in [
        // One parameter where the contract has two.
        (
            "stream-end",
            "handle",
            TEXT_TO_NOTHING,
            &["exports `hookhost:hooks/stream-end.handle` with another type", "expected 2"][..],
        ),
        (
            "stream-end",
            "handel",
            TEXT_TO_NOTHING,
            &["exports `hookhost:hooks/stream-end.handle`", "the function is missing"],
        ),
        ("setup", "configure", TEXT_TO_NOTHING, &["exports `hookhost:hooks/setup.configure` with another type"]),
        ("stream-ends", "handle", TEXT_TO_NOTHING, &["does not know", "did you mean `stream-end`?"]),
        ("telepathy", "handle", TEXT_TO_NOTHING, &["does not know", "newer contract"]),
    ] {
        let refusal = refusal(&exporting(name, function, ty), |_| {}).await;
        for part in parts {
            assert!(refusal.contains(part), "{name}: {refusal}");
        }
    }
}

/// `stream-end` with a session record of these fields, which flatten to `flat` in the core function.
fn with_session(fields: &str, flat: &str) -> Vec<u8> {
    text(&format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "handle") (param {flat} i32 i32))
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
            (core instance $i (instantiate $m))
            (type $session' (record {fields}))
            (component $shim
                (import "session" (type $session (eq $session')))
                (import "handle" (func $f (param "session" $session) (param "text" string)))
                (export $exported "session" (type $session))
                (export "handle" (func $f) (func (param "session" $exported) (param "text" string))))
            (func $f (param "session" $session') (param "text" string)
                (canon lift (core func $i "handle") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
            (instance $e (instantiate $shim (with "session" (type $session')) (with "handle" (func $f))))
            (export "hookhost:hooks/stream-end@0.1.0" (instance $e)))"#
    ))
}

/// Four strings of two words each, two numbers, a boolean.
const FLAT: &str = "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32";
const SESSION: &str = r#"(field "id" string) (field "agent" string) (field "turn" u32) (field "depth" u32)
    (field "cwd" string) (field "workspace" string) (field "interactive" bool)"#;

#[tokio::test]
async fn a_record_of_a_field_more_a_field_less_or_another_name_is_refused() {
    // The shape itself is right: with the contract's own fields, it loads.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("right.wasm");
    let right = with_session(SESSION, FLAT);
    std::fs::write(&path, &right).unwrap();
    load(Entry::new("right", path, Digest::of_bytes(&right))).await.expect("the contract's own type loads");

    for (fields, flat, why) in [
        (format!("{SESSION} (field \"more\" u32)"), format!("{FLAT} i32"), "field"),
        (SESSION.replace(r#"(field "depth" u32)"#, ""), FLAT.replacen("i32 ", "", 1), "field"),
        (SESSION.replace("depth", "depht"), FLAT.to_owned(), "depth"),
        (
            SESSION.replace(r#""turn" u32"#, r#""turn" f32"#),
            FLAT.replacen("i32 i32 i32 i32 i32", "i32 i32 i32 i32 f32", 1),
            "u32",
        ),
    ] {
        let refusal = refusal(&with_session(&fields, &flat), |_| {}).await;
        assert!(refusal.contains("`hookhost:hooks/stream-end.handle` with another type"), "{refusal}");
        assert!(refusal.contains(why), "{refusal}");
    }
}

#[tokio::test]
async fn an_import_that_is_not_granted_is_refused_with_the_line_to_add() {
    for (take, line) in [
        ("state", r#"state = { quota = "1MiB" }"#),
        ("transcript", "transcript = true"),
        ("model", r#"model = { name = "small", max-calls = 10 }"#),
        ("audit", "audit = true"),
    ] {
        let mut entry = plugin("x", json!({}));
        match take {
            "state" => entry.grants.state = None,
            "transcript" => entry.grants.transcript = false,
            "model" => entry.grants.model = None,
            _ => entry.grants.audit = false,
        }
        let error = load(entry).await.unwrap_err().to_string();
        assert!(error.contains(take) && error.contains(line) && error.contains("[plugin.grants]"), "{error}");
    }
}

#[tokio::test]
async fn an_import_that_no_host_has_is_refused() {
    for (import, why) in [
        ("hookhost:hooks/telepathy@0.1.0", "newer contract"),
        ("wasi:http/incoming-handler@0.2.0", "outgoing-handler and types"),
        ("hookhost:hooks/state", "it names no version of the contract, and this host speaks 0.1.0"),
        ("hookhost:hooks/state@0.2.0", "version 0.1.0 of the contract has this capability"),
        ("hookhost:hooks/facts@0.1.0", "version 0.2.0 of the contract has this capability"),
        (
            "hookhost:hooks/facts@0.3.0",
            "it is of version `0.3.0` of the contract, and this host speaks 0.1.0 and 0.2.0",
        ),
        ("wasi:http/types@0.3.0", "it names version 0.3.0 of WASI, and plugins get WASI 0.2"),
        ("wasi:cli/environment@0.3.0-rc-2026-01-06", "build it for `wasm32-wasip2`"),
        ("wasi:cli/environment", "it names no version of WASI"),
        ("acme:secrets/vault", "plugins get base WASI"),
    ] {
        let bytes = text(&format!(r#"(component (import "{import}" (instance)))"#));
        let refusal = refusal(&bytes, |_| {}).await;
        assert!(refusal.contains(import) && refusal.contains(why), "{refusal}");
    }
}

#[tokio::test]
async fn all_imports_that_no_plugin_is_given_are_named_and_those_of_one_cause_together() {
    let imports =
        ["wasi:cli/environment@0.3.0", "acme:secrets/vault", "wasi:random/random@0.3.0", "wasi:io/poll@0.2.3"];
    let imports = imports.map(|import| format!(r#"(import "{import}" (instance))"#)).concat();
    let refusal = refusal(&text(&format!("(component {imports})")), |_| {}).await;
    let said = "imports `wasi:cli/environment@0.3.0`, `wasi:random/random@0.3.0`, which no plugin is given: it names version \
                0.3.0 of WASI, and plugins get WASI 0.2: build it for `wasm32-wasip2`; and `acme:secrets/vault`, which no plugin";
    assert!(refusal.contains(said) && !refusal.contains("wasi:io/poll"), "{refusal}");
    let many: String = (0..20).map(|n| format!(r#"(import "acme:secrets/vault{n}" (instance))"#)).collect();
    let refusal = crate::loading::refusal(&text(&format!("(component {many})")), |_| {}).await;
    assert!(
        refusal.contains("vault11`") && !refusal.contains("vault12`") && refusal.contains("; and 8 more"),
        "{refusal}"
    );
}

#[tokio::test]
async fn only_a_component_that_is_damaged_is_said_to_be() {
    let asynchronous = text(
        r#"(component
            (core module $m (func (export "f") (result i32) i32.const 0)
                (func (export "cb") (param i32 i32 i32) (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (type $t (func async))
            (func $f (type $t) (canon lift (core func $i "f") async (callback (core func $i "cb"))))
            (export "run" (func $f)))"#,
    );
    // Each is the only section of the one around it; `wat` itself stops earlier.
    let deep = (0..150).fold(text("(component)"), |inner, _| {
        let length = u16::try_from(inner.len()).unwrap();
        let section = [4, (length & 0x7f) as u8 | 0x80, u8::try_from(length >> 7).unwrap()];
        [&inner[..8], &section, &inner].concat()
    });
    let many = text(&format!("(component {})", "(core module)".repeat(300)));
    for (bytes, why) in [
        (asynchronous, "uses a part of WebAssembly that this host does not give plugins: "),
        (deep, "it has 101 components within each other, and 100 is the most"),
        (many, "it has 201 core modules, and 200 is the most"),
    ] {
        let refusal = refusal(&bytes, |_| {}).await;
        assert!(refusal.contains(why) && !refusal.contains("damaged"), "{refusal}");
        let inspected = inspect(&bytes).expect_err("it is not described").to_string();
        assert!(inspected.contains(why), "{inspected}");
    }
}

#[test]
fn an_inspection_says_what_a_component_is_without_running_it() {
    let bytes = std::fs::read(component("all_events.wasm")).unwrap();
    let inspection = inspect(&bytes).unwrap();
    assert_eq!(inspection.events, hookhost::contract::EventKind::ALL);
    assert!(inspection.configurable && inspection.tools && inspection.problem.is_none());
    assert_eq!(inspection.digest, Digest::of_file(Path::new(&component("all_events.wasm"))).unwrap());
    assert!(inspection.grants.contains(&"transcript = true".to_owned()));
    assert!(inspect(b"nothing").is_err());
    let other = inspect(&text("(component)")).unwrap();
    assert!(other.problem.unwrap().contains("exports no event"));
}

#[tokio::test]
async fn subscribing_to_an_event_that_the_plugin_does_not_export_is_an_error() {
    let path = component("no_force_push.wasm");
    let mut entry = Entry::new("x", &path, Digest::of_file(&path).unwrap());
    entry.events = Some([hookhost::contract::EventKind::FinalizeContent].into());
    let error = load(entry).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "plugin `x` does not subscribe to `finalize-content`, which its `events` names: it subscribes to before-tool-call"
    );
}

#[tokio::test]
async fn an_interface_of_another_version_of_the_contract_is_refused() {
    for version in ["9.3.0", "0.2.0", "1.0.0"] {
        let bytes =
            text(&format!(r#"(component (instance $e) (export "hookhost:hooks/stream-end@{version}" (instance $e)))"#));
        let refusal = refusal(&bytes, |_| {}).await;
        assert!(refusal.contains(&format!("of version `{version}`")), "{refusal}");
    }
    // A later patch of the same line is this host's.
    let bytes = text(r#"(component (instance $e) (export "hookhost:hooks/stream-end@0.1.7" (instance $e)))"#);
    assert!(refusal(&bytes, |_| {}).await.contains("the function is missing"));
}
