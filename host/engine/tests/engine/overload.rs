//! A busy machine is nobody's fault: what waits for a place or a processor has a bound of its own, and trips no plugin.

use crate::support::{bash, builder, plugin, spec, texts};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Cause, ToolCall, ToolResult};
use hookhost::{Config, Decision, FailureKind, Host};
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Sessions back to back, and events of each.
const SESSIONS: usize = 1_000;
const EVENTS: usize = 5;

async fn host(entries: Vec<Entry>, settings: Settings) -> Host {
    let config = Config::from_entries(entries, settings).unwrap();
    builder(config).build().await.unwrap()
}

fn refuses() -> Entry {
    let refused = json!({"when": {"contains": "push --force"}, "verdict": "reject", "reason": "rewrites history"});
    plugin("guard", json!({ "before-tool-call": refused }))
}

/// The outcomes of the events of many sessions at once: allowed, rejected by verdict, anything else in words.
async fn storm(host: &Host) -> (usize, usize, Vec<String>) {
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move {
                let session = host.open_session(spec()).unwrap();
                let mut outcomes = Vec::new();
                for event in 0..EVENTS {
                    let command = if event == 2 { "git push --force" } else { "git push" };
                    outcomes.push(session.before_tool_call(bash(&session, command)).await.outcome);
                }
                (outcomes, texts(session.take_notices()))
            })
        })
        .collect();
    let (mut allowed, mut rejected, mut wrong) = (0, 0, Vec::new());
    for session in sessions {
        let (outcomes, notices) = session.await.unwrap();
        wrong.extend(notices);
        for outcome in outcomes {
            match outcome {
                Decision::Allowed { .. } => allowed += 1,
                Decision::Rejected(rejection) if rejection.cause == Cause::Verdict => rejected += 1,
                other => wrong.push(format!("{other:?}")),
            }
        }
    }
    (allowed, rejected, wrong)
}

/// Threads that leave the sessions little of the processors.
struct Spinning(Arc<AtomicBool>, Vec<std::thread::JoinHandle<()>>);

impl Spinning {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        };
        let threads = (0..4).map(spin).collect();
        Self(stop, threads)
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_at_once_have_every_answer_that_a_lone_one_has() {
    // Default limits. The bound of the queue goes by the clock, and the machine of a test may have other work.
    let mut settings = Settings::default();
    settings.overload_deadline = Duration::from_secs(600);
    let host = host(vec![refuses()], settings).await;
    let _spinning = Spinning::start();
    let (allowed, rejected, wrong) = storm(&host).await;
    assert_eq!((allowed, rejected, &wrong[..]), (SESSIONS * (EVENTS - 1), SESSIONS, &[][..] as &[String]));
}

/// The only place is taken by a call that waits; another finds none in time.
#[tokio::test]
async fn where_no_place_is_free_in_time_the_call_fails_as_overloaded_and_trips_nobody() {
    let mut settings = Settings::default();
    (settings.overload_deadline, settings.concurrent_calls) = (Duration::from_millis(1), NonZeroU32::MIN);
    let mut entry = plugin(
        "p",
        json!({"before-tool-call": [
            {"when": {"contains": "sleep"}, "misbehave": "sleep"},
            {"verdict": "allow"},
        ]}),
    );
    entry.events = Some([hookhost::contract::EventKind::BeforeToolCall].into());
    entry.limits.deadline = Some(Duration::from_secs(3_600));
    entry.limits.compute = Some(Duration::from_secs(3_600));
    let host = host(vec![entry], settings).await;
    let (sleeper, other) = (host.open_session(spec()).unwrap(), host.open_session(spec()).unwrap());
    let sleeps = sleeper.before_tool_call(bash(&sleeper, "sleep"));
    tokio::pin!(sleeps);
    let ask = |command: &'static str| {
        let other = &other;
        async move { other.before_tool_call(bash(other, command)).await }
    };
    // Until the sleeper has its place.
    let mut overloaded = 0;
    while overloaded < 10 {
        tokio::select! {
            biased;
            settled = &mut sleeps => {
                // A busy machine has no processor for it within a millisecond, either.
                expect_overloaded(&settled.outcome);
                sleeps.set(sleeper.before_tool_call(bash(&sleeper, "sleep")));
                overloaded = 0;
            }
            settled = ask("ls") => match settled.outcome {
                Decision::Allowed { .. } => assert_eq!(overloaded, 0),
                rejected => {
                    expect_overloaded(&rejected);
                    overloaded += 1;
                }
            },
        }
    }
    assert_eq!(texts(other.take_notices()), [""; 0]);
}

fn expect_overloaded(outcome: &Decision<ToolCall, ToolResult>) {
    let Decision::Rejected(rejection) = outcome else { panic!("{outcome:?}") };
    assert_eq!(rejection.cause, Cause::Failed(FailureKind::Overloaded), "{rejection}");
    assert!(rejection.refusal.retryable);
    assert_eq!(rejection.word(), "overloaded");
    let said = rejection.to_string();
    assert!(said.starts_with("Rejected because the machine is overloaded: the plugin p had no place"), "{said}");
}
