//! Tests of programs that take the place of a provider's server: what they get, which program runs, and the message of
//! each failure.

use crate::loopback::dialects;
use crate::support::{Harness, stored};
use hookhost::config::Digest;
use hookhost_agent::agent::Status;
use hookhost_agent::config::{AgentSection, Overrides};
use hookhost_models::message::Message;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Writes a program that answers in OpenAI's format and stores its input and its environment.
fn program(directory: &Path, stream: &str) -> PathBuf {
    std::fs::write(directory.join("answer"), dialects::openai_text("Hello.")).unwrap();
    let file = directory.join("provider");
    let script = format!(
        "#!/bin/sh\ncd '{}'\necho \"$1\" >> flags\ncase $1 in\n--describe) echo 'A test of programs.';;\n--ready) test -e ready;;\n\
         --defaults) echo model=house-1;;\n--env) echo 'HOUSE_KEY its key';;\n--stream) cat > body; env > environment; {stream};;\nesac\n",
        directory.display()
    );
    write_program(&file, &script);
    file
}

fn write_program(file: &Path, script: &str) {
    std::fs::write(file, script).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o700)).unwrap();
}

fn section(file: &Path, more: &str) -> AgentSection {
    let text =
        format!("provider = 'house'\n[providers.house]\nkind = 'openai'\nprogram = '{}'\n{more}", file.display());
    toml::from_str(&text).unwrap()
}

fn pinned(file: &Path) -> String {
    format!("sha256 = '{}'\n", Digest::of_file(file).unwrap())
}

/// Returns the error of choosing a provider from this section.
fn refused(section: &AgentSection) -> String {
    section.choose(&Overrides::new(None, Some("m".into()), None)).unwrap_err().to_string()
}

#[tokio::test]
async fn a_program_gets_the_request_on_its_input_and_answers_in_the_place_of_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let file = program(directory.path(), "cat answer");
    let mut section = section(&file, &pinned(&file));
    section.ask_programs().await;
    let chosen = section.choose(&Overrides::default()).unwrap();
    assert_eq!((chosen.model.as_str(), chosen.provider.name()), ("house-1", "house"));
    assert_eq!(chosen.provider.notice().as_deref(), Some("house is a program of yours: A test of programs."));
    let mut harness = Harness::bare([]).await;
    harness.provider = chosen.provider;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Hello."), "{outcome:?}");
    assert!(matches!(&stored(&outcome)[1], Message::Assistant { text, .. } if text == "Hello."));
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    let body: serde_json::Value = serde_json::from_str(&read("body")).unwrap();
    assert_eq!(body["stream"], true);
    assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["content"], "do it");
    // The program gets only the variables that the configuration names for it, and a few general ones.
    let names: Vec<_> =
        read("environment").lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
}

#[tokio::test]
async fn only_the_program_that_was_allowed_runs() {
    let directory = tempfile::tempdir().unwrap();
    let file = program(directory.path(), "cat answer");
    let digest = Digest::of_file(&file).unwrap();
    let unpinned = refused(&section(&file, ""));
    assert!(unpinned.contains(&format!("add sha256 = \"{digest}\"")), "{unpinned}");
    let allowed = section(&file, &pinned(&file));
    let provider = allowed.choose(&Overrides::new(None, Some("m".into()), None)).unwrap().provider;
    // The program is changed after the provider was created.
    program(directory.path(), "cat answer; touch ran");
    let changed = refused(&allowed);
    assert!(changed.contains("is not what was allowed") && changed.contains(&digest.to_string()), "{changed}");
    let mut harness = Harness::bare([]).await;
    harness.provider = provider;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Error);
    assert!(outcome.reason.unwrap().contains("is not what was allowed"));
    assert!(!directory.path().join("ran").exists() && !directory.path().join("flags").exists());
    let relative = section(Path::new("provider"), "");
    assert!(refused(&relative).contains("must be named by its full path"), "{}", refused(&relative));
}

#[tokio::test]
async fn a_program_that_fails_says_why_and_is_not_asked_again() {
    for (stream, why) in [
        ("echo 'no credentials: log in first' >&2; exit 3", "ended with exit status: 3: no credentials: log in first"),
        ("true", "ended without an answer"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = program(directory.path(), stream);
        let chosen = section(&file, &pinned(&file)).choose(&Overrides::new(None, Some("m".into()), None)).unwrap();
        let mut harness = Harness::bare([]).await;
        harness.provider = chosen.provider;
        let outcome = harness.run().await;
        assert_eq!(outcome.status, Status::Error);
        let reason = outcome.reason.unwrap();
        assert!(reason.contains(why) && reason.contains("which the provider house names"), "{reason}");
        let flags = std::fs::read_to_string(directory.path().join("flags")).unwrap();
        assert_eq!(flags.matches("--stream").count(), 1, "{flags}");
    }
}

#[tokio::test]
async fn a_program_that_is_ready_is_the_first_that_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let file = program(directory.path(), "cat answer");
    let text = format!("[providers.house]\nkind = 'openai'\nprogram = '{}'\n{}", file.display(), pinned(&file));
    let mut section: AgentSection = toml::from_str(&text).unwrap();
    section.ask_programs().await;
    let ready = section.first_ready(&Overrides::default(), &Default::default()).await;
    assert!(ready.is_none_or(|ready| ready.provider.as_deref() != Some("house")));
    std::fs::write(directory.path().join("ready"), "").unwrap();
    let ready = section.first_ready(&Overrides::default(), &Default::default()).await.unwrap();
    assert_eq!((ready.provider.as_deref(), ready.model.as_deref()), (Some("house"), Some("house-1")));
}

#[test]
fn a_variant_says_where_a_protocol_is_spoken_and_counts_by_its_digest() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("groq.conf");
    let url = "http://localhost:9/openai/v1/chat/completions";
    std::fs::write(
        &file,
        format!("protocol=openai\ndescription=Groq\nmodel=openai/gpt-oss-120b\nurl={url}\nmax_tokens=4096\n"),
    )
    .unwrap();
    let section = |more: &str| -> AgentSection {
        toml::from_str(&format!("provider = 'mine'\n[providers.mine]\nvariant = '{}'\n{more}", file.display())).unwrap()
    };
    assert!(section("").choose(&Overrides::default()).unwrap_err().to_string().contains("is not allowed"));
    let chosen = section(&pinned(&file)).choose(&Overrides::default()).unwrap();
    assert_eq!(chosen.model, "openai/gpt-oss-120b");
    assert_eq!(chosen.limits.max_output_tokens.map(std::num::NonZeroU32::get), Some(4096));
    let limits = "[providers.mine.limits.'openai/gpt-oss-120b']\nmax-output-tokens = 512\n";
    let own = section(&format!("{}\n{limits}", pinned(&file))).choose(&Overrides::default()).unwrap();
    assert_eq!(own.limits.max_output_tokens.map(std::num::NonZeroU32::get), Some(512), "the user's own limits count");
    let of_variant = section(&pinned(&file)).provider("mine").unwrap();
    assert_eq!(of_variant.base_url.as_deref(), Some("http://localhost:9/openai/v1"));
    for (text, why) in [
        ("model=x\n", "names no `protocol`"),
        ("protocol=smtp\n", "the protocols here are `openai` and `anthropic`"),
        ("protocol=openai\nexec=rm\n", "has an unknown key `exec` in line 2"),
        ("protocol=openai\nmodel\n", "has a line without `=`: line 2"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = section(&pinned(&file)).choose(&Overrides::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
