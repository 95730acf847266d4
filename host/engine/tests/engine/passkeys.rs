//! Approvals that need a passkey: only a signature over exactly this question and this answer counts, whichever way the
//! answer comes.

use crate::soft_authenticator::SoftAuthenticator;
use crate::support::{asking, bash, builder, plugin, spec, written};
use hookhost::approval::{Approval, ApprovalRequest};
use hookhost::audit::{AnswerRefused, ApprovalRecord, Flaw, Line, OperatorActionKind, Record};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{AnswerKind, PasskeyProof, ToolCall, ToolOrigin, ToolResult};
use hookhost::passkey::{InvalidChange, InvalidProof};
use hookhost::session::Clock;
use hookhost::store::Log;
use hookhost::{Config, Decision, Host, PasskeyError, PendingApproval, QuestionGone, Session, SessionSpec};
use rusqlite::Connection;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

type Outcome = Decision<ToolCall, ToolResult>;

/// A store in which a passkey is registered, a process that asks, and a process in which a person answers.
struct Guarded {
    _directory: tempfile::TempDir,
    log: PathBuf,
    passkey: SoftAuthenticator,
    asker: Host,
    person: Host,
}

fn asks_about_all() -> Entry {
    plugin("asks", json!({"before-tool-call": {"verdict": "escalate", "question": "sure?"}}))
}

async fn host_at(log: &Path, entries: Vec<Entry>) -> Host {
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    builder(config).store(log).share_questions().build().await.unwrap()
}

async fn add(host: &Host, new: &SoftAuthenticator, by: Option<&SoftAuthenticator>) -> Result<(), PasskeyError> {
    let passkey = new.new_passkey("my key");
    let challenge = host.passkeys().await?.challenge_to_add(&passkey).to_string();
    host.add_passkey(passkey, new.sign(&challenge), by.map(|by| by.sign(&challenge))).await
}

impl Guarded {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        let asker = host_at(&log, vec![asks_about_all()]).await;
        let person = host_at(&log, vec![]).await;
        let passkey = SoftAuthenticator::new("first");
        add(&person, &passkey, None).await.unwrap();
        Self { _directory: directory, log, passkey, asker, person }
    }

    fn session(&self) -> Session {
        self.asker.open_session(spec()).unwrap()
    }

    async fn proof(&self, request: &ApprovalRequest) -> PasskeyProof {
        self.passkey.sign(&self.challenge(request, false).await)
    }

    /// Returns what a passkey signs to answer the question as it is stored.
    async fn challenge(&self, request: &ApprovalRequest, for_session: bool) -> String {
        let open = self.person.questions().await.unwrap();
        let stored = open.iter().find(|stored| stored.id == request.id).unwrap();
        stored.challenge(for_session).unwrap().to_string()
    }

    /// Runs SQL in the database, as any program of the user can.
    fn sql(&self, statement: &str, parameters: impl rusqlite::Params) {
        assert_eq!(Connection::open(&self.log).unwrap().execute(statement, parameters).unwrap(), 1);
    }

    async fn refused(&self) -> Vec<AnswerRefused> {
        self.asker.flush().await.unwrap();
        self.person.flush().await.unwrap();
        let refused = |record| if let Record::AnswerRefused(refused) = record { Some(refused) } else { None };
        written(&self.log).into_iter().filter_map(refused).collect()
    }

    fn answers(&self) -> Vec<ApprovalRecord> {
        let answer = |record| if let Record::Approval(answer) = record { Some(answer) } else { None };
        written(&self.log).into_iter().filter_map(answer).collect()
    }
}

async fn ask(session: &Session, command: &str) -> PendingApproval<ToolCall, ToolResult> {
    session.begin_before_tool_call(bash(session, command)).await.into_final().expect_err("nobody asks")
}

async fn wait(pending: PendingApproval<ToolCall, ToolResult>) -> Outcome {
    pending.wait().await.into_final().expect("not asked again").outcome
}

