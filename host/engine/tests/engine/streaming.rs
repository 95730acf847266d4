//! An answer as it streams in: what is given to be shown when, and what waits.

use crate::support::{builder, spec};
use futures_util::FutureExt as _;
use hookhost::audit::{MemoryLog, Record};
use hookhost::config::{Entry, Mode, Settings};
use hookhost::contract::{Cause, EventKind, Refusal, Stop, TextVerdict, Usage};
use hookhost::{Config, FinalText, Host, Piece, Rule, Session, TextStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);

fn entry(name: &str, rule: Rule) -> Entry {
    let mut entry = Entry::from_rule(name, rule);
    // The machine may be busy; these tests are not about deadlines.
    (entry.limits.deadline, entry.limits.compute) = (Some(TIMEOUT), Some(TIMEOUT));
    entry
}

fn refusal(text: &str) -> TextVerdict {
    if text.contains("secret") { TextVerdict::Reject(Refusal::new("hush")) } else { TextVerdict::Keep }
}

/// Puts each line between brackets, and withholds those with a secret.
fn brackets() -> Entry {
    let bracketed = |line: &str| match refusal(line) {
        TextVerdict::Keep => TextVerdict::Replace(format!("<{line}>")),
        other => other,
    };
    entry("brackets", Rule::new().stream_delta(move |_, line| bracketed(line)))
}

/// Withholds final texts with a secret, changes those with a name, and keeps others.
fn finalizer() -> Entry {
    let settled = |text: &str| match refusal(text) {
        TextVerdict::Keep if text.contains("Ada") => TextVerdict::Replace(text.replace("Ada", "the user")),
        verdict => verdict,
    };
    entry("finalizer", Rule::new().finalize_content(move |_, text| settled(text)))
}

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

fn unfinalised(entries: Vec<Entry>) -> Config {
    let mut settings = Settings::default();
    settings.stream_unfinalised = true;
    Config::from_entries(entries, settings).unwrap()
}

/// A host with a log, and a session in it.
async fn start(config: Config) -> (Host, Session, MemoryLog) {
    let log = MemoryLog::new();
    let host = builder(config).audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    (host, session, log)
}

async fn session(config: Config) -> Session {
    start(config).await.1
}

fn texts(pieces: &[Piece]) -> Vec<&str> {
    pieces.iter().map(|piece| &*piece.text).collect()
}

/// The texts that plugins were asked about or told, in order.
async fn events(host: &Host, log: &MemoryLog, event: EventKind) -> Vec<String> {
    host.drain(TIMEOUT).await.unwrap();
    let of = |record: &Record| match record {
        Record::Event(record) if record.event == event => Some(serde_json::from_str(record.original.get()).unwrap()),
        _ => None,
    };
    log.records().iter().filter_map(of).collect()
}

/// What a whole answer shows that comes in these deltas.
async fn shown<'d>(session: &Session, deltas: impl IntoIterator<Item = &'d str>) -> (String, FinalText) {
    let mut stream = session.stream();
    let mut shown = String::new();
    for delta in deltas {
        shown += &texts(&stream.push(delta).await).concat();
    }
    let last = stream.finish().await;
    if last.replaces {
        shown.clear();
    }
    shown += &texts(&last.pieces).concat();
    (shown, last)
}

#[tokio::test]
async fn without_subscribers_text_is_given_as_it_comes_and_recorded_by_line() {
    let (host, session, log) = start(Config::empty()).await;
    let mut stream = session.stream();
    for delta in ["on", "e\ntw", "o\nthr", "ee"] {
        assert_eq!(texts(&stream.push(delta).await), [delta]);
        assert_eq!(stream.held_bytes(), 0);
    }
    assert!(stream.push("").await.is_empty());
    let last = stream.finish().await;
    assert!(last.pieces.is_empty() && !last.replaces, "{last:?}");
    assert_eq!((&*last.text, &*last.shown), ("one\ntwo\nthree", "one\ntwo\nthree"));
    assert_eq!(events(&host, &log, EventKind::StreamDelta).await, ["one\n", "two\n", "three"]);
    assert_eq!(events(&host, &log, EventKind::StreamEnd).await, ["one\ntwo\nthree"]);
    assert_eq!(events(&host, &log, EventKind::FinalizeContent).await, ["one\ntwo\nthree"]);
}

