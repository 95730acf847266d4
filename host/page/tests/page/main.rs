//! Tests of the page over its listeners, with a host whose rules are native.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod passkeys;
#[path = "../../../engine/tests/engine/soft_authenticator.rs"]
mod soft_authenticator;

use hookhost::approval::Approval;
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Escalation, Refusal, ToolCall, ToolCallVerdict};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_agents::install::check::Check;
use hookhost_agents::{Message, by_name};
use hookhost_client::frame::LinkPurpose;
use hookhost_page::{Page, PageSettings};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, PageLinks, Settler};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Rejects `danger`, asks about `deploy`, and lets all else pass.
fn config() -> Config {
    let rule = Rule::new().before_tool_call(|_, call: &ToolCall| {
        if call.arguments.contains("danger") {
            return ToolCallVerdict::from(Refusal::new("too dangerous <b>").code("no-danger"));
        }
        call.arguments.contains("deploy").then(|| Escalation::new("Deploy?")).into()
    });
    Config::from_entries(vec![Entry::from_rule("careful", rule)], Settings::default()).unwrap()
}

struct Fixed(fn() -> Config);

impl ConfigurationSource for Fixed {
    fn find(&self, _: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
        Ok(FoundConfiguration::new((self.0)()))
    }

    fn files(&self, _: &Path, _: Option<&Config>) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A page over a new log.
struct Lab {
    settler: Arc<Settler>,
    page: Page,
    database: PathBuf,
    _directory: tempfile::TempDir,
}

impl Lab {
    async fn new() -> Self {
        Self::with(config).await
    }

    async fn with(config: fn() -> Config) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("hookhost.db");
        let host =
            Host::builder(Config::empty()).without_cache().store(&database).share_questions().build().await.unwrap();
        let settler = Arc::new(Settler::new(host, Arc::new(Fixed(config))));
        let mut settings = PageSettings::new(&settler, database.clone());
        settings.person = Some("ada".to_owned());
        settings.checks =
            Some(Arc::new(|| vec![Check::problem("telemetry", "otlp-logs is <7> behind", "hookhost telemetry flush")]));
        Self { page: Page::new(settings), settler, database, _directory: directory }
    }

    /// Sends a call of Codex, which cannot ask its user.
    async fn call(&self, command: &str) -> String {
        let message = json!({
            "session_id": "s", "transcript_path": null, "cwd": "/work", "hook_event_name": "PreToolUse", "model": "m", "turn_id": "t",
            "permission_mode": "default", "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": command,
        });
        let bytes = message.to_string().into_bytes();
        let reply =
            self.settler.reply(by_name("codex").unwrap(), &Message::new(&bytes, Path::new("/work")), &|_| {}).await;
        self.settler.host().flush().await.unwrap();
        reply.stdout
    }

