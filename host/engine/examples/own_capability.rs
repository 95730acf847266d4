//! An example of your own capability. The program that embeds hookhost has a customer database, and a plugin asks this
//! database. The program defines the interface, in `tests/plugins/customers/wit/crm.wit`.
//!
//! `cargo xtask plugins`, then `cargo run -p hookhost --example own_capability`
//!
//! Prints:
//! ```text
//! 500 cents to customer 1: Allowed
//! 501 cents to customer 1: Rejected by customers: Ada has a credit of 500 cents
//! 501 cents to customer 2: Allowed
//! 5 cents to customer 3: Rejected by customers: there is no customer 3
//! answers of the database in the last record: 1
//! ```

use hookhost::capability::{Capability, CapabilityCall};
use hookhost::config::Entry;
use hookhost::{BoxFuture, Config, Host};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The database. It maps the number of a customer to the customer's name, tier and credit in cents.
struct Customers(HashMap<u64, (&'static str, &'static str, i64)>);

impl Capability for Customers {
    /// The name by which an entry grants this capability: `capabilities = ["customers"]` under `[plugin.grants]`.
    fn name(&self) -> &str {
        "customers"
    }

    /// The interface that a plugin imports.
    fn interface(&self) -> &str {
        "acme:crm/customers@1.0.0"
    }

    /// Arguments and answers are JSON. A record is an object, an enum is the name of its case, and a result is an
    /// object with `ok` or `err`. The host checks the answer against the interface. If this function returns an `Err`,
    /// the plugin counts as failed, and its `on-failure` decides about the event.
    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        // The call may wait for a network. Its time counts towards the plugin's deadline.
        Box::pin(async move {
            match (call.function.as_str(), call.arguments.first().and_then(Value::as_u64)) {
                ("count", None) => Ok(json!(self.0.len())),
                ("find", Some(number)) => Ok(json!({ "ok": self.0.get(&number).map(|(name, tier, credit)| {
                    json!({ "name": name, "tier": tier, "credit": credit, "email": null })
                }) })),
                (other, _) => Err(format!("there is no function `{other}`")),
            }
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("target/plugins".into(), PathBuf::from);
    let mut refunds = Entry::from_file("customers", plugins.join("customers.wasm"))?;
    // Without this grant, the host would not load the plugin.
    refunds.grants.capabilities.insert("customers".into());
    let database = Customers(HashMap::from([(1, ("Ada", "basic", 500)), (2, ("Grace", "premium", 0))]));
    let builder = Host::builder(Config::empty()).plugin(refunds).capability(Arc::new(database));
    let session = builder.build().await?.session("my-agent", std::env::current_dir()?)?;

    let mut answers = 0;
    for (customer, cents) in [(1, 500), (1, 501), (2, 501), (3, 5)] {
        let settled = session.check_tool("refund", &json!({ "customer": customer, "cents": cents })).await;
        println!("{cents} cents to customer {customer}: {}", settled.outcome);
        // The record contains the answers of the database, so a replay needs no database.
        answers = settled.record.calls[0].inputs.capabilities.len();
    }
    println!("answers of the database in the last record: {answers}");
    Ok(())
}
