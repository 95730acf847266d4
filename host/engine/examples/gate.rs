//! The smallest example: it asks a plugin that protects files whether a tool call may run.
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
    // The digest of the file is computed here, so the plugin loads only if the file does not change after this.
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("target/plugins".into(), PathBuf::from);
    let guard = Entry::from_file("path-guard", plugins.join("path_guard.wasm"))?.with("protected", ["infra/**"]);

    // A host loads plugins once. The compiled code is cached, so the next start compiles nothing.
    let host = Host::builder(Config::empty()).plugin(guard).build().await?;

    // A session is one run of an agent, in a directory. Relative paths in tool calls are relative to this directory.
    let session = host.session("my-agent", std::env::current_dir()?)?;

    for path in ["src/main.rs", "src/../infra/main.tf"] {
        let arguments = json!({ "path": path, "content": "" });
        match session.check_tool("write_file", &arguments).await.outcome {
            // Run this call and not the call that you asked about, because a plugin may have changed the call.
            Decision::Allowed { value: call } => println!("run {} on {}", call.name(), call.arguments()["path"]),
            // A plugin has given a result in place of the tool. Do not run the tool, but give this result to the model.
            Decision::Responded { response, .. } => println!("{}", response.text),
            // The rejection displays as one sentence for the model and the user.
            Decision::Rejected(rejection) => println!("{rejection}"),
        }
    }
    Ok(())
}
