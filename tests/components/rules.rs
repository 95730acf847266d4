//! The component `rules` in a host: what the work of rules is bounded by, in numbers and in patterns.

use hookhost::config::{Code, Config, Digest, Entry, Layer, Rule, Source};
use hookhost::contract::ToolOrigin;
use hookhost::{Decision, Host, Session, SessionSpec};
use hookhost_contract::rule::{LayeredRow, RulesConfig};
use serde_json::json;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::Path;

/// Opens a session under the rules of a file.
async fn session(text: &str) -> Result<Session, String> {
    let config = Config::parse(text, &Source::new("/h.toml", Layer::User), &[]).map_err(|error| error.to_string())?;
    let rules = hookhost_tests::plugin("rules");
    let digest = hookhost_tests::digest(&rules).parse().expect("a digest");
    let config = config.with_rules_plugin(Code::File { path: rules, digest }).expect("one entry of this name");
    let builder = Host::builder(config).cache(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let host = builder.build().await.map_err(|error| error.to_string())?;
    Ok(host.open_session(SessionSpec::new("test", Path::new("/work/project"))).expect("a session"))
}

/// Rules of all kinds, of which no two are about the same.
fn ordinary(rules: usize) -> String {
    let mut text = String::new();
    for at in 0..rules {
        let rule = match at % 5 {
            0 => format!(
                "on = 'shell'\nprogram = 'deploy{at} up'\nflags = ['--force', '-f']\nreject = 'no {at}'\n\
                 stops = ['deploy{at} up -f x', 'cd a && sudo deploy{at} up --force']\n\
                 passes = ['deploy{at} up x', \"echo 'deploy{at} up -f'\"]"
            ),
            1 => format!(
                "on = ['read', 'write']\npath = ['secret{at}/**', '*.key{at}']\nreject = '{{path}}'\n\
                 stops = ['secret{at}/a/b', {{ command = 'cat a/x.key{at}' }}]\npasses = ['src/a.rs', 'secret/a']"
            ),
            2 => format!(
                "on = 'web'\nhost = 'h{at}.example.com'\nask = 'To {{host}}?'\n\
                 stops = ['https://h{at}.example.com/a', {{ command = 'curl h{at}.example.com' }}]\n\
                 passes = ['https://example.com', {{ command = 'ls' }}]"
            ),
            3 => format!(
                "on = 'mcp'\nserver = 's{at}'\ntool = '!get_*'\nreject = 'no'\n\
                 stops = ['s{at}/drop', 's{at}/set']\npasses = ['s{at}/get_a', 'files/drop']"
            ),
            _ => format!(
                "on = 'prompt'\ntext = '<{at}>'\nreject = 'no'\n\
                 stops = ['the <{at}>', '<{at}>!']\npasses = ['the {at}', 'nothing']"
            ),
        };
        writeln!(text, "[[rule]]\nid = 'r{at}'\n{rule}").expect("a string");
    }
    text
}

async fn decision(session: &Session, tool: &str, arguments: serde_json::Value) -> (bool, u64) {
    let call = session.tool_call("1", tool, &arguments, ToolOrigin::Builtin);
    let settled = session.before_tool_call(call).await;
    let [call] = settled.record.calls.as_slice() else { panic!("{:?}", settled.record.calls) };
    assert_eq!(call.failure, None, "{tool}");
    (matches!(settled.outcome, Decision::Rejected(_)), call.fuel)
}

#[tokio::test]
async fn a_thousand_rules_with_examples_load_and_judge() {
    let began = std::time::Instant::now();
    let session = session(&ordinary(1_000)).await.expect("rules");
    println!("1 000 rules are loaded after {:?}", began.elapsed());
    for (tool, arguments, is_stopped) in [
        ("Bash", json!({ "command": "deploy995 up x -f" }), true),
        ("Bash", json!({ "command": "cat y.key996" }), true),
        ("Bash", json!({ "command": "curl -s https://h997.example.com" }), true),
        ("Bash", json!({ "command": "cargo test --workspace" }), false),
        ("mcp__s998__drop", json!({}), true),
        ("mcp__s998__get_a", json!({}), false),
    ] {
        let (stopped, fuel) = decision(&session, tool, arguments.clone()).await;
        println!("{tool} {arguments}: fuel {fuel}");
        assert_eq!(stopped, is_stopped, "{tool} {arguments}");
    }
}

/// `configure` has 2 000 000 000 units of fuel. Each example is read once, so the cost grows with the number of rules.
#[tokio::test]
async fn the_fuel_of_examples_grows_with_the_number_of_rules() {
    for (rules, fuel) in [(250, 300_000_000), (1_000, 1_000_000_000)] {
        let config = Config::parse(&ordinary(rules), &Source::new("/h.toml", Layer::User), &[]).expect("rules");
        let layered = |rule: &Rule| LayeredRow { of_project: false, row: Box::new(rule.row.clone()) };
        let rows = RulesConfig { rule: config.rules().iter().map(layered).collect() };
        let mut entry = crate::shell_guard::entry("rules", json!(rows));
        let code = Code::File { path: hookhost_tests::plugin("rules"), digest: Digest::of_bytes(b"") };
        let config = config.with_rules_plugin(code).expect("one entry of this name");
        entry.grants = config.entry(Entry::RULES).expect("an entry").grants.clone();
        entry.limits.fuel = NonZeroU64::new(fuel).expect("a number");
        let session = crate::shell_guard::session(entry, None).await;
        let (word, call) = crate::shell_guard::judged(&session, "cargo test --workspace").await;
        println!("{rules} rules: fuel {}", call.fuel);
        assert_eq!((word.as_str(), call.failure), ("allow", None));
    }
}

/// Returns the message about a file that does not load. It is short.
async fn refused(text: &str) -> String {
    let Err(message) = session(text).await else { panic!("loaded") };
    assert!(message.len() < 600, "{} bytes: {}", message.len(), message.chars().take(2_000).collect::<String>());
    message
}

#[tokio::test]
async fn a_rule_that_an_earlier_one_shadows_is_found_among_many() {
    let late = "[[rule]]\nid = 'late'\non = 'read'\npath = 'secret1/a*'\nask = 'Read?'\nstops = ['secret1/ab']\npasses = ['x']\n";
    let message = refused(&(ordinary(900) + late)).await;
    assert!(message.contains("`late` has no effect, because `r1` before it already rejects"), "{message}");
}

#[tokio::test]
async fn too_many_rules_get_one_sentence_about_their_number() {
    let message = refused(&ordinary(10_000)).await;
    assert_eq!(message.matches("there are more than 1000 rules in these files").count(), 1, "{message}");
}

#[tokio::test]
async fn examples_that_take_too_much_work_get_one_sentence() {
    let examples = |from: usize| {
        let example = |at| format!("'{} && deploy --force x{}'", "cd a; (ls -l) | grep x".repeat(40), from + at);
        (0..32).map(example).collect::<Vec<_>>().join(", ")
    };
    let rule = |at| {
        let stops = examples(at);
        format!("[[rule]]\nid = 'r{at}'\non = 'shell'\nargs = 'x*'\nask = 'no'\nstops = [{stops}]\npasses = ['ls']\n")
    };
    let message = refused(&(0..300).map(rule).collect::<String>()).await;
    let sentence = "300 rules with their examples are too much: write fewer rules, or shorter examples";
    assert!(message.ends_with(sentence), "{message}");
}

#[tokio::test]
async fn a_condition_that_is_too_large_or_too_deep_gets_one_sentence() {
    let rule = |when: String| {
        format!("[[rule]]\nid = 'r'\non = 'shell'\nwhen = '{when}'\nreject = 'no'\nstops = ['ls']\npasses = ['cd']\n")
    };
    let nested = |levels: usize| format!("{}true{}", "(".repeat(levels), ")".repeat(levels));
    for (when, sentence) in [
        (format!("command == \"{}\"", "a".repeat(1 << 20)), "a text has at most 4096 bytes, and this one has 1048589"),
        (nested(10_000), "a text has at most 4096 bytes, and this one has 20004"),
        (nested(2_000), "the expression has more than 48 levels"),
        (vec!["true"; 600].join("=="), "the expression has more than 48 levels"),
    ] {
        let message = refused(&rule(when)).await;
        assert_eq!(message.matches(sentence).count(), 1, "{message}");
    }
}

/// Patterns and subjects that make a comparison as slow as it can be: fuel is counted, and the same on each machine.
#[tokio::test]
async fn a_pattern_at_its_limits_is_compared_far_from_the_default_fuel() {
    let patterns = [
        "*a".repeat(31) + "/x",
        ["**/a*"; 10].join("/") + "/x",
        "*[!b]".repeat(16) + "/x",
        "?*".repeat(16) + "b",
        format!("*{}b*", "a".repeat(1_020)),
        format!("**/*{}b", "a".repeat(1_015)),
    ];
    for pattern in patterns {
        let rules = format!(
            "[[rule]]\nid = 'p'\non = ['read', 'write', 'delete']\npath = ['{pattern}', '/{pattern}']\nnote = 'n'\n\
             [[rule]]\nid = 'a'\non = 'shell'\nargs = '{pattern}'\nnote = 'n'\n\
             [[rule]]\nid = 'c'\non = 'shell'\nwhen = 'glob(command, \"{pattern}\")'\nnote = 'n'\n"
        );
        let session = session(&rules).await.expect("rules");
        for subject in ["a".repeat(4_000), "a/".repeat(2_000), "a".repeat(200) + &"/a".repeat(1_900), "é".repeat(2_000)]
        {
            for (tool, arguments) in [
                ("Read", json!({ "file_path": subject })),
                ("Bash", json!({ "command": format!("rm {subject}") })),
                ("Bash", json!({ "command": format!("rm -r {}*", subject.replace("aaa", "*a")) })),
            ] {
                let (_, fuel) = decision(&session, tool, arguments).await;
                println!(
                    "{} with {}…: {tool}, fuel {fuel}",
                    &pattern[..20],
                    subject.chars().take(5).collect::<String>()
                );
                assert!(fuel < 90_000_000, "{pattern} {tool} {subject}: fuel {fuel}");
            }
        }
    }
}
