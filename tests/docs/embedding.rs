//! `docs/embedding.md`: its code is the code below, and runs.

use crate::guide::{assert_compiled, page};
use hookhost::config::{Digest, ModelGrant, Settings, StateGrant};
use hookhost::contract::{Action, TextVerdict};
use hookhost_tests::User;
use std::sync::{Arc, Mutex};

use hookhost::config::Entry;
use hookhost::{Config, Decision, Host};
use std::path::Path;

async fn first_gate(wasm: &Path, project: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let guard = Entry::from_file("path-guard", wasm)?.with("protected", ["infra/**"]);
    let host = Host::builder(Config::empty()).plugin(guard).build().await?;
    let session = host.session("my-agent", project)?;
    let arguments = serde_json::json!({ "path": "infra/main.tf", "content": "" });
    Ok(match session.check_tool("write_file", &arguments).await.outcome {
        Decision::Allowed { value: call } => format!("run {} with {}", call.name(), call.arguments()),
        Decision::Responded { response, .. } => response.text,
        Decision::Rejected(rejection) => rejection.to_string(),
    })
}

fn is_allowed(wasm: &Path, project: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    let guard = Entry::from_file("path-guard", wasm)?.with("protected", ["infra/**"]);
    let host = Host::builder(Config::empty()).plugin(guard).build_blocking()?;
    let session = host.session("my-agent", project)?;
    let settled = session.check_tool("write_file", &serde_json::json!({ "path": "infra/x", "content": "" }));
    Ok(matches!(settled.outcome, Decision::Allowed { .. }))
}

use hookhost::config::UserDirectories;

async fn host(project: &Path, places: &UserDirectories) -> Result<Host, Box<dyn std::error::Error>> {
    let found = Config::discover(project, places, &["agent"])?;
    for file in &found.inert {
        eprintln!("note: {file}");
    }
    for change in &found.changes {
        eprintln!("note: {change}");
    }
    let builder = Host::builder(found.config).cache(places.state.join("compiled"));
    let host = builder.store(places.state.join("hookhost.db")).build().await?;
    Ok(host)
}