fn why(error: QuestionGone) -> InvalidProof {
    match error {
        QuestionGone::Unproven { why, .. } => why,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_yes_with_a_proof_counts_and_the_log_says_who_gave_it_how_and_from_where() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let pending = ask(&session, "deploy").await;
    let request = pending.request().clone();
    let yes = Approval::yes().by("ada").via("page").from("page").proof(guarded.proof(&request).await);
    guarded.person.answer(&request.id, yes).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
    let answers = guarded.answers();
    let answer = &answers[0].answer;
    assert_eq!((answer.by.as_deref(), answer.from.as_deref()), (Some("ada"), Some("page")));
    assert_eq!(answers[0].call, request.tool_call().map(|call| call.id));
    assert_eq!(answer.proof.as_ref().unwrap().credential, guarded.passkey.id);
    assert!(guarded.refused().await.is_empty());
    assert!(Log::open(&guarded.log).unwrap().verify(None).unwrap().is_sound());
}

#[tokio::test]
async fn a_no_needs_no_proof() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let pending = ask(&session, "deploy").await;
    guarded.person.answer(&pending.request().id, Approval::no()).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Rejected(_)));
    let from = guarded.answers()[0].answer.from.clone().unwrap();
    assert!(from.ends_with(&format!("(process {})", std::process::id())), "{from}");
}

#[tokio::test]
async fn a_yes_whose_proof_is_missing_or_belongs_elsewhere_is_refused_and_recorded_and_the_question_stays_open() {
    let mut guarded = Guarded::new().await;
    let session = guarded.session();
    let (pending, other) = (ask(&session, "deploy").await, ask(&session, "ls").await);
    let request = pending.request().clone();
    let challenge = guarded.challenge(&request, false).await;
    let for_session = guarded.challenge(&request, true).await;
    let of_other = guarded.proof(other.request()).await;
    let mut attempts = vec![
        (Approval::yes(), InvalidProof::Missing),
        (Approval::yes().proof(of_other), InvalidProof::OtherChallenge),
        (Approval::yes().proof(guarded.passkey.sign(&for_session)), InvalidProof::OtherChallenge),
        (Approval::yes_for_session().proof(guarded.passkey.sign(&challenge)), InvalidProof::OtherChallenge),
        (Approval::yes().proof(SoftAuthenticator::new("second").sign(&challenge)), InvalidProof::NotRegistered),
        // The same identifier, but another key.
        (Approval::yes().proof(SoftAuthenticator::new("first").sign(&challenge)), InvalidProof::Signature),
    ];
    let passkey = &mut guarded.passkey;
    for origin in [
        "https://localhost:40123",
        "http://localhost",
        "http://localhost:",
        "http://127.0.0.1:1",
        "http://a.localhost:1",
        "http://localhost:1@evil.test:2",
    ] {
        passkey.origin = origin;
        attempts.push((Approval::yes().proof(passkey.sign(&challenge)), InvalidProof::OtherOrigin(origin.to_owned())));
    }
    passkey.origin = "http://localhost:1";
    passkey.more_client_data = r#","topOrigin":"http://evil.test""#;
    attempts.push((Approval::yes().proof(passkey.sign(&challenge)), InvalidProof::Framed));
    (passkey.more_client_data, passkey.purpose) = ("", "webauthn.create");
    let purpose = InvalidProof::OtherPurpose("webauthn.create".to_owned());
    attempts.push((Approval::yes().proof(passkey.sign(&challenge)), purpose));
    (passkey.purpose, passkey.relying_party) = ("webauthn.get", "evil.test");
    attempts.push((Approval::yes().proof(passkey.sign(&challenge)), InvalidProof::OtherRelyingParty));
    passkey.relying_party = "localhost";
    for flags in [0, 0b001, 0b100] {
        passkey.flags = flags;
        attempts.push((Approval::yes().proof(passkey.sign(&challenge)), InvalidProof::NotVerified));
    }
    passkey.flags = 0b101;
    let mut unreadable = passkey.sign(&challenge);
    unreadable.authenticator_data.truncate(40);
    attempts.push((Approval::yes().proof(unreadable), InvalidProof::Unreadable("authenticator-data is too short")));
    let expected: Vec<_> = attempts.iter().map(|(_, why)| why.to_string()).collect();
    for (attempt, reason) in attempts {
        assert_eq!(why(guarded.person.answer(&request.id, attempt).await.unwrap_err()), reason);
    }
    let refused = guarded.refused().await;
    assert_eq!(refused.iter().map(|refused| refused.why.clone()).collect::<Vec<_>>(), expected);
    assert!(refused.iter().all(|refused| refused.id == request.id && refused.answer.proof.is_none()));
    // The person can still answer.
    guarded.person.answer(&request.id, Approval::yes().proof(guarded.proof(&request).await)).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
    drop(other);
}

