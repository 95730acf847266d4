//! `hookhost inspect`, which runs nothing of what it looks at, and `hookhost hooks`.

use hookhost_tests::{Entry, User, WatPlugin, digest, plugin};
use serde_json::{Value, json};

fn inspect(user: &User, file: &str) -> Value {
    let ended = user.run(["inspect", "--json", file]);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

#[test]
fn inspect_tells_exports_imports_metadata_size_digest_and_what_it_needs() {
    let user = User::new();
    let file = plugin("all-events");
    let object = inspect(&user, file.to_str().unwrap());
    assert_eq!(object["digest"], digest(&file));
    assert_eq!(object["size"], std::fs::metadata(&file).unwrap().len());
    assert_eq!(object["events"].as_array().unwrap().len(), hookhost::contract::EventKind::ALL.len());
    assert!(object["exports"].as_array().unwrap().contains(&json!("hookhost:hooks/before-tool-call@0.1.0")));
    assert!(object["imports"].as_array().unwrap().contains(&json!("hookhost:hooks/state@0.1.0")));
    assert_eq!(object["grants"][0], r#"state = { quota = "1MiB" }"#);
    assert_eq!((&object["configurable"], &object["tools"]), (&json!(true), &json!(true)));
    assert!(object["metadata"]["producers"]["processed-by"][0].as_str().unwrap().starts_with("wit-component "));
    assert_eq!(object["metadata"]["stack"], 49152, "what the project template links with");
    assert_eq!(object["allowed"]["state"], "not-on-the-allowlist");

    let ended = user.run(["inspect", file.to_str().unwrap()]);
    ended.expect(0, &[]);
    for text in ["events", "needs", "exports", "imports", "48KiB", &digest(&file), "hookhost allow "] {
        assert!(ended.stdout.contains(text), "{text} is not in {ended:#?}");
    }
}

#[test]
fn inspect_tells_whether_the_file_is_allowed_and_by_which_entry() {
    let user = User::new();
    let file = user.write("mine.wasm", WatPlugin::default().build());
    let entry = Entry::new("guard", &file);
    let at = format!("{}:1", user.config_file().display());
    let state = |entry: &Entry| {
        user.configure(&entry.to_toml());
        let object = inspect(&user, "mine.wasm");
        assert_eq!((&object["allowed"]["name"], &object["allowed"]["at"]), (&json!("guard"), &json!(at)));
        let text = user.run(["inspect", "mine.wasm"]).stdout;
        assert!(text.contains(&at), "{text}");
        object["allowed"]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(&entry), "allowed");
    assert_eq!(state(&entry.clone().keys("enabled = false")), "not-enabled");
    assert_eq!(state(&entry.digest(&"a".repeat(64))), "other-digest");
}

#[test]
fn inspect_works_beside_an_allowlist_that_does_not() {
    let user = User::new();
    user.configure("this is no toml");
    user.write("mine.wasm", WatPlugin::default().build());
    assert_eq!(inspect(&user, "mine.wasm")["allowed"]["state"], "unknown");
}

#[test]
fn inspect_describes_what_cannot_be_loaded_and_ends_with_5() {
    let user = User::new();
    let bent = WatPlugin { more_session: r#"(field "more" bool)"#, ..WatPlugin::default() };
    user.write("bent.wasm", bent.build());
    let ended = user.run(["inspect", "bent.wasm"]);
    ended.expect(5, &[]);
    assert!(ended.stdout.contains("cannot be loaded: it exports `hookhost:hooks/prompt-submit.handle`"), "{ended:#?}");
    assert!(ended.stdout.contains("types"), "{ended:#?}");
    user.write("text.wasm", "hello");
    user.run(["inspect", "text.wasm"]).expect(5, &["text.wasm is not WebAssembly"]);
    user.run(["inspect", "gone.wasm"]).expect(5, &["gone.wasm does not exist; give the path"]);
}

#[test]
fn inspect_runs_nothing() {
    // Its start function would trap in any instance.
    let user = User::new();
    let text = r#"(component
        (core module $m (func $f unreachable) (start $f))
        (core instance (instantiate $m)))"#;
    user.write("trap.wasm", wat::parse_str(text).unwrap());
    let ended = user.run(["inspect", "trap.wasm"]);
    ended.expect(5, &[]);
    assert!(ended.stdout.contains("exports no event"), "{ended:#?}");
}

#[test]
fn inspect_tells_what_a_large_stack_costs() {
    let user = User::new();
    let text_of_stack = |size: u32| {
        format!(
            r#"(component (core module (memory 17) (global $__stack_pointer (mut i32) (i32.const {size}))
                (data (i32.const {size}) "behind the stack")))"#
        )
    };
    user.write("large.wasm", wat::parse_str(text_of_stack(1 << 20)).unwrap());
    let text = user.run(["inspect", "large.wasm"]).stdout;
    assert!(text.contains("1MiB, which is large") && text.contains("-zstack-size=49152"), "{text}");
    // What a plugin that reads deeply nested values has is no reason for a word.
    user.write("deep.wasm", wat::parse_str(text_of_stack(192 << 10)).unwrap());
    let text = user.run(["inspect", "deep.wasm"]).stdout;
    assert!(text.contains("192KiB\n"), "{text}");
    // Data below the pointer: the stack is not first, and its size is not known.
    let text =
        r#"(component (core module (memory 17) (global (mut i32) (i32.const 1048576)) (data (i32.const 1024) "x")))"#;
    user.write("other.wasm", wat::parse_str(text).unwrap());
    assert_eq!(inspect(&user, "other.wasm")["metadata"]["stack"], Value::Null);
}

