//! The grants `read-dirs` and `write-dirs`: what a plugin reaches, and that it reaches nothing else.

use crate::support::{bash, builder, component, host, plugin, recording, session, spec, written};
use hookhost::audit;
use hookhost::config::{Digest, Entry, Settings};
use hookhost::replay::replay;
use hookhost::{Config, FailureKind, Session, TransformOutcome};
use serde_json::{Value, json};
use std::fs;
use std::num::NonZeroU64;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A plugin that runs the steps which the prompt is, and answers with their results.
fn obedient() -> Entry {
    let steps = json!({"do": [{"steps": "{value}"}], "verdict": "replace", "value": "{last}"});
    let mut entry = plugin("obedient", json!({ "prompt-submit": steps }));
    entry.limits.deadline = Some(Duration::from_secs(20));
    entry
}

fn reading(guest: &str, directory: &Path) -> Entry {
    let mut entry = obedient();
    entry.grants.read_dirs.insert(guest.into(), directory.to_owned());
    entry
}

fn writing(guest: &str, directory: &Path) -> Entry {
    let mut entry = obedient();
    entry.grants.write_dirs.insert(guest.into(), directory.to_owned());
    entry
}

/// The result of each step.
async fn does(session: &Session, steps: Value) -> Vec<String> {
    let settled = session.prompt_submit(steps.to_string()).await;
    let TransformOutcome::Passed { value: results } = settled.outcome else { panic!("{:#?}", settled.record) };
    results.split('\n').map(str::to_owned).collect()
}

async fn does_one(session: &Session, step: Value) -> String {
    does(session, json!([step])).await.remove(0)
}

#[track_caller]
fn is_refused(results: &[String]) {
    for (place, result) in results.iter().enumerate() {
        assert!(result.starts_with("error: "), "step {place}: {result}");
    }
}

/// A directory `inside` to grant and, beside it, what no plugin may reach.
struct House {
    directory: tempfile::TempDir,
}

impl House {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let house = Self { directory };
        for path in ["inside/sub", "outside"] {
            fs::create_dir_all(house.path(path)).unwrap();
        }
        fs::write(house.path("inside/note"), "a note").unwrap();
        fs::write(house.path("inside/sub/deep"), "deep down").unwrap();
        fs::write(house.path("outside/secret"), "a secret").unwrap();
        house
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn read(&self, below: &str) -> Option<String> {
        fs::read_to_string(self.path(below)).ok()
    }

