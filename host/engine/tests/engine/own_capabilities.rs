//! Capabilities of the embedding program: an interface of its own that a plugin imports.

use crate::support::{builder, component};
use futures_util::future::BoxFuture;
use hookhost::capability::{Capability, CapabilityCall, CapabilityReply};
use hookhost::config::{Config, Entry, Settings};
use hookhost::contract::{Cause, Decision, FailureKind, TransformOutcome};
use hookhost::{Engine, Error, HostBuilder, Session};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Answer = Box<dyn Fn(&CapabilityCall) -> Result<Value, String> + Send + Sync>;

/// The customers of a program, and what it was asked.
struct Customers {
    answer: Answer,
    asked: Mutex<Vec<CapabilityCall>>,
}

impl Customers {
    fn new(answer: impl Fn(&CapabilityCall) -> Result<Value, String> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<CapabilityCall> {
        self.asked.lock().unwrap().clone()
    }
}

impl Capability for Customers {
    fn name(&self) -> &str {
        "customers"
    }

    fn interface(&self) -> &str {
        "acme:crm/customers@1.0.0"
    }

    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        self.asked.lock().unwrap().push(call.clone());
        let answer = (self.answer)(&call);
        Box::pin(async move { answer })
    }
}

/// Ada has credit, Bob is a premium customer.
fn known() -> Arc<Customers> {
    Customers::new(|call| {
        Ok(match (call.function.as_str(), call.arguments.first().and_then(Value::as_u64)) {
            ("find", Some(1)) => json!({ "ok": { "name": "Ada", "tier": "basic", "credit": 500, "email": null } }),
            ("find", Some(2)) => json!({ "ok": { "name": "Bob", "tier": "premium", "credit": 0, "email": "b@b.b" } }),
            ("find", _) => json!({ "ok": null }),
            _ => json!(2),
        })
    })
}

fn entry() -> Entry {
    let mut entry = Entry::from_file("customers", component("customers.wasm")).unwrap();
    entry.grants.capabilities.insert("customers".into());
    entry
}

fn with(capability: Arc<dyn Capability>, entry: Entry) -> HostBuilder {
    builder(Config::empty()).plugin(entry).capability(capability)
}

async fn session(capability: Arc<dyn Capability>) -> Session {
    with(capability, entry()).build().await.unwrap().session("test", "/work").unwrap()
}

async fn refund(session: &Session, customer: u64, cents: i64) -> Result<(), String> {
    match session.check_tool("refund", &json!({ "customer": customer, "cents": cents })).await.outcome {
        Decision::Allowed { .. } => Ok(()),
        Decision::Rejected(rejection) => Err(rejection.to_string()),
        Decision::Responded { .. } => panic!("nobody responds"),
    }
}

#[tokio::test]
async fn a_plugin_asks_an_interface_that_only_the_program_knows() {
    let customers = known();
    let session = session(customers.clone()).await;
    assert_eq!(refund(&session, 1, 500).await, Ok(()));
    assert_eq!(refund(&session, 1, 501).await.unwrap_err(), "Rejected by customers: Ada has a credit of 500 cents");
    assert_eq!(refund(&session, 2, 100_000).await, Ok(()));
    assert_eq!(refund(&session, 3, 1).await.unwrap_err(), "Rejected by customers: there is no customer 3");
    let TransformOutcome::Passed { value } = session.prompt_submit("how many customers?".into()).await.outcome else {
        panic!("nobody withholds it");
    };
    assert_eq!(value, "2");
    let first = customers.asked().remove(0);
    assert_eq!((first.session.as_str(), first.plugin.as_str()), (session.id(), "customers"));
    assert_eq!((first.capability.as_str(), first.function.as_str()), ("customers", "find"));
    assert_eq!(first.arguments, [json!(1)]);
}

