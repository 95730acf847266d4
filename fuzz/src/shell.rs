//! Commands, as `shell-guard` reads them.

use hookhost_guest::types::ShellDialect;
use shell_guard_rules::{MAX_WORK, judge_for_fuzzing};

/// Reads the bytes as a command in each dialect. Bytes that are not UTF-8 are replaced, as on their way into JSON.
pub fn shell(bytes: &[u8]) {
    let command = String::from_utf8_lossy(bytes);
    for dialect in [ShellDialect::Posix, ShellDialect::Powershell, ShellDialect::Cmd, ShellDialect::Unknown] {
        let judged = judge_for_fuzzing(&command, dialect);
        // The reader stops at the maximum; a single step may exceed it.
        assert!(judged.work <= MAX_WORK * 2, "{} units of work for {} bytes", judged.work, command.len());
        if let Some(rewritten) = judged.rewritten {
            assert_ne!(rewritten, command, "a rewrite changes something");
            let again = judge_for_fuzzing(&rewritten, dialect);
            assert!(!again.stopped, "a rewrite is not refused itself: {rewritten}");
        }
    }
}
