//! Measures hooks that find no resident host. The situations are the first call after a boot, many hooks at once, calls while the host is
//! repeatedly killed, and a host that cannot start.

use crate::{User, installed_idle_programs, run_idle};
use bench::measure::{compare_batches, spoken};
use bench::table::{Row, Table};
use hookhost_client::paths::HostPaths;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Budget of the first event after a boot. It includes the hook and the start of the resident host.
const MAX_FIRST_EVENT: Duration = Duration::from_millis(30);

/// Budget of the denial if no host can start.
const MAX_DENIAL: Duration = Duration::from_secs(6);

/// Numbers of hooks that start at the same time.
const CONCURRENT_HOOKS: [usize; 2] = [10, 200];

/// Number of calls while hosts are killed.
const CALLS: usize = 100;

/// Time between two kills. In this time, a new host can start and answer a few calls.
const KILL_INTERVAL: Duration = Duration::from_millis(50);

const COMPONENT: &str = "no-force-push";

/// Adds all rows. The plugin was compiled before, because its compiled code is also in the cache after a boot.
pub(crate) fn rows(table: &mut Table, user: &User) {
    let resident = user.serve(&[]);
    user.check();
    drop(resident);
    first_event(table, user);
    for count in CONCURRENT_HOOKS {
        concurrent_hooks(table, user, count);
    }
    killed_hosts(table, user);
    failed_start(table, user);
}

fn first_event(table: &mut Table, user: &User) {
    let what =
        "the first call after a boot: the hook starts the resident host, which loads the plugin and settles the event";
    let row = Row { what, component: COMPONENT, log: "on", why: "" };
    let first = |runs: u32| {
        let times = (0..runs).map(|_| {
            let began = Instant::now();
            user.ask("git status");
            let took = began.elapsed();
            user.stop();
            took
        });
        times.sum()
    };
    for (reference, words) in installed_idle_programs() {
        let idle = |runs: u32| {
            let began = Instant::now();
            (0..runs).for_each(|_| run_idle(words));
            began.elapsed()
        };
        let compared = compare_batches(first, idle);
        if words[0] == "bash" {
            let (measured, idle) = (compared.subject.median, compared.reference.median);
            let beside = format!("{} {reference}", spoken(idle));
            table.beside(&row, &spoken(measured), &beside, "≤ 30 ms", measured <= MAX_FIRST_EVENT);
        } else {
            table.compared(&row, &compared, reference, None);
        }
    }
}

/// Adds the row of hooks that start at the same time. The value is the time until the last hook has its reply.
fn concurrent_hooks(table: &mut Table, user: &User, count: usize) {
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| user.ask("git status"));
        }
    });
    let took = began.elapsed();
    let hosts = hosts(user).len();
    let idle = Instant::now();
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| run_idle(["bash", "-c", ":"]));
        }
    });
    let beside = format!("{} as many `bash -c :`", spoken(idle.elapsed()));
    user.stop();
    let what = format!("{count} hooks at once without a host, until the last reply; {hosts} host runs afterwards");
    table.beside(
        &Row { what: &what, component: COMPONENT, log: "on", why: "" },
        &spoken(took),
        &beside,
        "one host",
        hosts == 1,
    );
}

/// Adds the row of calls that follow each other while hosts are killed. Each call gets its reply from the current host or from the next
/// host.
fn killed_hosts(table: &mut Table, user: &User) {
    let is_over = AtomicBool::new(false);
    let mut kills = 0;
    let mut times = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut kills = 0;
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(KILL_INTERVAL);
                kills += hosts(user).into_iter().filter(|host| kill(*host, Signal::SIGKILL).is_ok()).count();
            }
            kills
        });
        let times: Vec<Duration> = (0..CALLS)
            .map(|_| {
                let began = Instant::now();
                user.ask("git status");
                began.elapsed()
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        kills = killer.join().unwrap();
        times
    });
    times.sort();
    let (median, slowest) = (times[CALLS / 2], times[CALLS - 1]);
    let what = format!("{CALLS} calls while hosts are killed, {kills} kills: slowest call");
    let row = Row { what: &what, component: COMPONENT, log: "on", why: "" };
    table.plain(
        &row,
        format!("{} (median {})", spoken(slowest), spoken(median)),
        "each call has its reply",
        Some(true),
    );
    let _ = hosts(user).into_iter().filter(|host| kill(*host, Signal::SIGKILL).is_ok()).count();
    while !hosts(user).is_empty() {
        thread::yield_now();
    }
}

/// Adds the row of a host that cannot start, because the host's lock is held by a program that never listens.
fn failed_start(table: &mut Table, user: &User) {
    let lock = File::create(HostPaths::below(user.home.path()).directory().join("host.lock")).unwrap();
    lock.lock().unwrap();
    let began = Instant::now();
    assert!(user.reply("git status").contains(r#""permissionDecision":"deny""#));
    let took = began.elapsed();
    let row = Row { what: "a host that cannot start: until the denial", component: COMPONENT, log: "on", why: "" };
    table.plain(&row, spoken(took), "≤ 6 s", Some(took <= MAX_DENIAL));
}

/// Returns the resident hosts of the user.
fn hosts(user: &User) -> Vec<Pid> {
    let is_host = |process: &i32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(user.hookhost.as_os_str().as_encoded_bytes()) && words.next() == Some(b"serve")
    };
    let names = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let processes = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(is_host).map(Pid::from_raw).collect()
}
