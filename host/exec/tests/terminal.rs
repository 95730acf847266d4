//! A program inside at a terminal: keys, sizes, stops, and the shell outside.

#![cfg(target_os = "linux")]

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{User, World};

/// Maximum time until something expected is shown.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A shell at a terminal of its own.
struct Shell {
    master: OwnedFd,
    slave: OwnedFd,
    child: Child,
    shown: String,
}

impl Shell {
    fn start(world: &World, program: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let slave = slave.expect("a terminal");
        let size = Winsize { ws_row: 33, ws_col: 101, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let inside = world.command(&["true"]);
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).args(program);
        for (name, value) in inside.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        world.user.become_it(&mut command);
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        command.env("PS1", "outer> ").env("INSIDE", inside.get_program()).env("PLAN", world.home().join("../plan"));
        command.env("TERM", "dumb").current_dir(world.project()).stdin(end()).stdout(end()).stderr(end());
        // The terminal belongs to root, as one does before a login.
        if let Some(user) = world.user.id() {
            std::os::unix::fs::fchown(&slave, Some(user), None).expect("root may");
        }
        let child = command.spawn().expect("setsid is there");
        Self { master, slave, child, shown: String::new() }
    }

    fn bash(world: &World) -> Self {
        let mut shell = Self::start(world, &["bash", "--norc", "--noprofile", "--noediting", "-i"]);
        shell.expect("outer> ");
        shell
    }

    fn press(&self, keys: &str) {
        rustix::io::write(&self.master, keys.as_bytes()).expect("it is open");
    }