/// The bytes of a component, and a custom section after them.
fn with_section(mut bytes: Vec<u8>, name: &str, text: &[u8]) -> Vec<u8> {
    let mut section = vec![u8::try_from(name.len()).unwrap()];
    section.extend(name.as_bytes());
    section.extend(text);
    // The length in LEB128, of two bytes.
    let length = u16::try_from(section.len()).unwrap();
    bytes.extend([0, (length & 0x7f) as u8 | 0x80, u8::try_from(length >> 7).unwrap()]);
    bytes.extend(section);
    bytes
}

/// The priority that the only entry of the user's file gives, where it gives one.
fn written_priority(user: &User) -> Option<i64> {
    let file = std::fs::read_to_string(user.config_file()).unwrap();
    let line = file.lines().find_map(|line| line.strip_prefix("priority = "));
    line.map(|number| number.parse().unwrap())
}

#[test]
fn a_priority_that_a_plugin_proposes_is_shown_and_written_unless_another_is_given() {
    for (flags, asked, written) in [
        (&["--yes"][..], "asked   at priority 40, as the plugin proposes", Some(40)),
        (&["--yes", "--priority", "7"], "events ", Some(7)),
    ] {
        let user = User::new();
        user.write("asks.wasm", std::fs::read(plugin("asks-server")).unwrap());
        let text = user.run(["inspect", "asks.wasm"]).stdout;
        assert!(text.contains("  priority  40, as a proposal: the entry decides\n"), "{text}");
        assert_eq!(inspect(&user, "asks.wasm")["metadata"]["priority"], 40);
        let ended = user.run(["allow", "asks.wasm"].iter().chain(flags));
        ended.expect(0, &[asked]);
        assert_eq!(ended.stderr.contains("as the plugin proposes"), written == Some(40), "{ended:#?}");
        assert_eq!(written_priority(&user), written);
    }
}

#[test]
fn a_plugin_can_propose_that_a_person_decides_where_it_fails_and_not_that_its_failures_are_skipped() {
    let proposing = |text: &[u8]| with_section(WatPlugin::default().build(), "hookhost:on-failure", text);
    let user = User::new();
    user.write("asks.wasm", proposing(b"ask"));
    let text = user.run(["inspect", "asks.wasm"]).stdout;
    assert!(text.contains("  failure   ask, as a proposal for `on-failure`: the entry decides\n"), "{text}");
    assert_eq!(inspect(&user, "asks.wasm")["metadata"]["on-failure"], "ask");
    user.run(["allow", "asks.wasm", "--yes"]).expect(0, &["on-failure = \"ask\", as the plugin proposes"]);
    let file = || std::fs::read_to_string(user.config_file()).unwrap();
    assert!(file().contains("on-failure = \"ask\"\n"), "{}", file());

    let user = User::new();
    user.write("asks.wasm", proposing(b"ask"));
    user.run(["allow", "asks.wasm", "--yes", "--entry", "on-failure = \"reject\""]).expect(0, &[]);
    let file = std::fs::read_to_string(user.config_file()).unwrap();
    assert!(file.contains("on-failure = \"reject\"\n") && !file.contains("ask\""), "{file}");

    let user = User::new();
    user.write("skips.wasm", proposing(b"skip"));
    let said =
        ["the `on-failure` that the plugin proposes cannot be used: ", "says \"skip\", and must say `ask` or `reject`"];
    user.run(["allow", "skips.wasm", "--yes"]).expect(2, &said);
}