#[tokio::test]
async fn a_yes_that_another_process_writes_into_the_database_does_not_count() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let replayed = {
        let pending = ask(&session, "deploy").await;
        let proof = guarded.proof(pending.request()).await;
        guarded.person.answer(&pending.request().id, Approval::yes().proof(proof.clone())).await.unwrap();
        assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
        serde_json::to_value(proof).unwrap()
    };
    let plain = json!({"kind": "approved", "micros": 0, "by": "ada"});
    let with_proof = json!({"kind": "approved", "micros": 0, "by": "ada", "proof": replayed});
    for forged in [plain, with_proof] {
        let pending = ask(&session, "deploy").await;
        let id = pending.request().id.clone();
        guarded.sql("UPDATE question SET answer = ?2 WHERE id = ?1", (&id, forged.to_string()));
        let Decision::Rejected(rejection) = wait(pending).await else { panic!("it counted") };
        assert!(rejection.to_string().contains("does not count"), "{rejection}");
    }
    let refused = guarded.refused().await;
    assert_eq!(refused.len(), 2);
    assert!(refused.iter().all(|refused| refused.answer.by.as_deref() == Some("ada")));
}

#[tokio::test]
async fn a_signature_over_a_question_that_was_changed_in_the_database_does_not_count() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let pending = ask(&session, "rm -rf /").await;
    let id = pending.request().id.clone();
    guarded.sql("UPDATE question SET request = replace(request, 'rm -rf /', 'ls') WHERE id = ?1", [&id]);
    // The page shows the harmless text, and the person signs it.
    let shown = guarded.person.questions().await.unwrap().remove(0);
    assert!(shown.tool_call().unwrap().arguments.contains("ls"));
    guarded.person.answer(&id, Approval::yes().proof(guarded.proof(&shown).await)).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Rejected(_)));
    assert_eq!(guarded.refused().await[0].why, InvalidProof::OtherChallenge.to_string());
}

