//! Ordinary work inside, and what happens when something outside changes meanwhile.

#![cfg(target_os = "linux")]

mod support;

use hookhost_exec::{Ability, PeerPlace, peer_place, probe};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use support::{User, World, finish, text};

/// Maximum time until something outside is seen inside, or the other way round.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits for a condition.
#[track_caller]
fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_true() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Starts a script inside that reads commands from its standard input, and returns what it prints.
fn converse(world: &World, program: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = world.command(program);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let lines = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, lines)
}

/// Sends a line to a shell inside, and returns the line that it answers.
fn ask(child: &mut Child, lines: &mut BufReader<ChildStdout>, script: &str) -> String {
    writeln!(child.stdin.as_mut().expect("a pipe"), "{script}").expect("it listens");
    let mut line = String::new();
    lines.read_line(&mut line).expect("it answers");
    line.trim_end().to_owned()
}

#[test]
fn ordinary_work_is_as_outside() {
    for user in User::all("work") {
        let world = World::new(user);
        let cases: &[(&str, &str)] = &[
            ("pwd -P; echo $HOOKHOST_INSIDE; id -u", "same"),
            (
                "echo free > notes.txt; mkdir d; mv notes.txt d/n; cat d/n; ln d/n d/m; rm -r d; touch notes.txt",
                "free\n",
            ),
            ("seq 100000 | grep -c 9", "40951\n"),
            ("cat ~/.claude/settings.json ~/.gemini/settings.json hookhost.toml | wc -l", "3\n"),
            ("echo more >> ~/.claude/history; mv ~/.claude/history ~/.claude/h; mv ~/.claude/h ~/.claude/history", ""),
            ("echo x > ~/.claude/new.json && rm ~/.claude/new.json; echo {} > ~/.claude.json; rm ~/.claude.json", ""),
            (
                "d=$(mktemp -d); echo x > $d/f; mv $d/f .; rm -r f $d; echo > /dev/null; head -c1 /dev/urandom | wc -c",
                "1\n",
            ),
            (
                "mkdir ../repo; cd ../repo; git init -q; git config user.email a@b.c; git config user.name a; echo > f; git add f; git commit -qm m; git gc -q; git log --oneline | wc -l; cd; rm -rf repo",
                "1\n",
            ),
            ("sleep 100 & kill $!; wait $! 2> /dev/null; echo $?", "143\n"),
            ("trap 'echo caught' USR1; kill -USR1 $$; (exit 3); echo $?", "caught\n3\n"),
            ("ulimit -n 64; ulimit -n; echo $(($(nice -n 5 nice) - $(nice)))", "64\n5\n"),
            (
                "echo x > /dev/shm/hx$$ && rm /dev/shm/hx$$; exec 3<> /dev/ptmx && echo pty; ls /dev/pts",
                "pty\n0\nptmx\n",
            ),
            ("python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'", "[1]\n"),
            (
                "perl -MSocket -e 'socketpair A, B, AF_UNIX, SOCK_STREAM, 0; syswrite A, 1; sysread B, $b, 1; print $b'",
                "1",
            ),
            ("unshare -Ur id -u; unshare -Urmpf --mount-proc sh -c 'echo $$'", "0\n1\n"),
        ];
        for (script, expected) in cases {
            let output = world.inside(script);
            if *expected == "same" {
                let found = text(&output);
                assert!(found.starts_with(&format!("{}\n1\n", world.project().display())), "{found}");
                continue;
            }
            // A process namespace in a process namespace needs a whole /proc, which root does not have inside.
            if world.user.is_root() && script.contains("--mount-proc") {
                continue;
            }
            assert_eq!(text(&output), *expected, "{script} as {}", world.user.name);
        }
        for (script, code) in [("exit 5", 5), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("no-such-program", 127)]
        {
            assert_eq!(world.inside(script).status.code(), Some(code), "{script}");
        }
        let missing = finish(world.command(&["no-such-program"]), "missing");
        assert_eq!(missing.status.code(), Some(127));
        assert_eq!(text(&missing), "inside: no-such-program is not found: check its name and PATH\n");
        let directory = finish(world.command(&["/"]), "directory");
        assert_eq!(directory.status.code(), Some(126), "{}", text(&directory));
        for (program, script) in [
            ("cargo", "cargo --version"),
            ("npm", "npm --version"),
            // Root inside lacks the capability that bwrap expects of root, so it has to take a user namespace.
            ("bwrap", "bwrap --ro-bind / / --dev /dev --unshare-user --unshare-pid --unshare-net true"),
            ("bwrap", if world.user.is_root() { "true" } else { "bwrap --ro-bind / / --dev /dev --proc /proc true" }),
        ] {
            let outside = world.outside(script);
            if outside.status.success() {
                let inside = world.inside(script);
                assert!(inside.status.success(), "{script} as {}: {}", world.user.name, text(&inside));
            } else {
                eprintln!("skipped, because {} cannot run {program}", world.user.name);
            }
        }
    }
}