#[test]
fn a_new_digest_whose_proposals_differ_from_its_entry_says_so_and_changes_nothing_of_it() {
    let user = User::new();
    let of = |texts: [&[u8]; 2]| {
        let plain = WatPlugin::default().build();
        let with = with_section(plain, "hookhost:priority", texts[0]);
        with_section(with, "hookhost:on-failure", texts[1])
    };
    user.write("one.wasm", of([b"50", b"reject"]));
    user.run(["allow", "one.wasm", "--yes"]).expect(0, &["at priority 50, as the plugin proposes"]);
    user.write("one.wasm", of([b"40", b"ask"]));
    let said = [
        "at priority 50, as the entry says; the plugin proposes 40: to use it, set `priority` in the entry",
        "the entry says reject for `on-failure`; the plugin proposes \"ask\": to use it, set `on-failure` in the entry",
    ];
    user.run(["allow", "one.wasm", "--yes"]).expect(0, &said);
    assert_eq!(written_priority(&user), Some(50));
    let file = std::fs::read_to_string(user.config_file()).unwrap();
    assert!(file.contains("on-failure = \"reject\"\n"), "{file}");
    user.write("one.wasm", of([b"50", b"reject"]));
    let ended = user.run(["allow", "one.wasm", "--yes"]);
    ended.expect(0, &[]);
    assert!(!ended.stderr.contains("in the entry"), "{ended:#?}");
}

#[test]
fn at_run_time_only_the_priority_of_the_file_counts() {
    let user = User::new();
    let bytes = WatPlugin::default().build();
    user.write("one.wasm", with_section(bytes, "hookhost:priority", b"-5"));
    user.run(["allow", "one.wasm", "--yes"]).expect(0, &["at priority -5"]);
    assert_eq!(written_priority(&user), Some(-5));
    let file = std::fs::read_to_string(user.config_file()).unwrap();
    user.configure(&file.replace("priority = -5\n", ""));
    let hooks = user.run(["hooks"]);
    hooks.expect(0, &[]);
    assert!(hooks.stdout.contains("one priority 100"), "{hooks:#?}");
}

#[test]
fn a_proposal_that_is_not_a_priority_is_reported_and_allowed_only_with_one() {
    let says = |texts: &[&[u8]]| {
        let plain = WatPlugin::default().build();
        texts.iter().fold(plain, |bytes, text| with_section(bytes, "hookhost:priority", text))
    };
    let range = "must say a whole number from -2147483648 to 2147483647";
    for (texts, said) in [
        (&[&b"soon"[..]][..], "its section `hookhost:priority` says \"soon\", and must say"),
        (&[b"2147483648"], range),
        (&[b""], range),
        (&[b"\xff\x1b[2J"], range),
        (&[b"1", b"2"], "it has several sections `hookhost:priority` that say different things"),
    ] {
        let user = User::new();
        user.write("odd.wasm", says(texts));
        let inspected = user.run(["inspect", "odd.wasm"]);
        inspected.expect(0, &[]);
        assert!(inspected.stdout.contains(said) && !inspected.stdout.contains('\u{1b}'), "{inspected:#?}");
        let ended = user.run(["allow", "odd.wasm", "--yes"]);
        ended.expect(2, &["the priority that the plugin proposes cannot be used: ", said, "--priority 100"]);
        assert!(!user.config_file().exists());
        user.run(["allow", "odd.wasm", "--yes", "--priority", "100"]).expect(0, &[]);
    }
    let user = User::new();
    user.write("twice.wasm", says(&[b"3", b"3"]));
    user.run(["allow", "twice.wasm", "--yes"]).expect(0, &["at priority 3"]);
}