    /// Nothing beside the granted directory has changed.
    #[track_caller]
    fn is_untouched_outside(&self) {
        let names = |below: &str| {
            let entries = fs::read_dir(self.path(below)).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!((names(""), names("outside")), (vec!["inside".into(), "outside".into()], vec!["secret".into()]));
        assert_eq!(self.read("outside/secret").as_deref(), Some("a secret"));
    }
}

#[tokio::test]
async fn a_plugin_that_is_as_it_was_keeps_its_directories_when_other_rules_are_taken_up() {
    let house = House::new();
    let entry = reading("/data", &house.path("inside"));
    let host = host(vec![entry.clone()]).await;
    let session = host.open_session(spec()).unwrap();
    let read = json!({"read-file": "/data/note"});
    assert_eq!(does_one(&session, read.clone()).await, "a note");
    let other = plugin("other", json!({}));
    host.reload(&Config::from_entries(vec![entry.clone(), other], Settings::default()).unwrap()).await.unwrap();
    assert_eq!(does_one(&session, read.clone()).await, "a note");
    // And another directory is another plugin.
    fs::write(house.path("outside/note"), "another note").unwrap();
    let moved = reading("/data", &house.path("outside"));
    host.reload(&Config::from_entries(vec![moved], Settings::default()).unwrap()).await.unwrap();
    assert_eq!(does_one(&session, read).await, "another note");
}

#[tokio::test]
async fn without_a_grant_there_are_no_files() {
    let house = House::new();
    let session = session(vec![obedient()]).await;
    let note = house.path("inside/note");
    let results = does(
        &session,
        json!([
            {"read-file": note}, {"read-file": "/etc/passwd"}, {"read-file": "Cargo.toml"}, {"list": "/"}, {"list": "."},
            {"write-file": [house.path("inside/new"), "x"]}, {"open-at": "note"},
        ]),
    )
    .await;
    is_refused(&results);
    assert_eq!(results[6], "error: no directory is granted");
    assert_eq!(house.read("inside/new"), None);
}

#[tokio::test]
async fn a_plugin_reads_what_is_in_a_directory_that_it_may_read() {
    let house = House::new();
    let session = session(vec![reading("/data", &house.path("inside"))]).await;
    let results = does(
        &session,
        json!([{"read-file": "/data/note"}, {"read-file": "/data/sub/deep"}, {"read-file": "/data/sub/../note"}, {"list": "/data"}]),
    )
    .await;
    assert_eq!(results, ["a note", "deep down", "a note", "note sub"]);
    // It is the directory as it is now, not as it was when it was opened.
    fs::write(house.path("inside/note"), "another note").unwrap();
    assert_eq!(does_one(&session, json!({"read-file": "/data/note"})).await, "another note");
}

#[tokio::test]
async fn a_plugin_changes_nothing_in_a_directory_that_it_may_only_read() {
    let house = House::new();
    let session = session(vec![reading("/data", &house.path("inside"))]).await;
    let results = does(
        &session,
        json!([
            {"write-file": ["/data/note", "x"]}, {"write-file": ["/data/new", "x"]}, {"make-dir": "/data/more"},
            {"remove": "/data/note"}, {"rename": ["/data/note", "/data/new"]}, {"link": ["/data/note", "/data/new"]},
            {"symlink": ["note", "/data/new"]},
        ]),
    )
    .await;
    is_refused(&results);
    assert_eq!(does(&session, json!([{"list": "/data"}, {"read-file": "/data/note"}])).await, ["note sub", "a note"]);
}

#[tokio::test]
async fn a_plugin_writes_in_a_directory_that_it_may_write_to() {
    let house = House::new();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    let results = does(
        &session,
        json!([
            {"write-file": ["/out/new", "written"]}, {"rename": ["/out/new", "/out/sub/newer"]}, {"make-dir": "/out/more"},
            {"link": ["/out/sub/newer", "/out/again"]}, {"symlink": ["again", "/out/named"]}, {"read-file": "/out/named"},
            {"remove": "/out/note"}, {"list": "/out"},
        ]),
    )
    .await;
    assert_eq!(results, ["done", "done", "done", "done", "done", "written", "done", "again more named sub"]);
    assert_eq!(house.read("inside/sub/newer").as_deref(), Some("written"));
    house.is_untouched_outside();
}

/// The permissions of a file, setuid, setgid and sticky bits included.
fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn what_a_plugin_makes_has_the_permissions_of_any_new_file_and_no_further_bits() {
    let house = House::new();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    let steps = json!([{"write-file": ["/out/new", "#!/bin/sh"]}, {"make-dir": "/out/directory"}, {"rename": ["/out/new", "/out/moved"]}]);
    assert_eq!(does(&session, steps).await, ["done"; 3]);
    // The umask is the host's, and the same for both.
    fs::write(house.path("inside/like-any"), "").unwrap();
    fs::create_dir(house.path("inside/like-any-directory")).unwrap();
    assert_eq!(mode(&house.path("inside/moved")), mode(&house.path("inside/like-any")));
    assert_eq!(mode(&house.path("inside/directory")), mode(&house.path("inside/like-any-directory")));
    assert_eq!(mode(&house.path("inside/moved")) & 0o7111, 0, "nothing is executable, setuid, setgid or sticky");
}

/// The kernel clears these bits when anybody but root writes to such a file.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_with_setuid_and_setgid_loses_both_when_a_plugin_writes_to_it_unless_the_host_is_root() {
    let house = House::new();
    let program = house.path("inside/program");
    fs::write(&program, "theirs").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
    let is_root = fs::metadata(&program).unwrap().uid() == 0;
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    assert_eq!(does_one(&session, json!({"read-file": "/out/program"})).await, "theirs");
    assert_eq!(mode(&program), 0o6755, "reading changes nothing");
    assert_eq!(does_one(&session, json!({"write-file": ["/out/program", "mine"]})).await, "done");
    assert_eq!(mode(&program), if is_root { 0o6755 } else { 0o755 });
}

