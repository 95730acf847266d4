//! An example of one process with many tenants. Each tenant has its own rules. All tenants share an engine with its
//! threads, pools of instances and compiled code.
//!
//! `cargo xtask plugins`, then `cargo run -p hookhost --example tenants`
//!
//! Prints:
//! ```text
//! acme writes infra/main.tf: Rejected by path-guard: `infra/main.tf` must not be written: it is protected by `infra/**`
//! acme writes site/index.html: Allowed
//! zoo writes infra/main.tf: Allowed
//! zoo writes site/index.html: Rejected by path-guard: `site/index.html` must not be written: it is protected by `site/**`
//! after a reload: path-guard is changed
//! zoo writes site/index.html: Allowed
//! Engine { pools: 1, .. }
//! ```

use hookhost::config::{Entry, Settings};
use hookhost::{Config, Engine, Host, RuleSet, SessionSpec};
use serde_json::json;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A tenant's rules. They usually come from a file or a database of the tenant.
fn rules(guard: &Entry, protected: &str) -> Result<Config> {
    let entry = guard.clone().with("protected", [protected]);
    Ok(Config::from_entries(vec![entry], Settings::default())?)
}

async fn write(host: &Host, tenant: &str, rules: &RuleSet, path: &str) -> Result<()> {
    // A session uses the rules that its specification names, or else the host's own rules.
    let spec = SessionSpec::new("my-agent", Path::new("/work")).rules(rules);
    let session = host.open_session(spec)?;
    let arguments = json!({ "path": path, "content": "" });
    println!("{tenant} writes {path}: {}", session.check_tool("write_file", &arguments).await.outcome);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("target/plugins".into(), PathBuf::from);
    let guard = Entry::from_file("path-guard", plugins.join("path_guard.wasm"))?;

    // If tenants must not see each other's log and state, build a separate host for each tenant on this engine.
    let engine = Engine::new();
    let host = Host::builder(Config::empty()).engine(&engine).build().await?;

    // If tenants may share log and state, one host with a rule set for each tenant is enough. Equal rules are loaded
    // only once.
    let acme = host.load_rules(&rules(&guard, "infra/**")?).await?;
    let zoo = host.load_rules(&rules(&guard, "site/**")?).await?;
    for (tenant, rules) in [("acme", &acme), ("zoo", &zoo)] {
        for path in ["infra/main.tf", "site/index.html"] {
            write(&host, tenant, rules, path).await?;
        }
    }

    // The rules of a tenant can change between two events, while its sessions run. Other tenants are not affected.
    let changes = host.reload_rules(&zoo, &rules(&guard, "infra/**")?).await?;
    println!("after a reload: {} is changed", changes.changed.join(", "));
    write(&host, "zoo", &zoo, "site/index.html").await?;
    println!("{engine:?}");
    Ok(())
}