#[tokio::test]
async fn a_question_in_the_row_of_another_one_is_not_shown() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let (pending, other) = (ask(&session, "deploy").await, ask(&session, "ls").await);
    let (id, other_id) = (pending.request().id.clone(), other.request().id.clone());
    let exchange = "UPDATE question SET request = replace(request, ?1, ?2) WHERE id = ?1";
    guarded.sql(exchange, [&id, &other_id]);
    let shown: Vec<_> = guarded.person.questions().await.unwrap().into_iter().map(|shown| shown.id).collect();
    assert_eq!(shown, [other_id]);
    assert!(matches!(guarded.person.answer(&id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
}

#[tokio::test]
async fn an_approver_of_the_program_itself_and_the_agents_own_prompt_cannot_say_yes() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let outcome = ask(&session, "deploy").await.resolve(Approval::yes()).await.into_final().unwrap().outcome;
    assert!(matches!(outcome, Decision::Rejected(_)));
    async fn says_yes(_: ApprovalRequest) -> Approval {
        Approval::yes()
    }
    assert!(matches!(ask(&session, "deploy").await.ask(&says_yes).await.outcome, Decision::Rejected(_)));
    assert_eq!(guarded.refused().await.len(), 2);
    let handed_over = ask(&session, "deploy").await.hand_over("the agent").await;
    assert!(matches!(handed_over, Err(QuestionGone::NeedsPasskey(_))));
}

#[tokio::test]
async fn a_further_passkey_and_the_removal_of_one_need_a_registered_one() {
    let guarded = Guarded::new().await;
    let (first, second) = (&guarded.passkey, SoftAuthenticator::new("second"));
    let refused = |result: Result<(), PasskeyError>| match result {
        Err(PasskeyError::Change(InvalidChange::Proof(why))) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(add(&guarded.person, &second, None).await), InvalidProof::Missing);
    assert_eq!(refused(add(&guarded.person, &second, Some(&second)).await), InvalidProof::NotRegistered);
    let of_removal = |passkeys: hookhost::passkey::Passkeys, id: &str| passkeys.challenge_to_remove(id).to_string();
    let challenge = of_removal(guarded.person.passkeys().await.unwrap(), &first.id);
    let foreign = second.sign(&challenge);
    assert_eq!(refused(guarded.person.remove_passkey(&first.id, foreign).await), InvalidProof::NotRegistered);
    let before = first.sign(&challenge);
    add(&guarded.person, &second, Some(first)).await.unwrap();
    // The signature is about the passkeys that were registered then.
    assert_eq!(refused(guarded.person.remove_passkey(&first.id, before).await), InvalidProof::OtherChallenge);
    let challenge = of_removal(guarded.person.passkeys().await.unwrap(), &first.id);
    guarded.person.remove_passkey(&first.id, second.sign(&challenge)).await.unwrap();
    // The other process sees the change.
    let now = guarded.asker.passkeys().await.unwrap();
    assert_eq!(now.registered().iter().map(|known| &*known.id).collect::<Vec<_>>(), [&*second.id]);
    let actions = written(&guarded.log);
    let actions = actions.iter().filter_map(|record| match record {
        Record::Operator(action) => Some(action.action),
        _ => None,
    });
    use OperatorActionKind::{PasskeyAdd, PasskeyRemove};
    assert_eq!(actions.collect::<Vec<_>>(), [PasskeyAdd, PasskeyAdd, PasskeyRemove]);
    assert!(Log::open(&guarded.log).unwrap().verify(None).unwrap().is_sound());
}

#[tokio::test]
async fn after_passkeys_vanish_from_the_database_a_process_that_knew_them_lets_no_yes_count() {
    for statement in ["DELETE FROM passkey", "UPDATE passkey SET record = '{}'", "DROP TABLE passkey"] {
        let guarded = Guarded::new().await;
        let session = guarded.session();
        let pending = ask(&session, "deploy").await;
        Connection::open(&guarded.log).unwrap().execute(statement, []).unwrap();
        let error = guarded.person.answer(&pending.request().id, Approval::yes()).await.unwrap_err();
        assert!(matches!(why(error), InvalidProof::Altered(_)), "{statement}");
        guarded.person.answer(&pending.request().id, Approval::no()).await.unwrap();
        assert!(matches!(wait(pending).await, Decision::Rejected(_)), "{statement}");
    }
}

#[tokio::test]
async fn after_passkeys_vanish_from_the_database_a_process_that_starts_later_lets_no_yes_count_either() {
    for statement in ["DROP TABLE passkey", "DELETE FROM passkey"] {
        let guarded = Guarded::new().await;
        Connection::open(&guarded.log).unwrap().execute(statement, []).unwrap();
        let guarded = Guarded {
            asker: host_at(&guarded.log, vec![asks_about_all()]).await,
            person: host_at(&guarded.log, vec![]).await,
            ..guarded
        };
        let pending = ask(&guarded.session(), "deploy").await;
        let error = guarded.person.answer(&pending.request().id, Approval::yes()).await.unwrap_err();
        assert!(matches!(why(error), InvalidProof::Altered(_)), "{statement}");
        assert!(Log::open(&guarded.log).unwrap().passkeys().unwrap().unwrap().altered().is_some(), "{statement}");
        // The log was read once, so removing the record from it as well is of no use.
        let sql = Connection::open(&guarded.log).unwrap();
        assert_eq!(sql.execute("DELETE FROM audit WHERE instr(line, '\"passkey-add\"') > 0", []).unwrap(), 1);
        let error = guarded.person.answer(&pending.request().id, Approval::yes()).await.unwrap_err();
        assert!(matches!(why(error), InvalidProof::Altered(_)), "{statement}");
    }
}

#[test]
fn the_log_is_searched_for_passkeys_on_a_thread_for_blocking_work() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        drop(host_at(&log, vec![]).await);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let occupied = tokio::task::spawn_blocking(move || released.recv());
        let mut host = std::pin::pin!(host_at(&log, vec![]));
        assert!(tokio::time::timeout(Duration::from_millis(500), host.as_mut()).await.is_err());
        release.send(()).unwrap();
        occupied.await.unwrap().unwrap();
        host.await;
    });
}