#[test]
fn a_plugin_describes_itself_as_its_package_does_and_a_description_of_the_component_outranks_it() {
    let user = User::new();
    let bytes = std::fs::read(plugin("path-guard")).unwrap();
    user.write("plain.wasm", &bytes);
    let text = user.run(["inspect", "plain.wasm"]).stdout;
    assert!(text.contains("description Rejects writes to protected paths\n"), "{text}");
    user.write("described.wasm", with_section(bytes, "description", b"Guards our paths"));
    assert_eq!(inspect(&user, "described.wasm")["metadata"]["annotations"]["description"], "Guards our paths");
}

#[test]
fn what_a_component_says_of_itself_cannot_steer_the_terminal() {
    let user = User::new();
    user.write("rude.wasm", with_section(wat::parse_str("(component)").unwrap(), "description", b"nice\x1b[2J"));
    let text = user.run(["inspect", "rude.wasm"]).stdout;
    assert!(text.contains("nice\u{fffd}[2J"), "{text}");
}

#[test]
fn what_a_component_says_of_itself_is_cut_to_what_one_reads() {
    let user = User::new();
    // One field `processed-by` with one tool, whose name is long: the strings have lengths of two bytes.
    let name = "n".repeat(4_000);
    let tool = [&[0xa0, 0x1f][..], name.as_bytes(), b"\x011"].concat();
    let producers = [&b"\x01\x0cprocessed-by\x01"[..], &tool].concat();
    let plain = || wat::parse_str("(component)").unwrap();
    user.write("long.wasm", with_section(plain(), "producers", &producers));
    let text = user.run(["inspect", "long.wasm"]).stdout;
    assert!(text.contains(&format!("made with {}…\n", "n".repeat(40))), "{text}");
    user.write("told.wasm", with_section(plain(), "description", "d".repeat(4_000).as_bytes()));
    let text = user.run(["inspect", "told.wasm"]).stdout;
    assert!(text.contains(&format!("{}…\n", "d".repeat(500))) && !text.contains(&"d".repeat(501)), "{text}");
}

fn two(user: &User) {
    let copy = |name: &str| user.write(name, std::fs::read(plugin("all-events")).unwrap());
    let grants = hookhost_tests::ALL_EVENTS_GRANTS;
    let late = Entry::new("late", &copy("late.wasm"))
        .grants(grants)
        .limits("fuel = 77\ncompute = \"30s\"\ndeadline = \"30s\"\n");
    let early = Entry::new("early", &copy("early.wasm")).grants(grants);
    let late = late.limits("compute = \"30s\"\ndeadline = \"31s\"\nmemory = \"32MiB\"\n");
    user.configure(&format!(
        "{}{}",
        late.keys("events = [\"before-tool-call\"]\nactions = [\"shell\"]").to_toml(),
        early.keys("priority = 7\nmode = \"observe\"\non-failure = \"skip\"\nevents = [\"before-tool-call\", \"session-end\"]").to_toml()
    ));
}

#[test]
fn hooks_shows_each_chain_in_order_with_limits_and_grants() {
    let user = User::new();
    two(&user);
    let ended = user.run(["hooks"]);
    ended.expect(0, &[]);
    let text = &ended.stdout;
    assert!(
        text.contains(
            "before-tool-call (gate)\n  1. early priority 7, observe, on failure skip\n  \
             2. late priority 100, enforce, on failure reject, only actions shell\n"
        ),
        "{text}"
    );
    assert!(text.contains("no plugin: session-start, prompt-submit, "), "{text}");
    assert!(text.contains("compute 30s, deadline 31s, memory 32MiB, table-elements 20000, tables 10, instances 50, handles 256, input 1MiB"), "{text}");
    assert!(text.contains("grants  state (quota 1MiB), model (name small, max-calls 10), transcript, audit"), "{text}");

    let object: Value = serde_json::from_str(&user.run(["hooks", "--json"]).stdout).unwrap();
    let events = object["events"].as_array().unwrap();
    let gate = events.iter().find(|event| event["event"] == "before-tool-call").unwrap();
    let names: Vec<_> = gate["chain"].as_array().unwrap().iter().map(|link| &link["plugin"]).collect();
    assert_eq!(names, ["early", "late"]);
    let late = &gate["chain"][1];
    assert_eq!((&late["limits"]["memory"], &late["limits"]["deadline-micros"]), (&json!(32 << 20), &json!(31_000_000)));
    assert_eq!((&late["grants"]["state"]["quota"], &late["actions"]), (&json!(1 << 20), &json!(["shell"])));
    assert_eq!((&late["mode"], &late["on-failure"]), (&json!("enforce"), &json!("reject")));
}

