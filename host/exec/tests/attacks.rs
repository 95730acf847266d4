//! Real commands that try to change a guarded file, to read a key, or to reach a process outside.

#![cfg(target_os = "linux")]

mod support;

use support::{CANARY, User, World, text};

/// Scripts of bash, one in each line.
fn attacks() -> Vec<&'static str> {
    let lines = include_str!("attacks.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Attacks that succeed without protection, so the checks see damage.
const CONTROLS: &[&str] = &[
    ": > ~/.claude/settings.json",
    "mv ~/.claude ~/c2",
    "ln \"$SETTINGS\" hard; echo x > hard",
    "cat \"$KEY\"",
    "chmod 777 \"$SETTINGS\"",
    "kill -9 $VICTIM",
    "prlimit --pid $VICTIM --nofile=3",
    "renice 19 -p $VICTIM",
    "tr '\\0' '\\n' < /proc/$VICTIM/environ",
    "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack(\"Sa*\", AF_UNIX, \"\\0$ENV{ABSTRACT}\")'",
];

/// Returns what an attack has reached.
fn reached(world: &mut World, output: &str) -> Vec<String> {
    let mut reached = world.damage();
    if output.contains("BREACH") {
        reached.push("it says that it has succeeded".to_owned());
    }
    if output.contains(CANARY) {
        reached.push("it has read a key".to_owned());
    }
    reached
}

#[test]
fn no_attack_inside_reaches_anything() {
    let attacks = attacks();
    assert!(attacks.len() >= 60);
    for user in User::all("attack") {
        let mut world = World::new(user);
        // Without the namespaces, some attacks would be real ones on this machine.
        let complaints = text(&world.inside("true"));
        if complaints.contains("second line: partly") {
            eprintln!("skipped, because there are no namespaces here: {complaints}");
            continue;
        }
        assert_eq!(complaints, "");
        let mut broken = Vec::new();
        for attack in &attacks {
            let output = text(&world.inside(attack));
            assert!(!output.contains("inside: the program is not started"), "{output}");
            let reached = reached(&mut world, &output);
            if !reached.is_empty() {
                broken.push(format!("{attack}\n    {}\n    {output}", reached.join("\n    ")));
            }
        }
        let name = if world.user.is_root() { "root" } else { "an ordinary user" };
        assert!(broken.is_empty(), "{} of {} as {name}:\n{}", broken.len(), attacks.len(), broken.join("\n"));
        eprintln!("{} attacks as {name} have reached nothing", attacks.len());
    }
}

/// Parts of attacks that succeed without namespaces, as the notice says.
const OPEN_IN_FALLBACK: [&str; 6] = [
    // Sockets at paths.
    "agent.sock",
    // Names in directories.
    "ls -A ~/.keys",
    "ls /dev/vda",
    // Modes and times.
    "touch -d 2000",
    "chmod 777 \"$SETTINGS\"",
    "chmod -R 000 ~",
];

#[test]
fn in_the_fallback_only_what_the_notice_names_is_reached() {
    let attacks = attacks();
    let mut world = World::new(User::ordinary("fallback"));
    let mut broken = Vec::new();
    for attack in &attacks {
        let output = world.inside_below(&support::NO_NAMESPACES, attack);
        if output.status.code() == Some(77) {
            eprintln!("skipped, because the limit cannot be set here");
            return;
        }
        let output = text(&output);
        assert!(output.contains("second line: partly, because"), "{output}");
        let reached = reached(&mut world, &output);
        if !reached.is_empty() && !OPEN_IN_FALLBACK.iter().any(|open| attack.contains(open)) {
            broken.push(format!("{attack}\n    {}\n    {output}", reached.join("\n    ")));
        }
    }
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), attacks.len(), broken.join("\n"));
}

#[test]
fn the_checks_see_attacks_that_succeed() {
    let mut world = World::new(User::ordinary("control"));
    for attack in CONTROLS {
        let output = text(&world.outside(attack));
        // A signal takes its time.
        let is_seen = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            !reached(&mut world, &output).is_empty()
        });
        assert!(is_seen, "{attack} reaches nothing without protection: {output}");
    }
}
