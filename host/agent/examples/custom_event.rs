//! An event of your own. Before the program does something that no other event covers, it asks the plugins that
//! subscribe to `custom-event`. The plugin in this example is a plugin of the project's own tests, whose verdicts are
//! in its configuration.
//!
//! `cargo xtask plugins`, then `cargo run -p hookhost-agent --example custom_event [DIRECTORY OF THE PLUGINS]`

use hookhost::config::{Digest, Entry, ModelGrant, Settings, StateGrant};
use hookhost::contract::{Custom, Json};
use hookhost::{Config, Decision, Host, SessionSpec};
use serde_json::json;
use std::path::{Path, PathBuf};

fn plugin(file: &Path) -> Result<Entry, Box<dyn std::error::Error>> {
    let mut entry = Entry::new("no-fridays", file, Digest::of_file(file)?);
    entry.grants.audit = true;
    entry.grants.transcript = true;
    entry.grants.state = Some(StateGrant::default());
    entry.grants.model = Some(ModelGrant::new("small"));
    let friday = json!({ "when": { "contains": "friday" }, "verdict": "reject", "reason": "nobody is there to help" });
    entry.config.insert("custom-event".into(), friday);
    Ok(entry)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(|| PathBuf::from("target/plugins"), PathBuf::from);
    let entry = plugin(&directory.join("all_events.wasm"))?;
    let host = Host::builder(Config::from_entries(vec![entry], Settings::default())?).build().await?;
    let session = host.open_session(SessionSpec::new("my-program", &std::env::current_dir()?))?;
    for day in ["thursday", "friday"] {
        let payload = Json::from(json!({ "service": "shop", "day": day }));
        let event = Custom { name: "deploy".into(), payload };
        match session.custom_event(event).await.outcome {
            Decision::Rejected(rejection) => println!("not deployed on {day}: {rejection}"),
            Decision::Allowed { value } | Decision::Responded { value, .. } => {
                println!("deployed: {}", value.payload);
            }
        }
    }
    Ok(())
}