#[tokio::test]
async fn no_path_leads_out_of_a_directory() {
    let house = House::new();
    let secret = house.path("outside/secret");
    let mut entry = writing("/out", &house.path("inside"));
    entry.grants.read_dirs.insert("/data/sub".into(), house.path("inside/sub"));
    let session = session(vec![entry]).await;
    let results = does(
        &session,
        json!([
            {"read-file": "/out/../outside/secret"}, {"read-file": "/out/sub/../../outside/secret"},
            {"read-file": "/data/sub/../note"}, {"read-file": "/data/note"}, {"read-file": secret},
            {"list": "/out/.."}, {"list": "/"}, {"list": "/data"}, {"write-file": ["/out/../new", "x"]}, {"write-file": [secret, "x"]},
            {"rename": ["/out/note", "/out/../note"]}, {"rename": ["/out/../outside/secret", "/out/secret"]},
            {"link": ["/out/../outside/secret", "/out/secret"]}, {"remove": "/out/../outside/secret"},
            {"make-dir": "/out/../more"},
            // From one granted directory to another, whose rights are others.
            {"rename": ["/data/sub/deep", "/out/deep"]}, {"link": ["/data/sub/deep", "/out/deep"]},
            // As the host is asked, not as the C library asks it.
            {"open-at": secret}, {"open-at": "/etc/passwd"}, {"open-at": "../outside/secret"}, {"open-at": ".."},
            {"open-at": "sub/../../outside/secret"}, {"open-at": ""}, {"open-at": "note\0"},
        ]),
    )
    .await;
    is_refused(&results);
    assert_eq!(house.read("inside/note").as_deref(), Some("a note"));
    assert_eq!(house.read("inside/sub/deep").as_deref(), Some("deep down"));
    house.is_untouched_outside();
}

#[tokio::test]
async fn a_link_that_leads_out_is_not_followed() {
    let house = House::new();
    symlink(house.path("outside/secret"), house.path("inside/absolute")).unwrap();
    symlink("../outside/secret", house.path("inside/relative")).unwrap();
    symlink("../outside", house.path("inside/directory")).unwrap();
    symlink("relative", house.path("inside/chain")).unwrap();
    symlink("../../outside/secret", house.path("inside/sub/far")).unwrap();
    symlink("../note", house.path("inside/sub/within")).unwrap();
    symlink("loop", house.path("inside/loop")).unwrap();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    let results = does(
        &session,
        json!([
            {"read-file": "/out/absolute"}, {"read-file": "/out/relative"}, {"read-file": "/out/directory/secret"},
            {"read-file": "/out/chain"}, {"read-file": "/out/sub/far"}, {"read-file": "/out/loop"}, {"list": "/out/directory"},
            {"write-file": ["/out/relative", "x"]}, {"write-file": ["/out/absolute", "x"]},
            {"write-file": ["/out/directory/new", "x"]}, {"rename": ["/out/note", "/out/directory/note"]},
            {"link": ["/out/note", "/out/directory/note"]}, {"link": ["/out/directory/secret", "/out/stolen"]},
            {"remove": "/out/directory/secret"}, {"make-dir": "/out/directory/more"}, {"open-at": "relative"}, {"open-at": "directory"},
        ]),
    )
    .await;
    is_refused(&results);
    // One that stays within is followed.
    assert_eq!(does_one(&session, json!({"read-file": "/out/sub/within"})).await, "a note");
    house.is_untouched_outside();
}

