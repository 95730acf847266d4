//! A clock that is set back, or forward, while agents work.

use super::{Home, Reply, policy, printed, started, wait_for};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets the wall clock back by as many seconds as the file says, for each program that is started with it.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    const char *name = getenv("TEST_CLOCK");
    FILE *file = failed || id != CLOCK_REALTIME || !name ? NULL : fopen(name, "re");
    if (file) {
        long back = 0;
        if (fscanf(file, "%ld", &back) == 1) at->tv_sec -= back;
        fclose(file);
    }
    return failed;
}
"#;

/// The library, built; or why there is none.
fn library(directory: &Path) -> Result<PathBuf, String> {
    let (source, library) = (directory.join("clock.c"), directory.join("clock.so"));
    fs::write(&source, LIBRARY).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").output();
    match built {
        Ok(output) if output.status.success() => Ok(library),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_clock_that_is_set_back_or_forward_changes_no_verdict_and_no_deadline() {
    for back in [86_400, -3_600] {
        clock_is_set(back);
    }
}

/// Sets the clock back by so many seconds while a question is open.
fn clock_is_set(back: i64) {
    let home = Home::with(&format!("[settings]\napproval-deadline = \"3s\"\n{}", policy().to_toml()));
    let library = match library(&home.user.path(".")) {
        Ok(library) => library,
        Err(why) => return println!("skipped: the library that sets the clock back cannot be built: {why}"),
    };
    let clock = home.user.path("clock");
    let set_back = |seconds: i64| {
        let new = home.user.path("clock.new");
        fs::write(&new, seconds.to_string()).unwrap();
        fs::rename(new, &clock).unwrap();
    };
    set_back(0);
    let on_clock = |mut command: Command| {
        command.env("LD_PRELOAD", &library).env("TEST_CLOCK", &clock);
        command
    };
    let tell = |agent: &str, id: &str, shell: &str| {
        let message = home.call("s", id, shell).to_string();
        started(&mut on_clock(home.hook(&[agent, "PreToolUse"])), message.as_bytes())
    };
    Reply::of(tell("claude-code", "1", "touch denied.txt")).is_denied_by_policy();
    wait_for("the resident host", || home.socket().exists());
    Reply::of(tell("claude-code", "2", "ls")).passes();
    // A question is open when the clock is set: by it, the question would have a day more, or none.
    let hook = tell("codex", "1", "touch asked.txt");
    let open = || {
        let ended = printed(&mut on_clock(home.command(&["approvals", "--json"])));
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap_or_default().len()
    };
    wait_for("the question", || open() == 1);
    set_back(back);
    Reply::of(tell("claude-code", "3", "touch denied.txt")).is_denied_by_policy();
    Reply::of(tell("claude-code", "4", "ls")).passes();
    let reason = Reply::of(hook).denial();
    assert!(reason.contains("asked-by-policy") && reason.contains("within 3s"), "{reason}");
    assert_eq!(open(), 0);
    // A rule set that is changed "before" the one that was loaded counts.
    home.user.configure(&policy().to_toml().replace("name = \"policy\"", "name = \"renamed\""));
    let reason = Reply::of(tell("claude-code", "5", "touch denied.txt")).denial();
    assert!(reason.starts_with("Rejected by renamed"), "{reason}");
    let times: Vec<u64> =
        home.events("before-tool-call", 6).iter().map(|event| event["time"].as_u64().unwrap()).collect();
    assert!(times[0].abs_diff(times[5]) > 3_000_000, "the clock was set: {times:?}");
    home.verify_log();
}