#[tokio::test]
async fn with_the_archive_of_a_registration_elsewhere_each_yes_is_still_verified() {
    let guarded = Guarded::new().await;
    guarded.asker.flush().await.unwrap();
    let archived = guarded.person.archive(u64::MAX).await.unwrap().unwrap();
    assert_eq!(archived.passkeys.len(), 1);
    std::fs::remove_dir_all(format!("{}-archive", guarded.log.display())).unwrap();
    let pending = ask(&guarded.session(), "deploy").await;
    let yes = Approval::yes().proof(guarded.proof(pending.request()).await);
    guarded.person.answer(&pending.request().id, yes).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
    let second = SoftAuthenticator::new("second");
    add(&guarded.person, &second, Some(&guarded.passkey)).await.unwrap();
    guarded.asker.flush().await.unwrap();
    let log = Log::open(&guarded.log).unwrap();
    assert_eq!(log.verify(None).unwrap().flaws, []);
    assert_eq!(log.passkeys().unwrap().unwrap().registered().len(), 2);
    Connection::open(&guarded.log).unwrap().execute("DELETE FROM passkey", []).unwrap();
    assert!(matches!(log.verify(None).unwrap().flaws[..], [Flaw::Passkeys(_)]));
}

#[tokio::test]
async fn a_database_without_passkeys_has_no_table_of_them_and_one_that_is_not_as_hookhost_makes_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let host = host_at(&log, vec![]).await;
    let table = "SELECT count(*) FROM sqlite_schema WHERE name = 'passkey'";
    let tables = || Connection::open(&log).unwrap().query_row(table, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(tables(), 0);
    add(&host, &SoftAuthenticator::new("first"), None).await.unwrap();
    assert_eq!(tables(), 1);
    drop(host);
    drop(host_at(&log, vec![]).await);
    Connection::open(&log).unwrap().execute_batch("DROP TABLE passkey; CREATE TABLE passkey (seq, record)").unwrap();
    let refused = builder(Config::empty()).store(&log).build().await.unwrap_err();
    assert!(refused.to_string().contains("a table `passkey` that is not as hookhost makes it"), "{refused}");
}