#[tokio::test]
async fn a_plugin_makes_and_moves_no_link_that_could_lead_out() {
    let house = House::new();
    symlink("../outside/secret", house.path("inside/relative")).unwrap();
    symlink(house.path("outside/secret"), house.path("inside/absolute")).unwrap();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    let results = does(
        &session,
        json!([
            {"symlink": ["../outside/secret", "/out/a"]}, {"symlink": ["sub/../../outside/secret", "/out/b"]},
            {"symlink": ["../../../../../../etc/passwd", "/out/sub/c"]},
            {"rename": ["/out/relative", "/out/sub/report"]}, {"rename": ["/out/absolute", "/out/report"]},
            {"link": ["/out/relative", "/out/second"]}, {"link": ["/out/absolute", "/out/third"]},
        ]),
    )
    .await;
    is_refused(&results);
    assert_eq!(does_one(&session, json!({"list": "/out"})).await, "absolute note relative sub");
    assert_eq!(does_one(&session, json!({"symlink": ["sub/deep", "/out/within"]})).await, "done");
    assert_eq!(does_one(&session, json!({"rename": ["/out/within", "/out/moved"]})).await, "done");
    house.is_untouched_outside();
}

#[tokio::test]
async fn a_link_that_the_plugin_makes_itself_leads_nowhere_else() {
    let house = House::new();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    // Whether such a link can be made at all is the host's business; that it leads nowhere is ours.
    let results = does(
        &session,
        json!([
            {"symlink": ["../outside/secret", "/out/a"]}, {"symlink": [house.path("outside/secret"), "/out/b"]},
            {"symlink": ["../outside", "/out/c"]}, {"symlink": ["..", "/out/sub/up"]},
            // It stays within where it is made, and leads out where it is moved to.
            {"symlink": ["../../outside/secret", "/out/sub/d"]}, {"rename": ["/out/sub/d", "/out/d"]},
            {"make-dir": "/out/sub/e"}, {"symlink": ["../../note", "/out/sub/e/f"]}, {"rename": ["/out/sub/e", "/out/e"]},
        ]),
    )
    .await;
    assert_eq!(results[1].split(':').next(), Some("error"), "{results:?}");
    let results = does(
        &session,
        json!([
            {"read-file": "/out/a"}, {"read-file": "/out/b"}, {"read-file": "/out/c/secret"}, {"list": "/out/c"},
            {"read-file": "/out/sub/up/../outside/secret"}, {"read-file": "/out/sub/d"}, {"read-file": "/out/d"}, {"read-file": "/out/e/f"},
            {"write-file": ["/out/c/new", "x"]}, {"rename": ["/out/note", "/out/c/note"]},
        ]),
    )
    .await;
    is_refused(&results);
    house.is_untouched_outside();
}

#[tokio::test]
async fn a_subdirectory_that_becomes_a_link_between_two_events_leads_nowhere_else() {
    let house = House::new();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    assert_eq!(does_one(&session, json!({"read-file": "/out/sub/deep"})).await, "deep down");
    fs::rename(house.path("inside/sub"), house.path("inside/was")).unwrap();
    symlink(house.path("outside"), house.path("inside/sub")).unwrap();
    let results =
        does(&session, json!([{"read-file": "/out/sub/secret"}, {"write-file": ["/out/sub/new", "x"]}])).await;
    is_refused(&results);
    house.is_untouched_outside();
}