async fn take_up(host: &Host, project: &Path, places: &UserDirectories) {
    let reloaded = match Config::discover(project, places, &["agent"]) {
        Ok(found) => host.reload(&found.config).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match reloaded {
        Ok(changes) => eprintln!("note: {changes}"),
        Err(problem) => eprintln!("note: the rules stay as they were: {problem}"),
    }
}

async fn own_plugins(file: &Path, bytes: &'static [u8]) -> Result<Host, Box<dyn std::error::Error>> {
    let from_file = Entry::from_file("path-guard", file)?.with("protected", ["infra/**"]);
    let from_bytes = Entry::from_bytes("no-force-push", bytes);
    Ok(Host::builder(Config::empty()).plugin(from_file).plugin(from_bytes).build().await?)
}

use hookhost::HostBuilder;
use hookhost::contract::{Escalation, Refusal, ToolCall};
use hookhost::native::Rule;

fn my_product(config: Config) -> HostBuilder {
    let about_words = Rule::new()
        .prompt_submit(|_, prompt| prompt.contains("mellon").then(|| Refusal::new("the prompt holds the password")))
        .before_tools(|_, calls| (calls.len() > 20).then(|| Escalation::new("so many calls at once?")));
    Host::builder(config)
        .version(env!("CARGO_PKG_VERSION"))
        .rule("no-deploys", |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen")))
        .plugin(Entry::from_rule("words", about_words))
}

use hookhost::{Engine, RuleSet};

async fn tenant(engine: &Engine, config: Config) -> Result<Host, hookhost::Error> {
    Host::builder(config).engine(engine).build().await
}

async fn session_under(host: &Host, rules: &RuleSet, project: &Path) -> Result<Session, Box<dyn std::error::Error>> {
    Ok(host.open_session(SessionSpec::new("my-agent", project).rules(rules))?)
}

use hookhost::contract::{ResultSource, ToolOrigin, ToolResult};
use hookhost::{Session, TransformOutcome};
use serde_json::Value;

async fn call_tool(session: &Session, id: &str, name: &str, arguments: &Value) -> String {
    let call = session.tool_call(id, name, arguments, ToolOrigin::Builtin);
    let (call, result, source) = match session.before_tool_call(call).await.outcome {
        Decision::Allowed { value: call } => {
            let result = run_tool(&call.name, &call.arguments);
            (call, result, ResultSource::Tool)
        }
        Decision::Responded { value: call, response, .. } => (call, response, ResultSource::Plugin),
        Decision::Rejected(rejection) => return rejection.to_string(),
    };
    match session.after_tool_call(&call, result, source).await.outcome {
        TransformOutcome::Passed { value } => value.text,
        TransformOutcome::Withheld(rejection) => rejection.to_string(),
    }
}

use hookhost::SessionSpec;

async fn an_agent(host: &Host, project: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let session = host.open_session(SessionSpec::new("my-agent", project))?;
    let tasks = session.session_start().await.outcome;
    assert!(tasks.is_empty(), "no plugin adds to the agent's queue");

    let arguments = serde_json::json!({ "path": "src/../infra/main.tf", "content": "" });
    let answer = call_tool(&session, "1", "write_file", &arguments).await;
    assert!(answer.starts_with("Rejected by path-guard: "));

    let arguments = serde_json::json!({ "path": "src/main.rs", "content": "" });
    assert_eq!(call_tool(&session, "2", "write_file", &arguments).await, "written");
    Ok(())
}

async fn show_answer(session: &Session, deltas: &[&str], screen: &mut String) -> String {
    let mut stream = session.stream();
    for delta in deltas {
        for piece in stream.push(delta).await {
            *screen += &piece.text;
        }
    }
    let last = stream.finish().await;
    if last.replaces {
        screen.clear();
    }
    for piece in last.pieces {
        *screen += &piece.text;
    }
    last.text
}

use hookhost::contract::ShellDialect;
use hookhost::contract::action::{ActionMap, ToolShape};

fn actions() -> ActionMap {
    let mut actions = ActionMap::default();
    let line = vec!["line".to_owned()];
    actions.insert("run_in_vm", ToolShape::Shell { command: line, cwd: vec![], dialect: ShellDialect::Posix });
    actions
}

use hookhost::approval::{Approval, ApprovalRequest};

async fn on_call(request: ApprovalRequest) -> Approval {
    let asked: Vec<_> = request.questions.iter().map(|question| question.by.to_string()).collect();
    let what = request.tool_call().map_or(request.event.to_string(), |call| call.name);
    Approval::no().because(format!("nobody is on call for {what}, asked by {}", asked.join(", ")))
}

use hookhost::approval::PendingApprovals;

async fn on_a_web_page(pending: &PendingApprovals, page: &Page) {
    let mut changes = pending.changes();
    loop {
        page.show(pending.list());
        changes.next().await;
    }
}

fn clicked(pending: &PendingApprovals, id: &str, yes: bool) -> String {
    let answer = if yes { Approval::yes() } else { Approval::no().because("declined on the web page") };
    match pending.answer(id, answer) {
        Ok(()) => "Thank you.".into(),
        Err(not_pending) => not_pending.to_string(),
    }
}

use hookhost::PreparedCall;

async fn settled_elsewhere(session: &Session, call: PreparedCall) -> Decision<ToolCall, ToolResult> {
    let mut open = session.begin_before_tool_call(call).await;
    loop {
        open = match open.outcome.into_final() {
            Ok(decision) => return decision,
            Err(pending) => pending.wait().await,
        };
    }
}

async fn answer_everything(host: &Host, yes: bool) -> Result<usize, Box<dyn std::error::Error>> {
    let questions = host.questions().await?;
    for request in &questions {
        let answer = if yes { Approval::yes() } else { Approval::no() };
        host.answer(&request.id, answer).await?;
    }
    Ok(questions.len())
}

use hookhost::contract::Usage;
use std::time::Duration;

async fn end(host: &Host, session: Session, totals: Usage) -> Result<(), Box<dyn std::error::Error>> {
    let _ = session.session_end(totals).await;
    drop(session);
    let missed = host.drain(Duration::from_secs(2)).await?;
    if missed > 0 {
        eprintln!("note: observers missed {missed} events");
    }
    Ok(())
}

use hookhost::audit::MemoryLog;

async fn recorded_in_memory(config: Config) -> Result<(Host, MemoryLog), hookhost::Error> {
    let log = MemoryLog::new();
    let host = Host::builder(config).audit(log.clone()).build().await?;
    Ok((host, log))
}

use hookhost::replay::replay;
use hookhost::store::Log;

async fn what_would_change(log: &Path, new: &Host) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    let log = Log::open(log)?;
    let mut differing = Vec::new();
    replay(new, &log, |event| {
        if !event.is_same() {
            differing.push(event.seq);
        }
    })
    .await?;
    Ok(differing)
}

/// A page on which somebody says yes to all calls but those of `no_to`, as soon as they see them, and once more.
struct Page {
    pending: Arc<PendingApprovals>,
    no_to: &'static str,
    told: Mutex<Vec<String>>,
}

impl Page {
    fn show(&self, requests: Vec<Arc<ApprovalRequest>>) {
        for request in requests {
            let yes = !request.value.get().contains(self.no_to);
            let mut told = self.told.lock().expect("nobody panics");
            told.push(clicked(&self.pending, &request.id, yes));
            told.push(clicked(&self.pending, &request.id, true));
        }
    }
}

use hookhost::BoxFuture;
use hookhost::capability::{Capability, CapabilityCall};

struct Customers;

impl Capability for Customers {
    fn name(&self) -> &str {
        "customers"
    }

    fn interface(&self) -> &str {
        "acme:crm/customers@1.0.0"
    }

    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async move {
            match (call.function.as_str(), call.arguments.first().and_then(Value::as_u64)) {
                ("find", Some(1)) => Ok(serde_json::json!({ "ok": { "name": "Ada", "tier": "basic", "credit": 500 } })),
                ("find", _) => Ok(serde_json::json!({ "ok": null })),
                (other, _) => Err(format!("there is no function `{other}`")),
            }
        })
    }
}