#[tokio::test]
async fn a_subscriber_of_stream_delta_is_asked_about_whole_lines_before_they_are_given() {
    let session = session(config(vec![brackets()])).await;
    let mut stream = session.stream();
    assert!(stream.push("on").await.is_empty());
    assert_eq!(stream.held_bytes(), 2);
    assert_eq!(texts(&stream.push("e\na sec").await), ["<one\n>"]);
    let pieces = stream.push("ret\nend").await;
    assert_eq!(texts(&pieces), ["[withheld: Rejected by brackets: hush]\n"]);
    assert_eq!(pieces[0].rejection.as_ref().unwrap().by, ["brackets"]);
    // Before a tool call, the beginning of a line is a piece of its own.
    assert_eq!(texts(&stream.flush().await), ["<end>"]);
    assert_eq!(texts(&stream.push(" of it\n").await), ["< of it\n>"]);
    let last = stream.finish().await;
    assert_eq!(last.text, "one\na secret\nend of it\n", "the conversation keeps the model's words");
    assert_eq!(last.shown, "<one\n>[withheld: Rejected by brackets: hush]\n<end>< of it\n>");
}

#[tokio::test]
async fn a_rejection_of_a_line_says_what_it_ends() {
    let stops = |_: &_, _: &str| Some(Refusal { stop: true, ..Refusal::new("enough") });
    let session = session(config(vec![entry("stops", Rule::new().stream_delta(stops))])).await;
    let pieces = session.stream().push("one\n").await;
    assert_eq!(pieces[0].rejection.as_ref().unwrap().ends, Some(Stop::Run));
}

#[tokio::test]
async fn of_a_line_without_an_end_4_kib_are_asked_about_at_a_time() {
    let (host, session, log) = start(config(vec![brackets()])).await;
    let long = "ä".repeat(5000);
    let mut stream = session.stream();
    let given = stream.push(&long).await;
    assert_eq!((given.len(), stream.held_bytes()), (2, 10_000 - 2 * 4096));
    assert_eq!(stream.finish().await.pieces.len(), 1);
    let asked = events(&host, &log, EventKind::StreamDelta).await;
    assert_eq!((asked.concat(), asked[0].len(), asked[1].len()), (long, 4096, 4096));
}

#[tokio::test]
async fn nothing_is_given_that_a_subscriber_of_finalize_content_may_still_withhold() {
    let session = session(config(vec![finalizer()])).await;
    for (text, given) in [
        ("Hello.\nBye", vec!["Hello.\n", "Bye"]),
        ("Hello,\nAda", vec!["Hello,\n", "the user"]),
        ("a\nsecret", vec!["[withheld: Rejected by finalizer: hush]"]),
        ("", vec![]),
    ] {
        let mut stream = session.stream();
        assert!(stream.push(text).await.is_empty());
        assert!(stream.flush().await.is_empty() && stream.end().await.is_empty());
        assert!(stream.is_held());
        assert_eq!(stream.held_bytes(), text.len());
        let last = stream.finish().await;
        assert_eq!(texts(&last.pieces), given);
        assert!(!last.replaces, "nothing was shown before");
        assert_eq!((&last.text, &last.shown), (&given.concat(), &given.concat()));
    }
}

#[tokio::test]
async fn a_final_text_passes_stream_delta_before_it_is_given() {
    let (host, session, log) = start(config(vec![brackets(), finalizer()])).await;
    let (shown, last) = shown(&session, ["Hello,\nAd", "a"]).await;
    assert_eq!(shown, "<Hello,\n><the user>");
    assert_eq!((last.text, last.shown), ("Hello,\nthe user".to_owned(), shown));
    assert_eq!(
        events(&host, &log, EventKind::StreamDelta).await,
        ["Hello,\n", "the user"],
        "each line once, as it is shown"
    );
}

#[tokio::test]
async fn under_stream_unfinalised_text_is_given_at_once_and_replaced_by_a_final_text_that_differs() {
    let session = session(unfinalised(vec![finalizer()])).await;
    for (text, replaced) in [
        ("Hello", None),
        ("Hello, Ada", Some("Hello, the user")),
        ("a secret", Some("[withheld: Rejected by finalizer: hush]")),
    ] {
        let mut stream = session.stream();
        assert_eq!(texts(&stream.push(text).await), [text]);
        assert!(!stream.is_held());
        let last = stream.finish().await;
        assert_eq!(last.replaces, replaced.is_some());
        assert_eq!(texts(&last.pieces), replaced.into_iter().collect::<Vec<_>>());
        assert_eq!((&*last.text, &*last.shown), (replaced.unwrap_or(text), replaced.unwrap_or(text)));
    }
}