/// While a directory keeps turning into a link and back, a plugin that reads through it all the time gets nothing from
/// behind the link.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_between_a_path_and_a_link_is_not_won() {
    let house = House::new();
    fs::write(house.path("inside/sub/secret"), "the right one").unwrap();
    let session = session(vec![reading("/data", &house.path("inside"))]).await;
    let (sub, was, to) = (house.path("inside/sub"), house.path("inside/was"), house.path("outside"));
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let swapping = std::thread::spawn(move || {
        while matches!(stopped.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty)) {
            fs::rename(&sub, &was).unwrap();
            symlink(&to, &sub).unwrap();
            fs::remove_file(&sub).unwrap();
            fs::rename(&was, &sub).unwrap();
        }
    });
    let steps = Value::Array(vec![json!({"read-file": "/data/sub/secret"}); 100]);
    let mut right = 0;
    for _ in 0..20 {
        for result in does(&session, steps.clone()).await {
            assert!(result.starts_with("error: ") || result == "the right one", "{result}");
            right += usize::from(result == "the right one");
        }
    }
    drop(stop);
    swapping.join().unwrap();
    assert!(right > 0, "the race was never run");
}

#[tokio::test]
async fn a_directory_is_the_one_that_was_there_when_the_plugin_was_loaded() {
    let house = House::new();
    let session = session(vec![writing("/out", &house.path("inside"))]).await;
    fs::rename(house.path("inside"), house.path("moved")).unwrap();
    symlink(house.path("outside"), house.path("inside")).unwrap();
    let steps = json!([{"read-file": "/out/note"}, {"read-file": "/out/secret"}, {"write-file": ["/out/new", "x"]}]);
    let results = does(&session, steps).await;
    assert_eq!((results[0].as_str(), results[2].as_str()), ("a note", "done"));
    is_refused(&results[1..2]);
    assert_eq!((house.read("moved/new").as_deref(), house.read("outside/new")), (Some("x"), None));
}

