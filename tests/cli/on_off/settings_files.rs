//! Real settings files: `on` and `off` leave each byte for byte as it was.

use super::{AGENTS, Owner, TestAgent, names, row};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// A kind of settings file.
struct Kind {
    name: &'static str,
    content: Vec<u8>,
    place: Place,
    /// Whether the hook goes in. Otherwise the file is left as it is, and `on` says why with these words.
    refused: Option<&'static str>,
}

impl Kind {
    /// Why an agent's file of this kind is left as it is. Of these agents, only Gemini CLI reads comments.
    fn refused_for(&self, agent: &TestAgent) -> Option<&'static str> {
        self.refused.filter(|_| !(agent.name == "gemini-cli" && self.name.ends_with(" comment")))
    }
}

/// Where the file is, and who may write it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    File(u32),
    /// No file, in a directory that exists.
    Missing,
    /// Neither the file nor its directory exists.
    Nowhere,
    /// A link, over a second one, to a file elsewhere.
    Link,
    /// The directory is a link.
    LinkedDirectory,
    /// A link into a store whose files and directories nobody writes.
    Store,
    /// A link to nothing.
    Dangling,
    Directory,
}

const OTHERS: &str = r#"{
  "theme": "dark",
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "/opt/guard/check", "timeout": 5 }] }],
    "BeforeTool": [{ "hooks": [{ "name": "lint", "type": "command", "command": "lint --all" }] }],
    "Stop": [{ "hooks": [{ "type": "command", "command": "beep" }] }]
  },
  "permissions": { "allow": ["Bash(ls)"] }
}
"#;

