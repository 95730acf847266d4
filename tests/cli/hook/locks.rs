//! A file system without locks.

use super::{Home, Reply, printed, reply_to};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Denies each lock, as a network file system without a lock service does.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int denied(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}
#define REPLACED(name) int name(int file, int command, ...) { \
    va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); \
    if (denied(command)) { errno = ENOLCK; return -1; } \
    int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \
    return real(file, command, argument); }
REPLACED(fcntl)
REPLACED(fcntl64)
int flock(int file, int operation) { errno = ENOLCK; return -1; }
"#;

#[test]
fn a_file_system_without_locks_is_a_quick_no_that_says_so() {
    if cfg!(not(all(target_os = "linux", target_env = "gnu"))) {
        return println!("skipped: only the dynamic loader of glibc is known to take the library");
    }
    let home = Home::new();
    let (source, library) = (home.user.path("locks.c"), home.user.path("locks.so"));
    fs::write(&source, LIBRARY).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    if !compiler.status().is_ok_and(|status| status.success()) {
        return println!("skipped: there is no compiler of C");
    }
    let mut hook = home.hook(&["claude-code", "PreToolUse"]);
    let began = Instant::now();
    let reply = reply_to(hook.env("LD_PRELOAD", &library), home.call("s", "1", "ls").to_string().as_bytes());
    let took = began.elapsed();
    assert!(reply.stderr.starts_with("hookhost could not note this call for the audit log: No locks"), "{reply:?}");
    Reply { stderr: String::new(), ..reply }.could_not_be_settled("on a file system without locks");
    assert!(took < Duration::from_secs(5), "{took:?}");
    // One that is held is told from one that there cannot be.
    let ended = printed(home.command(&["audit", "verify"]).env("LD_PRELOAD", &library));
    assert!(!ended.stderr.contains("locked by another program"), "{ended:?}");
}
