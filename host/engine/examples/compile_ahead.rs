//! An example that compiles a component in advance. A program that contains the compiled component starts without
//! compiling, and needs no compiler.
//!
//! `cargo xtask plugins`, then `cargo run -p hookhost --example compile_ahead`; if you pass the name of a file, the
//! compiled component is written to this file.
//!
//! Prints:
//! ```text
//! the same component: true
//! Rejected by path-guard: `infra/main.tf` must not be written: it is protected by `infra/**`
//! ```

#![expect(unsafe_code, reason = "nobody can check compiled code, so the program vouches for it")]

use hookhost::config::{CompiledComponent, Entry};
use hookhost::{Config, Decision, Engine, Host};
use serde_json::json;
use std::path::PathBuf;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // This part belongs in the build of your program, for example in its `build.rs`. The component is checked and
    // compiled, but none of its code runs.
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("target/plugins".into(), PathBuf::from);
    let component = Entry::from_file("path-guard", plugins.join("path_guard.wasm"))?;
    let compiled = Engine::new().compile(&component).await?;
    if let Some(file) = std::env::args_os().nth(1) {
        std::fs::write(file, compiled.to_bytes())?;
    }

    // This part belongs in the program. Audit records contain the digest of the original component.
    // SAFETY: these bytes are of `to_bytes`, and nobody else could write them: other bytes could do anything.
    let held = unsafe { CompiledComponent::from_bytes(compiled.to_bytes().to_vec())? };
    println!("the same component: {}", Some(held.digest()) == component.code.digest());
    let guard = Entry::from_compiled("path-guard", held).with("protected", ["infra/**"]);
    let host = Host::builder(Config::empty()).plugin(guard).build().await?;
    let session = host.session("my-agent", std::env::current_dir()?)?;
    let call = json!({ "path": "infra/main.tf", "content": "" });
    if let Decision::Rejected(rejection) = session.check_tool("write_file", &call).await.outcome {
        println!("{rejection}");
    }
    Ok(())
}
