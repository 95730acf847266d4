//! Kernel features are removed one at a time: a program runs guarded, or it is refused with a sentence.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::process::Output;
use support::{CANARY, HOSTILE, MASKED_PROC, NO_NAMESPACES, User, World, finish, refuse_calls, text};

/// Runs a hostile script inside, below a script that removes a feature and then executes its arguments.
fn hostile(world: &mut World, remover: &[&str]) -> Output {
    let output = world.inside_below(remover, HOSTILE);
    assert!(!text(&output).contains(CANARY), "a key is read: {}", text(&output));
    assert_eq!(world.damage(), Vec::<String>::new(), "{}", text(&output));
    output
}

#[test]
fn without_user_namespaces_landlock_serves_and_says_so() {
    for user in User::all("nouserns") {
        let mut world = World::new(user);
        let output = hostile(&mut world, &NO_NAMESPACES);
        if output.status.code() == Some(77) {
            eprintln!("skipped, because the limit cannot be set here");
            return;
        }
        let text = text(&output);
        let because = "this system allows no further user namespaces (sysctl user.max_user_namespaces); ";
        assert!(text.contains(&format!("inside: second line: partly, because {because}")), "{text}");
        assert!(text.contains("has run"), "{text}");
    }
}

#[test]
fn without_landlock_the_namespaces_serve_and_say_what_they_lack() {
    let mut world = World::new(User::ordinary("nolandlock"));
    // A filter of system calls that refuses Landlock, as some containers have.
    let Some(remover) = refuse_calls(&world, &["landlock_create_ruleset"]) else { return };
    let output = hostile(&mut world, &[&remover]);
    let text = text(&output);
    assert!(text.contains("second line: partly; abstract sockets can be reached"), "{text}");
    assert!(text.contains("has run"), "{text}");
}

#[test]
fn without_both_nothing_is_run() {
    let mut world = World::new(User::ordinary("neither"));
    let Some(remover) = refuse_calls(&world, &["landlock_create_ruleset", "unshare"]) else { return };
    let output = hostile(&mut world, &[&remover]);
    let text = text(&output);
    assert!(!text.contains("has run"), "{text}");
    assert!(text.contains("inside: the program is not started, because "), "{text}");
    assert_eq!(output.status.code(), Some(126), "{text}");
}

#[test]
fn in_a_container_with_a_masked_proc_landlock_serves() {
    let mut world = World::new(User::ordinary("masked"));
    let output = hostile(&mut world, &MASKED_PROC);
    let text = text(&output);
    if output.status.code() == Some(77) {
        eprintln!("skipped, because /proc cannot be masked here");
        return;
    }
    assert!(text.contains("partly, because this container masks parts of /proc"), "{text}");
}

#[test]
fn a_guard_that_cannot_be_mounted_is_a_refusal() {
    let world = World::new(User::ordinary("refusal"));
    if world.user.is_root() {
        return;
    }
    // The directory can be looked up by root, who makes the plan in this test, and not by the user.
    let locked = world.home().join("locked");
    fs::create_dir(&locked).expect("a directory");
    fs::write(locked.join("file"), "").expect("a file");
    fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("it is ours");
    world.plan_also(&format!("read-only {}", locked.join("file").display()));
    let output = world.inside("echo has run");
    let text = text(&output);
    assert!(!text.contains("has run") && !output.status.success(), "{text}");
    assert!(text.contains("cannot be found out what") && text.contains("so it cannot be guarded"), "{text}");
}

#[test]
fn inside_of_a_run_another_run_works() {
    for user in User::all("twice") {
        let mut world = World::new(user);
        let inner = world.command(&["bash", "-c", HOSTILE]);
        let words: Vec<_> = [inner.get_program()].into_iter().chain(inner.get_args()).collect();
        let output = text(&finish(world.command(&words), "twice"));
        assert!(output.contains("has run") && !output.contains(CANARY), "{output}");
        assert_eq!(world.damage(), Vec::<String>::new(), "{output}");
    }
}