#[test]
fn standard_input_and_output_are_passed_as_they_are() {
    let world = World::new(User::ordinary("pipes"));
    let (mut child, mut lines) = converse(&world, &["bash"]);
    assert_eq!(ask(&mut child, &mut lines, "echo one"), "one");
    assert_eq!(ask(&mut child, &mut lines, "echo two"), "two");
    drop(child.stdin.take());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("it ends");
    assert_eq!((rest.as_str(), child.wait().expect("it ends").code()), ("", Some(0)));
}

#[test]
fn inherited_descriptors_are_closed() {
    let world = World::new(User::ordinary("descriptors"));
    let (inside, plan) = (world.home().join("../bin/inside"), world.home().join("../plan"));
    let script = format!(
        "exec 7< /etc/passwd 9> /dev/null; {} {} -- bash -c 'for n in {{3..20}}; do readlink /proc/$$/fd/$n; done; echo end'",
        inside.display(),
        plan.display()
    );
    assert_eq!(text(&world.outside(&script)), "end\n");
}

#[test]
fn signals_go_on_to_the_program() {
    let world = World::new(User::ordinary("signals"));
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10), ("QUIT", 3)] {
        let script = format!("trap 'echo {signal}; exit 9' {signal}; echo ready; while :; do sleep .01; done");
        let (mut child, mut lines) = converse(&world, &["bash", "-c", &script]);
        let mut line = String::new();
        lines.read_line(&mut line).expect("it starts");
        let killed = Command::new("kill").args([format!("-{number}"), child.id().to_string()]).status();
        assert!(killed.expect("kill is there").success());
        let mut line = String::new();
        lines.read_line(&mut line).expect("it answers");
        assert_eq!(line.trim_end(), signal);
        assert_eq!(child.wait().expect("it ends").code(), Some(9));
    }
    // Without a handler, the program ends by the signal, and the exit code says so.
    let (mut child, mut lines) = converse(&world, &["bash", "-c", "echo ready; exec sleep 1000"]);
    lines.read_line(&mut String::new()).expect("it starts");
    _ = Command::new("kill").arg(child.id().to_string()).status();
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), status.signal()), (Some(143), None));
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let world = World::new(User::ordinary("left"));
    let (mut child, mut lines) = converse(&world, &["bash", "-c", "sleep 31415.9 & echo ready; exec sleep 31415.8"]);
    lines.read_line(&mut String::new()).expect("it starts");
    let count = || {
        let entries = fs::read_dir("/proc").expect("there are processes").flatten();
        entries
            .filter(|entry| {
                fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x0031415."))
            })
            .count()
    };
    eventually("both processes run", || count() == 2);
    child.kill().expect("it runs");
    _ = child.wait();
    eventually("nothing is left", || count() == 0);
}

