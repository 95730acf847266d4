//! Sockets of processes outside come and go while a program starts.

use crate::home::Home;
use crate::support::{User, finish, text};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Number of starts. Most of them failed when a socket that had been removed was a refusal.
const STARTS: usize = 12;

#[test]
fn a_socket_that_is_removed_meanwhile_does_not_keep_a_program_from_starting() {
    let home = Home::new(User::ordinary("sockets"), false);
    let is_over = AtomicBool::new(false);
    let outputs: Vec<_> = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let made = (0..20).map(|_| {
                    let directory = tempfile::tempdir().expect("a directory");
                    let listener = UnixListener::bind(directory.path().join("socket")).expect("a socket");
                    (directory, listener)
                });
                drop(made.collect::<Vec<_>>());
            }
        });
        let outputs = (0..STARTS).map(|_| finish(home.command(&["true"]), "true")).collect();
        is_over.store(true, Ordering::Relaxed);
        outputs
    });
    for output in outputs {
        assert!(output.status.success(), "{}", text(&output));
    }
}