#[tokio::test]
async fn a_rejection_of_the_last_line_is_given_also_where_the_text_is_replaced() {
    let session = session(unfinalised(vec![brackets(), finalizer()])).await;
    let mut stream = session.stream();
    assert_eq!(texts(&stream.push("Ada\na secret").await), ["<Ada\n>"]);
    let last = stream.finish().await;
    assert!(last.replaces);
    assert_eq!(texts(&last.pieces), ["", "[withheld: Rejected by finalizer: hush]"]);
    assert_eq!(last.pieces[0].rejection.as_ref().unwrap().by, ["brackets"]);
}

#[tokio::test]
async fn however_an_answer_is_cut_into_deltas_it_shows_the_same() {
    let text = "Grüße,\n\nan alle – 你好\nthe end";
    for (entries, expected) in [
        (vec![], text.to_owned()),
        (vec![brackets()], "<Grüße,\n><\n><an alle – 你好\n><the end>".to_owned()),
        (vec![finalizer()], text.to_owned()),
    ] {
        let session = session(config(entries)).await;
        for size in 1..=12 {
            let characters: Vec<char> = text.chars().collect();
            let deltas: Vec<String> = characters.chunks(size).map(|chunk| chunk.iter().collect()).collect();
            let (shown, last) = shown(&session, deltas.iter().map(String::as_str)).await;
            assert_eq!((&*shown, &*last.text), (&*expected, text), "{size} characters at a time");
        }
    }
}

#[tokio::test]
async fn a_plugin_that_is_loaded_in_the_middle_of_an_answer_holds_what_follows() {
    let (host, session, _log) = start(Config::empty()).await;
    for (ending, expected, replaces) in [
        (" world", vec![" world"], false),
        (" Ada", vec!["Hello the user"], true),
        (" secret", vec!["[withheld: Rejected by finalizer: hush]"], true),
    ] {
        host.reload(&Config::empty()).await.unwrap();
        let mut stream = session.stream();
        assert_eq!(texts(&stream.push("Hello").await), ["Hello"]);
        host.reload(&config(vec![finalizer()])).await.unwrap();
        assert!(stream.push(ending).await.is_empty());
        assert_eq!(stream.held_bytes(), ending.len());
        let last = stream.finish().await;
        assert_eq!((texts(&last.pieces), last.replaces), (expected, replaces));
    }
}

#[tokio::test]
async fn a_setting_that_changes_in_the_middle_of_an_answer_holds_what_follows_and_releases_nothing() {
    let (host, session, _log) = start(unfinalised(vec![finalizer()])).await;
    let mut stream = session.stream();
    assert_eq!(texts(&stream.push("one ").await), ["one "]);
    host.reload(&config(vec![finalizer()])).await.unwrap();
    assert!(stream.push("two ").await.is_empty());
    for looser in [unfinalised(vec![finalizer()]), Config::empty()] {
        host.reload(&looser).await.unwrap();
        assert!(stream.push("three ").await.is_empty(), "the looser counts from the next answer on");
        assert!(!session.stream().is_held());
    }
    assert_eq!(texts(&stream.finish().await.pieces), ["two three three "]);
}

#[tokio::test]
async fn the_part_of_a_line_that_was_shown_before_a_plugin_was_loaded_is_a_piece_of_its_own() {
    let (host, session, log) = start(Config::empty()).await;
    let mut stream = session.stream();
    assert_eq!(texts(&stream.push("a secret, and").await), ["a secret, and"]);
    host.reload(&config(vec![brackets()])).await.unwrap();
    let pieces = stream.push(" more\n").await;
    // It was shown already: only the rejection is new.
    assert_eq!(texts(&pieces), ["", "< more\n>"]);
    assert_eq!(pieces[0].rejection.as_ref().unwrap().to_string(), "Rejected by brackets: hush");
    assert_eq!(events(&host, &log, EventKind::StreamDelta).await, ["a secret, and", " more\n"]);
    // Without the plugin, the answer still passes by line to its end.
    host.reload(&Config::empty()).await.unwrap();
    assert!(stream.push("the").await.is_empty());
    assert_eq!(texts(&stream.finish().await.pieces), ["the"]);
}