#[test]
fn a_path_that_is_replaced_from_outside_is_guarded_again() {
    for user in User::all("replace") {
        let world = World::new(user);
        let settings = world.home().join(".claude/settings.json");
        let (mut child, mut lines) = converse(&world, &["bash"]);
        let nested = "unshare -Urm bash -c 'echo nested; exec sleep 1000' & wait $!; echo nested ended";
        if !world.user.is_root() {
            assert_eq!(ask(&mut child, &mut lines, nested), "nested");
        }
        for round in 0..5 {
            let new = world.home().join(".claude/new");
            fs::write(&new, format!("outside {round}\n")).expect("it is free");
            world.give(&new);
            fs::rename(&new, &settings).expect("outside may");
            if round == 0 && !world.user.is_root() {
                let mut line = String::new();
                lines.read_line(&mut line).expect("it ends");
                assert_eq!(line.trim_end(), "nested ended", "a nested sandbox could unmount the new mount");
            }
            // A subshell writes, because the repair ends a process that holds the new file open.
            eventually("the new file is guarded", || {
                ask(
                    &mut child,
                    &mut lines,
                    "{ (echo evil >> \"$SETTINGS\"); } 2> /dev/null && echo open || echo closed",
                ) == "closed"
            });
            // What was written in between is of the inside. From here on nothing is.
            fs::write(&settings, "outside\n").expect("outside may");
            let answer = ask(
                &mut child,
                &mut lines,
                "{ (echo evil > $SETTINGS); rm -f $SETTINGS; mv ~/.claude ~/c; } 2> /dev/null; cat $SETTINGS || echo none",
            );
            assert_eq!(answer, "outside");
        }
        // A directory on the way is replaced as a whole.
        fs::rename(world.home().join(".codex"), world.home().join("codex-old")).expect("outside may");
        fs::create_dir(world.home().join(".codex")).expect("outside may");
        fs::write(world.home().join(".codex/hooks.json"), "outside\n").expect("outside may");
        world.give(&world.home().join(".codex"));
        eventually("the new directory is guarded", || {
            let script = "{ mv ~/.codex ~/c3 && mv ~/c3 ~/.codex; (: >> ~/.codex/hooks.json); } 2> /dev/null && echo open || echo closed";
            ask(&mut child, &mut lines, script) == "closed"
        });
        // So is a link.
        fs::remove_file(world.home().join(".gemini")).expect("outside may");
        std::os::unix::fs::symlink("dotfiles/gemini", world.home().join(".gemini")).expect("outside may");
        eventually("the new link is guarded", || {
            ask(
                &mut child,
                &mut lines,
                "rm ~/.gemini 2> /dev/null && ln -s dotfiles/gemini ~/.gemini && echo open || echo closed",
            ) == "closed"
        });
        drop(child.stdin.take());
        let output = child.wait_with_output().expect("it ends");
        let notices = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(notices.contains("settings.json was replaced from outside, and is guarded again"), "{notices}");
    }
}

#[test]
fn who_opens_a_file_between_its_replacement_and_the_repair_cannot_go_on() {
    let world = World::new(User::ordinary("window"));
    let settings = world.home().join(".claude/settings.json");
    let program = "$| = 1; print qq(ready\\n); while (1) { if (open F, '>>', $ENV{SETTINGS}) { print qq(open\\n); while (1) { syswrite F, qq(evil\\n); select undef, undef, undef, .001 } } }";
    let (mut child, mut lines) = converse(&world, &["perl", "-e", program]);
    lines.read_line(&mut String::new()).expect("it starts");
    let has_ended = (0..100).any(|_| {
        let new = world.home().join(".claude/new");
        fs::write(&new, "outside\n").expect("it is free");
        world.give(&new);
        fs::rename(&new, &settings).expect("outside may");
        std::thread::sleep(Duration::from_millis(30));
        child.try_wait().expect("it is a child").is_some()
    });
    // It has ended, it was never fast enough, or it has a file that was replaced again meanwhile.
    let length = || fs::metadata(&settings).expect("it is there").len();
    let mut last = length();
    eventually("nobody writes the file", || {
        std::thread::sleep(Duration::from_millis(100));
        std::mem::replace(&mut last, length()) == last
    });
    _ = child.kill();
    let code = child.wait().expect("it ends").code();
    assert!(!has_ended || code == Some(137), "{code:?}");
    let mut shown = String::new();
    lines.read_to_string(&mut shown).expect("it has ended");
    eprintln!("it has ended: {has_ended}; it has shown {shown:?}; the file has {last} bytes");
}

