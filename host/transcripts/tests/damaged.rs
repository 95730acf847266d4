//! What is damaged, huge or strange in a transcript is counted and described in a sentence, and everything else is read.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use hookhost_agents::HookEvent;
use hookhost_transcripts::{EventQuery, PastEvents, TranscriptPlaces, UnseenSessions};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A record of Claude Code with one call of `Bash`.
fn record(id: u32, command: &str, cwd: &str) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"s","cwd":{cwd:?},"timestamp":"2026-11-0{}T00:00:00Z","message":{{"content":[{{"type":"tool_use","id":"toolu_00000000000000000000{id}","name":"Bash","input":{{"command":{command:?}}}}}]}}}}"#,
        id % 9 + 1
    )
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes the database of OpenCode.
    fn database(&self, sql: &str) {
        let database = self.0.path().join(".local/share/opencode/opencode.db");
        fs::create_dir_all(database.parent().unwrap()).unwrap();
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.close().unwrap();
    }

    /// Writes a transcript of Claude Code.
    fn transcript(&self, name: &str, content: &[u8]) -> PathBuf {
        let file = self.0.path().join(".claude/projects/-work").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }

    fn read(&self, query: &EventQuery) -> (Vec<String>, Vec<String>) {
        let mut events = PastEvents::new(TranscriptPlaces::new(self.0.path()), query);
        let commands = events.by_ref().map(|event| {
            let HookEvent::BeforeToolCall(tool) = event.call.event else { panic!() };
            tool.arguments["command"].as_str().unwrap_or_default().to_owned()
        });
        let commands = commands.collect();
        let home = self.0.path().display().to_string();
        let omissions = events.omissions().iter().map(|omission| omission.to_string().replace(&home, "~")).collect();
        (commands, omissions)
    }
}

#[test]
fn an_incomplete_last_line_and_lines_that_are_not_json_are_counted() {
    let home = Home::new();
    let mut content = [record(1, "one", "/work"), "{\"sessionId\" \"tool_use\"}".into(), "nonsense".into()].join("\n");
    content.push('\n');
    let mut content = content.into_bytes();
    content.extend_from_slice(b"{\"sessionId\":\"\xff\xfe\",\"tool_use\":1}\n");
    content.extend_from_slice(record(2, "two", "/work").as_bytes());
    content.push(b'\n');
    content.extend_from_slice(&record(3, "three", "/work").as_bytes()[..90]);
    home.transcript("a.jsonl", &content);
    let (commands, omissions) = home.read(&EventQuery::default());
    assert_eq!(commands, ["one", "two"]);
    assert_eq!(
        omissions,
        [
            "Claude Code: 1 transcript with an incomplete last line (~/.claude/projects/-work/a.jsonl:6)",
            "Claude Code: 3 lines not JSON in UTF-8, left out (~/.claude/projects/-work/a.jsonl:2)",
        ]
    );
}

#[test]
fn a_line_of_500_megabytes_is_skipped_without_being_kept_in_memory() {
    let home = Home::new();
    let file = home.transcript("a.jsonl", b"");
    let mut file = File::create(file).unwrap();
    writeln!(file, "{}", record(1, "before", "/work")).unwrap();
    file.write_all(br#"{"type":"assistant","sessionId":"s","message":""#).unwrap();
    // A hole in the file takes no space on the disk.
    file.set_len(500 << 20).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
    writeln!(file, "\"}}\n{}", record(2, "after", "/work")).unwrap();
    drop(file);
    let before = resident_memory();
    let (commands, omissions) = home.read(&EventQuery::default());
    assert_eq!(commands, ["before", "after"]);
    assert_eq!(omissions, ["Claude Code: 1 line longer than 16 MiB, left out (~/.claude/projects/-work/a.jsonl:2)"]);
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}

/// The largest amount of memory that this process has used, in bytes.
fn resident_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[test]
fn a_transcript_of_an_unknown_format_is_named() {
    let home = Home::new();
    home.transcript("new.jsonl", b"{\"v\":9,\"events\":[]}\n");
    home.transcript("empty.jsonl", b"");
    let (commands, omissions) = home.read(&EventQuery::default());
    assert_eq!(commands, [""; 0]);
    assert_eq!(
        omissions,
        ["Claude Code: 1 transcript of a format that this hookhost does not know (~/.claude/projects/-work/new.jsonl)"]
    );
}

#[test]
fn calls_of_another_system_and_ambiguous_calls_are_counted() {
    let home = Home::new();
    let twice = record(3, "three", "/work").replace("\"name\":\"Bash\"", "\"name\":\"Read\"");
    let content = [
        record(1, "one", r"C:\work"),
        record(2, "two", "/Users/ada/work"),
        twice.replace("command", "file_path\":1,\"x"),
    ];
    home.transcript("a.jsonl", content.join("\n").as_bytes());
    let without = record(4, "four", "").replace("\"command\"", "\"Command\":\"other\",\"command\"");
    home.transcript("b.jsonl", without.as_bytes());
    let (commands, omissions) = home.read(&EventQuery::default());
    assert!(commands.contains(&"two".to_owned()) && !commands.contains(&"one".to_owned()), "{commands:?}");
    assert!(
        omissions.iter().any(|said| said.starts_with(r"Claude Code: 1 call made on Windows, left out (C:\work")),
        "{omissions:?}"
    );
    assert!(
        omissions.iter().any(|said| said.starts_with("Claude Code: 1 call unreadable, left out (")),
        "{omissions:?}"
    );
}

#[test]
fn a_call_that_two_transcripts_contain_is_read_once() {
    let home = Home::new();
    let first = [record(1, "one", "/work"), record(2, "two", "/work")].join("\n");
    home.transcript("a.jsonl", first.as_bytes());
    // A resumed session begins with a copy.
    home.transcript("b.jsonl", [first.replace("\"s\"", "\"t\""), record(3, "three", "/work")].join("\n").as_bytes());
    let (mut commands, omissions) = home.read(&EventQuery::default());
    commands.sort();
    assert_eq!((commands, omissions.len()), (vec!["one".to_owned(), "three".to_owned(), "two".to_owned()], 0));
}

#[test]
fn calls_and_transcripts_before_a_time_are_left_out() {
    let home = Home::new();
    let content = (0..9).map(|day| record(day, &format!("day {}", day + 1), "/work")).collect::<Vec<_>>().join("\n");
    home.transcript("a.jsonl", content.as_bytes());
    let old = home.transcript("old.jsonl", record(8, "old", "/work").as_bytes());
    File::options()
        .write(true)
        .open(old)
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))
        .unwrap();
    // 2026-11-07 in UTC.
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_009_600);
    let (commands, omissions) = home.read(&EventQuery { since: Some(since), ..EventQuery::default() });
    assert_eq!(commands, ["day 7", "day 8", "day 9"]);
    assert_eq!(omissions, [""; 0]);
}