#[test]
fn without_an_allowlist_hooks_says_how_to_begin() {
    let ended = User::new().run(["hooks"]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.contains("No plugin is on the allowlist, so nothing is checked.\n  next: hookhost on\n"),
        "{ended:#?}"
    );
}

/// An entry with every grant for a copy of the plugin, and directories that are there.
fn with_every_grant(user: &User) -> Entry {
    let file = user.write("all.wasm", std::fs::read(plugin("all-events")).unwrap());
    user.write("policy/rules", "");
    user.write("out/last", "");
    let directory = user.project();
    Entry::new("all", &file)
        .grants(&format!(
            "{}read-dirs = {{ \"/policy\" = {:?} }}\nwrite-dirs = {{ \"/out\" = {:?} }}\nenv = [\"CI\"]\n\
             http = [\"api.example.com\", \"localhost:8080\"]\napprove = true\nclock = true\nrandom = true\n",
            hookhost_tests::ALL_EVENTS_GRANTS,
            directory.join("policy"),
            directory.join("out"),
        ))
        .limits("deadline = \"5s\"\nhttp-body = \"64KiB\"\n")
}

fn every_grant_in_words(user: &User) -> String {
    let directory = user.project().display().to_string();
    format!(
        "state (quota 1MiB), read-dirs (/policy = {directory}/policy), write-dirs (/out = {directory}/out), env (CI), \
         http (api.example.com, localhost:8080), model (name small, max-calls 10), transcript, approve, audit, clock, random"
    )
}

#[test]
fn hooks_shows_every_grant_and_limit() {
    let user = User::new();
    user.configure(&with_every_grant(&user).to_toml());
    let ended = user.run(["hooks"]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains(&format!("  grants  {}\n", every_grant_in_words(&user))), "{ended:#?}");
    assert!(ended.stdout.contains("deadline 5s") && ended.stdout.contains("http-body 64KiB"), "{ended:#?}");
    let object: Value = serde_json::from_str(&user.run(["hooks", "--json"]).stdout).unwrap();
    let link = &object["events"][0]["chain"][0];
    assert_eq!(link["grants"]["http"], json!(["api.example.com", "localhost:8080"]));
    assert_eq!(link["grants"]["write-dirs"]["/out"], json!(user.project().join("out")));
    assert_eq!(link["limits"]["http-body"], 64 << 10);
}

#[test]
fn inspect_allowed_shows_what_the_entry_gives_with_the_defaults_filled_in() {
    let user = User::new();
    user.configure(&with_every_grant(&user).keys("events = [\"prompt-submit\"]\nmode = \"observe\"").to_toml());
    let ended = user.run(["inspect", "--allowed", "all.wasm"]);
    ended.expect(0, &[]);
    let grants = every_grant_in_words(&user);
    for text in [
        "all at ",
        "  loads     yes\n",
        "  mode      observe, priority 100\n",
        "  events    prompt-submit\n",
        "  limits    fuel 100000000, compute 100ms, deadline 5s, memory 16MiB, table-elements 20000, tables 10, instances 50, handles 256, input 1MiB, output 2MiB, log 64KiB, \
         http-body 64KiB, capability-calls 10000\n",
        &format!("  grants    {grants}\n"),
    ] {
        assert!(ended.stdout.contains(text), "{text} is not in {}", ended.stdout);
    }
    let object: Value = serde_json::from_str(&user.run(["inspect", "--allowed", "--json", "all.wasm"]).stdout).unwrap();
    assert_eq!((&object["loads"], &object["grants"]["clock"]), (&json!(true), &json!(true)));
    assert_eq!(object["limits"]["deadline-micros"], 5_000_000);

    // As the defaults are, where the entry says nothing.
    let file = user.write("bare.wasm", WatPlugin::default().build());
    user.configure(&Entry::new("bare", &file).limits("").to_toml());
    let ended = user.run(["inspect", "--allowed", "bare.wasm"]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.contains("  grants    no file, network or model\n") && ended.stdout.contains("deadline 100ms"),
        "{ended:#?}"
    );
}