/// A rule about lines that waits until the test lets it answer, once for each message.
fn waiting() -> (Entry, mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (open, door) = mpsc::channel();
    let (asked, is_asked) = mpsc::channel();
    let door = Mutex::new(door);
    let rule = Rule::new().stream_delta(move |_, _| {
        let _ = asked.send(());
        door.lock().unwrap().recv_timeout(TIMEOUT).expect("the test lets it answer");
        TextVerdict::Keep
    });
    (entry("waiting", rule), open, is_asked)
}

/// Waits without holding up the runtime.
async fn received(receiver: mpsc::Receiver<()>) -> mpsc::Receiver<()> {
    let waits = move || {
        receiver.recv_timeout(TIMEOUT).expect("a message");
        receiver
    };
    tokio::task::spawn_blocking(waits).await.unwrap()
}

#[tokio::test]
async fn a_line_that_a_plugin_is_asked_about_while_rules_change_waits_for_the_new_ones() {
    let (waiting, open, is_asked) = waiting();
    let (host, session, _log) = start(config(vec![waiting])).await;
    let mut stream = session.stream();
    let changes = async {
        let _receiver = received(is_asked).await;
        host.reload(&config(vec![finalizer()])).await.unwrap();
        open.send(()).unwrap();
    };
    let (given, ()) = tokio::join!(stream.push("a secret\n"), changes);
    assert_eq!(given, []);
    assert_eq!(texts(&stream.finish().await.pieces), ["[withheld: Rejected by finalizer: hush]"]);
}

#[tokio::test]
async fn a_future_that_is_dropped_loses_no_text() {
    let (waiting, open, is_asked) = waiting();
    let (_host, session, _log) = start(config(vec![waiting])).await;
    let mut stream = session.stream();
    open.send(()).unwrap();
    let is_asked = {
        let mut push = std::pin::pin!(stream.push("one\ntwo\n"));
        tokio::select! {
            biased;
            given = &mut push => panic!("nobody has let the second line pass: {given:?}"),
            receiver = async { received(received(is_asked).await).await } => receiver,
        }
    };
    drop(stream.push("three"));
    for _ in 0..3 {
        open.send(()).unwrap();
    }
    assert_eq!(texts(&stream.flush().await), ["one\n", "two\n", "three"]);
    drop(is_asked);
}

#[tokio::test]
async fn an_answer_beyond_16_mib_is_cut_and_one_piece_says_so() {
    let session = session(config(vec![finalizer()])).await;
    let mut stream = session.stream();
    let quarter = "ä".repeat(2 << 20);
    for _ in 0..3 {
        assert!(stream.push(&quarter).await.is_empty());
    }
    assert!(stream.push("x").await.is_empty());
    let pieces = stream.push(&quarter).await;
    let [Piece { text, rejection: Some(rejection), .. }] = &pieces[..] else { panic!("{pieces:?}") };
    assert_eq!(rejection.cause, Cause::Invalid);
    assert!(text.contains("the text of one answer has at most 16 MiB"), "{text}");
    assert_eq!(stream.text().len(), (16 << 20) - 1, "it ends between two characters");
    assert!(stream.push("y").await.is_empty());
    assert_eq!(stream.text().len(), (16 << 20) - 1, "nothing follows what was left out");
}

#[tokio::test]
async fn once_the_session_has_ended_text_is_withheld_and_reported_once() {
    for entries in [vec![], vec![brackets()], vec![finalizer()]] {
        let (host, session, _log) = start(config(entries)).await;
        let mut dropped = host.open_session(spec()).unwrap().stream();
        let mut ended = session.stream();
        let _ = session.session_end(Usage::default()).await;
        for stream in [&mut ended, &mut dropped] {
            let mut pieces = stream.push("one\ntwo\n").await;
            pieces.extend(stream.push("three").await);
            pieces.extend(stream.end().await);
            let shown = texts(&pieces).concat();
            assert!(!shown.contains("one") && !shown.contains("two") && !shown.contains("three"), "{shown}");
            assert!(pieces.len() <= 1, "{pieces:?}");
        }
        for stream in [ended, dropped] {
            let last = stream.finish().await;
            let text = texts(&last.pieces).concat();
            assert!(text.starts_with("[withheld: Rejected because the session has ended: "), "{text}");
        }
    }
}