/// The tools of the guide's agent.
fn run_tool(_name: &str, _arguments: &hookhost::contract::Json) -> ToolResult {
    ToolResult { text: "written".into(), is_error: false, raw: None }
}

/// An entry of a built plugin. Its limits on time are far off: tests run on busy machines.
fn entry(plugin: &str) -> Entry {
    let wasm = hookhost_tests::plugin(plugin);
    let mut entry = Entry::new(plugin, &wasm, Digest::of_file(&wasm).expect("the plugin"));
    let far_off = Duration::from_secs(60);
    (entry.limits.compute, entry.limits.deadline) = (Some(far_off), Some(far_off));
    entry
}

#[tokio::test]
async fn the_first_gate_of_the_guide_says_no_with_and_without_async() {
    let wasm = hookhost_tests::plugin("path-guard");
    let answer = first_gate(&wasm, Path::new("/work")).await.expect("a gate");
    assert!(answer.starts_with("Rejected by path-guard: "), "{answer}");
    assert!(!is_allowed(&wasm, Path::new("/work")).expect("a gate"));
}

#[tokio::test]
async fn the_guides_log_in_memory_has_the_records() {
    let config = Config::from_entries(vec![entry("no-force-push")], Settings::default()).expect("a configuration");
    let (host, log) = recorded_in_memory(config).await.expect("a host");
    let _ = host.session("my-agent", "/work").expect("a session").check_tool("ls", &serde_json::json!({})).await;
    assert!(log.records().iter().any(|record| record.kind() == "event") && log.verify().is_sound());
}