#[test]
fn sessions_after_a_period_are_not_counted_in_it() {
    let home = Home::new();
    home.transcript("a.jsonl", record(2, "within", "/work").as_bytes());
    home.transcript("b.jsonl", record(8, "after", "/work").replace("\"s\"", "\"t\"").as_bytes());
    let [since, until] = [1_793_491_200, 1_794_009_600].map(|time| SystemTime::UNIX_EPOCH + Duration::from_secs(time));
    let sessions = |until| {
        let places = TranscriptPlaces::new(home.0.path());
        let found = UnseenSessions::read_period(places, since, until, |_, _| false);
        found.agents.get("claude-code").map(|count| (count.all, count.unseen))
    };
    assert_eq!(sessions(Some(until)), Some((1, 1)));
    assert_eq!(sessions(None), Some((2, 2)));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_a_pipe_is_not_waited_for() {
    let home = Home::new();
    home.transcript("a.jsonl", record(1, "one", "/work").as_bytes());
    let pipe = home.0.path().join(".claude/projects/-work/pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let database = home.0.path().join(".local/share/opencode/opencode.db");
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    fs::write(&database, "not a database").unwrap();
    let (commands, omissions) = home.read(&EventQuery::default());
    assert_eq!(commands, ["one"]);
    assert_eq!(omissions.len(), 2, "{omissions:?}");
    assert!(
        omissions[0].starts_with("Claude Code: 1 transcript cannot be read (~/.claude/projects/-work/pipe.jsonl"),
        "{omissions:?}"
    );
    assert!(
        omissions[1].starts_with("OpenCode: 1 transcript cannot be read (~/.local/share/opencode/opencode.db: "),
        "{omissions:?}"
    );
}

#[test]
fn a_database_of_another_version_is_named() {
    let home = Home::new();
    home.database("CREATE TABLE part (id text, body text)");
    let (_, omissions) = home.read(&EventQuery::default());
    assert!(
        omissions[0].starts_with("OpenCode: 1 transcript of a format that this hookhost does not know ("),
        "{omissions:?}"
    );
}

#[test]
fn a_database_that_never_ends_its_answer_is_left() {
    let home = Home::new();
    let endless = "CREATE TABLE session (id text, directory text, project_id text); CREATE TABLE project (id text, worktree text); \
         CREATE VIEW part AS WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) \
         SELECT n AS id, 's' AS session_id, 'x' AS data, n AS time_created, n AS time_updated FROM numbers";
    home.database(endless);
    let (commands, omissions) = home.read(&EventQuery::default());
    assert!(
        commands.is_empty() && omissions[0].starts_with("OpenCode: 1 transcript cannot be read ("),
        "{omissions:?}"
    );
}

#[test]
fn reading_ends_as_soon_as_its_time_is_over_even_where_no_call_is_found() {
    let home = Home::new();
    home.transcript("a.jsonl", "{\"sessionId\":\"s\"}\n".repeat(1000).as_bytes());
    let mut events = PastEvents::new(TranscriptPlaces::new(home.0.path()), &EventQuery::default());
    let steps = std::cell::Cell::new(0);
    let is_over = || steps.replace(steps.get() + 1) >= 10;
    assert!(events.next_unless(is_over).is_none());
    assert_eq!((steps.get(), events.remaining_transcripts()), (11, 1));
    assert!(events.next().is_none());
    assert_eq!(events.remaining_transcripts(), 0);
}

#[test]
fn a_home_without_agents_has_no_past() {
    let events = PastEvents::new(TranscriptPlaces::new(Path::new("/nonexistent")), &EventQuery::default());
    assert_eq!(events.count(), 0);
}