#[tokio::test]
async fn stream_end_is_told_once_and_not_of_an_answer_that_was_interrupted() {
    let (host, session, log) = start(config(vec![brackets()])).await;
    let mut whole = session.stream();
    assert!(whole.push("whole").await.is_empty());
    assert_eq!(texts(&whole.end().await), ["<whole>"]);
    assert!(whole.end().await.is_empty());
    let _ = whole.finish().await;
    let mut cut = session.stream();
    assert!(cut.push("cut o").await.is_empty());
    assert_eq!(texts(&cut.end_untold().await), ["<cut o>"]);
    assert_eq!(cut.finish().await.text, "cut o");
    let mut given_up: TextStream = session.stream();
    assert!(given_up.push("given up").await.is_empty());
    drop(given_up);
    assert_eq!(events(&host, &log, EventKind::StreamEnd).await, ["whole"]);
    assert_eq!(events(&host, &log, EventKind::StreamDelta).await, ["whole", "cut o"]);
    assert_eq!(events(&host, &log, EventKind::FinalizeContent).await, ["whole", "cut o"]);
}

#[tokio::test]
async fn a_plugin_that_fails_to_finalise_withholds() {
    let fails = Rule::new().finalize_content(|_, _| -> TextVerdict { panic!("no such table") });
    let session = session(config(vec![entry("fails", fails)])).await;
    let (shown, last) = shown(&session, ["a secret"]).await;
    assert!(shown.starts_with("[withheld: Rejected because the plugin fails failed"), "{shown}");
    assert_eq!(last.text, shown);
}

#[tokio::test]
async fn a_session_streams_under_its_own_rules() {
    let (host, _session, _log) = start(config(vec![finalizer()])).await;
    let rules = host.load_rules(&config(vec![brackets()])).await.unwrap();
    let session = host.open_session(spec().rules(&rules)).unwrap();
    assert_eq!(texts(&session.stream().push("a\n").await), ["<a\n>"]);
    let (shown, _) = shown(&session, ["Ada"]).await;
    assert_eq!(shown, "<Ada>");
}

#[tokio::test]
async fn a_plugin_in_audit_mode_is_asked_and_withholds_nothing() {
    let mut observing = [brackets(), finalizer()];
    observing.iter_mut().for_each(|entry| entry.mode = Mode::Observe);
    let (host, session, log) = start(config(observing.into())).await;
    let (shown, last) = shown(&session, ["a secret of Ada"]).await;
    assert_eq!((&*shown, &*last.text), ("a secret of Ada", "a secret of Ada"));
    assert_eq!(events(&host, &log, EventKind::StreamDelta).await, ["a secret of Ada"]);
}

#[test]
fn a_blocking_stream_gives_the_same() {
    let host = builder(config(vec![brackets(), finalizer()])).build_blocking().unwrap();
    let session = host.session("test", "/work").unwrap();
    let mut stream = session.stream();
    assert!(stream.push("Hello,\n").is_empty());
    assert!(stream.push("Ada").is_empty() && stream.flush().is_empty() && stream.end().is_empty());
    assert_eq!((stream.stream().text(), stream.stream().is_held()), ("Hello,\nAda", true));
    assert_eq!(texts(&stream.finish().pieces), ["<Hello,\n>", "<the user>"]);
    let mut stream = session.stream();
    assert!(stream.push("x").is_empty() && stream.end_untold().is_empty());
    assert_eq!(stream.finish().shown, "<x>");
}

#[test]
fn without_a_runtime_a_stream_withholds_and_nothing_panics() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_host, session, _log) = runtime.block_on(start(config(vec![brackets()])));
    let mut stream = session.stream();
    let pieces = stream.push("a secret\n").now_or_never().expect("at once");
    assert_eq!(pieces[0].rejection.as_ref().unwrap().cause, Cause::NoRuntime);
    assert!(!pieces[0].text.contains("secret"));
}

#[test]
fn a_stream_can_be_kept_by_a_task_of_its_own() {
    fn is_kept<T: Send + Sync + 'static>(_: &T) {}
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let session = Arc::new(runtime.block_on(session(Config::empty())));
    let mut stream = session.stream();
    is_kept(&stream);
    let pieces = runtime.block_on(async { tokio::spawn(async move { stream.push("a").await }).await.unwrap() });
    assert_eq!(texts(&pieces), ["a"]);
}