#[tokio::test]
async fn the_guides_customers_decide_on_refunds() {
    let mut customers = entry("customers");
    customers.grants.capabilities.insert("customers".into());
    let builder = Host::builder(Config::empty()).plugin(customers).capability(Arc::new(Customers));
    let session = builder.build().await.expect("a host").session("my-agent", "/work").expect("a session");
    for (cents, allowed) in [(500, true), (501, false)] {
        let settled = session.check_tool("refund", &serde_json::json!({ "customer": 1, "cents": cents })).await;
        assert_eq!(matches!(settled.outcome, Decision::Allowed { .. }), allowed, "{cents}");
    }
}

#[tokio::test]
async fn the_agent_of_the_guide_is_told_no_and_then_writes() {
    let mut entry = entry("path-guard");
    entry.config.insert("protected".into(), serde_json::json!(["infra/**"]));
    let config = Config::from_entries(vec![entry], Settings::default()).expect("a configuration");
    let host = Host::builder(config).build().await.expect("a host");
    an_agent(&host, Path::new("/work")).await.expect("a session");
}

#[tokio::test]
async fn a_host_is_made_of_the_files_that_count() {
    let user = User::new();
    user.configure(&hookhost_tests::Entry::new("no-force-push", &hookhost_tests::plugin("no-force-push")).to_toml());
    user.write("hookhost.toml", "not approved, and not even TOML");
    let places = UserDirectories::new(user.path("config"), user.path("state"));
    let host = host(&user.project(), &places).await.expect("a host");
    let plugins = host.plugins();
    assert_eq!(plugins.iter().map(hookhost::Plugin::name).collect::<Vec<_>>(), ["no-force-push"]);
    assert!(places.state.join("compiled").exists(), "compiled code is kept");
    assert!(places.state.join("hookhost.db").exists(), "the log and the state are kept");
    user.configure("not TOML");
    take_up(&host, &user.project(), &places).await;
    assert_eq!(host.plugins().len(), 1, "the rules stay");
    user.configure("");
    take_up(&host, &user.project(), &places).await;
    assert!(host.plugins().is_empty());
}

#[tokio::test]
async fn a_recorded_session_tells_what_a_new_rule_would_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("hookhost.db");
    let none = Config::from_entries(vec![], Settings::default()).expect("a configuration");
    let host = Host::builder(none).store(&log).build().await.expect("a host");
    let session = host.open_session(SessionSpec::new("my-agent", Path::new("/work"))).expect("a session");
    for path in ["src/main.rs", "infra/main.tf"] {
        let arguments = serde_json::json!({ "path": path, "content": "" });
        assert_eq!(call_tool(&session, "1", "write_file", &arguments).await, "written");
    }
    end(&host, session, Usage::default()).await.expect("a log");

    let mut guard = entry("path-guard");
    guard.config.insert("protected".into(), serde_json::json!(["infra/**"]));
    let config = Config::from_entries(vec![guard], Settings::default()).expect("a configuration");
    let new = Host::builder(config).build().await.expect("a host");
    // The log begins with its own record and the session's; each call has two.
    assert_eq!(what_would_change(&log, &new).await.expect("a log"), [5]);
}

#[tokio::test]
async fn a_tool_of_ones_own_is_a_shell_command_to_plugins() {
    let config = Config::from_entries(vec![entry("no-force-push")], Settings::default()).expect("a configuration");
    let host = Host::builder(config).actions(actions()).approver(Arc::new(on_call)).build().await.expect("a host");
    let session = host.open_session(SessionSpec::new("my-agent", Path::new("/work"))).expect("a session");
    let arguments = serde_json::json!({ "line": "git push --force" });
    let answer = call_tool(&session, "1", "run_in_vm", &arguments).await;
    assert_eq!(answer, "Rejected by no-force-push: force-push rewrites shared history");
}

