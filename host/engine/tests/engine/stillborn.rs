//! A plugin that loads and of which no instance can be made for an event, in the text format of components.
//!
//! Its core module has a start function, which runs while an instance is made. That asks the host
//! which pass it is: 0 is none, the trial when the plugin is loaded, and all is well; in an event
//! it goes wrong. The plugin subscribes to one event of each shape, and never comes to answer.

use hookhost::config::{Digest, Entry};
use std::path::PathBuf;

/// Ends the instance in the making by WASI's `exit`, which is no trap.
pub(crate) const EXIT: &str = "i32.const 0 call $exit";

/// An entry for the plugin whose start function does this in an event, in the text format of core modules.
pub(crate) fn stillborn(name: &str, start: &str) -> Entry {
    let bytes = wat::parse_str(component(start)).unwrap();
    let digest = Digest::of_bytes(&bytes);
    // Two entries of one file are an error, so each name has a file of its own.
    let file = format!("stillborn.{}.{name}.wasm", &digest.to_string()[..8]);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
    // Tests that run at the same time write the same bytes; a reader must find them whole.
    let new = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(&new, bytes).unwrap();
    new.persist(&path).unwrap();
    Entry::new(name, path, digest)
}

fn component(start: &str) -> String {
    // What the canonical ABI makes of `session`: four texts, two numbers and a truth value.
    let session = "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32";
    format!(
        r#"(component
            (import "hookhost:hooks/types@0.1.0" (instance $types
                (type $session-record (record
                    (field "id" string) (field "agent" string) (field "turn" u32) (field "depth" u32)
                    (field "cwd" string) (field "workspace" string) (field "interactive" bool)))
                (export "session" (type $session (eq $session-record)))
                (type $text (option string))
                (type $refusal-record (record
                    (field "reason" string) (field "code" $text) (field "retryable" bool) (field "stop" bool)))
                (export "refusal" (type $refusal (eq $refusal-record)))
                (type $escalation-record (record (field "question" string) (field "code" $text)))
                (export "escalation" (type $escalation (eq $escalation-record)))
                (type $text-verdict-variant (variant
                    (case "keep") (case "replace" string) (case "reject" $refusal)))
                (export "text-verdict" (type $text-verdict (eq $text-verdict-variant)))
                (type $task-record (record (field "prompt" string) (field "title" $text)))
                (export "task" (type $task (eq $task-record)))
                (type $custom-record (record (field "name" string) (field "payload" string)))
                (export "custom" (type $custom (eq $custom-record)))
                (type $custom-verdict-variant (variant
                    (case "allow") (case "modify" string) (case "escalate" $escalation) (case "reject" $refusal)))
                (export "custom-verdict" (type $custom-verdict (eq $custom-verdict-variant)))))
            (alias export $types "session" (type $session))
            (alias export $types "text-verdict" (type $text-verdict))
            (alias export $types "task" (type $task))
            (alias export $types "custom" (type $custom))
            (alias export $types "custom-verdict" (type $custom-verdict))
            (import "hookhost:hooks/event@0.1.0" (instance $facts (export "round" (func (result u32)))))
            (import "wasi:cli/exit@0.2.0" (instance $end (export "exit" (func (param "status" (result))))))
            (core func $round (canon lower (func $facts "round")))
            (core func $exit (canon lower (func $end "exit")))
            (core module $module
                (import "host" "round" (func $round (result i32)))
                (import "host" "exit" (func $exit (param i32)))
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
                (func (export "custom") (param {session} i32 i32 i32 i32) (result i32) unreachable)
                (func (export "prompt") (param {session} i32 i32) (result i32) unreachable)
                (func (export "begin") (param {session}) (result i32) unreachable)
                (func (export "told") (param {session} i32 i32) unreachable)
                (func $start (if (call $round) (then {start})))
                (start $start))
            (core instance $host (export "round" (func $round)) (export "exit" (func $exit)))
            (core instance $instance (instantiate $module (with "host" (instance $host))))
            (func $custom-event (param "session" $session) (param "event" $custom) (result $custom-verdict)
                (canon lift (core func $instance "custom")
                    (memory (core memory $instance "memory")) (realloc (core func $instance "realloc"))))
            (instance $gate (export "handle" (func $custom-event)))
            (export "hookhost:hooks/custom-event@0.1.0" (instance $gate))
            (func $prompt-submit (param "session" $session) (param "prompt" string) (result $text-verdict)
                (canon lift (core func $instance "prompt")
                    (memory (core memory $instance "memory")) (realloc (core func $instance "realloc"))))
            (instance $transform (export "handle" (func $prompt-submit)))
            (export "hookhost:hooks/prompt-submit@0.1.0" (instance $transform))
            (func $session-start (param "session" $session) (result (list $task))
                (canon lift (core func $instance "begin")
                    (memory (core memory $instance "memory")) (realloc (core func $instance "realloc"))))
            (instance $collect (export "handle" (func $session-start)))
            (export "hookhost:hooks/session-start@0.1.0" (instance $collect))
            (func $stream-end (param "session" $session) (param "text" string)
                (canon lift (core func $instance "told")
                    (memory (core memory $instance "memory")) (realloc (core func $instance "realloc"))))
            (instance $observe (export "handle" (func $stream-end)))
            (export "hookhost:hooks/stream-end@0.1.0" (instance $observe)))"#
    )
}