    /// Opens a link, and returns the tab.
    async fn tab(&self) -> Tab {
        let (port, code) = self.link();
        let answer = Tab { port, token: None }.post("/session", &json!({ "code": code })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let token: Value = serde_json::from_str(&answer.body).unwrap();
        Tab { port, token: Some(token["token"].as_str().unwrap().to_owned()) }
    }

    fn link(&self) -> (u16, String) {
        let link = self.page.link(Path::new("/work"), LinkPurpose::View).unwrap();
        let (origin, code) = link.split_once("/#").unwrap();
        (origin.rsplit_once(':').unwrap().1.parse().unwrap(), code.to_owned())
    }

    async fn code_of_question(&self) -> String {
        loop {
            if let [question] = &*self.settler.host().questions().await.unwrap() {
                return question.code.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the records of answers that did not count.
    async fn refused(&self) -> Vec<Value> {
        self.settler.host().flush().await.unwrap();
        let log = hookhost::store::Log::open(&self.database).unwrap();
        let records = log.lines().unwrap().map(|line| serde_json::from_str(line.unwrap().text()).unwrap());
        records.filter(|record: &Value| record["kind"] == "answer-refused").collect()
    }

    /// Returns a yes to the only question, as it is stored now.
    async fn yes(&self) -> Value {
        let open = self.settler.host().questions().await.unwrap();
        json!({ "answer": "yes", "shown": open[0].digest.unwrap() })
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// A tab of a browser.
struct Tab {
    port: u16,
    token: Option<String>,
}

impl Tab {
    async fn send(&self, request: String) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn head(&self, method: &str, path: &str) -> String {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        format!("{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\n{token}", self.port)
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(format!("{}\r\n", self.head("GET", path))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let length = body.len();
        let head = self.head("POST", path);
        self.send(format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")).await
    }
}

/// Every view, with a record that exists.
const VIEWS: &[&str] = &[
    "/",
    "/approvals",
    "/search?q=danger",
    "/event/3",
    "/rules",
    "/rules?try=danger",
    "/health",
    "/report?since=1d",
    "/passkeys",
];

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_no_view_has_any_data_and_every_answer_is_closed_to_others() {
    let lab = Lab::new().await;
    lab.call("danger zone").await;
    let (port, _) = lab.link();
    let (stranger, guesser) = (Tab { port, token: None }, Tab { port, token: Some("A".repeat(43)) });
    let shell = stranger.get("/").await.body;
    for view in VIEWS {
        let answer = stranger.get(view).await;
        assert_eq!((answer.status, &answer.body), (200, &shell), "{view}");
        let guessed = guesser.get(view).await;
        assert_eq!(guessed.status, 401, "{view}");
        for answer in [answer, guessed] {
            for part in [
                "default-src 'none'",
                "require-trusted-types-for 'script'",
                "x-frame-options: DENY",
                "no-store",
                "same-origin",
            ] {
                assert!(answer.head.contains(part), "{view}: {}", answer.head);
            }
            assert!(!answer.head.contains("access-control") && !answer.head.contains("set-cookie"), "{}", answer.head);
        }
    }
    for path in ["/approvals/00000000", "/event/3/again", "/health/verify"] {
        assert_eq!(stranger.post(path, &json!({ "answer": "yes" })).await.status, 401, "{path}");
    }
    // A stream is no way around it.
    assert_eq!(stranger.get("/live").await.body, shell);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_one_tab() {
    let lab = Lab::new().await;
    let (port, code) = lab.link();
    let tab = Tab { port, token: None };
    assert_eq!(tab.post("/session", &json!({ "code": "guessed" })).await.status, 401);
    assert_eq!(tab.post("/session", &json!({})).await.status, 400);
    assert_eq!(tab.post("/session", &json!({ "code": code })).await.status, 200);
    let again = tab.post("/session", &json!({ "code": code })).await;
    assert_eq!(again.status, 401);
    assert!(again.body.contains("hookhost ui"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_views_say_what_happened_and_why() {
    let lab = Lab::new().await;
    lab.call("git status").await;
    assert!(lab.call("danger <script>").await.contains("deny"));
    let tab = lab.tab().await;
    for (view, parts) in [
        ("/", &["git status", "danger &lt;script&gt;", "rejected", "no-danger", "codex"][..]),
        ("/approvals", &["No question waits"]),
        ("/search?q=DANGER+decision:rejected", &["danger &lt;script&gt;", "1 event"]),
        ("/search?q=nothing-has-this", &["No event has all of these words"]),
        ("/rules?try=danger", &["careful", "rejected", "too dangerous &lt;b&gt;"]),
        ("/rules?try=%7B%22name%22%3A%22x%22%7D", &["allowed"]),
        ("/health", &["codex", "not verified", "otlp-logs is &lt;7&gt; behind", "hookhost telemetry flush"]),
        ("/report?since=1d", &["rejected", "no-danger</span>"]),
    ] {
        let answer = tab.get(view).await;
        assert_eq!(answer.status, 200, "{view}: {answer:?}");
        for part in parts {
            assert!(answer.body.contains(part), "{view} lacks {part}: {}", answer.body);
        }
        assert!(!answer.body.contains("<script>"), "{}", answer.body);
    }
    let now = tab.get("/").await.body;
    let link = now.split("href=\"/event/").nth(1).unwrap().split('"').next().unwrap();
    let why = tab.get(&format!("/event/{link}")).await.body;
    for part in ["careful", "too dangerous &lt;b&gt;", "no-danger", "As the agent sent it"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let again = tab.post(&format!("/event/{link}/again"), &json!({})).await;
    assert!(again.body.contains("The same"), "{again:?}");
    assert!(tab.post("/health/verify", &json!({})).await.body.contains("good"));
    for (path, status) in [("/event/99999", 200), ("/event/x", 500), ("/nothing", 404), ("/search/x", 404)] {
        assert_eq!(tab.get(path).await.status, status, "{path}");
    }
}

/// A plugin that may send requests to this machine.
fn sending() -> Config {
    let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), PathBuf::from);
    let mut guard = Entry::from_file("no-force-push", plugins.join("no_force_push.wasm")).unwrap();
    guard.grants.http = vec!["localhost:9".to_owned()];
    let careful = config().entries().to_vec();
    Config::from_entries([careful, vec![guard]].concat(), Settings::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_person_tries_reaches_no_plugin_that_may_have_an_effect() {
    let lab = Lab::with(sending).await;
    let tab = lab.tab().await;
    let tried = tab.get("/rules?try=git+push+--force").await.body;
    assert!(tried.contains("allowed") && tried.contains("no-force-push is not asked here"), "{tried}");
    let tried = tab.get("/rules?try=danger").await.body;
    assert!(tried.contains("too dangerous"), "{tried}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_opens_after_the_questions_were_answered_elsewhere_learns_that_none_waits() {
    let lab = Arc::new(Lab::new().await);
    let tab = lab.tab().await;
    let first = async |wanted: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", tab.port)).await.unwrap();
        stream.write_all(format!("{}\r\n", tab.head("GET", "/live")).as_bytes()).await.unwrap();
        let mut text = String::new();
        while !text.contains(wanted) {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        text
    };
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    lab.code_of_question().await;
    // The first reading says it, and so the reading of the log has the question.
    first("event: question").await;
    let open = lab.settler.host().questions().await.unwrap();
    while lab.page.unused() == Duration::ZERO {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    lab.settler.host().answer(&open[0].id, Approval::no()).await.unwrap();
    asked.await.unwrap();
    let text = first("event: waiting").await;
    assert!(text.contains("event: waiting\ndata: 0\n\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_counts_and_the_second_is_told_who_gave_it() {
    let lab = Arc::new(Lab::new().await);
    let tab = lab.tab().await;
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    let code = lab.code_of_question().await;
    let shown = tab.get("/approvals").await.body;
    for part in ["deploy now", "Deploy?", "careful", &code] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Only the whole code names the question, and only a known word is an answer. A yes names what was shown.
    let yes = lab.yes().await;
    assert!(shown.contains(&format!("data-shown={}", yes["shown"])), "{shown}");
    assert_eq!(tab.post(&format!("/approvals/{}", &code[..7]), &yes).await.status, 409);
    assert_eq!(tab.post(&format!("/approvals/{code}"), &json!({ "answer": "maybe" })).await.status, 400);
    assert_eq!(lab.refused().await, Vec::<Value>::new());
    let open = lab.settler.host().questions().await.unwrap();
    for _ in 0..25 {
        let refused = tab.post(&format!("/approvals/{code}"), &json!({ "answer": "yes" })).await;
        assert_eq!((refused.status, refused.body.contains("does not count")), (409, true), "{refused:?}");
    }
    let refused = lab.refused().await;
    assert_eq!(refused.len(), 20, "a program that sends many does not fill the log");
    assert!(refused.iter().all(|refused| refused["id"] == *open[0].id && refused["answer"]["via"] == "page"));
    lab.settler.host().answer(&open[0].id, Approval::no().by("bob").via("elsewhere")).await.unwrap();
    let late = tab.post(&format!("/approvals/{code}"), &yes).await;
    assert_eq!(late.status, 409, "{late:?}");
    assert!(asked.await.unwrap().contains("deny"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_on_the_page_lets_the_call_run_and_the_log_says_who_gave_it() {
    let lab = Arc::new(Lab::new().await);
    let tab = lab.tab().await;
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    let code = lab.code_of_question().await;
    let answer = tab.post(&format!("/approvals/{code}"), &lab.yes().await).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "Yes. It may run, once."));
    assert!(!asked.await.unwrap().contains("deny"));
    lab.settler.host().flush().await.unwrap();
    let log = hookhost::store::Log::open(&lab.database).unwrap();
    let texts: Vec<String> = log.lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect();
    assert!(texts.iter().any(|text| text.contains(r#""by":"ada","via":"page""#)), "{texts:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_was_exchanged_after_it_was_shown_gets_no_yes_and_no_challenge() {
    let lab = Arc::new(Lab::new().await);
    let tab = lab.tab().await;
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    let code = lab.code_of_question().await;
    let database = rusqlite::Connection::open(&lab.database).unwrap();
    let exchange = |from: &str, to: &str| {
        database.execute("UPDATE question SET request = replace(request, ?1, ?2)", [from, to]).unwrap()
    };
    // The page shows the harmless text, and the dangerous one is back before the click.
    assert_eq!(exchange("deploy now", "ls"), 1);
    let shown = lab.yes().await;
    assert_eq!(exchange("\"ls\"", "\"deploy now\""), 1);
    for path in [format!("/approvals/{code}/challenge"), format!("/approvals/{code}")] {
        assert_eq!(tab.post(&path, &shown).await.status, 409, "{path}");
    }
    assert_eq!(tab.post(&format!("/approvals/{code}"), &json!({ "answer": "no" })).await.status, 200);
    assert!(asked.await.unwrap().contains("deny"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_brings_new_rows_and_questions_and_goes_on_where_a_tab_stopped() {
    let lab = Arc::new(Lab::new().await);
    lab.call("before one").await;
    let tab = lab.tab().await;
    let mut stream = TcpStream::connect(("127.0.0.1", tab.port)).await.unwrap();
    stream.write_all(format!("{}Last-Event-ID: 0\r\n\r\n", tab.head("GET", "/live")).as_bytes()).await.unwrap();
    let mut text = String::new();
    let mut read_until = async |wanted: &str| {
        while !text.contains(wanted) {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    };
    read_until("before one").await;
    assert_eq!(lab.page.unused(), Duration::ZERO);
    // The reader of the log begins with the stream, so calls are made until one of them is among the new records.
    let calls = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move {
            for number in 0.. {
                lab.call(&format!("later {number}")).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    });
    read_until("later").await;
    calls.abort();
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    read_until("event: question").await;
    let code = lab.code_of_question().await;
    assert_eq!(tab.post(&format!("/approvals/{code}"), &json!({ "answer": "no" })).await.status, 200);
    read_until("event: gone").await;
    asked.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_link_that_a_person_asked_for_registers_the_first_passkey() {
    let lab = Lab::new().await;
    let new = json!({ "id": "aWQ", "key": "a2V5", "name": "laptop" });
    let tab = lab.tab().await;
    let refused = tab.post("/passkeys/challenge", &new).await;
    assert!(refused.status == 403 && refused.body.contains("hookhost passkey add"), "{refused:?}");
    let proof = json!({ "credential": "aWQ", "client-data": "e30", "authenticator-data": "AA", "signature": "AA" });
    let mut added = new.clone();
    added["own"] = proof;
    added["by"] = Value::Null;
    assert_eq!(tab.post("/passkeys", &added).await.status, 403);
    assert!(!tab.get("/passkeys").await.body.contains("data-register"));
    let link = lab.page.link(Path::new("/work"), LinkPurpose::Passkeys).unwrap();
    let code = link.split_once("/passkeys#").unwrap().1;
    let opened = tab.post("/session", &json!({ "code": code })).await;
    let token: Value = serde_json::from_str(&opened.body).unwrap();
    let registers = Tab { port: tab.port, token: token["token"].as_str().map(str::to_owned) };
    assert!(registers.get("/passkeys").await.body.contains("data-register"));
    let challenge = registers.post("/passkeys/challenge", &new).await;
    assert!(challenge.status == 200 && challenge.body.contains(r#""credentials":[]"#), "{challenge:?}");
    // The engine verifies the signature, and this is none.
    assert_eq!(registers.post("/passkeys", &added).await.status, 403);
    assert!(lab.settler.host().passkeys().await.unwrap().registered().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_script_the_views_and_a_no_work_and_a_yes_does_not() {
    let lab = Arc::new(Lab::new().await);
    lab.call("danger zone").await;
    let (port, code) = lab.link();
    let tab = Tab { port, token: None };
    let form = async |fields: String| {
        let length = fields.len();
        let kind = "Content-Type: application/x-www-form-urlencoded";
        tab.send(format!("{}{kind}\r\nContent-Length: {length}\r\n\r\n{fields}", tab.head("POST", "/plain"))).await
    };
    let entrance = tab.get("/plain").await;
    assert!(
        entrance.status == 200 && entrance.head.contains("form-action 'self'") && !entrance.head.contains("script-src")
    );
    assert_eq!(form("code=guessed".into()).await.status, 401);
    assert_eq!(form("token=guessed&path=/".into()).await.status, 401);
    let now = form(format!("code={code}")).await;
    assert!(now.status == 200 && now.body.contains("danger zone") && !now.body.contains("<script"), "{now:?}");
    let token = now.body.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let found = form(format!("token={token}&form=%2Fsearch&q=danger")).await;
    assert!(found.body.contains("1 event") && found.body.contains("name=\"form\" value=\"/search\""), "{found:?}");
    let asked = tokio::spawn({
        let lab = Arc::clone(&lab);
        async move { lab.call("deploy now").await }
    });
    let code = lab.code_of_question().await;
    let approvals = form(format!("token={token}&path=/approvals")).await;
    assert!(approvals.body.contains("deploy now") && !approvals.body.contains(">Yes, once<"), "{approvals:?}");
    for answer in ["yes", "yes-for-session"] {
        form(format!("token={token}&act=/approvals/{code}+{answer}&from=/approvals")).await;
        assert_eq!(lab.settler.host().questions().await.unwrap().len(), 1);
    }
    // The address of a view comes from the request, so it is a text like any other.
    for field in ["path", "from", "form"] {
        let strange = form(format!("token={token}&{field}=/approvals/%22%3E%3Cscript%3Ealert(1)%3C/script%3E")).await;
        assert!(strange.body.contains("deploy now") && !strange.body.contains("<script"), "{strange:?}");
    }
    let done = form(format!("token={token}&act=/approvals/{code}+no&from=/approvals")).await;
    assert!(done.body.contains("It does not run") && done.body.contains("No question waits"), "{done:?}");
    assert!(asked.await.unwrap().contains("deny"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_the_program_takes_over_the_port_and_the_tabs() {
    let lab = Lab::new().await;
    lab.call("git status").await;
    let tab = lab.tab().await;
    let inherited = lab.page.stop();
    let mut settings = PageSettings::new(&lab.settler, lab.database.clone());
    settings.inherited = inherited;
    let next = Page::new(settings);
    let answer = tab.get("/").await;
    assert!(answer.status == 200 && answer.body.contains("git status"), "{answer:?}");
    assert!(
        next.link(Path::new("/work"), LinkPurpose::View)
            .unwrap()
            .starts_with(&format!("http://localhost:{}/#", tab.port))
    );
}