#[tokio::test]
async fn what_is_answered_on_the_guides_web_page_counts_once() {
    let mut asks = entry("all-events");
    asks.grants.state = Some(StateGrant::default());
    asks.grants.model = Some(ModelGrant::new("small"));
    (asks.grants.transcript, asks.grants.audit) = (true, true);
    asks.events = Some([hookhost::contract::EventKind::BeforeToolCall].into());
    let escalate = serde_json::json!({ "verdict": "escalate", "question": "Write it?" });
    asks.config.insert("before-tool-call".into(), escalate);
    let config = Config::from_entries(vec![asks], Settings::default()).expect("a configuration");
    let pending = Arc::new(PendingApprovals::default());
    let page = Page { pending: Arc::clone(&pending), no_to: "infra", told: Mutex::default() };
    let host = Host::builder(config).approver(pending.clone()).build().await.expect("a host");
    let session = host.open_session(SessionSpec::new("my-agent", Path::new("/work"))).expect("a session");
    let write = |path: &str| serde_json::json!({ "path": path, "content": "" });
    let agent = async {
        let arguments = [write("src/main.rs"), write("infra/main.tf")];
        let yes = call_tool(&session, "1", "write_file", &arguments[0]).await;
        (yes, call_tool(&session, "2", "write_file", &arguments[1]).await)
    };
    let (yes, no) = tokio::select! {
        answers = agent => answers,
        () = on_a_web_page(&pending, &page) => unreachable!("a page stays"),
    };
    assert_eq!(yes, "written");
    assert_eq!(no, "Rejected: not approved (asked by all-events): Write it? (declined on the web page)");
    let told = page.told.into_inner().expect("nobody panics");
    assert_eq!((told.len(), told[0].as_str(), told[2].as_str()), (4, "Thank you.", "Thank you."));
    assert!([&told[1], &told[3]].iter().all(|text| text.contains("it has been answered")), "{told:?}");
}

/// A configuration whose native rule asks about calls that write files.
fn asks_about_writes() -> Config {
    let writes = |call: &ToolCall| matches!(call.action, Action::WriteFiles(_));
    let asks =
        Rule::new().before_tool_call(move |_, call: &ToolCall| writes(call).then(|| Escalation::new("Write it?")));
    Config::from_entries(vec![Entry::from_rule("asks", asks)], Settings::default()).expect("a configuration")
}

#[tokio::test]
async fn what_another_process_answers_settles_the_call_of_the_guide() {
    let user = User::new();
    let store = user.path("hookhost.db");
    let host = || async {
        Host::builder(asks_about_writes()).store(store.clone()).share_questions().build().await.expect("a host")
    };
    let (agent, elsewhere) = (host().await, host().await);
    let session = agent.open_session(SessionSpec::new("my-agent", Path::new("/work"))).expect("a session");
    for yes in [true, false] {
        let arguments = serde_json::json!({ "path": "src/main.rs", "content": "" });
        let call = session.tool_call("1", "write_file", &arguments, ToolOrigin::Builtin);
        let answered = async {
            let mut again = tokio::time::interval(Duration::from_millis(10));
            while answer_everything(&elsewhere, yes).await.expect("the questions") == 0 {
                again.tick().await;
            }
        };
        let (outcome, ()) = tokio::join!(settled_elsewhere(&session, call), answered);
        assert_eq!(matches!(outcome, Decision::Allowed { .. }), yes, "{outcome:?}");
    }
}

