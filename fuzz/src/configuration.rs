//! TOML: the configuration with the agent's section, edits of it, and scripts of the scripted provider.

use crate::lab;
use hookhost::command::allow;
use hookhost::config::{Config, Digest, Entry, Layer, Source, UserDirectories};
use hookhost_agent::config::AgentSection;
use hookhost_models::Script;
use std::path::Path;

/// Reads text as each kind of TOML.
pub fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = Script::parse(text, Path::new("/home/user/script.toml"));
    for layer in [Layer::User, Layer::Project, Layer::Chosen] {
        let source = Source::new("/home/user/hookhost.toml", layer);
        match Config::parse(text, &source, &["agent"]) {
            Ok(config) => {
                if let Ok(Some(agent)) = config.section::<AgentSection>("agent") {
                    let _ = (agent.agent_config(Path::new("/work"), "m"), agent.key_variables());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    lab::with(|lab| edit(lab.directory(), text));
}

/// Adds an entry to the file. The existing text must stay, and the result must be readable.
fn edit(directory: &Path, text: &str) {
    let file = directory.join("hookhost.toml");
    std::fs::write(&file, text).expect("a file");
    let wasm = directory.join("new.wasm");
    std::fs::write(&wasm, "").expect("a file");
    let entry = Entry::new("a-new-one", wasm, Digest::of_bytes(b"new"));
    let places = UserDirectories::new(directory, directory);
    let written = allow(&file, &entry, &places, &["agent"]);
    let after = std::fs::read_to_string(&file).expect("a file");
    match written {
        Ok(_) => {
            let source = Source::new(file, Layer::Chosen).with_home(places.home);
            let config = Config::parse(&after, &source, &["agent"]).expect("what was written can be read");
            assert_eq!(config.entry("a-new-one").expect("the new entry").code.digest(), entry.code.digest());
            assert!(after.starts_with(text) || text.contains("a-new-one"), "the file was changed elsewhere");
        }
        Err(_) => assert_eq!(after, text, "what was refused has changed the file"),
    }
}
