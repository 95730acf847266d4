//! `[settings]` and `[settings.audit]`: their values and ranges, and the values that a project's file may set.

use std::{num::NonZeroUsize, time::Duration};

use super::{
    World,
    bad_input::{problems, shown},
    parse,
};
use crate::config::{AuditSettings, Config, ConfigError, Settings};

fn settings(text: &str) -> Settings {
    parse(text).unwrap().settings().clone()
}

#[test]
fn without_a_key_the_documented_defaults_count() {
    for text in ["", "[settings]", "[settings.audit]", "[settings]\nstream-unfinalised = false"] {
        let found = settings(text);
        assert_eq!(found, Settings::default(), "{text}");
        assert!(!found.stream_unfinalised && !found.require_plugins);
        assert_eq!(found.approval_deadline, Duration::from_secs(300));
        assert_eq!(found.concurrent_calls.get(), 32);
        assert_eq!(found.audit, AuditSettings { largest_value: (256 << 10).try_into().unwrap(), mask: vec![] });
    }
}

#[test]
fn each_key_is_understood_up_to_the_ends_of_its_range() {
    let found = settings(
        "[settings]\napproval-deadline = '24h'\n[settings.audit]\nlargest-value = '64MiB'\nmask = ['*password*', 'api key']",
    );
    assert_eq!(found.approval_deadline, Duration::from_secs(24 * 3600));
    assert_eq!(found.audit.largest_value.get(), 64 << 20);
    assert_eq!(found.audit.mask, ["*password*", "api key"].map(|text| text.parse().unwrap()));
    let found = settings(
        "settings = { approval-deadline = '1us', overload-deadline = '3s', require-plugins = true, audit = { largest-value = 1024, mask = [] } }",
    );
    assert_eq!(found.approval_deadline, Duration::from_micros(1));
    assert_eq!(found.overload_deadline, Duration::from_secs(3));
    assert!(found.require_plugins);
    assert_eq!((found.audit.largest_value.get(), found.audit.mask.len()), (1 << 10, 0));
}

#[test]
fn a_wrong_setting_is_named_with_its_place_and_what_would_be_right() {
    let cases = [
        (
            "aproval-deadline = '1m'",
            "2:1 settings.aproval-deadline [approval-deadline] unknown key `aproval-deadline` in `settings`: did you mean `approval-deadline`?",
        ),
        (
            "concurrent-calls = 257",
            "2:20 settings.concurrent-calls [] `settings.concurrent-calls`: out of range: the most is 256",
        ),
        (
            "concurrent-calls = 0",
            "2:20 settings.concurrent-calls [] `settings.concurrent-calls`: 0 is never \"unlimited\": give a whole number, 1 or more, or leave the key out for the default",
        ),
        (
            "approval-deadline = 0",
            "2:21 settings.approval-deadline [] `settings.approval-deadline`: 0 is never \"unlimited\": give a time with its unit, such as \"100ms\", or leave the key out for the default",
        ),
        (
            "approval-deadline = 300",
            "2:21 settings.approval-deadline [] `settings.approval-deadline`: 300 has no unit: give a time with its unit, such as \"100ms\"",
        ),
        (
            "approval-deadline = '25h'",
            "2:21 settings.approval-deadline [] `settings.approval-deadline`: out of range: the most is 24h",
        ),
        (
            "[settings.audit]\nlargest = 1",
            "3:1 settings.audit.largest [largest-value] unknown key `largest` in `settings.audit`: did you mean `largest-value`?",
        ),
        (
            "[settings.audit]\nlargest-value = 0",
            "3:17 settings.audit.largest-value [] `settings.audit.largest-value`: 0 is never \"unlimited\": give a size such as \"16MiB\", or a number of bytes, or leave the key out for the default",
        ),
        (
            "[settings.audit]\nlargest-value = 1023",
            "3:17 settings.audit.largest-value [] `settings.audit.largest-value`: out of range: the least is 1KiB",
        ),
        (
            "[settings.audit]\nlargest-value = '65MiB'",
            "3:17 settings.audit.largest-value [] `settings.audit.largest-value`: out of range: the most is 64MiB",
        ),
        (
            "[settings.audit]\nmask = 'password'",
            "3:8 settings.audit.mask [] `settings.audit.mask`: expected an array, found a string",
        ),
        (
            "[settings.audit]\nmask = ['a', '']",
            "3:14 settings.audit.mask [] `settings.audit.mask`: a key pattern is a key's name, with `*` for any text: it cannot be empty or hold control characters",
        ),
        ("audit = true", "2:9 settings.audit [] `settings.audit`: expected a table, found `true`"),
    ];
    for (text, expected) in cases {
        let text = format!("[settings]\n{text}");
        assert_eq!(problems(&text).iter().map(shown).collect::<Vec<_>>(), [expected], "{text}");
    }
}