#[tokio::test]
async fn a_rejected_call_passes_once_with_a_proof_and_neither_replayed_nor_for_another_call() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let asker = builder(asking("*", "on-question = 'reject'", vec![])).store(&log).share_questions();
    let asker = asker.build().await.unwrap();
    let person = host_at(&log, vec![]).await;
    let passkey = SoftAuthenticator::new("first");
    add(&person, &passkey, None).await.unwrap();
    let guarded = Guarded { _directory: directory, log, passkey, asker, person };
    let session = guarded.asker.open_session(SessionSpec::new("test", Path::new("/work")).id("s")).unwrap();
    // Each call has its own identifier, because the same call may be reported twice.
    let number = std::cell::Cell::new(0);
    let call = async |command: &str| {
        number.set(number.get() + 1);
        let arguments = json!({ "command": command });
        let call = session.tool_call(&number.get().to_string(), "bash", &arguments, ToolOrigin::Builtin);
        session.before_tool_call(call).await.outcome.is_allowed()
    };
    assert!(!call("deploy").await);
    let request = guarded.person.questions().await.unwrap().remove(0);
    let refused = guarded.person.answer(&request.id, Approval::yes()).await.unwrap_err();
    assert_eq!(why(refused), InvalidProof::Missing);
    guarded.person.answer(&request.id, Approval::yes().proof(guarded.proof(&request).await)).await.unwrap();
    let sql = Connection::open(&guarded.log).unwrap();
    let row = |sql: &Connection| {
        sql.query_row(
            "SELECT session, asker, expires, request, answer FROM question WHERE id = ?1",
            [&request.id],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, String>(3)?,
                    row.get::<_, String>(4)?,
                ))
            },
        )
        .unwrap()
    };
    let (of_session, asker, expires, text, answer) = row(&sql);
    assert!(call("deploy").await);
    let put_back = |text: &str| {
        let insert = "INSERT OR REPLACE INTO question (id, session, asker, expires, answerable, request, answer) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)";
        sql.execute(insert, (&request.id, &of_session, asker, expires, text, &answer)).unwrap();
    };
    put_back(&text);
    assert!(!call("deploy").await, "the approval is used up");
    assert!(!call("rm").await);
    let harmful =
        guarded.person.questions().await.unwrap().into_iter().find(|waiting| waiting.value.get().contains("rm"));
    // A program gives the approved text the terms of another call.
    let text = text.replace(&request.terms.unwrap().to_string(), &harmful.unwrap().terms.unwrap().to_string());
    sql.execute("DELETE FROM question", []).unwrap();
    put_back(&text);
    assert!(!call("rm").await, "the approval is about another call");
    assert_eq!(guarded.refused().await.len(), 3);
}

#[tokio::test]
async fn the_second_answer_is_told_what_the_first_was_and_who_gave_it() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let pending = ask(&session, "deploy").await;
    let id = pending.request().id.clone();
    guarded.person.answer(&id, Approval::no().by("ada").via("page").from("page")).await.unwrap();
    let late = guarded.person.answer(&id, Approval::no().by("bob")).await.unwrap_err();
    assert!(late.to_string().ends_with("has been answered already: no by ada via page from page"), "{late}");
    assert!(matches!(wait(pending).await, Decision::Rejected(_)));
}

#[tokio::test]
async fn fifty_questions_of_ten_sessions_at_once_each_get_their_own_answer() {
    let guarded = Guarded::new().await;
    let sessions: Vec<_> = (0..10)
        .map(|n| {
            Arc::new(
                guarded.asker.open_session(SessionSpec::new("test", Path::new("/work")).id(format!("s{n}"))).unwrap(),
            )
        })
        .collect();
    let asked = (0..50).map(|n| {
        let session = Arc::clone(&sessions[n % 10]);
        tokio::spawn(async move {
            let command = format!("command {n}");
            let outcome = wait(ask(&session, &command).await).await;
            (n, command, outcome)
        })
    });
    let asked: Vec<_> = asked.collect();
    while guarded.person.questions().await.unwrap().len() < 50 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The newest first, and every other one is denied.
    for request in guarded.person.questions().await.unwrap().into_iter().rev() {
        let call = request.tool_call().unwrap();
        let digits: String = call.arguments.chars().filter(char::is_ascii_digit).collect();
        let answer = match digits.parse::<u32>().unwrap() % 2 {
            0 => Approval::yes().proof(guarded.proof(&request).await),
            _ => Approval::no(),
        };
        guarded.person.answer(&request.id, answer).await.unwrap();
    }
    for asked in asked {
        let (n, command, outcome) = asked.await.unwrap();
        match outcome {
            Decision::Allowed { value } => assert!(n % 2 == 0 && value.arguments.contains(&command)),
            _ => assert_eq!(n % 2, 1),
        }
    }
    let approved = |answer: &ApprovalRecord| answer.answer.kind == AnswerKind::Approved;
    assert_eq!(guarded.answers().iter().filter(|answer| approved(answer)).count(), 25);
}

/// A clock that a test moves.
#[derive(Default)]
struct Moved(AtomicU64);