fn kinds() -> Vec<Kind> {
    let kind =
        |name, content: &[u8]| Kind { name, content: content.to_owned(), place: Place::File(0o644), refused: None };
    let placed = |name, place| Kind { place, ..kind(name, b"{\n  \"model\": \"big\"\n}\n") };
    let refused = |name, content: &[u8], why| Kind { refused: Some(why), ..kind(name, content) };
    let not_written = |name, place, why| Kind { refused: Some(why), ..placed(name, place) };
    let strict = "is not strict JSON";
    let deep = format!("{{\"a\": {}1{}}}\n", "{\"b\": [".repeat(60), "]}".repeat(60));
    let long = format!("{{\"note\": \"{}\"}}\n", "long ".repeat(200_000));
    vec![
        kind("empty", b""),
        kind("an empty object", b"{}"),
        kind("an empty object and a line end", b"{}\n"),
        kind("only white space", b" \n\t\n"),
        kind("no final newline", b"{\n  \"model\": \"big\"\n}"),
        kind("several final newlines", b"{\n  \"model\": \"big\"\n}\n\n\n"),
        kind("CRLF", b"{\r\n  \"model\": \"big\",\r\n  \"a\": [1,\r\n 2]\r\n}\r\n"),
        kind("CRLF without the last one", b"{\r\n  \"model\": \"big\"\r\n}"),
        kind("mixed line ends", b"{\n  \"model\": \"big\",\r\n  \"a\": 1\n}\r\n"),
        kind("a byte order mark", b"\xef\xbb\xbf{\n  \"model\": \"big\"\n}\n"),
        kind("a byte order mark and CRLF", b"\xef\xbb\xbf{\r\n  \"model\": \"big\"\r\n}\r\n"),
        kind("tabs", b"{\n\t\"model\": \"big\",\n\t\"nested\": {\n\t\t\"a\": 1\n\t}\n}\n"),
        kind("four spaces", b"{\n    \"model\": \"big\",\n    \"nested\": {\n        \"a\": 1\n    }\n}\n"),
        kind("one line", b"{\"model\":\"big\",\"env\":{\"A\":\"1\"},\"list\":[1,2,3]}"),
        kind("odd spaces", b"  {  \"model\"  :  \"big\"  ,\n\n\n  \"a\":[ ] ,  \"b\":{ }  }  "),
        kind("unicode", "{\n  \"język\": \"żółć 日本語 🦀\",\n  \"rtl\": \"שלום\"\n}\n".as_bytes()),
        kind("escapes", br#"{"path": "C:\\Users\\a\/b", "text": "\u00e9\ud83e\udd80\n\t\"", "hooks\u0058": 1}"#),
        kind("odd numbers", b"{\"a\": 1.0E+2, \"b\": -0, \"c\": 12345678901234567890, \"d\": 0.10}\n"),
        kind("deep", deep.as_bytes()),
        kind("a megabyte", long.as_bytes()),
        kind("hooks of other tools", OTHERS.as_bytes()),
        kind("hooks of other tools, with CRLF", OTHERS.replace('\n', "\r\n").as_bytes()),
        kind("an empty object of hooks", b"{\"hooks\": {}}\n"),
        kind("empty lists of hooks", b"{\"hooks\": {\"PreToolUse\": [], \"BeforeTool\": [ ], \"Stop\": []}}\n"),
        kind("nothing where hooks are not", b"{\"model\": null, \"a\": [null, {}, []], \"\": \"\"}\n"),
        kind(
            "a program of a similar name",
            br#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/hookhost-hooks run"}]}]}}"#,
        ),
        kind("a key twice in different objects", b"{\"a\": {\"k\": 1}, \"b\": {\"k\": 1}}\n"),
        kind("hooks first and much behind", b"{\"hooks\":{},\n\"z\":1,\n\"a\":2,\"m\":{\"x\":[{\"y\":[1]}]}}\n"),
        placed("readable by the user alone", Place::File(0o600)),
        placed("writable by the group", Place::File(0o664)),
        placed("executable", Place::File(0o755)),
        placed("a missing file", Place::Missing),
        placed("a missing directory", Place::Nowhere),
        placed("a link over another link", Place::Link),
        placed("a directory that is a link", Place::LinkedDirectory),
        not_written("read-only", Place::File(0o400), "is read-only"),
        not_written("a link into a store", Place::Store, "is read-only"),
        not_written("a link to nothing", Place::Dangling, "is a symbolic link that leads nowhere"),
        not_written("a directory", Place::Directory, "is not a regular file"),
        refused("a line comment", b"{\n  // mine\n  \"model\": \"big\"\n}\n", strict),
        refused("a block comment", b"{ /* mine */ \"model\": \"big\" }", strict),
        refused("a trailing comma", b"{\n  \"model\": \"big\",\n}\n", strict),
        refused("single quotes", b"{'model': 'big'}\n", strict),
        refused("a part of a file", b"{\n  \"model\": \"bi", strict),
        refused("two values", b"{} {}\n", strict),
        refused("a key twice in one object", b"{\"a\": 1, \"a\": 2}\n", "has the key \"a\" twice"),
        refused("a list in the place of the object", b"[]\n", "is not a JSON object"),
        refused("a list in the place of the hooks", b"{\"hooks\": []}\n", "has `hooks`, which is not an object"),
        refused("a text in the place of the hooks", b"{\"hooks\": \"none\"}\n", "has `hooks`, which is not an object"),
        refused("UTF-16", b"\xff\xfe{\0}\0", "is UTF-16"),
        refused("Latin-1", b"{\"name\": \"Jos\xe9\"}\n", "is not UTF-8"),
    ]
}

/// What is at a path: its content, its mode, and where links lead.
#[derive(Debug, PartialEq, Eq)]
struct State {
    content: Option<Vec<u8>>,
    mode: Option<u32>,
    links: Vec<Option<PathBuf>>,
    beside: Vec<String>,
}

impl State {
    fn of(file: &Path) -> Self {
        let directory = file.parent().unwrap();
        Self {
            content: fs::read(file).ok(),
            mode: file.metadata().ok().map(|metadata| metadata.mode()),
            links: [file, directory].map(|path| fs::read_link(path).ok()).into(),
            beside: names(directory),
        }
    }
}

/// Puts a file of this kind at the place of the agent's settings.
fn put(owner: &Owner, agent: &TestAgent, kind: &Kind) {
    let file = owner.path(agent.file);
    let directory = file.parent().unwrap();
    let elsewhere = owner.path("dotfiles").join(agent.name);
    fs::create_dir_all(&elsewhere).unwrap();
    if !matches!(kind.place, Place::Nowhere | Place::LinkedDirectory) {
        fs::create_dir_all(directory).unwrap();
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    match kind.place {
        Place::File(bits) => {
            fs::write(&file, &kind.content).unwrap();
            mode(&file, bits);
        }
        Place::Missing | Place::Nowhere => {}
        Place::Link => {
            fs::write(elsewhere.join("real.json"), &kind.content).unwrap();
            symlink("real.json", elsewhere.join("link.json")).unwrap();
            symlink(elsewhere.join("link.json"), &file).unwrap();
        }
        Place::LinkedDirectory => {
            fs::write(elsewhere.join(file.file_name().unwrap()), &kind.content).unwrap();
            symlink(&elsewhere, directory).unwrap();
        }
        Place::Store => {
            let store = elsewhere.join("store");
            fs::create_dir(&store).unwrap();
            fs::write(store.join("settings.json"), &kind.content).unwrap();
            mode(&store.join("settings.json"), 0o444);
            mode(&store, 0o555);
            symlink(store.join("settings.json"), &file).unwrap();
        }
        Place::Dangling => symlink("/nowhere/settings.json", &file).unwrap(),
        Place::Directory => fs::create_dir(&file).unwrap(),
    }
}

#[test]
fn on_and_off_leave_each_kind_of_settings_file_byte_for_byte_as_it_was() {
    let kinds = kinds();
    assert!(kinds.len() >= 40);
    for (round, kinds) in kinds.chunks(AGENTS.len()).enumerate() {
        let owner = Owner::new(&AGENTS);
        let cases: Vec<_> = AGENTS.iter().cycle().skip(round).zip(kinds).collect();
        cases.iter().for_each(|(agent, kind)| put(&owner, agent, kind));
        let states = || cases.iter().map(|(agent, _)| State::of(&owner.path(agent.file))).collect::<Vec<_>>();
        let before = states();
        let fails = cases.iter().any(|(agent, kind)| kind.refused_for(agent).is_some());
        let on = owner.run(&["on"]);
        on.expect(fails.into(), &[]);
        for ((agent, kind), before) in cases.iter().zip(&before) {
            let (name, refused) = (kind.name, kind.refused_for(agent));
            let says = row(&on, agent.name);
            let now = State::of(&owner.path(agent.file));
            match refused {
                None => {
                    assert!(says.starts_with(['✓', '!']), "{name}: {says}");
                    assert!(owner.has_hook(agent), "{name}");
                    assert_eq!(now.links, before.links, "{name}");
                }
                Some(why) => {
                    assert!(says.starts_with("✗ ") && on.stdout.contains(why), "{name}: {on:#?}");
                    assert_eq!(now, *before, "{name}: left as it is");
                }
            }
        }
        let once = states();
        owner.run(&["on"]).expect(fails.into(), &[]);
        assert_eq!(states(), once, "on a second time changes nothing");
        let off = owner.run(&["off"]);
        for (((agent, kind), before), after) in cases.iter().zip(before).zip(states()) {
            assert_eq!(after, before, "{}, of {}: {off:#?}", kind.name, agent.name);
        }
        assert!(!owner.path("state/installed").read_dir().is_ok_and(|mut left| left.next().is_some()));
    }
}

#[test]
fn a_file_whose_original_the_user_has_restored_is_restored_again() {
    let owner = Owner::new(&AGENTS[..2]);
    let original = "{\"model\":\"x\",   \"b\" : [ 1,2 ]}\n\n\n";
    owner.write(AGENTS[0].file, original);
    owner.run(&["on"]).expect(0, &[]);
    owner.write(AGENTS[0].file, original);
    fs::remove_file(owner.path(AGENTS[1].file)).unwrap();
    owner.run(&["on"]).expect(0, &[]);
    assert!(AGENTS[..2].iter().all(|agent| owner.has_hook(agent)));
    owner.run(&["off"]).expect(0, &[]);
    assert_eq!(fs::read_to_string(owner.path(AGENTS[0].file)).unwrap(), original);
    assert!(!owner.path(AGENTS[1].file).exists());
}

#[test]
fn of_a_file_that_somebody_has_changed_since_only_the_entries_of_hookhost_go() {
    let owner = Owner::new(&AGENTS[..1]);
    owner.write(AGENTS[0].file, OTHERS);
    owner.run(&["on"]).expect(0, &[]);
    let changed = fs::read_to_string(owner.path(AGENTS[0].file)).unwrap().replace("\"dark\"", "\"light\"");
    owner.write(AGENTS[0].file, &changed);
    let off = owner.run(&["off"]);
    off.expect(0, &[]);
    assert!(row(&off, "claude-code").contains("which somebody has changed since"), "{off:#?}");
    let left: serde_json::Value = serde_json::from_slice(&fs::read(owner.path(AGENTS[0].file)).unwrap()).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&OTHERS.replace("\"dark\"", "\"light\"")).unwrap();
    assert_eq!(left, expected);
}