#[test]
fn a_project_can_shorten_the_approval_deadline_and_not_lengthen_it() {
    let key = |time: &str| format!("[settings]\napproval-deadline = '{time}'\n");
    let settle = |user: Option<&str>, project: &[&str]| {
        let world = World::new();
        world.write_user(&user.map(key).unwrap_or_default());
        let directories = ["", "sub", "sub/sub"];
        for (directory, time) in directories.iter().zip(project) {
            world.approve(&world.write_project(directory, &key(time)));
        }
        let deepest = world.project.join(directories[project.len() - 1]);
        let found = Config::discover(&deepest, &world.places, &[]).map(|found| found.config);
        found.map(|config| config.settings().approval_deadline.as_secs()).map_err(|error| {
            let error = error.to_string();
            let at = deepest.join("hookhost.toml");
            assert!(error.starts_with(&format!("{}:2:21: a project's file cannot loosen", at.display())), "{error}");
            let (_, against) = error.lines().next().unwrap().split_once("`approval-deadline` is tighter ").unwrap();
            against.rsplit('/').next().unwrap().to_owned()
        })
    };
    assert_eq!(settle(None, &["1m"]), Ok(60));
    assert_eq!(settle(None, &["300s"]), Ok(300));
    assert_eq!(settle(None, &["301s"]), Err("by default".into()));
    assert_eq!(settle(Some("1h"), &["10m"]), Ok(600));
    assert_eq!(settle(Some("1m"), &["2m"]), Err("hookhost.toml:2".into()));
    assert_eq!(settle(None, &["2m", "1m"]), Ok(60));
    assert_eq!(settle(None, &["1m", "2m"]), Err("hookhost.toml:2".into()));
}

#[test]
fn a_project_cannot_say_what_the_users_log_holds() {
    let audit = "[settings.audit]\nmask = ['*']\n";
    let world = World::new();
    world.write_user("[settings.audit]\nmask = ['token']\n");
    for (text, place) in [(audit, "1:1"), ("[settings]\naudit = {}", "2:9"), ("[settings]\naudit.mask = ['*']", "2:1")]
    {
        let project = world.write_project("", text);
        world.approve(&project);
        let error = world.discover().unwrap_err().to_string();
        let expected = format!(
            "{}:{place}: a project's file cannot set `settings.audit`, which decides what your own log contains",
            project.display()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let chosen = world.write_project("", audit);
    assert_eq!(Config::open(&chosen, &world.places, &[]).unwrap().settings().audit.mask.len(), 1);
}

#[test]
fn all_that_a_project_may_not_set_is_reported_at_once() {
    let world = World::new();
    let text = "[settings]\nstream-unfinalised = true\napproval-deadline = '1h'\noverload-deadline = '3s'\nconcurrent-calls = 33\naudit = {}\n";
    world.approve(&world.write_project("", text));
    let Err(ConfigError::Invalid(found)) = world.discover() else { panic!("it is accepted") };
    let keys: Vec<_> = found.iter().map(|problem| problem.key.as_deref().unwrap()).collect();
    assert_eq!(
        keys,
        [
            "settings.stream-unfinalised",
            "settings.approval-deadline",
            "settings.overload-deadline",
            "settings.concurrent-calls",
            "settings.audit",
        ]
    );
}

#[test]
fn a_programs_own_settings_keep_the_ranges_of_written_ones() {
    let made = |approval_deadline, largest_value: usize| {
        let largest_value = NonZeroUsize::new(largest_value).unwrap();
        let audit = AuditSettings { largest_value, mask: vec![] };
        Config::from_entries(vec![], Settings { approval_deadline, audit, ..Settings::default() })
    };
    let minute = Duration::from_secs(60);
    assert_eq!(made(minute, 1 << 10).unwrap().settings().approval_deadline, minute);
    for (deadline, size) in [(Duration::ZERO, 1 << 10), (Duration::MAX, 1 << 10), (minute, 1023), (minute, 65 << 20)] {
        assert!(matches!(made(deadline, size), Err(ConfigError::Settings { .. })), "{deadline:?} {size}");
    }
}