#[test]
fn inspect_allowed_ends_with_5_where_the_file_would_not_be_loaded_and_says_why() {
    let user = User::new();
    user.configure("");
    let file = user.write("asks.wasm", std::fs::read(plugin("asks-server")).unwrap());
    user.run(["inspect", "--allowed", "asks.wasm"])
        .expect(5, &["asks.wasm is not on the allowlist", "hookhost allow asks.wasm"]);
    let entry = Entry::new("asks", &file);
    let shows = |entry: &Entry, code, text: &str| {
        user.configure(&entry.to_toml());
        let ended = user.run(["inspect", "--allowed", "asks.wasm"]);
        ended.expect(code, &[]);
        assert!(ended.stdout.contains(text), "{text} is not in {}", ended.stdout);
    };
    shows(&entry, 0, "denied    requests: it imports wasi:http, and `http` grants it no server");
    let granted = entry.grants("http = [\"api.example.com\"]\n");
    shows(&granted, 0, "loads     yes");
    shows(&granted.clone().keys("enabled = false"), 0, "not enabled");
    shows(&granted.digest(&"a".repeat(64)), 5, "another digest than its entry: hookhost allow ");
    let file = user.write("asks.wasm", std::fs::read(plugin("notebook")).unwrap());
    shows(&Entry::new("asks", &file), 5, "no: it imports what is not granted; add to [plugin.grants]: state = ");
}

#[test]
fn a_granted_directory_that_is_gone_is_named_with_its_entry() {
    let user = User::new();
    user.configure(&with_every_grant(&user).to_toml());
    std::fs::remove_dir_all(user.project().join("out")).unwrap();
    user.run(["hooks"])
        .expect(5, &["plugin `all`: the directory ", "/out", "`write-dirs`", "make the directory", "its entry is at "]);
}

#[test]
fn inspect_allowed_says_whether_a_plugin_is_set_up_once_or_for_each_event() {
    let user = User::new();
    let file = user.write("all.wasm", std::fs::read(plugin("all-events")).unwrap());
    let says = |config: Value, once: bool, text: &str| {
        let entry = Entry::new("all", &file).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(config);
        user.configure(&entry.to_toml());
        let shown = user.run(["inspect", "--allowed", "all.wasm"]);
        shown.expect(0, &[]);
        assert!(shown.stdout.contains(text), "{shown:#?}");
        let object = user.run(["inspect", "--allowed", "--json", "all.wasm"]).stdout;
        assert_eq!(serde_json::from_str::<Value>(&object).unwrap()["pre-initialised"], once);
    };
    says(json!({}), true, "  set-up    once; each event");
    // What has printed holds a stream of its host, and no image can hold that.
    says(json!({"configure": {"do": [{"print": "configuring"}]}}), false, "  set-up    again for each event");
    let refuses = Entry::new("all", &file).grants(hookhost_tests::ALL_EVENTS_GRANTS);
    user.configure(&refuses.config(json!({"configure": {"error": "not so"}})).to_toml());
    user.run(["inspect", "--allowed", "all.wasm"]).expect(5, &["refuses its configuration: not so"]);
}

#[test]
fn hooks_of_one_event_shows_its_chain_and_no_other() {
    let user = User::new();
    two(&user);
    let ended = user.run(["hooks", "session-end"]);
    ended.expect(0, &[]);
    assert_eq!(ended.stdout, "session-end (observe)\n  1. early priority 7, observe\n");
    assert_eq!(user.run(["hooks", "turn-end"]).stdout, "no plugin: turn-end\n");
    let object: Value = serde_json::from_str(&user.run(["hooks", "session-end", "--json"]).stdout).unwrap();
    assert_eq!(object["events"].as_array().unwrap().len(), 1, "{object}");
    user.run(["hooks", "sesion-end"]).expect(2, &["session-end"]);
}
