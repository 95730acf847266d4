//! Compiled code that is kept between runs: shown, cleared, and never trusted further than it deserves.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A user with a cache of their own and a plugin that has no objection.
fn user() -> User {
    let user = User::new();
    user.configure(&Entry::new("p", &hookhost_tests::plugin("no-force-push")).to_toml());
    user.write("call.json", json!({"call": {"id": "1", "name": "bash", "arguments": {"command": "ls"}}}).to_string());
    user
}

fn run(user: &User, arguments: &[&str]) -> Ended {
    Ended::of(user.command(arguments).env("HOOKHOST_CACHE_DIR", user.path("cache")))
}

fn dispatch(user: &User) -> Ended {
    let ended = run(user, &["dispatch", "before-tool-call", "--payload", "call.json"]);
    ended.expect(0, &[]);
    ended
}

fn cache(user: &User) -> Value {
    let ended = run(user, &["cache", "--json"]);
    ended.expect(0, &[]);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn compiled(user: &User) -> PathBuf {
    let files = std::fs::read_dir(user.path("cache/compiled")).unwrap().map(|file| file.unwrap().path());
    let mut compiled = files.filter(|file| file.extension().is_some_and(|extension| extension == "cwasm"));
    compiled.next().expect("compiled code")
}

#[test]
fn it_is_shown_and_cleared_and_compiled_again() {
    let user = user();
    assert_eq!(cache(&user)["files"], 0);
    dispatch(&user);
    let found = cache(&user);
    assert_eq!((&found["files"], &found["unusable"]), (&json!(1), &json!([])));
    let shown = run(&user, &["cache"]).stdout;
    assert!(shown.starts_with("kept: compiled code of 1 component, 0."), "{shown}");
    let cleared = run(&user, &["cache", "--clear"]).stdout;
    assert!(cleared.starts_with("removed: compiled code of 1 component, "), "{cleared}");
    assert_eq!(cache(&user)["files"], 0);
    assert_eq!(dispatch(&user).stderr, "");
    assert_eq!(cache(&user)["files"], 1);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_named() {
    let user = user();
    let file = user.path("cache");
    std::fs::write(&file, "mine").unwrap();
    for arguments in [&["cache"][..], &["cache", "--clear"], &["cache", "--json"]] {
        run(&user, arguments).expect(1, &[&format!("{} is not a directory", file.display()), "HOOKHOST_CACHE_DIR"]);
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    std::fs::write(file.join("compiled"), "mine").unwrap();
    run(&user, &["cache"]).expect(1, &["compiled is not a directory"]);
}

#[test]
fn what_was_tampered_with_or_lies_open_is_compiled_again_and_that_is_reported() {
    let user = user();
    dispatch(&user);
    let file = compiled(&user);
    let whole = std::fs::read(&file).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for (content, mode, why) in [
        (&changed[..], 0o600, "its authentication code is wrong"),
        (&whole[..whole.len() / 2], 0o600, "its authentication code is wrong"),
        (&whole[..], 0o666, "other users can write it (mode 666)"),
    ] {
        std::fs::write(&file, content).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(cache(&user)["unusable"][0]["why"], why);
        let said = dispatch(&user).stderr;
        assert!(
            said.starts_with("warning: compiled again, since the cached code cannot be used; plugin: p; "),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
        assert_eq!(cache(&user)["unusable"], json!([]), "it is kept again");
    }
}

#[test]
fn a_directory_that_others_can_write_is_not_used() {
    let user = user();
    dispatch(&user);
    std::fs::set_permissions(user.path("cache/compiled"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let said = dispatch(&user).stderr;
    assert!(said.starts_with("warning: compiled code is not kept; "), "{said}");
    run(&user, &["cache"]).expect(1, &["other users can write it (mode 777)", "chmod 700 '"]);
}

#[test]
fn many_processes_that_compile_the_same_at_once_leave_one_file_that_counts() {
    let user = user();
    let arguments = ["dispatch", "before-tool-call", "--payload", "call.json"];
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| run(&user, &arguments))).collect();
        for ended in runs {
            let ended = ended.join().unwrap();
            ended.expect(0, &[]);
            assert_eq!(ended.stderr, "");
        }
    });
    let found = cache(&user);
    assert_eq!((&found["files"], &found["unusable"]), (&json!(1), &json!([])));
    let files = std::fs::read_dir(user.path("cache/compiled")).unwrap().map(|file| file.unwrap().path());
    let ending =
        |path: PathBuf| path.extension().map_or_else(String::new, |ending| ending.to_string_lossy().into_owned());
    // A component that was written a moment ago has no stamp.
    let mut endings: Vec<String> = files.map(ending).filter(|ending| ending != "stamp").collect();
    endings.sort();
    assert_eq!(endings, ["", "cwasm", "outcome"], "the key, the code, where it belongs, and nothing half written");
}

/// The files of compiled code, and when each was written.
fn written(user: &User) -> Vec<(PathBuf, std::time::SystemTime)> {
    let files = std::fs::read_dir(user.path("cache/compiled")).unwrap().map(|file| file.unwrap());
    let compiled = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "cwasm"));
    let mut written: Vec<_> =
        compiled.map(|file| (file.path(), file.metadata().unwrap().modified().unwrap())).collect();
    written.sort();
    written
}

#[test]
fn another_limit_or_name_compiles_nothing_and_another_configuration_its_image_alone() {
    let user = user();
    let entry = |name: &str, config: &str, limits: &str| {
        let entry = Entry::new(name, &hookhost_tests::plugin("path-guard")).limits(limits);
        user.configure(&entry.config(json!({ "protected": [config] })).to_toml());
        dispatch(&user);
        written(&user)
    };
    let infra = "infra/**";
    let first = entry("p", infra, "compute = '30s'\ndeadline = '30s'\n");
    assert_eq!(first.len(), 2, "what an image is taken in, and the image");
    for (name, limits) in [
        ("p", "compute = '30s'\ndeadline = '40s'\n"),
        ("p", "compute = '30s'\ndeadline = '30s'\nmemory = '8MiB'\nfuel = 90_000_000\n"),
        ("other", "compute = '30s'\ndeadline = '30s'\n"),
    ] {
        assert_eq!(entry(name, infra, limits), first, "{name} {limits}");
    }
    let second = entry("p", "docs/**", "compute = '30s'\ndeadline = '30s'\n");
    assert_eq!(second.len(), 3);
    assert!(first.iter().all(|file| second.contains(file)));
}

#[test]
fn what_lacks_a_grant_is_refused_before_it_is_compiled() {
    let user = user();
    user.configure(&Entry::new("p", &hookhost_tests::plugin("all-events")).to_toml());
    let ended = run(&user, &["dispatch", "before-tool-call", "--payload", "call.json"]);
    ended.expect(5, &["[plugin.grants]"]);
    assert_eq!(cache(&user)["files"], 0);
}

#[test]
fn what_belongs_to_somebody_else_is_compiled_again_and_that_is_reported() {
    let user = user();
    dispatch(&user);
    let file = compiled(&user);
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_err() {
        println!("only root can give a file away: not tried");
        return;
    }
    assert!(dispatch(&user).stderr.contains("compiled again, since the cached code cannot be used"));
    // It was replaced by one's own.
    assert_eq!(dispatch(&user).stderr, "");
    std::os::unix::fs::chown(user.path("cache/compiled"), Some(12_345), None).unwrap();
    assert!(dispatch(&user).stderr.contains("compiled code is not kept"));
}