#[test]
fn an_exception_inside_a_guarded_directory_is_writable() {
    for user in User::all("exception") {
        let world = World::new(user);
        let cache = world.home().join(".config/hookhost/cache");
        fs::create_dir_all(cache.join("strict")).expect("a directory");
        world.give(&cache);
        world.plan_also(&format!("writable {}", cache.display()));
        world.plan_also(&format!("read-only {}", cache.join("strict").display()));
        let script = "cd ~/.config/hookhost; echo x > cache/f && mv cache/f cache/g && rm cache/g && echo one; for f in new cache/strict/new; do touch $f 2> /dev/null || echo no; done; mv cache/strict cache/away 2> /dev/null || echo no; mv cache away 2> /dev/null || echo no";
        assert_eq!(text(&world.inside(script)), "one\nno\nno\nno\nno\n");
    }
}

#[test]
fn what_is_mounted_below_a_guarded_directory_is_guarded_too() {
    let world = World::new(User::ordinary("below"));
    fs::create_dir(world.home().join(".local/bin/more")).expect("a directory");
    world.give(&world.home().join(".local/bin/more"));
    let mount = "mount -t tmpfs t ~/.local/bin/more && touch ~/.local/bin/more/there && exec \"$@\"";
    let script = "ls ~/.local/bin/more; touch ~/.local/bin/more/new 2> /dev/null || echo no";
    let output = world.inside_below(&["unshare", "-Urm", "bash", "-c", mount, "x"], script);
    assert_eq!(text(&output), "there\nno\n");
}

#[test]
fn a_guarded_path_is_guarded_at_its_other_paths_too() {
    for user in User::all("alias") {
        let mut world = World::new(user);
        // The first mount has the home again, and the second one a directory of it.
        let mount = "mount --rbind ~ /mnt && mount --bind ~/.ssh /media && exec \"$@\"";
        let script = "echo evil > /mnt/.claude/settings.json; rm -rf /mnt/.claude /mnt/.local; mv /mnt/.codex /mnt/c2; rm /mnt/.gemini; cat /mnt/.ssh/id* /mnt/.keys/* /media/id*; echo evil > /media/config; echo evil > /mnt/.local/bin/new; chmod 777 /mnt/.bashrc; echo has run";
        let output = text(&world.inside_below(&["unshare", "-Urm", "bash", "-c", mount, "x"], script));
        assert!(output.contains("has run") && !output.contains(support::CANARY), "{output}");
        assert!(!output.contains("second line: partly"), "{output}");
        assert_eq!(world.damage(), Vec::<String>::new(), "{output}");
        assert!(!world.home().join(".local/bin/new").exists());
    }
}

