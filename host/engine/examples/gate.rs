//! The first gate: may this tool call run? A plugin that guards files answers.
//!
//! `cargo xtask plugins`, then `cargo run -p hookhost --example gate`
//!
//! Prints:
//! ```text
//! run write_file on "src/main.rs"
//! Rejected by path-guard: `src/../infra/main.tf` must not be written: it is protected by `infra/**`
//! ```

use hookhost::config::Entry;
use hookhost::{Config, Decision, Host};
use serde_json::json;
use std::path::PathBuf;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What the file contains now is what may load: its digest is taken here.
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("target/plugins".into(), PathBuf::from);
    let guard = Entry::from_file("path-guard", plugins.join("path_guard.wasm"))?.with("protected", ["infra/**"]);

    // A host loads plugins once. What is compiled is kept, so that the next start compiles nothing.
    let host = Host::builder(Config::empty()).plugin(guard).build().await?;

    // A session is one run of an agent, in a directory. Plugins read relative paths from there.
    let session = host.session("my-agent", std::env::current_dir()?)?;

    for path in ["src/main.rs", "src/../infra/main.tf"] {
        let arguments = json!({ "path": path, "content": "" });
        match session.check_tool("write_file", &arguments).await.outcome {
            // Run this call, not the one that you asked about: a plugin may have changed it.
            Decision::Allowed { value: call } => println!("run {} on {}", call.name(), call.arguments()["path"]),
            // A plugin has answered in place of the tool: do not run it, give the model this result.
            Decision::Responded { response, .. } => println!("{}", response.text),
            // One sentence for the model and the user.
            Decision::Rejected(rejection) => println!("{rejection}"),
        }
    }
    Ok(())
}