#[tokio::test]
async fn tenants_and_rule_sets_of_the_guide_share_an_engine() {
    let engine = Engine::new();
    let config = || Config::from_entries(Vec::new(), Settings::default()).expect("a configuration");
    let host = tenant(&engine, config()).await.expect("a host");
    let _another = tenant(&engine, config()).await.expect("a host");
    let rules = host.load_rules(&asks_about_writes()).await.expect("rules");
    let session = session_under(&host, &rules, Path::new("/work")).await.expect("a session");
    let arguments = serde_json::json!({ "path": "src/main.rs", "content": "" });
    let answer = call_tool(&session, "1", "write_file", &arguments).await;
    assert!(answer.starts_with("Rejected: not approved"), "{answer}");
}

async fn deploys_are_refused() -> Result<(), hookhost::Error> {
    let host = hookhost::testing::start(my_product(Config::empty())).await?;
    let outcome = host.check("deploy", serde_json::json!({ "to": "production" })).await;
    assert_eq!(outcome.to_string(), "Rejected by no-deploys: deploys are frozen");
    Ok(())
}

use hookhost::testing::ScriptedApprover;

async fn a_person_is_asked(product: HostBuilder) -> Result<(), hookhost::Error> {
    let people = ScriptedApprover::new([Approval::yes()]);
    let host = hookhost::testing::start(product.approver(people.clone())).await?;
    assert!(host.check("deploy", serde_json::json!({})).await.is_allowed());
    assert_eq!(people.asked()[0].questions[0].escalation.question, "deploy now?");

    host.clock().advance(Duration::from_secs(3600));
    let outcome = host.check("deploy", serde_json::json!({})).await;
    assert!(outcome.to_string().contains("the script of the test has 1 answers, and it is asked 2 times"));
    Ok(())
}

#[tokio::test]
async fn the_rules_of_the_guide_without_wasm_do_what_its_tests_say() {
    deploys_are_refused().await.expect("a host");
    let asks = |call: &ToolCall| (call.name == "deploy").then(|| Escalation::new("deploy now?"));
    a_person_is_asked(Host::builder(Config::empty()).rule("asks", asks)).await.expect("a host");
    let host = hookhost::testing::start(my_product(Config::empty())).await.expect("a host");
    let outcome = host.session().prompt_submit("say mellon".into()).await.outcome;
    assert!(matches!(outcome, TransformOutcome::Withheld(_)), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_of_the_guide_shows_what_its_plugins_let_pass() {
    let lines = Rule::new().stream_delta(|_, line| line.contains("hunter2").then(|| Refusal::new("hush")));
    let whole = Rule::new().finalize_content(|_, text| TextVerdict::Replace(text.replace("Ada", "the user")));
    let entries = || vec![Entry::from_rule("lines", lines.clone()), Entry::from_rule("whole", whole.clone())];
    let mut settings = Settings::default();
    for unfinalised in [false, true] {
        settings.stream_unfinalised = unfinalised;
        let config = Config::from_entries(entries(), settings.clone()).expect("a configuration");
        let host = hookhost::testing::start(Host::builder(config)).await.expect("a host");
        let mut screen = String::new();
        let text = show_answer(host.session(), &["Hello, ", "Ada.\nhun", "ter2\n"], &mut screen).await;
        assert_eq!(text, "Hello, the user.\nhunter2\n");
        assert_eq!(screen, "Hello, the user.\n[withheld: Rejected by lines: hush]\n");
    }
}

#[tokio::test]
async fn the_plugins_of_the_guide_are_loaded_from_a_file_and_from_bytes() {
    let bytes = std::fs::read(entry("no-force-push").code.path().expect("a file")).expect("a component");
    let file = entry("path-guard");
    let host = own_plugins(file.code.path().expect("a file"), bytes.leak()).await.expect("a host");
    let names: Vec<_> = host.plugins().iter().map(|plugin| plugin.name().to_owned()).collect();
    assert_eq!(names, ["no-force-push", "path-guard"]);
}

#[test]
fn every_piece_of_code_is_the_code_above() {
    assert_compiled(&page("docs/embedding.md"), include_str!("embedding.rs"));
}