    /// Waits until something is shown, and forgets all until there.
    #[track_caller]
    fn expect(&mut self, expected: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(at) = self.shown.find(expected) {
                let before = self.shown[..at].to_owned();
                self.shown.drain(..at + expected.len());
                return before;
            }
            assert!(Instant::now() < deadline, "{expected:?} is not shown, but {:?}", self.shown);
            let mut polled = [PollFd::new(&self.master, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if poll(&mut polled, Some(&wait)).is_ok_and(|ready| ready > 0) {
                let mut buffer = [0; 4096];
                let length = rustix::io::read(&self.master, &mut buffer).unwrap_or(0);
                self.shown.push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        }
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.slave).expect("a terminal").local_modes.contains(LocalModes::ICANON)
    }

    #[track_caller]
    fn eventually(&self, what: &str, is_true: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_true(self) {
            assert!(Instant::now() < deadline, "not in time: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn a_program_has_a_terminal_of_its_own_with_size_and_keys() {
    for user in User::all("tty") {
        let world = World::new(user);
        let mut shell = Shell::bash(&world);
        shell.press("$INSIDE $PLAN -- bash -c 'tty; stty size; read line; echo got $line; cat; exit 7'\n");
        shell.expect("\r\n/dev/pts/0\r\n33 101\r\n");
        shell.eventually("the terminal is raw", Shell::is_raw);
        shell.press("hello\n");
        // The program's terminal shows what is typed, once.
        assert_eq!(shell.expect("got hello\r\n"), "hello\r\n");
        shell.press("two\n");
        shell.expect("two\r\ntwo\r\n");
        shell.press("\x04");
        shell.expect("outer> ");
        assert!(!shell.is_raw(), "the settings are restored");
        shell.press("echo code $?\n");
        shell.expect("code 7\r\n");
    }
}

#[test]
fn a_change_of_the_size_arrives() {
    let world = World::new(User::ordinary("size"));
    let mut shell = Shell::bash(&world);
    let program = "$| = 1; $SIG{WINCH} = sub { print `stty size` }; print \"ready\\n\"; sleep 1 while 1";
    shell.press(&format!("$INSIDE $PLAN -- perl -e '{program}'\n"));
    shell.expect("\r\nready\r\n");
    tcsetwinsize(&shell.master, Winsize { ws_row: 44, ws_col: 55, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
    shell.expect("44 55\r\n");
    shell.press("\x03");
    shell.expect("outer> ");
    shell.press("echo code $?\n");
    shell.expect("code 130\r\n");
}

#[test]
fn stops_and_continuations_are_seen_by_the_shell_outside() {
    for user in User::all("jobs") {
        let world = World::new(user);
        let mut shell = Shell::bash(&world);
        shell.press("$INSIDE $PLAN -- bash -c 'echo first; sleep 1000; echo second; read line; echo got $line'\n");
        shell.expect("\r\nfirst\r\n");
        shell.eventually("the terminal is raw", Shell::is_raw);
        shell.press("\x1a");
        shell.expect("Stopped");
        shell.expect("outer> ");
        assert!(!shell.is_raw(), "the settings are restored");
        shell.press("jobs; fg\n");
        shell.expect("Stopped");
        shell.eventually("the terminal is raw again", Shell::is_raw);
        // ^C ends the sleep, and with it the script.
        shell.press("\x03");
        shell.expect("outer> ");
        shell.press("echo code $?\n");
        shell.expect("code 130\r\n");
        // In the background, it runs and leaves the terminal alone.
        shell.press("$INSIDE $PLAN -- bash -c 'sleep .2; echo from behind' & sleep .05; echo now\n");
        shell.expect("\r\nnow\r\n");
        assert!(!shell.is_raw(), "the terminal is the shell's");
        shell.expect("from behind\r");
        shell.press("wait; echo code $?\n");
        shell.expect("code 0\r\n");
    }
}

#[test]
fn a_shell_inside_has_job_control() {
    let world = World::new(User::ordinary("shell"));
    let mut shell = Shell::bash(&world);
    shell.press("PS1='inner> ' $INSIDE $PLAN -- bash --norc --noprofile --noediting -i\n");
    shell.expect("\r\ninner> ");
    shell.press("sleep 1000\n");
    shell.expect("sleep 1000\r\n");
    std::thread::sleep(Duration::from_millis(100));
    shell.press("\x1a");
    shell.expect("Stopped");
    shell.expect("inner> ");
    shell.press("fg\n");
    shell.expect("sleep 1000\r\n");
    std::thread::sleep(Duration::from_millis(100));
    shell.press("\x03");
    shell.expect("inner> ");
    shell.press("echo in; exit 3\n");
    shell.expect("\r\nin\r\n");
    shell.expect("outer> ");
    shell.press("echo code $?\n");
    shell.expect("code 3\r\n");
}

#[test]
fn nothing_can_be_typed_into_the_terminal_outside() {
    let world = World::new(User::ordinary("tiocsti"));
    let mut shell = Shell::bash(&world);
    let type_x = "perl -e 'for my $f (0..2) { my $c = \"x\"; print \"TY\", \"PED\" if ioctl(STDIN, 0x5412, $c) } open T, \"+<\", \"/dev/tty\"; my $c = \"y\"; print \"TY\", \"PED\" if ioctl(T, 0x5412, $c); print \"done\\n\"'";
    shell.press(&format!("$INSIDE $PLAN -- {type_x}; ls /proc/self/fd > /dev/null\n"));
    let shown = shell.expect("done\r\n");
    assert!(!shown.contains("TYPED"), "{shown}");
    shell.expect("outer> ");
    // The terminals outside are not there.
    shell.press("$INSIDE $PLAN -- bash -c 'ls /dev/pts /dev/tty[0-9]* 2>&1 | grep -v ptmx | wc -l'\n");
    shell.expect("\r\n");
    let shown = shell.expect("outer> ");
    assert!(shown.contains('2') || shown.contains('3'), "{shown}");
}

#[test]
fn a_pipe_beside_the_terminal_stays_a_pipe() {
    let world = World::new(User::ordinary("mixed"));
    let mut shell = Shell::bash(&world);
    shell.press("echo piped | $INSIDE $PLAN -- bash -c 'cat; test -t 1 && echo is a terminal' | cat\n");
    shell.expect("\r\npiped\r\n");
    let shown = shell.expect("outer> ");
    assert!(!shown.contains("is a terminal"), "{shown}");
    shell.press("echo piped | $INSIDE $PLAN -- bash -c 'cat; test -t 1 && echo is a terminal'\n");
    shell.expect("\r\npiped\r\nis a terminal\r\n");
    shell.press("$INSIDE $PLAN -- bash -c 'read line; echo got $line' | cat\n");
    std::thread::sleep(Duration::from_millis(300));
    shell.press("typed\n");
    shell.expect("got typed\r\n");
}