#[test]
fn a_program_that_gains_privileges_says_why_it_does_not() {
    let world = World::new(User::ordinary("sudo"));
    if world.user.is_root() {
        return;
    }
    let programs = world.home().join("programs");
    fs::create_dir(&programs).expect("a directory");
    for name in ["sudo", "doas"] {
        fs::copy("/bin/true", programs.join(name)).expect("a program");
    }
    let mut command = world.command(&["bash", "-c", "sudo -n true; echo $?; doas true; echo $?"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let output = text(&finish(command, "sudo"));
    for expected in ["sudo: refused, because this program was started by 'hookhost exec'", "doas: refused", "126\n126"]
    {
        assert!(output.contains(expected), "{output}");
    }
}

#[test]
fn only_kept_sockets_of_the_user_stay() {
    let world = World::new(User::ordinary("runtime"));
    let uid = text(&world.outside("id -u")).trim().to_owned();
    let runtime = Path::new("/run/user").join(&uid);
    if world.user.is_root() || runtime.exists() || fs::create_dir_all(runtime.join("kept")).is_err() {
        eprintln!("skipped, because {} cannot be made", runtime.display());
        return;
    }
    let made = world.outside("true").status.success();
    let sockets = ["bus", "agent", "kept/socket"].map(|name| UnixListener::bind(runtime.join(name)).expect("a socket"));
    _ = Command::new("chown").arg("-R").arg(&uid).arg(&runtime).status();
    world.plan_also(&format!("kept {}", runtime.join("agent").display()));
    world.plan_also(&format!("kept {}", runtime.join("kept").display()));
    let script = format!(
        "cd {}; ls -A | tr '\\n' ' '; for s in agent kept/socket bus; do perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print connect(S, pack_sockaddr_un($ARGV[0])) ? 1 : 0' $s; done; touch new && echo ok",
        runtime.display()
    );
    let output = text(&world.inside(&script));
    drop(sockets);
    _ = fs::remove_dir_all(&runtime);
    assert!(made);
    assert_eq!(output, "agent kept 110ok\n");
}

/// Connects to a socket, and waits until the other end is closed.
const CONNECT: &str = "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; connect S, pack_sockaddr_un($ARGV[0]) or die $!; sysread S, $b, 1' ";

#[test]
fn the_host_sees_where_a_peer_is() {
    let world = World::new(User::current());
    let path = world.home().join(".local/state/hookhost/place.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let own = UnixStream::connect(&path).expect("it listens");
    assert_eq!(peer_place(&listener.accept().expect("it has connected").0), PeerPlace::Outside);
    drop(own);
    let connect = format!("{CONNECT}{}", path.display());
    let place_of = |mut command: Command| {
        let mut child = command.spawn().expect("it can be started");
        let (stream, _) = listener.accept().expect("it connects");
        let place = peer_place(&stream);
        drop(stream);
        assert!(child.wait().expect("it ends").success());
        place
    };
    let mut outside = Command::new("bash");
    outside.args(["-c", &connect]);
    assert_eq!(place_of(outside), PeerPlace::Outside);
    assert_eq!(place_of(world.command(&["bash", "-c", &connect])), PeerPlace::Inside);
    assert_eq!(place_of(world.command(&["unshare", "-Ur", "bash", "-c", &connect])), PeerPlace::Inside);
    // Without namespaces, only the privileges differ.
    let mut confined = Command::new("setpriv");
    confined.args(["--no-new-privs", "bash", "-c", &connect]);
    assert_eq!(place_of(confined), PeerPlace::Inside);
    // A peer that has ended may be anybody.
    let mut ended = Command::new("bash").args(["-c", &format!("{connect} & sleep .1")]).spawn().expect("it starts");
    let (stream, _) = listener.accept().expect("it connects");
    _ = ended.wait();
    stream.shutdown(std::net::Shutdown::Both).expect("it is open");
    eventually("the peer has ended", || peer_place(&stream) == PeerPlace::Inside);
}

#[test]
fn the_ability_is_found_out() {
    let ability = probe(&support::inside()).expect("the helper starts");
    let world = World::new(User::current());
    let is_partly = text(&world.inside("true")).contains("second line: partly");
    assert_eq!(is_partly, ability != (Ability::Namespaces { lacks: Vec::new() }), "{ability:?}");
    let missing = probe(Path::new("/no/hookhost-exec")).expect_err("there is no helper");
    assert!(missing.to_string().starts_with("/no/hookhost-exec cannot be started"), "{missing}");
    assert_eq!(missing.exit_code(), 126);
}

#[test]
fn installed_programs_are_named() {
    // The skips of this file depend on them, so the log says which ones are here.
    for program in ["git", "cargo", "npm", "bwrap", "python3", "perl", "strace"] {
        eprintln!("{program}: {}", if is_installed(program) { "here" } else { "not here" });
    }
}