#[tokio::test]
async fn without_the_grant_the_plugin_does_not_load_and_the_line_is_named() {
    let mut bare = entry();
    bare.grants.capabilities.clear();
    let error = with(known(), bare).build().await.unwrap_err().to_string();
    assert!(error.contains("`acme:crm/customers@1.0.0`, which is not granted"), "{error}");
    assert!(error.ends_with(r#"capabilities = ["customers"]"#), "{error}");
}

#[tokio::test]
async fn a_host_that_does_not_bring_it_loads_no_plugin_that_is_granted_it() {
    let error = builder(Config::empty()).plugin(entry()).build().await.unwrap_err().to_string();
    let expected = "plugin `customers` is granted the capability `customers`, which this program does not provide (it provides none)";
    assert_eq!(error, expected);
    let ungranted = Entry::from_file("customers", component("customers.wasm")).unwrap();
    let error = builder(Config::empty()).plugin(ungranted).build().await.unwrap_err().to_string();
    assert!(error.contains("imports `acme:crm/customers@1.0.0`, which no plugin is given"), "{error}");
}

#[tokio::test]
async fn an_error_is_the_plugins_where_the_function_returns_one_and_its_failure_elsewhere() {
    let session = session(Customers::new(|_| Err("the database is down".into()))).await;
    let rejected = refund(&session, 1, 1).await.unwrap_err();
    assert_eq!(rejected, "Rejected by customers: the customer cannot be looked up: the database is down");
    let TransformOutcome::Withheld(rejection) = session.prompt_submit("how many customers?".into()).await.outcome
    else {
        panic!("the plugin has no answer");
    };
    assert_eq!(rejection.cause, Cause::Failed(FailureKind::Trap));
    assert!(rejection.to_string().contains("the capability `customers`, which failed: the database is down"));
}

#[tokio::test]
async fn an_answer_of_another_type_or_a_panic_is_a_failure_of_the_plugin() {
    for (answer, why) in [
        (json!("two"), "the answer has a string where one of the variant's cases"),
        (json!({ "ok": { "name": "Ada", "tier": "gold", "credit": 1 } }), "where one of the enum's names belongs"),
        (
            json!({ "ok": { "name": "Ada", "tier": "basic", "credit": 1.5 } }),
            "`credit`: the answer has a number where an s64",
        ),
        (json!({ "ok": { "tier": "basic", "credit": 1 } }), "`name`: the answer has null where a string belongs"),
        (json!({ "ok": { "name": "Ada", "tier": "basic", "credit": 1, "x": 1 } }), "the answer has `x`, which"),
    ] {
        let session = session(Customers::new(move |_| Ok(answer.clone()))).await;
        let error = refund(&session, 1, 1).await.unwrap_err();
        let why = why.replace("one of the variant's cases", "`ok` or `err`");
        assert!(error.contains("failed") && error.contains(&why), "{error}");
    }
    let session = session(Customers::new(|_| panic!("a bug of the program"))).await;
    let error = refund(&session, 1, 1).await.unwrap_err();
    assert!(error.contains("the program that answers it panicked"), "{error}");
}

/// Never answers.
struct Silent;

impl Capability for Silent {
    fn name(&self) -> &str {
        "customers"
    }

    fn interface(&self) -> &str {
        "acme:crm/customers@1.0.0"
    }

    fn call(&self, _: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn waiting_for_the_program_counts_against_the_deadline() {
    let mut entry = entry();
    entry.limits.deadline = Some(Duration::from_millis(50));
    let session = with(Arc::new(Silent), entry).build().await.unwrap().session("test", "/work").unwrap();
    let Decision::Rejected(rejection) =
        session.check_tool("refund", &json!({ "customer": 1, "cents": 1 })).await.outcome
    else {
        panic!("nobody answers");
    };
    assert_eq!(rejection.cause, Cause::Failed(FailureKind::Deadline));
}

#[tokio::test]
async fn what_was_asked_and_answered_is_recorded_and_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.db");
    {
        let host = with(known(), entry()).store(&log).build().await.unwrap();
        let session = host.session("test", "/work").unwrap();
        let settled = session.check_tool("refund", &json!({ "customer": 1, "cents": 501 })).await;
        let [asked] = &settled.record.calls[0].inputs.capabilities[..] else { panic!("one call") };
        assert_eq!((asked.call.function.as_str(), &asked.call.arguments), ("find", &vec![json!(1)]));
        assert!(matches!(&asked.answer, CapabilityReply::Value(value) if value["ok"]["name"] == "Ada"));
        assert!(settled.record.not_replayable.is_empty());
        drop(session);
        host.drain(Duration::from_secs(5)).await.unwrap();
    }
    // The program's customers are gone, and the log answers.
    let nobody = Customers::new(|_| Ok(json!({ "ok": null })));
    let host = with(nobody.clone(), entry()).build().await.unwrap();
    let replayed = replayed(&host, &log).await;
    assert_eq!(replayed, [true]);
    assert!(nobody.asked().is_empty(), "a replay asks nobody");
}

#[tokio::test]
async fn hosts_that_share_compiled_code_have_each_their_own_answers() {
    let engine = Engine::new();
    let host = |capability: Arc<dyn Capability>| with(capability, entry()).engine(&engine).build();
    let (first, second) =
        (host(known()).await.unwrap(), host(Customers::new(|_| Ok(json!({ "ok": null })))).await.unwrap());
    assert_eq!(refund(&first.session("test", "/work").unwrap(), 2, 1).await, Ok(()));
    let error = refund(&second.session("test", "/work").unwrap(), 2, 1).await.unwrap_err();
    assert_eq!(error, "Rejected by customers: there is no customer 2");
    // The name is there, and means another interface.
    let error = host(Arc::new(Named("customers", "acme:crm/others@1.0.0"))).await.unwrap_err().to_string();
    assert!(error.contains("imports `acme:crm/customers@1.0.0`, which no plugin is given"), "{error}");
    let without = builder(Config::empty()).plugin(entry()).engine(&engine).build().await.unwrap_err().to_string();
    assert!(without.contains("which this program does not provide"), "{without}");
    drop((first, second));
}

/// Whether each recorded event has the same outcome again.
async fn replayed(host: &hookhost::Host, log: &Path) -> Vec<bool> {
    let log = hookhost::store::Log::open(log).unwrap();
    let mut same = Vec::new();
    hookhost::replay::replay(host, &log, |event| same.push(event.is_same())).await.unwrap();
    same
}

/// A capability of these names, which is never asked.
struct Named(&'static str, &'static str);

impl Capability for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn interface(&self) -> &str {
        self.1
    }

    fn call(&self, _: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async { Ok(Value::Null) })
    }
}

#[tokio::test]
async fn a_capability_has_a_name_and_an_interface_of_its_own() {
    let built = |capabilities: &[(&'static str, &'static str)]| {
        let builder = builder(Config::from_entries(Vec::new(), Settings::default()).unwrap());
        let add = |builder: HostBuilder, named: &(&'static str, &'static str)| {
            builder.capability(Arc::new(Named(named.0, named.1)))
        };
        capabilities.iter().fold(builder, add).build()
    };
    for (wrong, why) in [
        (&[("", "a:b/c@1.0.0")][..], "a name is 1 to 64"),
        (&[("c", "hookhost:hooks/state@0.1.0")], "is not an interface of your own"),
        (&[("c", "wasi:io/streams@0.2.0")], "is not an interface of your own"),
        (&[("c", "customers")], "is not an interface of your own"),
        (&[("c", "a:b/c@1.0.0"), ("c", "a:b/d@1.0.0")], "is added twice"),
        (&[("c", "a:b/c@1.0.0"), ("d", "a:b/c@1.0.0")], "is added twice"),
    ] {
        let error = built(wrong).await.unwrap_err();
        assert!(matches!(&error, Error::Capability(text) if text.contains(why)), "{error}");
    }
    assert!(built(&[("c", "a:b/c@1.0.0"), ("d", "a:b/d@1.0.0")]).await.is_ok());
}
