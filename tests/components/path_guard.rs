//! The component `path-guard` in a host: what its work is bounded by.

use crate::shell_guard::{entry, judged, session};
use serde_json::json;

/// Texts that cost as much as they can, the last of them twice: what was perhaps set is read again.
#[tokio::test]
async fn any_command_is_judged_far_from_the_default_fuel() {
    let config = json!({ "protected": ["infra/**", ".env*", "/etc/**"] });
    let mut guard = entry("path-guard", config);
    // Labels need more work.
    guard.grants.labels = true;
    let session = session(guard, None).await;
    let pieces = [
        "a ",
        "a; ",
        "rm a; ",
        "cd a; rm b; ",
        "> x ",
        "$(a) ",
        "{a,b} ",
        "<<E ",
        "sudo ",
        "sudo frob rm ",
        "mv a b c d ",
        "f() { f; }; ",
        "find . -exec rm ",
        "(x=a); touch $x ",
    ];
    let distinct = (0..2_000).map(|at| format!(" a{at}")).collect::<String>();
    let (word, call) = judged(&session, &format!("rm{distinct}")).await;
    assert_eq!((word.as_str(), call.failure), ("deny", None));
    for piece in pieces {
        for length in [2 << 10, 8 << 10, 32 << 10, 60 << 10, 200 << 10] {
            let (word, call) = judged(&session, &piece.repeat(length / piece.len())).await;
            assert_eq!(call.failure, None, "{piece:?} of {length} bytes: {word}");
            println!("{piece:?} of {length} bytes: {word}, fuel {}", call.fuel);
            assert!(call.fuel < 90_000_000, "{piece:?} of {length} bytes: fuel {}", call.fuel);
        }
    }
}

/// The parser recurses as deep as is read.
#[tokio::test]
async fn what_is_nested_as_deep_as_is_read_fits_the_stack() {
    let session = session(entry("path-guard", json!({ "protected": ["infra/**"] })), None).await;
    for (open, close) in [("$(", ")"), ("\"$(", ")\""), ("( ", " )"), ("{ ", "; }"), ("echo \"${a[$(", ")]}\"")] {
        for depth in [1, 7, 8, 9, 20, 24, 25] {
            let command = format!("{}ls{}", open.repeat(depth), close.repeat(depth));
            let (_, call) = judged(&session, &command).await;
            assert_eq!(call.failure, None, "{command}");
        }
    }
}
