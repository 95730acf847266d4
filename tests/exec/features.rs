//! Features of the kernel are taken away one at a time: `hookhost exec` runs the program guarded and says what it lacks, or refuses.

use crate::home::Home;
use crate::support::{CANARY, HOSTILE, MASKED_PROC, NO_NAMESPACES, User, refuse_calls, text};

/// Runs a hostile script inside, below a program that takes something away, and returns what a person reads. `None` if that cannot be
/// taken away here.
fn hostile(name: &str, remover: impl FnOnce(&Home) -> Option<Vec<String>>) -> Option<(Option<i32>, String)> {
    let mut home = Home::new(User::ordinary(name), false);
    let remover = remover(&home)?;
    let remover: Vec<&str> = remover.iter().map(String::as_str).collect();
    let output = home.inside_below(&remover, HOSTILE);
    let text = text(&output);
    if output.status.code() == Some(77) {
        eprintln!("skipped, because it cannot be taken away here");
        return None;
    }
    assert!(!text.contains(CANARY), "a key is read: {text}");
    assert_eq!(home.damage(), Vec::<String>::new(), "{text}");
    Some((output.status.code(), text))
}

fn words(words: [&str; 6]) -> Option<Vec<String>> {
    Some(words.map(str::to_owned).into())
}

#[test]
fn without_user_namespaces_it_runs_with_landlock_and_says_so() {
    let Some((_, text)) = hostile("nouserns", |_| words(NO_NAMESPACES)) else { return };
    let because = "second line: partly, because this system allows no further user namespaces (sysctl user.max_user_namespaces); ";
    assert!(text.contains(because) && text.contains("has run"), "{text}");
}

#[test]
fn in_a_container_with_a_masked_proc_it_runs_with_landlock_and_says_so() {
    let Some((_, text)) = hostile("masked", |_| words(MASKED_PROC)) else { return };
    let because = "second line: partly, because this container masks parts of /proc, so that no /proc can be mounted; ";
    assert!(text.contains(because) && text.contains("has run"), "{text}");
}

#[test]
fn without_landlock_it_runs_in_namespaces_and_says_what_it_lacks() {
    let remover = |home: &Home| Some(vec![refuse_calls(home, &["landlock_create_ruleset"])?]);
    let Some((_, text)) = hostile("nolandlock", remover) else { return };
    assert!(
        text.contains("second line: partly; abstract sockets can be reached") && text.contains("has run"),
        "{text}"
    );
}

#[test]
fn without_both_it_refuses_with_a_sentence() {
    let remover = |home: &Home| Some(vec![refuse_calls(home, &["landlock_create_ruleset", "unshare"])?]);
    let Some((code, text)) = hostile("neither", remover) else { return };
    assert!(text.contains("the program is not started, because ") && !text.contains("has run"), "{text}");
    assert_eq!(code, Some(126), "{text}");
}