#[tokio::test]
async fn a_directory_that_cannot_be_opened_is_named_when_the_plugin_is_loaded() {
    let house = House::new();
    for (directory, why) in [("gone", "No such file or directory"), ("inside/note", "Not a directory")] {
        let path = house.path(directory);
        let config = Config::from_entries(vec![reading("/data", &path)], Settings::default()).unwrap();
        let error = builder(config).build().await.unwrap_err().to_string();
        for part in ["plugin `obedient`", "`read-dirs`", "/data", path.to_str().unwrap(), why, "make the directory"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

/// The example of the guide.
#[tokio::test]
async fn a_policy_can_be_what_a_file_says() {
    let house = House::new();
    let path = component("freeze.wasm");
    let mut entry = Entry::new("freeze", &path, Digest::of_file(&path).unwrap());
    entry.grants.read_dirs.insert("/policy".into(), house.path("inside"));
    entry.limits.deadline = Some(Duration::from_secs(20));
    let session = session(vec![entry]).await;
    let refused = async || session.before_tool_call(bash(&session, "ls")).await.record.reason;
    assert_eq!(refused().await, None);
    fs::write(house.path("inside/freeze"), "until Monday\n").unwrap();
    assert!(refused().await.unwrap().contains("nothing may run: until Monday"));
}

/// The C library asks once which directories there are; what `configure` leaves of its answer would
/// be there in every event.
#[tokio::test]
async fn a_plugin_that_looks_for_files_while_it_is_configured_is_refused_where_it_has_directories() {
    let house = House::new();
    let configure = json!({
        "configure": {"do": [{"read-file": "/data/note"}]},
        "prompt-submit": {"do": [{"read-file": "/data/note"}], "verdict": "replace", "value": "{configured}{last}"},
    });
    let without = plugin("early", configure);
    let settled = session(vec![without.clone()]).await.prompt_submit("x".into()).await;
    let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:#?}", settled.record) };
    assert!(value.starts_with("error: "), "{value}");

    let mut with = without;
    with.grants.read_dirs.insert("/data".into(), house.path("inside"));
    let config = Config::from_entries(vec![with], Settings::default()).unwrap();
    let error = builder(config).build().await.unwrap_err().to_string();
    assert!(error.contains("plugin `early` failed while it was set up: it looked for files before"), "{error}");
}

#[tokio::test]
async fn a_plugin_holds_only_so_many_files_open() {
    let house = House::new();
    let mut entry = reading("/data", &house.path("inside"));
    entry.limits.memory = std::num::NonZeroUsize::new(64 << 20).unwrap();
    let session = session(vec![entry]).await;
    assert_eq!(does_one(&session, json!({"open": ["/data/note", 200]})).await, "200 are open");
    let settled = session.prompt_submit(json!([{"open": ["/data/note", 300]}]).to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().unwrap();
    assert_eq!(failure.detail, "held more than 256 handles at once (limits.handles)");
    // They are closed with the instance.
    assert_eq!(does_one(&session, json!({"open": ["/data/note", 200]})).await, "200 are open");
}

#[tokio::test]
async fn an_endless_writer_is_stopped_by_its_limits() {
    let house = House::new();
    let mut entry = writing("/out", &house.path("inside"));
    // Long enough for the read below, also while other tests compile.
    entry.limits.deadline = Some(Duration::from_secs(2));
    entry.limits.compute = Some(Duration::from_secs(2));
    // On a fast machine, the default would end before the time does.
    entry.limits.fuel = NonZeroU64::new(1 << 60).unwrap();
    let session = session(vec![entry]).await;
    // Each step writes the whole list of steps, about 640 kB, so that all steps write 10 GB.
    let steps = Value::Array(vec![json!({"write-file": ["/out/new", "{value}"]}); 16_000]);
    let settled = session.prompt_submit(steps.to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().expect("no machine writes 10 GB in 2 s");
    assert!(failure.kind.is_timeout(), "{failure:?}");
    assert_eq!(does_one(&session, json!({"read-file": "/out/note"})).await, "a note");
}

/// Opening a pipe that nobody writes to waits, and is nothing that can be called off.
#[tokio::test]
async fn a_pipe_in_a_directory_holds_a_plugin_up_no_longer_than_its_deadline() {
    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
    let house = House::new();
    let pipe = house.path("inside/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut entry = reading("/data", &house.path("inside"));
    entry.limits.deadline = Some(Duration::from_millis(500));
    let session = session(vec![entry]).await;
    let settled = session.prompt_submit(json!([{"read-file": "/data/pipe"}]).to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Deadline);
    assert_eq!(does_one(&session, json!({"read-file": "/data/note"})).await, "a note");
    // A thread that still waits for the other end has it now.
    drop(open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).unwrap());
}

#[tokio::test]
async fn what_used_files_cannot_be_replayed_and_a_replay_changes_none() {
    let house = House::new();
    let entry = || writing("/out", &house.path("inside"));
    let (_directory, log, recorder) = recording(vec![entry()]);
    let host = recorder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    assert_eq!(does_one(&session, json!({"write-file": ["/out/new", "x"]})).await, "done");
    assert_eq!(does_one(&session, json!({"print": "no file"})).await, "");
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let records: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|entry| if let audit::Record::Event(record) = entry { Some(record.not_replayable) } else { None })
        .collect();
    assert_eq!(records, [vec!["obedient: the plugin used files".to_owned()], vec![]]);

    fs::remove_file(house.path("inside/new")).unwrap();
    let config = Config::from_entries(vec![entry()], Settings::default()).unwrap();
    let (again, log) = (builder(config).build().await.unwrap(), hookhost::store::Log::open(&log).unwrap());
    let mut answers = Vec::new();
    let summary = replay(&again, &log, |compared| {
        answers.push(compared.again.as_ref().and_then(|record| record.last.as_ref()).map(|last| last.get().to_owned()));
    });
    let summary = summary.await.unwrap();
    assert_eq!((summary.not_replayable, summary.same), (1, 1));
    assert!(answers[0].as_ref().unwrap().contains("error: "), "{answers:?}");
    assert_eq!(house.read("inside/new"), None);
}
