//! Components that were compiled ahead: the program hands them over, and no file can.

use crate::support::{builder, component, plugin, spec};
use hookhost::audit::MemoryLog;
use hookhost::config::{Code, CompiledComponent, Config, Entry, Layer, Source};
use hookhost::{Decision, Engine, Host};
use serde_json::json;

fn rejecting() -> Entry {
    plugin("p", json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } }))
}

/// The entry with its component compiled ahead, by way of bytes.
async fn ahead(entry: &Entry) -> Entry {
    let compiled = Engine::new().compile(entry).await.unwrap();
    #[expect(unsafe_code, reason = "the bytes were compiled in the line above")]
    // SAFETY: as the reason says.
    let compiled = unsafe { CompiledComponent::from_bytes(compiled.to_bytes().to_vec()) }.unwrap();
    let mut same = entry.clone();
    same.code = Entry::from_compiled(&entry.name, compiled).code;
    same
}

#[tokio::test]
async fn a_component_compiled_ahead_answers_as_the_component_and_its_records_name_that() {
    let entry = rejecting();
    let mut recorded = Vec::new();
    for entry in [ahead(&entry).await, entry] {
        let log = MemoryLog::new();
        let host = builder(Config::empty()).plugin(entry).audit(log.clone()).build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        let outcome = session.check_tool("any", &json!({})).await.outcome;
        let Decision::Rejected(rejection) = outcome else { panic!("{outcome:?}") };
        assert_eq!(rejection.to_string(), "Rejected by p: no");
        recorded.push(host.plugins()[0].code_id().clone());
        assert!(log.to_json_lines().contains(&recorded[0].to_string()));
    }
    assert_eq!(recorded[0], recorded[1]);
}

#[tokio::test]
async fn a_configuration_that_a_compiled_component_refuses_is_refused_when_it_is_loaded() {
    let guard = Entry::from_file("guard", component("path_guard.wasm")).unwrap().with("protected", 1);
    let error = builder(Config::empty()).plugin(ahead(&guard).await).build().await.unwrap_err();
    assert!(error.to_string().contains("plugin `guard` refuses its configuration"), "{error}");
}

#[tokio::test]
async fn what_another_version_has_compiled_is_refused_with_a_sentence() {
    let compiled = Engine::new().compile(&rejecting()).await.unwrap();
    // wasmtime's own header says which version and which settings it is of.
    let version = version_in(compiled.to_bytes());
    let mut bytes = compiled.to_bytes().to_vec();
    bytes[version] = b'0';
    #[expect(unsafe_code, reason = "the code is refused before anything of it is used")]
    // SAFETY: as the reason says.
    let other = unsafe { CompiledComponent::from_bytes(bytes) }.unwrap();
    let error = builder(Config::empty()).plugin(Entry::from_compiled("p", other)).build().await.unwrap_err();
    assert!(error.to_string().contains("was compiled for another engine: compile it again"), "{error}");
}

/// Where wasmtime's major version begins in compiled code: a text of two bytes, after its length.
fn version_in(code: &[u8]) -> usize {
    1 + code
        .windows(4)
        .position(|bytes| bytes == b"\0\x0248")
        .expect("wasmtime writes its version into what it compiles")
        + 1
}

#[test]
fn bytes_that_are_no_compiled_component_are_refused() {
    let wasm = std::fs::read(component("path_guard.wasm")).unwrap();
    for bytes in [wasm, Vec::new(), b"hookhost compiled\n".to_vec(), b"hookhost compiled\ntoo short".to_vec()] {
        #[expect(unsafe_code, reason = "they are refused")]
        // SAFETY: as the reason says.
        let refused = unsafe { CompiledComponent::from_bytes(bytes) };
        assert!(refused.unwrap_err().to_string().contains("compile the component again"));
    }
}

#[tokio::test]
async fn a_file_of_compiled_code_never_loads() {
    let compiled = Engine::new().compile(&rejecting()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.wasm");
    std::fs::write(&path, compiled.to_bytes()).unwrap();
    let digest = Entry::from_file("p", &path).unwrap().code.digest().unwrap();
    let text = format!("[[plugin]]\nname = 'p'\npath = '{}'\nsha256 = '{digest}'\n", path.display());
    let config = Config::parse(&text, &Source::new("/hookhost.toml", Layer::Chosen), &[]).unwrap();
    assert!(matches!(config.entries()[0].code, Code::File { .. }));
    let error = Host::builder(config).build().await.unwrap_err();
    assert!(error.to_string().contains("is not a WebAssembly file") || error.to_string().contains("wasm"), "{error}");
}
