//! Property tests with generated texts and entries.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use proptest::{collection, option, prelude::*, sample};

use super::{entry, parse};
use crate::{
    config::{
        ActionKind, Config, Digest, Entry, Grants, Layer, Limits, Mode, ModelGrant, OnFailure, SecretsGrant, Source,
        StateGrant, raw::RawEntry,
    },
    contract::{EventKind, FactName, Stop},
};

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9._-]{0,20}"
}

fn path() -> impl Strategy<Value = PathBuf> {
    ("/(etc/)?", "[^/\\x00]{1,8}").prop_filter_map("no path of its own", |(directory, name)| {
        (name != "." && name != "..").then(|| PathBuf::from(format!("{directory}{name}.wasm")))
    })
}

fn directories(prefix: &'static str) -> impl Strategy<Value = BTreeMap<String, PathBuf>> {
    collection::btree_map("[a-z]{1,5}".prop_map(move |name| format!("/{prefix}/{name}")), path(), 0..3)
}

fn grants() -> impl Strategy<Value = Grants> {
    let state = option::of((1_usize..=1 << 30).prop_map(|quota| StateGrant { quota: quota.try_into().unwrap() }));
    let model = option::of(
        ("\\PC{1,8}", 1_u32..).prop_map(|(name, calls)| ModelGrant { name, max_calls: calls.try_into().unwrap() }),
    );
    let capabilities = collection::btree_set("[a-z]{1,6}", 0..3);
    let lists =
        (capabilities, collection::vec("[A-Z_]{1,6}", 0..3), collection::vec("[a-z]{1,6}(:[1-9][0-9]{0,3})?", 0..3));
    let facts = collection::btree_set(sample::select(FactName::ALL), 0..3);
    let names = (collection::vec("[.a-z]{0,3}[a-z]{1,3}\\*?", 0..3), collection::vec("[A-Z_]{1,6}", 0..3));
    let secrets = option::of(names.prop_map(|(files, variables)| SecretsGrant { files, variables }));
    (state, directories("r"), directories("w"), lists, (model, facts), any::<[bool; 6]>(), secrets).prop_map(
        |(
            state,
            read_dirs,
            write_dirs,
            (capabilities, env, http),
            (model, facts),
            [transcript, labels, approve, audit, clock, random],
            secrets,
        )| Grants {
            state,
            read_dirs,
            write_dirs,
            env,
            http,
            capabilities,
            model,
            transcript,
            facts,
            labels,
            secrets,
            approve,
            audit,
            clock,
            random,
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let default = Limits::default();
    let times = (1_u64..=3_600_000_000).prop_flat_map(|deadline| (1..=deadline, Just(deadline)));
    let size = || 1_usize..=1 << 30;
    let counts = (1_u32..=1_000_000, 1_u32..=100, 1_u32..=200, 1_u32..=100_000);
    let all = (1_u64..=i64::MAX as u64, times, 1_usize..=4 << 30, counts, size(), size(), (size(), size()), 1_u32..);
    option::of(all).prop_map(move |limits| match limits {
        None => default.clone(),
        Some((
            fuel,
            (compute, deadline),
            memory,
            (elements, tables, instances, handles),
            input,
            output,
            (log, http_body),
            calls,
        )) => Limits {
            fuel: fuel.try_into().unwrap(),
            compute: Some(Duration::from_micros(compute)),
            deadline: Some(Duration::from_micros(deadline)),
            memory: memory.try_into().unwrap(),
            table_elements: elements.try_into().unwrap(),
            tables: tables.try_into().unwrap(),
            instances: instances.try_into().unwrap(),
            handles: handles.try_into().unwrap(),
            input: input.try_into().unwrap(),
            output: output.try_into().unwrap(),
            log: log.try_into().unwrap(),
            http_body: http_body.try_into().unwrap(),
            capability_calls: calls.try_into().unwrap(),
        },
    })
}

fn config() -> impl Strategy<Value = serde_json::Map<String, serde_json::Value>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        (-1e9_f64..1e9).prop_map(serde_json::Value::from),
        ".{0,12}".prop_map(serde_json::Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            collection::btree_map(".{0,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    });
    collection::btree_map(".{0,6}", value, 0..4).prop_map(|map| map.into_iter().collect())
}

prop_compose! {
    fn valid_entry()(
        limits in limits(),
        grants in grants(),
        name in name(),
        path in path(),
        bytes in any::<[u8; 4]>(),
        priority in any::<i32>(),
        enabled in any::<bool>(),
        events in option::of(collection::btree_set(sample::select(EventKind::ALL), 1..3)),
        actions in option::of(collection::btree_set(sample::select(ActionKind::ALL), 1..3)),
        tools in option::of(collection::vec("[a-z_*\"\\\\']{1,8}".prop_map(|text| text.parse().unwrap()), 1..3)),
        mode in sample::select(&[Mode::Enforce, Mode::Observe][..]),
        stop in sample::select(&[Stop::Run, Stop::Session][..]),
        on_failure in option::of(sample::select(&[OnFailure::Reject, OnFailure::Skip, OnFailure::Ask][..])),
        config in config(),
    ) -> Entry {
        let digest = Digest::of_bytes(&bytes);
        Entry { priority, enabled, events, actions, tools, mode, on_failure, stop, limits, grants, config, ..Entry::new(name, path, digest) }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_text_made_of_the_formats_own_words_makes_the_parser_panic(
        words in collection::vec(sample::select(&[
            "[[plugin]]", "[plugin.limits]", "[plugin.grants]", "[settings]", "[agent]", "\n", "\r\n", " ", "=", "\"", "'", "{", "}",
            "[", "]", ",", ".", "#", "name", "path", "sha256", "limits", "fuel", "compute", "0", "-1", "1_0", "\"1ms\"", "nan", "true",
            "'''", "é", "\u{feff}", "\u{1b}", "\t", "1979-05-27", "0xffffffffffffffffff", "\"\\u00e9\"",
        ][..]), 0..40),
    ) {
        let _ = parse(&words.concat()).map_err(|error| error.to_string());
    }

    #[test]
    fn no_damage_to_a_good_file_makes_the_parser_panic(at in 0_usize..400, with in ".{0,3}", cut in 0_usize..5) {
        let good = entry("a") + "tools = ['é*']\nlimits = { fuel = 1, deadline = '3s' }\ngrants = { state = {}, env = ['A'] }\n";
        let chars: Vec<char> = good.chars().collect();
        let at = at % chars.len();
        let damaged: String = chars[..at].iter().copied().chain(with.chars()).chain(chars.iter().skip(at + cut).copied()).collect();
        let _ = parse(&damaged).map_err(|error| error.to_string());
    }

    #[test]
    fn a_valid_entry_is_read_as_it_was_written(entry in valid_entry()) {
        let source = Source { home: Some("/home/ada".into()), ..Source::new("/etc/hookhost.toml", Layer::Chosen) };
        let text = RawEntry::of(&entry, "/etc".as_ref()).and_then(|written| written.to_toml()).unwrap();
        let config = Config::parse(&text, &source, &[]).map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
        let found = Entry { origin: None, ..config.entries()[0].clone() };
        prop_assert_eq!(found, entry, "{}", text);
    }
}