impl Clock for Moved {
    fn now(&self) -> SystemTime {
        SystemTime::now() + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

#[tokio::test]
async fn a_question_can_be_answered_though_the_clock_was_set_forward_by_an_hour_meanwhile() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    let pending = ask(&session, "deploy").await;
    let clock = Arc::new(Moved::default());
    clock.0.store(3600, Ordering::Relaxed);
    let person = builder(Config::empty()).store(&guarded.log).share_questions().clock(clock).build().await.unwrap();
    let request = person.questions().await.unwrap().remove(0);
    person.answer(&request.id, Approval::yes().proof(guarded.proof(&request).await)).await.unwrap();
    assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
}

#[tokio::test]
async fn a_program_with_a_terminal_shares_its_questions_with_the_page_as_soon_as_there_is_a_passkey() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let person = host_at(&log, vec![]).await;
    for is_shared in [false, true] {
        let config = Config::from_entries(vec![asks_about_all()], Settings::default()).unwrap();
        let run = builder(config).store(&log).share_questions_with_passkey().build().await.unwrap();
        let session = run.open_session(spec()).unwrap();
        let pending = ask(&session, "deploy").await;
        assert_eq!(person.questions().await.unwrap().len(), usize::from(is_shared));
        assert_eq!(pending.needs_passkey().await, is_shared);
        drop(pending);
        if !is_shared {
            add(&person, &SoftAuthenticator::new("first"), None).await.unwrap();
        }
    }
}

/// Writes the log as an export in which `change` has changed each line, with a new chain of hashes.
fn rewritten(log: &Path, change: impl Fn(&str) -> String) -> PathBuf {
    let mut previous = "0".repeat(64);
    let mut export = String::new();
    for line in Log::open(log).unwrap().lines().unwrap() {
        let line = line.unwrap();
        let text = change(line.text()).replace(&line.previous().to_string(), &previous);
        previous = Line::parse(&text).unwrap().hash().to_string();
        export.push_str(&format!("{text}\n"));
    }
    let path = log.with_extension("jsonl");
    std::fs::write(&path, export).unwrap();
    path
}

#[tokio::test]
async fn the_verification_of_a_log_verifies_each_yes_with_the_keys_that_the_log_itself_names() {
    let guarded = Guarded::new().await;
    let session = guarded.session();
    for command in ["deploy", "ls"] {
        let pending = ask(&session, command).await;
        let yes = Approval::yes().by("ada").proof(guarded.proof(pending.request()).await);
        guarded.person.answer(&pending.request().id, yes).await.unwrap();
        assert!(matches!(wait(pending).await, Decision::Allowed { .. }));
    }
    guarded.asker.flush().await.unwrap();
    let verified = |path: &Path| Log::open(path).unwrap().verify(None).unwrap().flaws;
    assert_eq!(verified(&rewritten(&guarded.log, str::to_owned)), []);
    let proofs: Vec<String> = guarded
        .answers()
        .iter()
        .map(|answer| serde_json::to_string(answer.answer.proof.as_ref().unwrap()).unwrap())
        .collect();
    // Without its signature, with that of another question, as another answer.
    for (of, with) in [
        (format!(r#","proof":{}"#, proofs[0]), String::new()),
        (proofs[0].clone(), proofs[1].clone()),
        (format!(r#","proof":{}"#, proofs[0]), format!(r#","for-session":true,"proof":{}"#, proofs[0])),
    ] {
        let flaws = verified(&rewritten(&guarded.log, |line| line.replace(&of, &with)));
        assert!(matches!(flaws.as_slice(), [Flaw::Unproven { .. }]), "{flaws:?}");
    }
    // Another key in the registration.
    let key = guarded.passkey.new_passkey("").key;
    let other = SoftAuthenticator::new("first").new_passkey("").key;
    let flaws = verified(&rewritten(&guarded.log, |line| line.replace(&key, &other)));
    assert!(matches!(flaws[0], Flaw::Passkeys(_)), "{flaws:?}");
    // A table of passkeys that differs from the log.
    Connection::open(&guarded.log).unwrap().execute("DELETE FROM passkey", []).unwrap();
    assert!(matches!(verified(&guarded.log)[..], [Flaw::Passkeys(_)]));
}
